"""Ways to rank the marker genes of cell types: ours and those of the field, all from the same raw counts."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from lspin.datasets import load_table, make_cells
from lspin.single_cell import rank_genes_groups
from lspin.single_cell.expression import find_expression
from lspin.single_cell.grouping import assign_roles, read_groups
from lspin.single_cell.statistics import lead, rate_moments, sum_by_group

N_TREES = 50
MAX_ITER = 200
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # of a logistic regression that is judged
OLD_NAMES = {"LINC02446": "RP11-291B21.2", "SMIM24": "C19orf77"}  # by their Ensembl identifiers
# Markers of cell types in blood, as the page of Azimuth's human PBMC reference lists them for its level 2 (Hao et
# al., Cell 2021; azimuth.hubmapconsortium.org/references/human_pbmc): CD14 Mono, HSPC, NK, Treg, CD4 Naive, CD4
# TCM and CD8 Naive, ten genes each. Three copies of that page in public repositories agree with these lists in
# every gene. B: genes that two or more of its three lists of B cells have. Sorted T helper and cytotoxic cells
# are mixtures, and have no list. LINC02446 and SMIM24 stand in the table by the names that they had in 2016;
# IGHM, IGHD, TRDC, TRAC and AC133644.2 are not in it.
BLOOD = {
    "CD19+ B": "MS4A1 CD79A CD79B IGHM IGHD AIM2 BANK1 RALGPS2",
    "CD14+ Monocyte": "S100A9 CTSS S100A8 LYZ VCAN S100A12 IL1B CD14 G0S2 FCN1",
    "CD34+": "SPINK2 PRSS57 CYTL1 EGFL7 GATA2 CD34 SMIM24 AVP MYB LAPTM4B",
    "CD56+ NK": "GNLY TYROBP NKG7 FCER1G GZMB TRDC PRF1 FGFBP2 SPON2 KLRF1",
    "CD4+/CD25 T Reg": "RTKN2 FOXP3 AC133644.2 CD4 IL2RA TIGIT CTLA4 FCRL3 LAIR2 IKZF2",
    "CD4+/CD45RA+/CD25- Naive T": "TCF7 CD4 CCR7 IL7R FHIT LEF1 MAL NOSIP LDHB PIK3IP1",
    "CD4+/CD45RO+ Memory": "IL7R TMSB10 CD4 ITGB1 LTB TRAC AQP3 LDHB IL32 MAL",
    "CD8+/CD45RA+ Naive Cytotoxic": "CD8B S100B CCR7 RGS10 NOSIP LINC02446 LEF1 CRTAM CD8A OXNAD1",
}


class Atlas(NamedTuple):
    """Cells with the true or published markers of their types."""

    adata: Any  # raw counts; obs["type"]
    markers: dict[str, set[str]]
    own: dict[str, set[str]]  # without those that another type has, too


def load_atlas(name: str, n_cells: int | None, n_genes: int | None, seed: int) -> Atlas:
    """Simulated cells, or sorted cells of blood."""
    if name == "pbmc":
        table = load_table("pbmc_purified_counts")
        present = set(table.feature_names)
        known = {
            label: {OLD_NAMES.get(gene, gene) for gene in genes.split()} & present
            for label, genes in BLOOD.items()
        }
        adata = _wrap(table.X, table.class_names[table.y], table.feature_names)
        return Atlas(adata, known, known)
    cells = make_cells(n_cells or 5000, n_genes or 20_000, setting=name, seed=seed)
    pairs = list(zip(cells.type_names, cells.markers, strict=True))
    return Atlas(
        _wrap(cells.counts, cells.types, cells.genes),
        {label: set(cells.genes[genes]) for label, genes in pairs},
        {label: set(cells.genes[genes & ~cells.shared]) for label, genes in pairs},
    )


def _wrap(counts: Any, types: np.ndarray, genes: np.ndarray) -> Any:
    obs = pd.DataFrame({"type": pd.Categorical(types)}, index=[f"cell{place}" for place in range(len(types))])
    adata = anndata.AnnData(sp.csr_matrix(counts), obs=obs, var=pd.DataFrame(index=pd.Index(genes.astype(str))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.var_names_make_unique()
    return adata


Ranked = dict[str, list[str]]  # genes of each type, best first


def by_lspin(atlas: Atlas, seed: int) -> tuple[Ranked, dict[str, float]]:
    rank_genes_groups(atlas.adata, "type", random_state=seed)
    said = atlas.adata.uns["lspin"]
    more = {
        "accuracy": 100 * said["held_out"]["accuracy"],
        "genes_a_cell": float(atlas.adata.obs["lspin_n_genes"].median()),
    }
    return {label: said["names"][label].tolist() for label in said["names"].dtype.names}, more


def by_lead(atlas: Atlas, seed: int) -> tuple[Ranked, dict[str, float]]:
    """Our score without gates."""
    groups = read_groups(atlas.adata.obs, "type", "all", "rest")
    expression = find_expression(atlas.adata, None, None, "auto")
    moments = rate_moments(sum_by_group(expression, groups.codes, len(groups.names)))
    ranked = {}
    for group, label in enumerate(groups.names):
        ranked[str(label)] = list(expression.genes[np.argsort(-lead(moments, group, groups.others(group)))])
    return ranked, {}


def by_scanpy(method: str, **settings: Any) -> Callable[[Atlas, int], tuple[Ranked, dict[str, float]]]:
    def rank(atlas: Atlas, seed: int) -> tuple[Ranked, dict[str, float]]:
        import scanpy as sc

        adata = normalised(atlas)
        sc.tl.rank_genes_groups(adata, "type", method=method, **settings)
        names = adata.uns["rank_genes_groups"]["names"]
        return {label: names[label].tolist() for label in names.dtype.names}, {}

    return rank


def by_logistic(atlas: Atlas, seed: int) -> tuple[Ranked, dict[str, float]]:
    """Scanpy's ranking by coefficients, and the accuracy of such a model on the cells that judge lspin.

    The ranking is scanpy's, with its own strength. The model that is judged has the strength that suits the cells
    which choose lspin's price, and then learns from all cells that do not judge.
    """
    adata = normalised(atlas)
    roles = assign_roles(read_groups(adata.obs, "type", "all", "rest"), None, np.random.RandomState(seed))
    labels = adata.obs["type"].to_numpy().astype(str)
    strength = choose_strength(
        adata.X[roles.trains], labels[roles.trains], adata.X[roles.chooses], labels[roles.chooses]
    )
    model = fit_logistic(adata.X[~roles.judges], labels[~roles.judges], strength)
    accuracy = 100 * model.score(adata.X[roles.judges], labels[roles.judges])
    ranked, _ = by_scanpy("logreg", max_iter=MAX_ITER)(atlas, seed)
    return ranked, {"accuracy": float(accuracy), "C": strength}


def choose_strength(values: Any, labels: np.ndarray, choosing: Any, truth: np.ndarray) -> float:
    """The inverse penalty (C) that gets most of the choosing cells right; of equal ones, the lowest log loss."""

    def judge(strength: float) -> tuple[float, float]:
        probabilities = fit_logistic(values, labels, strength).predict_proba(choosing)
        classes = np.unique(labels)
        wrong = classes[probabilities.argmax(axis=1)] != truth
        return float(wrong.mean()), float(log_loss(truth, probabilities, labels=classes))

    return min(STRENGTHS, key=judge)


def fit_logistic(values: Any, labels: np.ndarray, strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=MAX_ITER).fit(values, labels)


def normalised(atlas: Atlas) -> Any:
    import scanpy as sc

    adata = atlas.adata.copy()
    sc.pp.normalize_total(adata, target_sum=1e4)
    sc.pp.log1p(adata)
    return adata


def by_forest(atlas: Atlas, seed: int) -> tuple[Ranked, dict[str, float]]:
    """Importance in a random forest of each type against all others, genes that are lower in it last."""
    return {label: list(order) for label, order, _ in _grow_forests(atlas, seed)}, {}


def by_ns_forest(atlas: Atlas, seed: int) -> tuple[Ranked, dict[str, float]]:
    """The same, the best 50 ordered by NS-Forest's binary score.

    The score is the mean over other types of one minus the ratio of the means, at least 0; after Aevermann et al.,
    Genome Research 2021, with means instead of medians, which are 0 for most genes here.
    """
    ranked = {}
    for label, order, (here, there) in _grow_forests(atlas, seed):
        best = order[:50]
        ratio = there[best] / np.maximum(here[best], 1e-9).to_numpy()
        score = np.maximum(1 - ratio, 0).mean(axis=0)
        ranked[label] = [*score.sort_values(ascending=False, kind="stable").index, *order[50:]]
    return ranked, {}


def _grow_forests(atlas: Atlas, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    adata = normalised(atlas)
    labels = adata.obs["type"].to_numpy().astype(str)
    values = sp.csc_matrix(adata.X)
    means = pd.DataFrame(
        {label: np.asarray(adata.X[labels == label].mean(axis=0)).ravel() for label in np.unique(labels)},
        index=adata.var_names,
    ).T
    for label in np.unique(labels):
        forest = RandomForestClassifier(N_TREES, random_state=seed, class_weight="balanced")
        weight = forest.fit(values, labels == label).feature_importances_
        here, there = means.loc[label], means.drop(label)
        is_up = (here > there.mean(axis=0)).to_numpy()
        yield label, adata.var_names[np.argsort(-np.where(is_up, weight, -1.0), kind="stable")], (here, there)


RANKINGS: dict[str, Callable[[Atlas, int], tuple[Ranked, dict[str, float]]]] = {
    "lspin": by_lspin,
    "lspin_without_gates": by_lead,
    "wilcoxon": by_scanpy("wilcoxon"),
    "t_test": by_scanpy("t-test"),
    "logistic": by_logistic,
    "ns_forest": by_ns_forest,
    "forest": by_forest,
}

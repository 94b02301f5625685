"""Real cohorts of known groups that no method is told: what is found, and what it is worth. ``make bench-cohort``.

Sorted blood cells of ten types: the expression of a gene from that of the others, for the most variable genes one
by one. Breast cancer patients by hormone receptor: who dies within five years. The groups and all columns that
name them are hidden; that a table is here does not mean that its groups differ.
"""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.everyday import fit_everyday, load_everyday, score_model, suits_all
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.ordinary import tabulate_tables
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.method import Everyday, Wanted
from benchmarks.methods import lasso
from benchmarks.methods.cluster_lasso import ClusterLasso
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import NOTHING, describe_seeds, format_spread, write_markdown
from benchmarks.wide import select
from lspin.core.model import memberships
from lspin.core.rows import Dense
from lspin.datasets import load_table
from lspin.explanation.groups import group_patterns
from lspin.tables.encoding import encode, gating_context

METHODS = ("lspin", "lasso", "ridge", "random_forest", "xgboost", "cluster_lasso")
TOLD = "lasso_told"  # a reference: it is told the groups and has a LASSO in each
N_FOLDS = 5
N_GENES, N_ASKED = 200, 10  # the most variable genes, and those of them that are predicted
FIVE_YEARS = 60  # months
SHOWN = 5  # columns of a group that are named
SHOWN_FOLD = 0

CAPTION = (
    f"{N_FOLDS} folds, the same for all methods. Cells: 3,874 of ten sorted types, logarithms of counts per ten "
    f"thousand molecules, the {N_GENES} genes with the largest variance over all cells (no label was used); the "
    f"expression of each of the first {N_ASKED} from the other {N_GENES - 1}. Patients: death within five years, "
    "without those who left earlier; METABRIC without its oestrogen receptor status, SEER without oestrogen and "
    "progesterone receptor status. Methods as in `ordinary` and `suite`; `lasso_told` is told the hidden groups "
    "and has a LASSO in each, so that what it gains over `lasso` shows how much the groups differ. Adjusted Rand "
    "index: agreement of a method's groups with the hidden ones on test rows (1: the same, 0: by chance)."
)


class Cohort(NamedTuple):
    """Rows, a target, and what they are known to consist of."""

    X: pd.DataFrame
    y: np.ndarray  # a response, or classes 0 and 1
    groups: np.ndarray  # (n,), names of the hidden groups
    is_regression: bool


# Tables -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def load_cells() -> tuple[pd.DataFrame, np.ndarray]:
    """Logarithms of normalised counts of the most variable genes, and the sorted type of every cell."""
    table = load_table("pbmc_purified_counts")
    counts = sparse.csr_matrix(table.X, dtype=np.float64)
    scale = 1e4 / np.asarray(counts.sum(axis=1)).ravel()
    values = (sparse.diags_array(scale) @ counts).log1p().tocsc()
    variance = np.asarray(values.power(2).mean(axis=0)).ravel() - np.asarray(values.mean(axis=0)).ravel() ** 2
    kept = np.argsort(-variance, kind="stable")[:N_GENES]
    assert table.class_names is not None
    frame = pd.DataFrame(values[:, kept].toarray(), columns=table.feature_names[kept].astype(str))
    return frame, table.class_names[table.y].astype(str)


def ask_gene(rank: int) -> Cohort:
    """The expression of a gene from that of all others; 0 is the most variable one."""
    frame, types = load_cells()
    gene = frame.columns[rank]
    return Cohort(frame.drop(columns=gene), frame[gene].to_numpy(), types, True)


def ask_survival(name: str, marks: tuple[str, ...]) -> Cohort:
    """Death within five years; the first column whose name holds a mark is the hidden group, all are left out."""
    table = load_table(name)
    time, event = table.y["time"], table.y["event"].astype(bool)
    known = event | (time >= FIVE_YEARS)
    frame = pd.DataFrame(np.asarray(table.X, np.float64)[known], columns=table.feature_names.astype(str))
    hidden = [column for column in frame if any(mark in column for mark in marks)]
    died = (event & (time < FIVE_YEARS))[known].astype(int)
    groups = np.where(frame[hidden[0]] > 0, f"{hidden[0]}: yes", f"{hidden[0]}: no")
    return Cohort(frame.drop(columns=hidden), died, groups, False)


COHORTS: dict[str, Callable[[], Cohort]] = {
    **{f"cells_{rank + 1}": partial(ask_gene, rank) for rank in range(N_ASKED)},
    "metabric": partial(ask_survival, "metabric", ("er_positive",)),
    "seer": partial(ask_survival, "seer_breast", ("strogen", "rogesterone")),
}


def split_cohort(cohort: Cohort, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a fold; hidden groups, or classes, have the same shares in all."""
    strata = cohort.groups if cohort.is_regression else cohort.y
    return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(cohort.X, strata))[number]


def has_fold(case: Case, seed: int) -> bool:
    return seed < N_FOLDS


# Methods ----------------------------------------------------------------------------------------------------


class ToldLasso:
    """A LASSO in each of the hidden groups, whose codes are the last column."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self._models = {
            code: lasso.make_cross_validated(self._wanted).fit(X[X[:, -1] == code, :-1], y[X[:, -1] == code])
            for code in np.unique(X[:, -1])
        }
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._pick(X, "predict")

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self._pick(X, "predict_proba")

    def _pick(self, X: np.ndarray, what: str) -> np.ndarray:
        parts = [(X[:, -1] == code, model) for code, model in self._models.items()]
        first = getattr(parts[0][1], what)(X[:1, :-1])
        said = np.empty((len(X), *first.shape[1:]))
        for inside, model in parts:
            said[inside] = getattr(model, what)(X[inside, :-1])
        return said


def tell_groups(model: Any, X: Any) -> np.ndarray | None:
    """The group that a model puts each row into; of networks, groups of similar gates."""
    if isinstance(model, ClusterLasso):
        return model.divide(X)
    if not hasattr(model, "structure_"):
        return None
    if model.structure_.empty:
        return group_patterns(sparse.csr_array(model.selected(X)))
    member = model.members_[0]
    inputs, missing = encode(model._read(X), member.encoding)
    return memberships(member.networks.groups, Dense(gating_context(inputs, missing, member.encoding))).argmax(
        axis=1
    )


# Measuring --------------------------------------------------------------------------------------------------


def measure_cohort(run: Run) -> Record:
    """Fit a method on four folds of a cohort; score it and its groups on the fifth."""
    cohort = COHORTS[run.case.dataset]()
    learned, judged = split_cohort(cohort, run.seed)
    learned = learned[: run.case.n_train]
    offered = Everyday(ToldLasso) if run.method == TOLD else load_everyday(run.method)
    X = cohort.X if offered.reads_frames else cohort.X.to_numpy()
    if run.method == TOLD:
        X = np.column_stack([X, np.unique(cohort.groups, return_inverse=True)[1]])
    train, test = (X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows] for rows in (learned, judged))
    wanted = Wanted(None if cohort.is_regression else 2, run.budget, "neg_log_loss")
    model, seconds = fit_everyday(offered, train, cohort.y[learned], wanted)
    row: dict[str, Any] = {
        **describe(run),
        "asked": name_target(run.case.dataset),
        "kind": "response" if cohort.is_regression else "class",
        "n": len(cohort.y),
        "d": cohort.X.shape[1],
        **score_model(model, test, cohort.y[judged], wanted),
    }
    selected = select(offered, model, test)
    if selected is not None:
        row |= {"n_features": float(np.median(selected.sum(axis=1))), "n_union": int(selected.any(axis=0).sum())}
    row |= compare_groups(model, test, cohort.groups[judged]) | {"cpu_s": seconds}
    return {"row": row | {"start": getattr(model, "start_", None)}, "arrays": {}}


def name_target(dataset: str) -> str:
    """The gene that is asked for, or the table."""
    _, _, rank = dataset.partition("cells_")
    return str(load_cells()[0].columns[int(rank) - 1]) if rank else dataset


def compare_groups(model: Any, X: Any, hidden: np.ndarray) -> dict[str, Any]:
    """How many groups a model makes of new rows, how they agree with the hidden ones, and what each is."""
    found = tell_groups(model, X)
    if found is None:
        return {}
    row: dict[str, Any] = {"n_groups": len(np.unique(found)), "ari": adjusted_rand_score(hidden, found)}
    structure = getattr(model, "structure_", pd.DataFrame())
    described = [
        {
            "rows": int(inside.sum()),
            "hidden": describe_shares(hidden[inside]),
            "told_by": list(structure["told_by"][number][:SHOWN]),
            "n_told_by": len(structure["told_by"][number]),
            "features": list(structure["features"][number][:SHOWN]),
            "n_features": len(structure["features"][number]),
        }
        for number, inside in ((number, found == number) for number in range(len(structure)))
    ]
    return row | {"groups": json.dumps(described, default=str)}


def describe_shares(hidden: np.ndarray) -> dict[str, float]:
    """The commonest of the hidden groups among some rows, and their shares."""
    return {
        str(name): round(share, 2) for name, share in pd.Series(hidden).value_counts(normalize=True)[:3].items()
    }


# Report -----------------------------------------------------------------------------------------------------


def tabulate_groups(frame: pd.DataFrame) -> list[str]:
    """How many groups ours and the clusters make, and how they agree with the hidden ones."""
    by_row = frame[frame["ari"].notna()]
    lines = ["| asked | method | groups | adjusted Rand index | features | union | start |", "|---" * 7 + "|"]
    for (asked, method), runs in by_row.groupby(["asked", "method"], sort=False):
        starts = ", ".join(f"{name} {n}" for name, n in runs["start"].value_counts().items()) or NOTHING
        digits = {"n_groups": 1, "ari": 2, "n_features": 1, "n_union": 0}
        cells = [format_spread(runs[score], n) for score, n in digits.items()]
        lines.append(f"| {asked} | {method} | " + " | ".join([*cells, starts]) + " |")
    return lines


def list_groups(frame: pd.DataFrame) -> list[str]:
    """What ours finds in one fold, group by group."""
    shown = frame[(frame["method"] == "lspin") & (frame["seed"] == SHOWN_FOLD) & frame["groups"].notna()]
    lines = ["| asked | test rows | mostly | told by | what counts |", "|---" * 5 + "|"]
    for asked, text in zip(shown["asked"], shown["groups"], strict=True):
        for group in json.loads(text):
            mostly = ", ".join(f"{name} {share:.2f}" for name, share in group["hidden"].items())
            told_by, features = (name_some(group[part], group[f"n_{part}"]) for part in ("told_by", "features"))
            lines.append(f"| {asked} | {group['rows']} | {mostly} | {told_by} | {features} |")
    return lines if len(lines) > 2 else []


def name_some(names: list[str], number: int) -> str:
    rest = f" and {number - len(names)} more" if number > len(names) else ""
    return ", ".join(names) + rest or NOTHING


def report(results: Results) -> None:
    """Scores, groups and what they are made of, and the figure."""
    place = {name: number for number, name in enumerate(COHORTS)}
    frame = results.frame.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    frame = frame.reindex(columns=frame.columns.union(["log_loss", "ece", "auc"], sort=False))
    named = frame.assign(dataset=frame["asked"])
    classes, response = (named[named["kind"] == kind] for kind in ("class", "response"))
    parts = {
        "R²": tabulate_tables(response, "score"),
        "Log loss": tabulate_tables(classes, "log_loss"),
        "Area under the curve": tabulate_tables(classes, "auc"),
        "Expected calibration error (15 bins)": tabulate_tables(classes, "ece"),
        "Groups": tabulate_groups(named),
        f"What ours finds, fold {SHOWN_FOLD}": list_groups(named),
        "CPU seconds of a fit": tabulate_tables(named, "cpu_s", 1),
    }
    caption = [CAPTION, "", *describe_seeds(frame)]
    write_markdown(results.folder / "cohort.md", "Cohorts whose groups are hidden", parts, frame, caption)
    draw(named, results.folder / "cohort.png")


def draw(frame: pd.DataFrame, path: Path) -> None:
    """R² or log loss, a panel a target."""
    methods, targets = (list(dict.fromkeys(frame[column])) for column in ("method", "asked"))
    n_columns = min(len(targets), 4)
    n_lines = -(-len(targets) // n_columns)
    figure = new_figure(1.6 + 2.4 * n_columns, 0.6 + (0.6 + 0.22 * len(methods)) * n_lines)
    panels = make_axes(figure, n_lines, n_columns, sharey=True).ravel()
    for axes, target in zip(panels, targets, strict=False):
        runs = frame[frame["asked"] == target]
        score, label = ("score", "R²") if (runs["kind"] == "response").all() else ("log_loss", "log loss")
        draw_dots(axes, runs, score, methods, {})
        axes.set(title=target, xlabel=label)
    for axes in panels[len(targets) :]:
        axes.set_axis_off()
    figure.suptitle("Test rows, mean ± sd over folds; lasso told: knows the hidden groups", fontsize=9)
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "cohort",
    methods=(*METHODS, TOLD),
    cases=tuple(Case(name) for name in COHORTS),
    quick_methods=("lspin", "cluster_lasso", TOLD),
    quick_cases=(Case("metabric", n_train=300),),
    report=report,
    seeds=range(N_FOLDS),
    measure=measure_cohort,
    applies=suits_all,
    has_seed=has_fold,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

"""From cells to a model: genes that may be markers, a price chosen on held-out cells, and a last fit of all."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.estimators import LSPINClassifier
from lspin.fitting.progress import Progress
from lspin.single_cell.expression import SCALED, Expression, gather_genes
from lspin.single_cell.grouping import MOST_TRAINED, Groups, Roles, draw_cells
from lspin.single_cell.statistics import Sums, lead, rate_moments
from lspin.tables.reading import name_columns

FOR_EACH_GROUP = 50  # genes that get a gate, of each group
FOR_ALL_GROUPS = 1000  # at most, together
FEWEST_FOR_EACH = 10
CELLS_AT_ONCE = 20_000  # in a block of predictions


class Candidates(NamedTuple):
    """Log-normalised values of the genes that may get a gate, of all cells."""

    values: sp.csr_array  # (n_cells, n_candidates)
    places: np.ndarray  # of the candidates among all genes, ascending

    def take(self, cells: np.ndarray, genes: np.ndarray) -> sp.csr_array:
        """Some cells and some of the genes, which are given by their places among all."""
        return self.values[cells][:, np.searchsorted(self.places, genes)]


class CellFit(NamedTuple):
    """A model of all cells, and how one of fewer cells did on those that had no part in it."""

    model: LSPINClassifier
    genes: np.ndarray  # places of its genes among all
    candidates: Candidates
    held_out_accuracy: float  # not a number if no cells are held out
    n_held_out: int
    n_trained: int


def screen_genes(sums: Sums, groups: Groups, allowed: np.ndarray) -> np.ndarray:
    """Genes that may be markers: of each group those with the largest lead over most others, if it is one."""
    moments, found = rate_moments(sums), []
    most = min(FOR_EACH_GROUP, max(FOR_ALL_GROUPS // len(groups.names), FEWEST_FOR_EACH))
    everyone = np.arange(len(groups.names))
    for group in range(len(groups.names)):
        leads = np.where(allowed, lead(moments, group, everyone[everyone != group]), -np.inf)
        best = np.argsort(-leads, kind="stable")[:most]
        found.append(best[leads[best] > 0])
    genes = np.unique(np.concatenate(found))
    if not len(genes):
        raise ValueError("no gene has a higher mean in any of the groups than in the others")
    return genes


def fit_cells(
    expression: Expression,
    groups: Groups,
    sums: Sums,
    roles: Roles,
    allowed: np.ndarray,
    settings: dict[str, Any],
    rng: np.random.RandomState,
) -> CellFit:
    """Choose the price on some cells, judge it on others, then fit all; ``sums`` are of cells that train and not.

    The genes are screened by the cells that train alone, and again by all for the last fit.
    """
    n_groups, known = len(groups.names), groups.codes >= 0
    of_training = np.concatenate([np.arange(n_groups), np.full(n_groups, -1)])
    from_kept = screen_genes(sums.merge(of_training), groups, allowed)
    from_all = screen_genes(sums.merge(np.tile(np.arange(n_groups), 2)), groups, allowed)
    places = np.union1d(from_kept, from_all)
    candidates = Candidates(gather_genes(expression, places, shown=bool(settings.get("verbose"))), places)
    labels = groups.names[groups.codes]

    def fit(genes: np.ndarray, cells: np.ndarray, choosing: np.ndarray, **more: Any) -> LSPINClassifier:
        model = LSPINClassifier(**{**_defaults(expression.form, settings), **settings, **more})
        known_by = expression.genes[genes].astype(str)
        table, valid = (
            name_columns(_shape(candidates.take(which, genes), expression.form), known_by)
            for which in (cells, choosing)
        )
        return model.fit(table, labels[cells], eval_set=(valid, labels[choosing]) if len(choosing) else None)

    judged, accuracy = np.arange(0), float("nan")
    trained = draw_cells(groups.codes, known, MOST_TRAINED, rng)
    chosen: dict[str, Any] = {}
    if roles.judges.any():
        judged, choosing = (
            draw_cells(groups.codes, known & which, MOST_TRAINED // 4, rng)
            for which in (roles.judges, roles.chooses)
        )
        kept = draw_cells(groups.codes, known & roles.trains, MOST_TRAINED, rng)
        chooser = fit(from_kept, kept, choosing, n_members=1, bootstrap=False)
        accuracy = _score(chooser, _shape(candidates.take(judged, from_kept), expression.form), labels[judged])
        chosen = {"sparsity": chooser.sparsity_, "weight_decay": chooser.weight_decay_, "n_features": None}
    model = fit(from_all, trained, np.arange(0), **chosen)
    return CellFit(model, from_all, candidates, accuracy, len(judged), len(trained))


def _defaults(form: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A linear predictor, so that a cell's reasons add up; from counts it starts at naive Bayes."""
    is_linear = settings.get("hidden_layer_sizes", ()) == ()
    starts = {"anchor": "naive_bayes"} if is_linear and form != SCALED else {}
    return {"hidden_layer_sizes": (), "n_restarts": 1} | starts


def _shape(values: sp.csr_array, form: str) -> Any:
    """Scaled values have no zeros to leave out."""
    return values.toarray() if form == SCALED else values


def _score(model: LSPINClassifier, values: Any, labels: np.ndarray) -> float:
    return float((predict_cells(model, values).labels == labels).mean())


class CellPredictions(NamedTuple):
    """What a model says of cells."""

    labels: np.ndarray  # (n_cells,), text
    confidence: np.ndarray  # (n_cells,), probability of the label
    gates: sp.csr_array  # (n_cells, n_genes of the model), open ones only
    opened: sp.csr_array  # the same shape: share of the members that open a gate


def predict_cells(model: LSPINClassifier, values: Any, *, shown: bool = False) -> CellPredictions:
    """Labels, confidence and gates, some cells at a time."""
    starts = range(0, values.shape[0], CELLS_AT_ONCE)
    with Progress(len(starts), shown=shown, unit="blocks of cells predicted") as progress:
        blocks = (values[start : start + CELLS_AT_ONCE] for start in progress.follow(starts))
        return join_predictions([_predict_block(model, name_genes(model, block)) for block in blocks])


def _predict_block(model: LSPINClassifier, block: Any) -> CellPredictions:
    probabilities = model.predict_proba(block)
    gates = _keep_open(model.gates(block))
    opened = _keep_open(model.selection_frequency(block)) if len(model.members_) > 1 else (gates > 0) * 1.0
    best = probabilities.argmax(axis=1)
    return CellPredictions(model.classes_[best].astype(str), probabilities.max(axis=1), gates, opened)


def join_predictions(parts: list[CellPredictions]) -> CellPredictions:
    """Predictions for one part of the cells after the other."""
    labels, confidence, gates, opened = zip(*parts, strict=True)
    stacked = [sp.csr_array(sp.vstack(matrices, format="csr")) for matrices in (gates, opened)]
    return CellPredictions(np.concatenate(labels), np.concatenate(confidence), *stacked)


def name_genes(model: LSPINClassifier, block: Any) -> Any:
    """Dense values as a frame, whose names the model knows."""
    return block if sp.issparse(block) else pd.DataFrame(block, columns=model.feature_names_in_)


def _keep_open(gates: Any) -> sp.csr_array:
    gates = sp.csr_array(gates)
    gates.eliminate_zeros()
    return gates.astype(np.float32)

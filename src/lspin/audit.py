"""Does the mask itself carry the answer? What a selector's choice says beyond the values it lets through."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold

from lspin.survival.curves import martingale_residuals
from lspin.survival.scores import harrell_concordance
from lspin.survival.targets import read_survival
from lspin.tables import columns_of_inputs, is_frame, read_table

LEAST_GAIN = 0.02  # part of the target's entropy or variance; below it a gain is no leak (see docs/method.md)
N_FOLDS = 5
MOST_COPIES, MOST_ROWS = 10, 20_000  # of each row under other rows' masks, and of all rows an evaluator learns
N_EXCHANGES = 5
N_BINS = 4  # of a response, which take the place of classes where masks are exchanged
FLOOR = 1e-3  # no class is given a lower probability, so that a few rows cannot decide


class LeakageAudit(NamedTuple):
    """Scores of a model, of its selected values and of its mask: accuracy, R² of a response, or concordance."""

    own: float  # the model itself
    evaluator: float  # the selected values, by an evaluator that has never seen a mask with its own row (EVAL-X)
    mask: float  # the mask alone: which features are selected, without their values
    chance: float  # the commonest class, the mean response, or the toss of a coin
    exchanged_within: float | None  # the model under the gates of another row of the same class or quarter of y
    exchanged_across: float | None  # under the gates of a row of another class or quarter
    explained: float  # part of the entropy or variance of y that the selected values explain
    mask_gain: float  # how much more the values and the mask explain together
    mask_gain_error: float  # its standard error
    leaks: bool
    verdict: str


class _Task(NamedTuple):
    """What is to be predicted, and how rows are parted so that no row is judged by what it was used to learn."""

    score: Callable[[np.ndarray], float]  # of predictions of y
    score_name: str
    chance: float
    codes: np.ndarray  # (n,), class codes, the response, or how much sooner than expected an event came
    classes: np.ndarray | None  # by code; None for a response
    folds: list[tuple[np.ndarray, np.ndarray]]
    rng: np.random.Generator

    @property
    def n_outputs(self) -> int:
        return 1 if self.classes is None else len(self.classes)


def audit_leakage(estimator: Any, X: Any, y: Any, *, evaluator: Any = None, random_state: int = 0) -> LeakageAudit:
    """Ask whether a model's mask tells the answer that the selected values do not.

    Parameters
    ----------
    estimator
        A fitted model with ``predict(X)`` and ``selected(X)`` or ``gates(X)``; it is a classifier if it has
        ``classes_``, and predicts a risk if it has ``predict_survival_function``. Masks are exchanged if it also
        has ``gates(X)`` and ``predict_with_gates(X, gates)``.
    X, y
        Rows to judge by, the more the better, for the evaluators learn from them too (each row is judged by
        evaluators that learned from others). Rows the model was trained on may be among them: they flatter its
        own score, but that does not enter the verdict.
    evaluator
        A classifier or regressor to clone as the judge of the selected values, instead of boosted trees: one
        that reads not-a-number as hidden, such as :class:`lspin.baselines.EvalXClassifier`.
    random_state
        Of the folds and of the masks that evaluators learn with.

    Returns
    -------
    LeakageAudit
        With ``leaks`` and a ``verdict`` in one sentence.

    Notes
    -----
    A mask may well be informative: it may depend on a feature that is itself selected, or open a marker where the
    marker is high. It leaks only if it tells something beyond the values it shows. So an evaluator (boosted trees
    by default) learns to predict y from rows that wear the masks of other rows, drawn at random: no mask has
    anything to do with the row that wears it, and there is nothing to learn from it. This evaluator then judges
    each row's own selection, and a second model (always boosted trees) adds the prediction from the mask alone.
    If the two explain more of y than the first by over 0.02 (of its entropy or variance) and by over two standard
    errors, the mask leaks.

    Of times to an event, evaluators predict the martingale residual: 1 for an event, 0 without, less the number of
    events to be expected by then if all rows had the same hazard. The 0.02 are parts of its variance.

    """
    selected = _read_selection(estimator, X)
    task = _pose(estimator, y, len(selected), random_state)
    values, seen = _read_values(X, selected)
    from_values = _predict_from_values(task, values, seen, evaluator)
    from_mask = _predict_from_features(task, selected[:, selected.any(axis=0)].astype(np.float64))
    alone = _combine(task, from_values)
    both = _combine(task, np.hstack([from_values, from_mask]))
    total = _loss_of_chance(task)
    gains = (alone - both) / total
    scores = {
        "own": task.score(estimator.predict(X)),
        "evaluator": task.score(_decide(task, from_values)),
        "mask": task.score(_decide(task, from_mask)),
        "chance": task.chance,
    }
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    leaks = gain > LEAST_GAIN and gain > 2 * error
    return LeakageAudit(
        **scores,
        exchanged_within=_score_exchanged(estimator, X, task, same=True),
        exchanged_across=_score_exchanged(estimator, X, task, same=False),
        explained=float(1 - alone.mean() / total),
        mask_gain=gain,
        mask_gain_error=error,
        leaks=leaks,
        verdict=_word(scores, gain, error, leaks, task.score_name),
    )


def _word(scores: dict[str, float], gain: float, error: float, leaks: bool, name: str) -> str:
    finding = "The mask carries part of the answer" if leaks else "No leak found"
    return (
        f"{finding}: the mask explains {100 * gain:.1f} ± {100 * error:.1f} % of the target beyond what the "
        f"selected values do ({name} {scores['own']:.3f} of the model, {scores['evaluator']:.3f} from the "
        f"selected values, {scores['mask']:.3f} from the mask alone, {scores['chance']:.3f} by chance)."
    )


# Reading ----------------------------------------------------------------------------------------------------


def _read_selection(estimator: Any, X: Any) -> np.ndarray:
    chosen = estimator.selected(X) if hasattr(estimator, "selected") else _dense(estimator.gates(X)) > 0
    selected = _dense(chosen).astype(bool)
    if selected.shape != X.shape:
        raise ValueError(f"the model selects from a table of the shape {selected.shape}, but X has {X.shape}")
    return selected


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def _pose(estimator: Any, y: Any, n_rows: int, random_state: int) -> _Task:
    rng = np.random.default_rng(random_state)
    if hasattr(estimator, "predict_survival_function"):
        return _pose_survival(y, n_rows, random_state, rng)
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows, but y has the shape {y.shape}")
    values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(values) < 2:
        raise ValueError(f"all {n_rows} rows have the same y: there is nothing to tell")
    if not hasattr(estimator, "classes_"):
        folds = KFold(min(N_FOLDS, n_rows), shuffle=True, random_state=random_state).split(y)
        response = y.astype(np.float64)
        return _Task(lambda given: float(r2_score(y, given)), "R²", 0.0, response, None, list(folds), rng)
    if counts.min() < 2:
        rarest = values[counts.argmin()]
        raise ValueError(f"the class {rarest!r} has one row only; the audit needs two of each, one to learn from")
    n_folds = min(N_FOLDS, int(counts.min()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(codes, codes)
    return _Task(
        lambda given: float(accuracy_score(y, given)),
        "accuracy",
        float(counts.max() / n_rows),
        codes,
        values,
        list(folds),
        rng,
    )


def _pose_survival(y: Any, n_rows: int, random_state: int, rng: np.random.Generator) -> _Task:
    survival = read_survival(y)
    if len(survival.time) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(survival.time)}")
    folds = KFold(min(N_FOLDS, n_rows), shuffle=True, random_state=random_state).split(survival.time)
    return _Task(
        lambda risk: harrell_concordance(survival, risk=risk).c_index,
        "concordance",
        0.5,
        martingale_residuals(survival),
        None,
        list(folds),
        rng,
    )


def _read_values(X: Any, selected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns that some row selects, and which of them each row shows."""
    table, levels = read_table(X if is_frame(X) or sp.issparse(X) else np.asarray(X, np.float64))
    column_of = columns_of_inputs(selected.shape[1], levels)
    kept = np.flatnonzero(np.isin(column_of, np.flatnonzero(selected.any(axis=0))))
    shown = selected if table.missing is None else selected & ~_dense(table.missing)
    numbers = sp.csr_array(table.values)[:, kept].toarray() if sp.issparse(table.values) else table.values[:, kept]
    return numbers, shown[:, column_of[kept]]


# Evaluators -------------------------------------------------------------------------------------------------


def _predict_from_values(task: _Task, values: np.ndarray, seen: np.ndarray, evaluator: Any) -> np.ndarray:
    """Judge each row's own selection by an evaluator that learned from other rows, under yet other rows' masks."""
    predicted = np.empty((len(values), task.n_outputs))
    for learned, judged in task.folds:
        n_copies = max(1, min(MOST_COPIES, MOST_ROWS // len(learned)))
        rows = np.tile(learned, n_copies)
        masks = seen[task.rng.choice(learned, len(rows))]
        predicted[judged] = _learn_and_predict(
            task,
            np.where(masks, values[rows], np.nan),
            rows,
            np.where(seen[judged], values[judged], np.nan),
            evaluator,
        )
    return predicted


def _predict_from_features(task: _Task, features: np.ndarray) -> np.ndarray:
    predicted = np.empty((len(features), task.n_outputs))
    for learned, judged in task.folds:
        predicted[judged] = _learn_and_predict(task, features[learned], learned, features[judged])
    return predicted


def _learn_and_predict(
    task: _Task, inputs: np.ndarray, rows: np.ndarray, judged: np.ndarray, evaluator: Any = None
) -> np.ndarray:
    """Log-probabilities of the classes, or the response; not-a-number is a hidden value."""
    known = ~np.isnan(inputs).all(axis=0)  # the trees refuse a column that is always hidden, or no column
    inputs, judged = (np.column_stack([np.zeros(len(part)), part[:, known]]) for part in (inputs, judged))
    if evaluator is None:
        kind = HistGradientBoostingRegressor if task.classes is None else HistGradientBoostingClassifier
        evaluator = kind(early_stopping=False, random_state=0)
    fitted = clone(evaluator).fit(inputs, task.codes[rows])
    if task.classes is None:
        return fitted.predict(judged)[:, None]
    return np.log(np.maximum(fitted.predict_proba(judged), FLOOR))


def _decide(task: _Task, predicted: np.ndarray) -> np.ndarray:
    """Predictions as the model itself makes them."""
    return predicted[:, 0] if task.classes is None else task.classes[predicted.argmax(axis=1)]


def _combine(task: _Task, predictions: np.ndarray) -> np.ndarray:
    """Loss of each row when a linear model, learned on other rows, weighs the given predictions."""
    losses = np.empty(len(predictions))
    for learned, judged in task.folds:
        target = task.codes[judged]
        if task.classes is None:
            model = LinearRegression().fit(predictions[learned], task.codes[learned])
            losses[judged] = (model.predict(predictions[judged]) - target) ** 2
        else:
            model = LogisticRegression(max_iter=1000).fit(predictions[learned], task.codes[learned])
            given = model.predict_proba(predictions[judged])[np.arange(len(judged)), target]
            losses[judged] = -np.log(np.maximum(given, FLOOR))
    return losses


def _loss_of_chance(task: _Task) -> float:
    """Variance of the response, or entropy of the classes."""
    if task.classes is None:
        return float(np.var(task.codes))
    shares = np.bincount(task.codes) / len(task.codes)
    return float(-(shares * np.log(shares)).sum())


# Exchanged masks --------------------------------------------------------------------------------------------


def _score_exchanged(estimator: Any, X: Any, task: _Task, *, same: bool) -> float | None:
    """The model's score when rows wear the gates of rows of the same group, or of another one."""
    if not (hasattr(estimator, "gates") and hasattr(estimator, "predict_with_gates")):
        return None
    groups = task.codes
    if task.classes is None:
        groups = np.searchsorted(np.quantile(groups, np.arange(1, N_BINS) / N_BINS), groups)
    if len(np.unique(groups)) < 2:
        return None
    gates = _dense(estimator.gates(X))
    draws = [draw_donors(groups, task.rng, same=same) for _ in range(N_EXCHANGES)]
    return float(np.mean([task.score(estimator.predict_with_gates(X, gates[donors])) for donors in draws]))


def draw_donors(groups: np.ndarray, rng: np.random.Generator, *, same: bool) -> np.ndarray:
    """For each row a random other row of the same group (itself if it is alone), or of another group."""
    donors = np.empty(len(groups), int)
    for group in np.unique(groups):
        inside, outside = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        order = rng.permutation(inside)
        donors[order] = np.roll(order, 1) if same else rng.choice(outside, len(inside))
    return donors

"""Check of the mask: does the choice of features tell more about the target than the values of these features?"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from lspin.fitting.progress import Progress
from lspin.tables.reading import as_numbers, columns_of_inputs, read_table
from lspin.targets import Kind, kind_of

LEAST_GAIN = 0.02  # part of the target's entropy or variance; below it a gain is no leak (see docs/method.md)
FEWEST_ROWS = 100  # trees with leaves of 20 rows learn little from fewer
MOST_HIDDEN = 0.05  # gain that chance may hide; above it no verdict is given
AS_GOOD = 0.95  # part of the model's gain over chance that the mask alone has where the two cannot be told apart
LEAST_ABOVE_CHANCE = 0.05  # of the mask's score, from which this counts
N_FOLDS = 5
MOST_COLUMNS = 200  # that an evaluator looks at: those most related to y in the rows it learns from
MOST_COPIES, MOST_ROWS = 10, 20_000  # of each row under other rows' masks, and of all rows an evaluator learns
LIGHT = MOST_ROWS * MOST_COLUMNS  # rows, columns and classes (multiplied) that trees learn from at the most
HEAVY = 500_000  # the same, from which they get fewer rounds, each with a longer step,
FEWEST_LEARNED = 1000  # rows that a tree takes as long as fewer
N_ROUNDS, FEWEST_ROUNDS = 100, 25  # of boosting
ROUNDS_RATE = 10.0  # rounds times learning rate
N_EXCHANGES = 5
N_BINS = 4  # of a response, which take the place of classes where masks are exchanged
FLOOR = 1e-3  # no class is given a lower probability, so that a few rows cannot decide
SAME = "The mask is the same for all rows: which features are used tells nothing about the target."


class LeakageAudit(NamedTuple):
    """Scores of a model, of its selected values and of its mask: accuracy, R² or concordance."""

    own: float  # the model itself
    evaluator: float  # the selected values, judged by an evaluator trained on other rows' masks (EVAL-X)
    mask: float  # the mask alone: which features are selected, without their values
    chance: float  # the commonest class, the mean response, or the toss of a coin
    exchanged_within: float | None  # the model under the gates of another row of the same class or quarter of y
    exchanged_across: float | None  # under the gates of a row of another class or quarter
    explained: float  # part of the entropy or variance of y that the selected values explain
    mask_gain: float  # how much more the values and the mask explain together
    mask_gain_error: float  # its standard error
    leaks: bool
    verdict: str
    settled: bool = True  # whether there is evidence enough to say that it does not leak


class _Question(NamedTuple):
    """What is to be predicted, and how rows are parted so that no row is judged by what it was used to learn."""

    kind: Kind
    tidy: np.ndarray  # (n,), the target as users see it
    codes: np.ndarray  # (n,), what evaluators predict: class codes, the response, or martingale residuals
    classes: np.ndarray | None  # by code; None for a number
    folds: list[tuple[np.ndarray, np.ndarray]]
    rng: np.random.Generator
    progress: Progress  # moves on with each evaluator

    @property
    def n_outputs(self) -> int:
        return 1 if self.classes is None else len(self.classes)

    def score(self, predicted: np.ndarray) -> float:
        return self.kind.grade(self.tidy, predicted)


def audit_leakage(
    estimator: Any, X: Any, y: Any, *, evaluator: Any = None, random_state: int = 0, verbose: int = 0
) -> LeakageAudit:
    """Test whether a model's mask predicts the target beyond what the selected values do.

    Parameters
    ----------
    estimator
        A fitted model with ``predict(X)`` and ``selected(X)`` or ``gates(X)``; it is a classifier if it has
        ``classes_``, and predicts a risk if it has ``predict_survival_function``. Masks are exchanged if it also
        has ``gates(X)`` and ``predict_with_gates(X, gates)``.
    X, y
        Rows to audit on; more rows give a sharper result. The evaluators are cross-validated on them. Training
        rows of the model are allowed: they make its own score too high, but the verdict does not use that score.
    evaluator
        Classifier or regressor that judges the selected values, instead of boosted trees. It must read NaN as a
        hidden value, as :class:`lspin.baselines.EvalXClassifier` does. It is cloned.
    random_state
        Seed of the folds and of the masks that evaluators are trained with.
    verbose
        1 shows a progress bar.

    Returns
    -------
    LeakageAudit
        Its field ``leaks`` is the result, ``settled`` says whether there is evidence enough for a no, and
        ``verdict`` says both in one sentence.

    Notes
    -----
    An informative mask is not yet a leak: a mask may depend on a feature that is itself selected, for example open
    a marker where the marker is high. A mask leaks if it tells something about y that the selected values do not.

    An evaluator (boosted trees by default) is trained to predict y from rows with the masks of other rows, drawn
    at random. Such a mask says nothing about its row, so the evaluator cannot learn from masks. It then predicts
    each row from its own selected values. A second model (always boosted trees) predicts y from the mask alone. If
    both together explain more of y than the first alone, by more than 0.02 of its entropy or variance and by more
    than two standard errors, the mask leaks. There is no verdict with fewer than 100 rows, if a gain of 0.05 is
    within two standard errors, or if the mask alone predicts as well as the model.

    This is about the mask. Columns that give the answer away are no leak in this sense: see
    :func:`lspin.checks.check_table`.

    Of more than 200 columns, an evaluator looks at those most related to y in the rows it learns from. Where these
    columns have many classes to tell, it learns from fewer copies of the rows, in fewer and longer rounds.

    For survival times, the evaluators predict the martingale residual: the number of events of a row (0 or 1)
    minus the number expected by its time if all rows had the same hazard. The 0.02 refer to its variance.
    """
    selected = _read_selection(estimator, X)
    question = _pose(estimator, y, len(selected), random_state, shows_progress=bool(verbose))
    values, seen = _read_values(X, selected)
    with question.progress:
        from_values = _predict_from_values(question, values, seen, evaluator)
        from_mask = _predict_from_features(question, selected[:, selected.any(axis=0)].astype(np.float64))
    alone = _combine(question, from_values)
    varies = bool((selected != selected[0]).any())  # a mask that is the same for all rows tells nothing
    both = _combine(question, np.hstack([from_values, from_mask])) if varies else alone
    total = _loss_of_chance(question)
    gains = (alone - both) / total
    scores = {
        "own": question.score(estimator.predict(X)),
        "evaluator": question.score(_decide(question, from_values)),
        "mask": question.score(_decide(question, from_mask)),
        "chance": question.kind.chance(question.tidy),
    }
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    leaks = gain > LEAST_GAIN and gain > 2 * error
    doubt = _find_doubt(scores, gain, error, len(selected)) if varies and not leaks else ""
    return LeakageAudit(
        **scores,
        exchanged_within=_score_exchanged(estimator, X, question, same=True),
        exchanged_across=_score_exchanged(estimator, X, question, same=False),
        explained=float(1 - alone.mean() / total),
        mask_gain=gain,
        mask_gain_error=error,
        leaks=leaks,
        verdict=_word(scores, gain, error, question.kind.score_name, leaks=leaks, doubt=doubt) if varies else SAME,
        settled=not doubt,
    )


def _find_doubt(scores: dict[str, float], gain: float, error: float, n_rows: int) -> str:
    """Why the evidence is too thin to say that a mask does not leak; nothing if it is not."""
    if n_rows < FEWEST_ROWS:
        return f"{n_rows} rows are too few for the evaluators to learn from"
    if gain + 2 * error > MOST_HIDDEN:
        return f"with so few rows a leak of up to {100 * (gain + 2 * error):.0f} % of the target may be hidden"
    own, mask = (scores[name] - scores["chance"] for name in ("own", "mask"))
    if own > 0 and mask >= AS_GOOD * own and mask > LEAST_ABOVE_CHANCE:
        return (
            "the mask alone predicts as well as the model, so it is not known which of the two the answer is from"
        )
    return ""


def _word(scores: dict[str, float], gain: float, error: float, name: str, *, leaks: bool, doubt: str) -> str:
    finding = "The mask adds nothing to the selected values"
    if leaks:
        finding = "The mask carries part of the answer"
    elif doubt:
        finding = f"Too little evidence for a verdict on the mask: {doubt}"
    return (
        f"{finding}: the mask explains {_word_gain(gain, error)} of the target beyond what the "
        f"selected values do ({name} {scores['own']:.3f} of the model, {scores['evaluator']:.3f} from the "
        f"selected values, {scores['mask']:.3f} from the mask alone, {scores['chance']:.3f} by chance)."
    ).replace("-0.000", "0.000")


def _word_gain(gain: float, error: float) -> str:
    """A share with its standard error; what would be rounded to nothing is said to be little."""
    if max(abs(gain), error) < 0.0005:
        return "less than 0.1 %"
    if gain <= 0:
        return "nothing"
    return f"{100 * gain:.1f} ± {100 * error:.1f} %"


# Reading ----------------------------------------------------------------------------------------------------


def _read_selection(estimator: Any, X: Any) -> np.ndarray:
    chosen = estimator.selected(X) if hasattr(estimator, "selected") else _dense(estimator.gates(X)) > 0
    selected = _dense(chosen).astype(bool)
    if selected.shape != X.shape:
        raise ValueError(f"the model selects from a table of the shape {selected.shape}, but X has {X.shape}")
    return selected


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def _pose(estimator: Any, y: Any, n_rows: int, random_state: int, *, shows_progress: bool) -> _Question:
    kind = kind_of(estimator)
    tidy = kind.tidy(y)
    if tidy.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows, but y has the shape {tidy.shape}")
    values, counts = np.unique(tidy, return_counts=True)
    if len(values) < 2:
        raise ValueError(f"all {n_rows} rows have the same y: there is nothing to tell")
    codes, rng = kind.evaluand(tidy), np.random.default_rng(random_state)
    if not kind.has_classes:
        folds = list(KFold(min(N_FOLDS, n_rows), shuffle=True, random_state=random_state).split(codes))
        return _Question(kind, tidy, codes, None, folds, rng, _show_progress(len(folds), shown=shows_progress))
    if counts.min() < 2:
        rarest = values[counts.argmin()]
        raise ValueError(f"the class {rarest!r} has one row only; the audit needs two of each, one to learn from")
    n_folds = min(N_FOLDS, int(counts.min()))
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(codes, codes))
    return _Question(kind, tidy, codes, values, folds, rng, _show_progress(n_folds, shown=shows_progress))


def _show_progress(n_folds: int, *, shown: bool) -> Progress:
    """A part for each evaluator, of values and of masks."""
    return Progress(2 * n_folds, shown=shown, unit="evaluators of the mask")


def _read_values(X: Any, selected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns that some row selects, and which of them each row shows."""
    table, levels = read_table(as_numbers(X))
    column_of = columns_of_inputs(selected.shape[1], levels)
    kept = np.flatnonzero(np.isin(column_of, np.flatnonzero(selected.any(axis=0))))
    shown = selected if table.missing is None else selected & ~_dense(table.missing)
    numbers = sp.csr_array(table.values)[:, kept].toarray() if sp.issparse(table.values) else table.values[:, kept]
    return numbers, shown[:, column_of[kept]]


# Evaluators -------------------------------------------------------------------------------------------------


def _predict_from_values(question: _Question, values: np.ndarray, seen: np.ndarray, evaluator: Any) -> np.ndarray:
    """Judge each row's own selection by an evaluator that learned from other rows, under yet other rows' masks."""
    predicted = np.empty((len(values), question.n_outputs))
    for learned, judged in question.folds:
        kept = _choose_columns(question, np.where(seen[learned], values[learned], np.nan), learned)
        shown, numbers = seen[:, kept], values[:, kept]
        most_rows = min(MOST_ROWS, LIGHT // max(question.n_outputs * numbers.shape[1], 1))
        n_copies = max(1, min(MOST_COPIES, most_rows // len(learned)))
        rows = np.tile(learned, n_copies)
        masks = shown[question.rng.choice(learned, len(rows))]
        predicted[judged] = _learn_and_predict(
            question,
            np.where(masks, numbers[rows], np.nan),
            rows,
            np.where(shown[judged], numbers[judged], np.nan),
            evaluator,
        )
    return predicted


def _predict_from_features(question: _Question, features: np.ndarray) -> np.ndarray:
    predicted = np.empty((len(features), question.n_outputs))
    for learned, judged in question.folds:
        kept = _choose_columns(question, features[learned], learned)
        inputs = features[:, kept]
        predicted[judged] = _learn_and_predict(question, inputs[learned], learned, inputs[judged])
    return predicted


def _learn_and_predict(
    question: _Question, inputs: np.ndarray, rows: np.ndarray, judged: np.ndarray, evaluator: Any = None
) -> np.ndarray:
    """Log-probabilities of the classes, or the response; not-a-number is a hidden value."""
    known = ~np.isnan(inputs).all(axis=0)  # the trees refuse a column that is always hidden, or no column
    inputs, judged = (np.column_stack([np.zeros(len(part)), part[:, known]]) for part in (inputs, judged))
    fitted = clone(evaluator or _make_trees(question, inputs)).fit(inputs, question.codes[rows])
    question.progress.finish_fit()
    if question.classes is None:
        return fitted.predict(judged)[:, None]
    return np.log(np.maximum(fitted.predict_proba(judged), FLOOR))


def _make_trees(question: _Question, inputs: np.ndarray) -> Any:
    """Boosted trees: a round has a tree for each class, so many columns and classes leave fewer rounds."""
    if question.classes is None:
        return HistGradientBoostingRegressor(early_stopping=False, random_state=0)
    work = inputs.shape[1] * len(question.classes) * max(len(inputs), FEWEST_LEARNED)
    n_rounds = int(np.clip(N_ROUNDS * HEAVY / work, FEWEST_ROUNDS, N_ROUNDS))
    return HistGradientBoostingClassifier(
        max_iter=n_rounds, learning_rate=ROUNDS_RATE / n_rounds, early_stopping=False, random_state=0
    )


def _choose_columns(question: _Question, inputs: np.ndarray, rows: np.ndarray) -> np.ndarray | slice:
    """Of very many columns, those most related to y in the rows to learn from; hidden values are at the mean."""
    if inputs.shape[1] <= MOST_COLUMNS:
        return slice(None)
    codes = question.codes[rows]
    goals = codes[:, None] if question.classes is None else codes[:, None] == np.arange(len(question.classes))
    goals = goals - goals.mean(axis=0)
    known = ~np.isnan(inputs)
    filled = np.where(known, inputs, 0.0)
    filled = np.where(known, filled - filled.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
    spread = np.sqrt((filled**2).sum(axis=0))[:, None] * np.sqrt((goals**2).sum(axis=0))
    related = np.divide(np.abs(filled.T @ goals), spread, out=np.zeros(spread.shape), where=spread > 0)
    return np.sort(np.argsort(-related.max(axis=1), kind="stable")[:MOST_COLUMNS])


def _decide(question: _Question, predicted: np.ndarray) -> np.ndarray:
    """Predictions as the model itself makes them."""
    return predicted[:, 0] if question.classes is None else question.classes[predicted.argmax(axis=1)]


def _combine(question: _Question, predictions: np.ndarray) -> np.ndarray:
    """Loss of each row when a linear model, learned on other rows, weighs the given predictions."""
    losses = np.empty(len(predictions))
    for learned, judged in question.folds:
        target = question.codes[judged]
        if question.classes is None:
            model = LinearRegression().fit(predictions[learned], question.codes[learned])
            losses[judged] = (model.predict(predictions[judged]) - target) ** 2
        else:
            model = LogisticRegression(max_iter=1000).fit(predictions[learned], question.codes[learned])
            given = model.predict_proba(predictions[judged])[np.arange(len(judged)), target]
            losses[judged] = -np.log(np.maximum(given, FLOOR))
    return losses


def _loss_of_chance(question: _Question) -> float:
    """Variance of the response, or entropy of the classes."""
    if question.classes is None:
        return float(np.var(question.codes))
    shares = np.bincount(question.codes) / len(question.codes)
    return float(-(shares * np.log(shares)).sum())


# Exchanged masks --------------------------------------------------------------------------------------------


def _score_exchanged(estimator: Any, X: Any, question: _Question, *, same: bool) -> float | None:
    """The model's score when rows wear the gates of rows of the same group, or of another one."""
    if not (hasattr(estimator, "gates") and hasattr(estimator, "predict_with_gates")):
        return None
    groups = question.codes
    if question.classes is None:
        groups = np.searchsorted(np.quantile(groups, np.arange(1, N_BINS) / N_BINS), groups)
    if len(np.unique(groups)) < 2:
        return None
    gates = _dense(estimator.gates(X))
    draws = [draw_donors(groups, question.rng, same=same) for _ in range(N_EXCHANGES)]
    return float(np.mean([question.score(estimator.predict_with_gates(X, gates[donors])) for donors in draws]))


def draw_donors(groups: np.ndarray, rng: np.random.Generator, *, same: bool) -> np.ndarray:
    """For each row, draw another row of the same group (itself if it is alone), or a row of another group.

    Parameters
    ----------
    groups
        Group of each row, shape ``(n,)``.
    rng
        Generator of random numbers.
    same
        Whether to draw from the same group.

    Returns
    -------
    numpy.ndarray
        Position of the drawn row, for each row.
    """
    donors = np.empty(len(groups), int)
    for group in np.unique(groups):
        inside, outside = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        order = rng.permutation(inside)
        donors[order] = np.roll(order, 1) if same else rng.choice(outside, len(inside))
    return donors

"""How well a model does on rows it has not seen, with intervals, next to familiar models on the same rows."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, train_test_split
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from lspin.fitting.ensemble import wanting_whole_fits
from lspin.fitting.progress import Progress
from lspin.survival import kaplan_meier
from lspin.tables.reading import as_numbers, columns_of_inputs, read_table
from lspin.targets import Kind
from lspin.targets.calibration import CalibrationScore
from lspin.targets.intervals import SMALLEST_BIN, Interval
from lspin.targets.kind import Forecast, Judge, Metric, Peer
from lspin.targets.survival_judge import TimesJudge

TEST_SHARE = 0.25
N_PARTS = 4  # one of which is held out, where rows of one patient stay together
FEWEST_ROWS = 20  # below it nothing can be held out
N_DRAWS = 500  # of the held-out rows, for the intervals
MOST_COLUMNS = 200  # that familiar models look at: those most related to the target in the training rows
NETWORK_DECAY = 3.0  # of the network that survival models are compared with
N_SURVIVAL = 3  # models that a survival model is compared with


@dataclass(frozen=True)
class Contender:
    """A model with what it says of the held-out rows."""

    name: str
    note: str
    n_features: float | None  # that the prediction for one row uses, the median
    forecast: Forecast


@dataclass(frozen=True)
class Comparison:
    """The held-out rows, the scores of each contender there, and the calibration of the first one."""

    how: str  # which rows were judged, in words
    is_copy: bool  # whether a copy of the model was judged, which has not seen the held-out rows
    n_train: int
    n_test: int
    metrics: list[Metric]
    contenders: list[Contender]  # the model itself first
    scores: list[dict[str, Interval]]  # one for each contender
    judge: Judge
    calibration: dict[str, Any]  # predicted, observed, lower, upper, size of each bin; and what they are
    calibration_scores: list[CalibrationScore]
    curves: list[dict[str, Any]]  # survival by thirds of the risk

    @property
    def is_constant(self) -> bool:
        """Whether the model predicts the same for every row."""
        return bool(np.ptp(self.contenders[0].forecast.predicted, axis=0).max() == 0)


class Parts(NamedTuple):
    """Rows to learn from and rows to judge by, with tidy targets."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def compare(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    *,
    eval_set: tuple[Any, np.ndarray] | None,
    random_state: int,
    patients: np.ndarray | None = None,
    begin: Callable[[str], None] = lambda what: None,
    verbose: int = 0,
) -> Comparison | str:
    """Judge a fitted estimator and familiar models on held-out rows, or say why that cannot be done.

    Parameters
    ----------
    estimator
        Fitted on ``X`` and ``y``.
    X, y
        Its training rows, with a tidy target.
    eval_set
        Rows that it has not seen. Without them a quarter of ``X`` is set aside, and a copy of the estimator
        learns from the others: same settings, with the sparsity and the weight decay that were chosen. A copy of
        a model of groups finds groups and features again, as many features for the median row.
    random_state
        Of the split, the familiar models and the draws behind the intervals.
    patients
        Whose row each is; rows of one patient are set aside together.
    begin
        Called with what is done next.
    verbose
        1 to show how far the fits are, with the time left.

    """
    if eval_set is not None:
        if len(eval_set[1]) < SMALLEST_BIN:
            return f"With {len(eval_set[1])} held-out rows there are too few to judge by them."
        parts, model = Parts(X, y, *eval_set), estimator
        how = (
            f"Judged on {len(parts.y_test)} rows that were given apart and took no part in the fit; "
            f"the familiar models learned from the {len(y)} training rows."
        )
    else:
        begin("fitting a copy of the model without a quarter of the rows, to judge it by these")
        set_aside = _set_aside(estimator, X, y, random_state, patients, verbose)
        if isinstance(set_aside, str):
            return set_aside
        parts, model = set_aside
        how = (
            f"Judged on {len(parts.y_test)} of the {len(y)} rows, drawn at random and set aside"
            f"{', all rows of one name together' if _has_several(patients) else ''}. "
            f"{_describe_copy(estimator, model, len(parts.y))}, as did the familiar models. All that follows is "
            "about the model itself."
        )
    begin("fitting familiar models to the same rows")
    return _judge(model, estimator.kind_, parts, random_state, how=how, is_copy=eval_set is None, verbose=verbose)


def _judge(
    model: Any, kind: Kind, parts: Parts, random_state: int, *, how: str, is_copy: bool, verbose: int
) -> Comparison:
    judge = kind.judge(parts.y, parts.y_test)
    rng = np.random.default_rng(random_state)
    draws = [rng.integers(0, len(parts.y_test), len(parts.y_test)) for _ in range(N_DRAWS)]
    contenders, scores = [], []
    n_models = 1 + (N_SURVIVAL if isinstance(judge, TimesJudge) else len(kind.peers(parts.y, random_state)))
    with threadpool_limits(1), warnings.catch_warnings():  # small problems, on which threads only wait
        warnings.simplefilter("ignore", ConvergenceWarning)
        with Progress(n_models, shown=verbose > 0, unit="models judged") as progress:
            for contender in progress.follow(_contend(model, kind, judge, parts, random_state)):
                contenders.append(contender)
                scores.append(judge.score(contender.forecast, draws))
    return Comparison(
        how=how,
        is_copy=is_copy,
        n_train=len(parts.y),
        n_test=len(parts.y_test),
        metrics=judge.metrics,
        contenders=contenders,
        scores=scores,
        judge=judge,
        calibration=judge.calibrate(contenders[0].forecast),
        calibration_scores=judge.check_calibration(contenders[0].forecast),
        curves=judge.list_curves(contenders[0].forecast),
    )


# The rows and the copy of the model --------------------------------------------------------------------------


def _set_aside(
    estimator: Any, X: Any, y: np.ndarray, random_state: int, patients: np.ndarray | None, verbose: int
) -> tuple[Parts, Any] | str:
    """Rows set aside and a copy of the model that has not seen them, or why that cannot be done."""
    if len(y) < FEWEST_ROWS:
        return f"With {len(y)} rows there are too few to set some aside and judge by them."
    kind: Kind = estimator.kind_
    chosen, held = _split(kind.strata(kind.read_known(kind.entries(y, trains=False))), random_state, patients)
    parts = Parts(*(_safe_indexing(part, rows) for rows in (chosen, held) for part in (X, y)))
    try:
        model = _refit(estimator, parts, chosen, n_features=_median_of_members(estimator, X), verbose=verbose)
    except ValueError as error:  # a class or all events may be among the rows set aside
        return f"No rows could be set aside to judge by: {error}."
    return parts, model


def _has_several(patients: np.ndarray | None) -> bool:
    """Whether some patient has more than one row."""
    return patients is not None and len(np.unique(patients)) < len(patients)


def _split(
    strata: np.ndarray, random_state: int, patients: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the rows to learn from and of those held out; strata keep their shares where they can."""
    if patients is not None and _has_several(patients) and len(np.unique(patients)) >= N_PARTS:
        splitter = StratifiedGroupKFold(N_PARTS, shuffle=True, random_state=random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class of few rows is in few parts
            return next(iter(splitter.split(strata, strata, patients)))
    counts = np.unique(strata, return_counts=True)[1]
    can_keep = len(counts) > 1 and counts.min() >= 2 and len(counts) <= TEST_SHARE * len(strata)
    return train_test_split(
        np.arange(len(strata)),
        test_size=TEST_SHARE,
        stratify=strata if can_keep else None,
        random_state=random_state,
    )


def _describe_copy(estimator: Any, copy: Any, n_rows: int) -> str:
    kept = f"and the sparsity found for all rows, {estimator.sparsity_:.3g}"
    if estimator.start_ == "groups":
        kept = f"which finds groups and {'' if copy.n_features is None else 'about as many '}features again"
    return f"A copy of the model with the same settings ({kept}) learned from the other {n_rows}"


def _refit(estimator: Any, parts: Parts, chosen: np.ndarray, *, n_features: float, verbose: int) -> Any:
    """A copy fitted to some rows; of a model of groups, with the number of features of the median row."""
    copy = clone(estimator).set_params(verbose=verbose)
    if estimator.start_ == "networks":
        settings = {"sparsity": estimator.sparsity_, "n_features": None, "weight_decay": estimator.weight_decay_}
        copy.set_params(start="networks", **settings)
    else:
        # Left to itself, the choice between 5 and 30 features of a table may fall otherwise on fewer rows.
        if 0 < round(n_features) < estimator.n_features_in_ and copy.n_features is None:
            copy.set_params(n_features=round(n_features))
        if len(parts.y) >= len(estimator.members_[0].encoding.owners):  # else too few rows are left for groups
            copy.set_params(start="groups")
    if not isinstance(copy.affinity, str) and not callable(copy.affinity):
        copy.set_params(affinity=np.asarray(copy.affinity)[np.ix_(chosen, chosen)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of all rows has said it
        with wanting_whole_fits():
            return copy.fit(parts.X, parts.y)


# Contenders --------------------------------------------------------------------------------------------------


def _contend(model: Any, kind: Kind, judge: Judge, parts: Parts, random_state: int) -> Iterator[Contender]:
    """The model, then familiar models of the same kind of target."""
    yield Contender("this model", "", _median_used(model, parts.X_test), judge.forecast(model, parts.X_test))
    if isinstance(judge, TimesJudge):  # scikit-learn has no survival models, but this package has
        yield from _contend_survival(judge, parts, random_state)
        return
    train, test, owners = _number_inputs(parts, kind)
    for peer in kind.peers(parts.y, random_state):
        fitted = _fit_peer(peer, train, parts.y)
        used = _find_used(fitted[-1]) if peer.is_linear else np.ones(len(owners), bool)
        n_used = len(np.unique(owners[used]))
        yield Contender(peer.name, peer.note, n_used, judge.forecast(fitted, test))


def _fit_peer(peer: Peer, train: np.ndarray, y: np.ndarray) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not peer.is_linear:
        return peer.model.fit(train, y)
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), peer.model).fit(train, y)


def _find_used(model: Any) -> np.ndarray:
    """Whether an input has a coefficient that is not 0, of one linear model or of one for each class."""
    models = getattr(model, "estimators_", [model])
    coefficients = np.vstack([np.atleast_2d(part.coef_) for part in models])
    return np.any(coefficients != 0, axis=0)


def _contend_survival(judge: TimesJudge, parts: Parts, random_state: int) -> Iterator[Contender]:
    """Cox regression with an L1 penalty, a network of all features, and one survival curve for everyone."""
    from lspin.baselines import CoxLasso, DeepSurv

    lasso = CoxLasso(random_state=random_state)
    network = DeepSurv(weight_decay=NETWORK_DECAY, random_state=random_state)
    notes = {"L1-Cox regression": "strength by cross-validation", "network": f"weight decay {NETWORK_DECAY:g}"}
    for model, (name, note) in zip((lasso, network), notes.items(), strict=True):
        with wanting_whole_fits():
            fitted = model.fit(parts.X, parts.y)
        yield Contender(name, note, _median_used(fitted, parts.X_test), judge.forecast(fitted, parts.X_test))
    everyone = kaplan_meier(parts.y).survival(judge.times)
    shared = np.tile(everyone, (len(parts.y_test), 1))
    yield Contender("Kaplan-Meier", "one curve for everyone", 0, Forecast(np.zeros(len(shared)), shared))


def _median_used(model: Any, X: Any) -> float:
    """How many features the prediction for the median row uses; of several members, at least half."""
    several = len(getattr(model, "members_", ())) > 1
    used = model.selection_frequency(X) >= 0.5 if several else model.selected(X)
    return float(np.median(np.asarray(used.sum(axis=1)).ravel()))


def _median_of_members(model: Any, X: Any) -> float:
    """How many features a member uses for the median row."""
    return float(np.median(np.asarray(model.selection_frequency(X).sum(axis=1)).ravel()))


def _number_inputs(parts: Parts, kind: Kind) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the inputs most related to the target in the training rows, not-a-number where missing.

    A category is several inputs; the column of each is told too.
    """
    from sklearn.feature_selection import f_classif, f_regression

    X, X_test = (as_numbers(part) for part in parts[::2])
    train, levels = read_table(X)
    test, _ = read_table(X_test, levels)
    kept = np.arange(train.values.shape[1])
    if len(kept) > MOST_COLUMNS:
        relate = f_classif if kind.has_classes else f_regression
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # columns that do not vary
            strengths = np.nan_to_num(relate(train.values, parts.y)[0], nan=-1.0)
        kept = np.sort(np.argsort(-strengths, kind="stable")[:MOST_COLUMNS])
    owners = columns_of_inputs(X.shape[1], levels)
    return _fill(train, kept, owners), _fill(test, kept, owners), owners[kept]


def _fill(table: Any, kept: np.ndarray, owners: np.ndarray) -> np.ndarray:
    values = _dense(table.values[:, kept])
    return values if table.missing is None else np.where(_dense(table.missing[:, owners[kept]]), np.nan, values)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix

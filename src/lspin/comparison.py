"""How well a model does on rows it has not seen, with intervals, next to quick baselines on the same rows."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from lspin.survival import (
    StepFunction,
    brier_score,
    calibration_at,
    harrell_concordance,
    kaplan_meier,
    read_survival,
    survival_probability,
)
from lspin.tables import columns_of_inputs, is_frame, read_table

TEST_SHARE = 0.25
FEWEST_ROWS = 20  # below it nothing can be held out
N_DRAWS = 500  # of the held-out rows, for the intervals
SMALLEST_BIN = 5  # rows, so that no point of a calibration stands for one of them
MOST_COLUMNS = 200  # that baselines look at, the ones that go best with the target in the training rows
N_TIMES = 20
BASELINE_DECAY = 3.0  # of the survival baselines
SMALLEST_PROBABILITY = 1e-15


class Interval(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    lower: float
    upper: float


class Metric(NamedTuple):
    """What a score is called, and which end of its scale is good."""

    key: str
    name: str
    better: str  # "high" or "low"
    chance: float | None  # what knowing nothing gets


@dataclass(frozen=True)
class Contender:
    """A model with what it says of the held-out rows."""

    name: str
    note: str
    n_features: float | None  # that the prediction for one row uses, the median
    predicted: np.ndarray  # (n, n_classes) probabilities, (n,) responses or (n,) risks
    survival: np.ndarray | None = None  # (n, n_times)


@dataclass(frozen=True)
class Comparison:
    """The held-out rows, what each contender gets there, and how honest the first one's figures are."""

    how: str  # which rows were judged, in words
    n_train: int
    n_test: int
    metrics: list[Metric]
    contenders: list[Contender]  # the model itself first
    scores: list[dict[str, Interval]]  # one for each contender
    calibration: dict[str, Any]  # predicted, observed, lower, upper, size of each bin; and what they are
    curves: list[dict[str, Any]]  # survival by thirds of the risk


class Split(NamedTuple):
    """Rows to learn from and rows to judge by."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


# The rows and the model --------------------------------------------------------------------------------------


def compare(
    estimator: Any, X: Any, y: np.ndarray, *, eval_set: tuple[Any, np.ndarray] | None, random_state: int
) -> Comparison | str:
    """Judge a fitted estimator and the baselines on held-out rows, or say why that cannot be done.

    Parameters
    ----------
    estimator
        Fitted on ``X`` and ``y``.
    X, y
        Its training rows; a survival target as a structured array.
    eval_set
        Rows that it has not seen. Without them a quarter of ``X`` is set aside, and a copy of the estimator
        learns from the others: same settings, with the sparsity and the weight decay that were chosen.
    random_state
        Of the split, the baselines and the draws behind the intervals.

    """
    kind = kind_of(estimator)
    if eval_set is not None and len(eval_set[1]) < SMALLEST_BIN:
        return f"With {len(eval_set[1])} held-out rows there are too few to judge by them."
    if eval_set is not None:
        split, model = Split(X, y, *eval_set), estimator
        how = (
            f"Judged on {len(split.y_test)} rows that were given apart and took no part in the fit; "
            f"the baselines learned from the {len(y)} training rows."
        )
    else:
        if len(y) < FEWEST_ROWS:
            return f"With {len(y)} rows there are too few to set some aside and judge by them."
        chosen, held = _part(y, kind, random_state)
        split = Split(*(_safe_indexing(part, rows) for rows in (chosen, held) for part in (X, y)))
        if kind == "survival" and split.y["event"].sum() < 2:
            return "There are too few events to set some rows aside and judge by them."
        model = _refit(estimator, split, chosen)
        how = (
            f"Judged on {len(held)} of the {len(y)} rows, drawn at random and set aside. A copy of the model with "
            f"the same settings (and the sparsity found for all rows, {estimator.sparsity_:.3g}) learned from the "
            f"other {len(chosen)}, as did the baselines. All that follows is about the model itself."
        )
    task = TASKS[kind](model, split)
    with threadpool_limits(1), warnings.catch_warnings():  # small problems, on which threads only wait
        warnings.simplefilter("ignore", ConvergenceWarning)
        contenders = task.contend(random_state)
    rng = np.random.default_rng(random_state)
    draws = [rng.integers(0, len(split.y_test), len(split.y_test)) for _ in range(N_DRAWS)]
    return Comparison(
        how=how,
        n_train=len(split.y),
        n_test=len(split.y_test),
        metrics=task.metrics,
        contenders=contenders,
        scores=[task.score(contender, draws) for contender in contenders],
        calibration=task.calibrate(contenders[0]),
        curves=task.list_curves(contenders[0]),
    )


def kind_of(estimator: Any) -> str:
    """The task that an estimator is for."""
    if hasattr(estimator, "classes_"):
        return "classification"
    return "survival" if hasattr(estimator, "cumulative_baseline_hazard_") else "regression"


def _part(y: np.ndarray, kind: str, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the rows to learn from and of those held out, classes and events in the same shares."""
    strata = {"classification": lambda: y, "survival": lambda: y["event"], "regression": lambda: None}[kind]()
    if strata is not None:
        counts = np.unique(strata, return_counts=True)[1]
        strata = strata if counts.min() >= 2 and len(counts) <= TEST_SHARE * len(y) else None
    return train_test_split(np.arange(len(y)), test_size=TEST_SHARE, stratify=strata, random_state=random_state)


def _refit(estimator: Any, split: Split, chosen: np.ndarray) -> Any:
    copy = clone(estimator)
    copy.set_params(sparsity=estimator.sparsity_, n_features=None, weight_decay=estimator.weight_decay_, verbose=0)
    if isinstance(copy.affinity, np.ndarray):
        copy.set_params(affinity=copy.affinity[np.ix_(chosen, chosen)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of all rows has said it
        return copy.fit(split.X, split.y)


# Baselines ---------------------------------------------------------------------------------------------------


def _number_inputs(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns that go best with the target in the training rows, not-a-number where missing."""
    from sklearn.feature_selection import f_classif, f_regression

    X, X_test = (part if is_frame(part) or sp.issparse(part) else np.asarray(part, float) for part in split[::2])
    train, levels = read_table(X)
    test, _ = read_table(X_test, levels)
    kept = np.arange(train.values.shape[1])
    if len(kept) > MOST_COLUMNS:
        score = f_regression if split.y.dtype.kind == "f" else f_classif
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # columns that do not vary
            strengths = np.nan_to_num(score(train.values, split.y)[0], nan=-1.0)
        kept = np.sort(np.argsort(-strengths, kind="stable")[:MOST_COLUMNS])
    owners = columns_of_inputs(X.shape[1], levels)
    return _fill(train, kept, owners), _fill(test, kept, owners)


def _fill(table: Any, kept: np.ndarray, owners: np.ndarray) -> np.ndarray:
    values = _dense(table.values[:, kept])
    return values if table.missing is None else np.where(_dense(table.missing[:, owners[kept]]), np.nan, values)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def _linear(model: Any) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), model)


def _count_used(coefficients: np.ndarray) -> int:
    return int(np.any(np.atleast_2d(coefficients) != 0, axis=0).sum())


# Kinds of task -----------------------------------------------------------------------------------------------


class ClassTask:
    """Classes: accuracy and log loss; of two, the area under the curve too."""

    def __init__(self, model: Any, split: Split) -> None:
        self.model, self.split = model, split
        self.codes = np.searchsorted(model.classes_, split.y_test)
        chance = float(np.unique(split.y_test, return_counts=True)[1].max() / len(split.y_test))
        self.metrics = [Metric("accuracy", "accuracy", "high", chance)]
        if len(model.classes_) == 2:
            self.metrics.append(Metric("auc", "area under the ROC curve", "high", 0.5))
        self.metrics.append(Metric("log_loss", "log loss", "low", None))

    def contend(self, random_state: int) -> list[Contender]:
        """The model, L1-logistic regression and boosted trees."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.multiclass import OneVsRestClassifier

        own = Contender(
            "this model",
            "",
            _median_used(self.model, self.split.X_test),
            self.model.predict_proba(self.split.X_test),
        )
        train, test = _number_inputs(self.split)
        fewest = int(np.unique(self.split.y, return_counts=True)[1].min())
        if fewest < 2:
            return [own]
        sparse = LogisticRegressionCV(
            Cs=np.logspace(-2, 1, 6),
            l1_ratios=(1.0,),
            solver="liblinear",
            cv=min(3, fewest),
            scoring="neg_log_loss",
            use_legacy_attributes=False,
            random_state=random_state,
        )
        n_classes = len(self.model.classes_)
        linear = _linear(sparse if n_classes == 2 else OneVsRestClassifier(sparse)).fit(train, self.split.y)
        parts = [linear[-1]] if n_classes == 2 else linear[-1].estimators_
        trees = HistGradientBoostingClassifier(max_bins=63, early_stopping=False, random_state=random_state)
        trees.fit(train, self.split.y)
        return [
            own,
            Contender(
                "L1-logistic regression",
                "strength by cross-validation",
                _count_used(np.vstack([part.coef_ for part in parts])),
                self._complete(linear.predict_proba(test), linear.classes_),
            ),
            Contender(
                "boosted trees",
                "scikit-learn's defaults",
                train.shape[1],
                self._complete(trees.predict_proba(test), trees.classes_),
            ),
        ]

    def _complete(self, probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Probabilities of all classes, 0 for those that the training rows lack."""
        full = np.zeros((len(probabilities), len(self.model.classes_)))
        full[:, np.searchsorted(self.model.classes_, classes)] = probabilities
        return full

    def score(self, contender: Contender, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Accuracy with Wilson's interval, the others with the bootstrap's."""
        given = contender.predicted
        right = given.argmax(axis=1) == self.codes
        losses = -np.log(np.maximum(given[np.arange(len(given)), self.codes], SMALLEST_PROBABILITY))
        scores = {
            "accuracy": wilson_interval(int(right.sum()), len(right)),
            "log_loss": bootstrap(lambda rows: losses[rows].mean(), draws),
        }
        if len(self.model.classes_) == 2:
            scores["auc"] = bootstrap(lambda rows: area_under_curve(self.codes[rows], given[rows, 1]), draws)
        return scores

    def calibrate(self, contender: Contender) -> dict[str, Any]:
        """How often the class happens that is given some probability."""
        given = contender.predicted
        if len(self.model.classes_) == 2:
            name = str(self.model.classes_[1])
            sure, happened = given[:, 1], self.codes == 1
            labels = {"x": f"predicted probability of {name}", "y": f"share that is {name}"}
        else:
            sure, happened = given.max(axis=1), given.argmax(axis=1) == self.codes
            labels = {"x": "probability of the likeliest class", "y": "share that is right"}
        bins = [
            (float(sure[rows].mean()), *wilson_interval(int(happened[rows].sum()), len(rows)), len(rows))
            for rows in equal_bins(sure)
        ]
        return {**labels, "limits": [0, 1], "bins": bins}

    def list_curves(self, contender: Contender) -> list[dict[str, Any]]:
        """None: classes have no times."""
        return []


class ResponseTask:
    """A response: the part of its variance that is explained, and the mean absolute error."""

    def __init__(self, model: Any, split: Split) -> None:
        self.model, self.split = model, split
        self.metrics = [
            Metric("r2", "R²", "high", 0.0),
            Metric("mae", "mean absolute error", "low", None),
        ]

    def contend(self, random_state: int) -> list[Contender]:
        """The model, the lasso and boosted trees."""
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import LassoCV

        train, test = _number_inputs(self.split)
        lasso = LassoCV(eps=1e-2, alphas=20, cv=3, tol=1e-3, random_state=random_state)
        linear = _linear(lasso).fit(train, self.split.y)
        trees = HistGradientBoostingRegressor(max_bins=63, early_stopping=False, random_state=random_state)
        trees.fit(train, self.split.y)
        own = self.model.predict(self.split.X_test)
        n_used = _median_used(self.model, self.split.X_test)
        return [
            Contender("this model", "", n_used, own),
            Contender(
                "lasso", "strength by cross-validation", _count_used(linear[-1].coef_), linear.predict(test)
            ),
            Contender("boosted trees", "scikit-learn's defaults", train.shape[1], trees.predict(test)),
        ]

    def score(self, contender: Contender, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Both with the bootstrap's interval."""
        y, errors = self.split.y_test, self.split.y_test - contender.predicted
        return {
            "r2": bootstrap(lambda rows: _divide(np.mean(errors[rows] ** 2), y[rows].var()), draws, 1.0, -1.0),
            "mae": bootstrap(lambda rows: np.abs(errors[rows]).mean(), draws),
        }

    def calibrate(self, contender: Contender) -> dict[str, Any]:
        """The mean response of rows that are given about the same."""
        y, given, bins = self.split.y_test, contender.predicted, []
        for rows in equal_bins(given):
            width = 1.96 * y[rows].std(ddof=1) / np.sqrt(len(rows))
            mean = y[rows].mean()
            bins.append((float(given[rows].mean()), mean, mean - width, mean + width, len(rows)))
        return {"x": "predicted", "y": "observed, mean of the bin", "limits": None, "bins": bins}

    def list_curves(self, contender: Contender) -> list[dict[str, Any]]:
        """None: a response has no times."""
        return []


class SurvivalTask:
    """Times to an event: concordance, and the Brier score between an early and a late event."""

    def __init__(self, model: Any, split: Split) -> None:
        self.model, self.split = model, split
        self.test = read_survival(split.y_test, needs_events=False)
        seen = self.test.time[self.test.event]
        self.times = np.unique(np.quantile(seen, np.linspace(0.1, 0.8, N_TIMES))) if len(seen) else np.empty(0)
        last = min(self.test.time.max(), split.y["time"].max(), model.unique_times_[-1])
        self.times = self.times[self.times < last]
        self.metrics = [Metric("c_index", "concordance (Harrell's C)", "high", 0.5)]
        if len(self.times) > 1:
            self.metrics.append(Metric("brier", "integrated Brier score", "low", None))

    def contend(self, random_state: int) -> list[Contender]:
        """The model, Cox regression and a network of all features, and the survival of all training rows."""
        from lspin.baselines.cox import DeepSurv

        make = partial(DeepSurv, weight_decay=BASELINE_DECAY, random_state=random_state)
        linear, network = (model.fit(self.split.X, self.split.y) for model in (make(()), make()))
        everyone = kaplan_meier(self.split.y).survival(self.times)
        shared = np.tile(everyone, (len(self.split.y_test), 1))
        return [
            self._contend_with(self.model, "this model", ""),
            self._contend_with(linear, "Cox regression", f"weight decay {BASELINE_DECAY:g}"),
            self._contend_with(network, "network", f"all features, weight decay {BASELINE_DECAY:g}"),
            Contender("Kaplan-Meier", "one curve for everyone", 0, np.zeros(len(shared)), shared),
        ]

    def _contend_with(self, model: Any, name: str, note: str) -> Contender:
        risk = model.predict(self.split.X_test)
        hazard = StepFunction(model.unique_times_, model.cumulative_baseline_hazard_, before=0.0)
        survival = survival_probability(hazard, log_hazard=risk, times=self.times)
        return Contender(name, note, _median_used(model, self.split.X_test), risk, survival)

    def score(self, contender: Contender, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Both with the bootstrap's interval; draws in which nothing can be compared are left out."""

        def concordance(rows: np.ndarray) -> float:
            return harrell_concordance(self.split.y_test[rows], risk=contender.predicted[rows]).c_index

        def brier(rows: np.ndarray) -> float:
            given = contender.survival[rows] if contender.survival is not None else None
            scores = brier_score(self.split.y_test[rows], survival=given, times=self.times, train=self.split.y)
            return float(np.trapezoid(scores, self.times) / (self.times[-1] - self.times[0]))

        measures: dict[str, Callable[[np.ndarray], float]] = {"c_index": concordance, "brier": brier}
        return {metric.key: bootstrap(measures[metric.key], draws) for metric in self.metrics}

    def calibrate(self, contender: Contender) -> dict[str, Any]:
        """Predicted and observed survival at the middle one of the times."""
        if len(self.times) < 2 or contender.survival is None:
            return {"x": "", "y": "", "limits": [0, 1], "bins": []}
        place = len(self.times) // 2
        n_groups = max(1, min(5, len(self.test.time) // (2 * SMALLEST_BIN)))
        found = calibration_at(
            self.split.y_test, survival=contender.survival[:, place], at=self.times[place], n_groups=n_groups
        )
        rows = zip(found.predicted, found.observed, found.lower, found.upper, found.size, strict=True)
        at = f"time {self.times[place]:.4g}"
        return {
            "x": f"predicted survival at {at}",
            "y": f"observed survival at {at}",
            "limits": [0, 1],
            "bins": [row for row in rows if np.isfinite(row[1])],
        }

    def list_curves(self, contender: Contender) -> list[dict[str, Any]]:
        """Survival by thirds of the predicted risk, on a grid, so that no step is one sample's time."""
        thirds = np.searchsorted(np.quantile(contender.predicted, [1 / 3, 2 / 3]), contender.predicted)
        curves = []
        for third, name in enumerate(("lowest third of the risk", "middle third", "highest third")):
            rows = np.flatnonzero(thirds == third)
            if len(rows) < SMALLEST_BIN:
                continue
            curve = kaplan_meier(self.split.y_test[rows]).survival
            grid = np.linspace(0, np.quantile(self.test.time, 0.95), 61)  # beyond it hardly anybody is followed
            grid = grid[grid <= curve.domain[1]]
            curves.append({"name": name, "size": len(rows), "times": grid, "survival": curve(grid)})
        return curves


TASKS: dict[str, Any] = {"classification": ClassTask, "regression": ResponseTask, "survival": SurvivalTask}


def _median_used(model: Any, X: Any) -> float:
    return float(np.median(np.asarray(model.selected(X).sum(axis=1)).ravel()))


# Intervals and bins ------------------------------------------------------------------------------------------


def wilson_interval(hits: int, n: int, level: float = 0.95) -> Interval:
    """A share with Wilson's interval, which stays within [0, 1]."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = hits / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    width = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(share, max(0.0, float(middle - width)), min(1.0, float(middle + width)))


def bootstrap(
    measure: Callable[[np.ndarray], float], draws: list[np.ndarray], offset: float = 0.0, factor: float = 1.0
) -> Interval:
    """A measure of the held-out rows, with the percentiles of the same over rows drawn again and again."""
    values = [value for rows in draws if (value := _try(measure, rows)) is not None]
    own = _try(measure, np.arange(len(draws[0])))
    if own is None or not values:
        return Interval(np.nan, np.nan, np.nan)
    lower, upper = sorted(offset + factor * np.quantile(values, [0.025, 0.975]))
    return Interval(offset + factor * own, float(lower), float(upper))


def _try(measure: Callable[[np.ndarray], float], rows: np.ndarray) -> float | None:
    try:
        value = float(measure(rows))
    except ValueError:  # of some draws nothing can be compared: one class, no event
        return None
    return value if np.isfinite(value) else None


def _divide(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan


def area_under_curve(is_case: np.ndarray, score: np.ndarray) -> float:
    """Share of the pairs of a case and a control in which the case has the higher score, ties by one half."""
    n_cases, n_controls = int(is_case.sum()), int((1 - is_case).sum())
    if n_cases == 0 or n_controls == 0:
        return np.nan
    return float((rankdata(score)[is_case == 1].sum() - n_cases * (n_cases + 1) / 2) / (n_cases * n_controls))


def equal_bins(values: np.ndarray, most: int = 10) -> list[np.ndarray]:
    """Places of the values in bins of about equal size, the lowest values first, none of a handful only."""
    n_bins = max(1, min(most, len(values) // (2 * SMALLEST_BIN)))
    return np.array_split(np.argsort(values, kind="stable"), n_bins)

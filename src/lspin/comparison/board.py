"""Methods judged on the same folds of a table: scores with intervals, features, seconds and calibration."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from lspin.comparison.contenders import AS_IT_COMES, FAMILIAR, RIVAL, Contender, list_contenders
from lspin.comparison.tuning import choose_settings
from lspin.fitting.ensemble import wanting_whole_fits, warn_of_cut
from lspin.fitting.progress import Progress
from lspin.fitting.running import LostWorkerError, run_tasks
from lspin.intake.outcomes import guess_task
from lspin.tables.grid import Grid, Rows
from lspin.tables.labels import list_target
from lspin.tables.reading import is_frame
from lspin.targets import KINDS, Kind
from lspin.targets.intervals import Interval
from lspin.targets.kind import Forecast, Metric

N_DRAWS = 200  # of the rows of a fold, for the intervals
NORMAL = 1.96  # standard errors of a 95 % interval
FEWEST_ROWS = 20


@dataclass(frozen=True, repr=False, eq=False)
class Leaderboard:
    """Methods on the same folds of a table, the best first.

    ``frame`` has one row for each method: every metric (mean over the folds) with ``<metric>_lower`` and
    ``<metric>_upper``, ``n_features`` (that the prediction for the median row uses), ``seconds`` (of a fit, the
    mean), ``calibration_error`` and a ``note``. ``folds`` has one row for each method and fold. ``failed`` says
    why methods could not be judged.
    """

    task: str
    metrics: list[Metric]
    frame: pd.DataFrame
    folds: pd.DataFrame
    failed: dict[str, str]
    n_rows: int  # that were held out
    n_folds: int

    def __repr__(self) -> str:
        shown: dict[str, list[str]] = {"": [str(name) for name in self.frame.index]}
        for metric in self.metrics:
            parts = (self.frame[f"{metric.key}{end}"] for end in ("", "_lower", "_upper"))
            shown[metric.name] = [f"{v:.3f} ({a:.3f} to {b:.3f})" for v, a, b in zip(*parts, strict=True)]
        shown["features"] = [f"{n:g}" for n in self.frame["n_features"]]
        shown["calibration error"] = [_word(error) for error in self.frame["calibration_error"]]
        shown["seconds"] = [f"{seconds:.1f}" for seconds in self.frame["seconds"]]
        lines = pd.DataFrame(shown).to_string(index=False) if len(self.frame) else "no method could be judged"
        return "\n".join([lines, self.how, *(f"{name} failed: {why}" for name, why in self.failed.items())])

    def _repr_html_(self) -> str:
        return self.frame.to_html(border=0, float_format="{:.3f}".format)

    @property
    def how(self) -> str:
        """What the figures are, in a sentence."""
        return (
            f"Mean over {self.n_folds} folds of {self.n_rows:,} rows, the same for all methods, with 95 % "
            "intervals by the bootstrap of held-out rows (they do not include the variance from refitting)."
        )

    def describe(self) -> dict[str, Any]:
        """The same as plain values, as a page holds them.

        Returns
        -------
        dict
            ``how``, ``metrics``, ``contenders`` (with scores, features, seconds and calibration) and ``failed``.

        """
        return {
            "how": self.how,
            "metrics": [metric._asdict() for metric in self.metrics],
            "contenders": [
                {
                    "name": str(name),
                    "note": row["note"],
                    "n_features": _finite(row["n_features"]),
                    "seconds": _finite(row["seconds"]),
                    "calibration_error": _finite(row["calibration_error"]),
                    "scores": {
                        metric.key: [_finite(row[f"{metric.key}{end}"]) for end in ("", "_lower", "_upper")]
                        for metric in self.metrics
                    },
                }
                for name, row in self.frame.iterrows()
            ],
            "failed": self.failed,
        }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _word(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "-"


class Fold(NamedTuple):
    """Places of the rows to learn from and of those to judge by."""

    train: np.ndarray
    test: np.ndarray


class Judged(NamedTuple):
    """What a method did on one fold."""

    scores: dict[str, Interval]
    forecast: Forecast | None  # of the held-out rows, for the calibration over all rows
    n_features: float
    seconds: float


def compare(
    X: Any,
    y: Any,
    *,
    task: str = "auto",
    methods: Sequence[str] | str = "all",
    extra: Mapping[str, Any] | None = None,
    n_folds: int = 5,
    pos_label: Any = None,
    tunes: bool = True,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Leaderboard:
    """Judge LSPIN, its rivals and familiar models on the same folds of a table.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Anything that the estimators of this package take: frames with categories, arrays, sparse matrices.
    y : array-like
        Classes, numbers, or survival times as :class:`lspin.LSPINCox` takes them.
    task : str, default="auto"
        ``"classify"``, ``"regress"``, ``"count"`` or ``"survive"``; ``"auto"`` looks at ``y``.
    methods : sequence of str or str, default="all"
        Names of methods (:func:`lspin.comparison.contenders.list_contenders`), ``"all"``, or ``"familiar"`` for
        all but the rivals, which take most of the time.
    extra : mapping of str to estimator, default=None
        Further estimators by name, with the methods of scikit-learn. They are cloned.
    n_folds : int, default=5
        Parts of the rows, stratified by class or event. Every row is held out once.
    pos_label : str, int, float or None, default=None
        The event of two classes, which the calibration is about; by default as in :class:`lspin.LSPINClassifier`.
    tunes : bool, default=True
        Whether rivals and trees choose their settings on held-out training rows, as LSPIN does, which takes
        several fits; else they have their defaults.
    n_jobs : int, default=None
        Fits to run in parallel, as in joblib.
    random_state : int, default=0
        Seed of the folds and of all methods.
    verbose : int, default=0
        1 shows progress and the time left.

    Returns
    -------
    Leaderboard
        ``print`` it, take its ``frame``, or draw it by :func:`lspin.plots.leaderboard`.

    Notes
    -----
    Every method chooses its strength on the training rows of a fold, and the notes say how: LSPIN as it comes;
    linear models by cross-validation; rivals and trees of four or five settings around their own, by a quarter of
    the training rows, held out (``tunes=False`` leaves them at their defaults). The interval of a mean over folds
    is that of independent estimates. ``calibration_error`` is the mean distance of predicted and observed outcome
    over bins of held-out rows: of the event's probability, of survival at a middle time, or of the response in
    standard deviations.

    Examples
    --------
    >>> import lspin
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> board = lspin.compare(X, y, methods=["L1", "boosting"], n_folds=3)
    >>> board.frame["n_features"].to_dict()
    {'L1': 13.0, 'boosting': 30.0}

    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    kind, target, strata = _read_target(X, y, task, pos_label)
    contenders = _choose(kind.task, methods, extra or {})
    if not tunes:
        contenders = {name: _at_defaults(contender) for name, contender in contenders.items()}
    folds = _split(strata, n_folds, random_state)
    jobs = [(name, place) for place in range(n_folds) for name in contenders]
    tasks = [(contenders[name], kind, X, target, folds[place], random_state) for name, place in jobs]
    done: dict[int, Judged | str] = {}
    try:
        with Progress(len(jobs), shown=verbose > 0) as progress:
            run_tasks(_judge, tasks, n_jobs=n_jobs, progress=progress, done=done)
    except (KeyboardInterrupt, LostWorkerError) as error:
        n_whole = len(_list_whole(done, len(contenders), n_folds))
        if n_whole == 0:
            raise
        warn_of_cut(error, f"kept the {n_whole} of {n_folds} folds that are finished")
    whole = _list_whole(done, len(contenders), n_folds)
    places = {job: place for place, job in enumerate(jobs)}
    judged = {name: [done[places[name, fold]] for fold in whole] for name in contenders}
    return _gather(kind, target, contenders, [folds[fold] for fold in whole], judged)


def _list_whole(done: Mapping[int, Any], n_methods: int, n_folds: int) -> list[int]:
    """The folds of which all methods are done."""
    first = [fold * n_methods for fold in range(n_folds)]
    return [fold for fold, start in enumerate(first) if all(start + n in done for n in range(n_methods))]


# Reading -----------------------------------------------------------------------------------------------------


def _read_target(X: Any, y: Any, task: str, pos_label: Any) -> tuple[Kind, np.ndarray, np.ndarray]:
    """The kind of target with what all rows tell of it, the tidy target, and groups to stratify folds by."""
    task = find_task(y) if task == "auto" else task
    if task not in KINDS:
        raise ValueError(f"task must be one of {', '.join(KINDS)} or auto, got {task!r}")
    start: Any = KINDS[task](pos_label=pos_label) if KINDS[task].has_classes else KINDS[task]()  # type: ignore[call-arg]
    entries = start.entries(y, trains=True)
    if X.shape[0] != len(entries):
        raise ValueError(f"X and y differ in their number of rows: {X.shape[0]} and {len(entries)}")
    if len(entries) < FEWEST_ROWS:
        raise ValueError(f"{len(entries)} rows are too few to compare methods; {FEWEST_ROWS} are needed")
    kind, numbers = start.read(entries, str(getattr(y, "name", "") or ""))
    rows = Rows(Grid(np.zeros((len(numbers), 1)), None), numbers, np.ones(len(numbers)), np.arange(len(numbers)))
    kind = kind.finish(rows, np.zeros((len(numbers), 1)))
    return kind, kind.tidy(y), kind.strata(numbers)


def find_task(y: Any) -> str:
    """What kind of target this is: ``"classify"``, ``"regress"`` or ``"survive"``."""
    is_pair = isinstance(y, tuple) and len(y) == 2
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if is_pair or fields or (is_frame(y) and y.shape[1] > 1):
        return "survive"
    return guess_task(pd.Series(np.ravel(list_target(y))))[0]


def _choose(task: str, methods: Sequence[str] | str, extra: Mapping[str, Any]) -> dict[str, Contender]:
    known = list_contenders(task)
    if isinstance(methods, str):
        if methods not in ("all", "familiar"):
            raise ValueError(f"methods must be 'all', 'familiar' or a list of names, got {methods!r}")
        chosen = {n: c for n, c in known.items() if methods == "all" or c.kind != RIVAL}
    else:
        names = {name.lower(): name for name in known}
        methods = [names.get(name.lower(), name) for name in methods]
        unknown = [name for name in methods if name not in known]
        if unknown:
            raise ValueError(f"there is no method {unknown[0]!r} to {task}; there are {', '.join(known)}")
        chosen = {name: known[name] for name in methods}
    return chosen | {name: Contender(FAMILIAR, "given", _cloned(model)) for name, model in extra.items()}


def _cloned(model: Any) -> Any:
    return lambda seed: clone(model)


def _at_defaults(contender: Contender) -> Contender:
    return contender._replace(candidates=(), note=AS_IT_COMES) if contender.candidates else contender


def _split(strata: np.ndarray, n_folds: int, random_state: int) -> list[Fold]:
    sizes = np.unique(strata, return_counts=True)[1]
    parting = StratifiedKFold if len(sizes) > 1 and sizes.min() >= n_folds else KFold
    folds = parting(n_folds, shuffle=True, random_state=random_state)
    return [Fold(train, test) for train, test in folds.split(strata, strata)]


# Judging -----------------------------------------------------------------------------------------------------


def _judge(
    contender: Contender,
    kind: Kind,
    X: Any,
    target: np.ndarray,
    fold: Fold,
    seed: int,
    report: Callable[..., None] | None = None,
) -> Judged | str:
    """A method on one fold, or why it failed: the others go on."""
    X_train, X_test = (_safe_indexing(X, rows) for rows in fold)
    y_train, y_test = (target[rows] for rows in fold)
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each fit of each fold would say the same
            start = time.perf_counter()
            with wanting_whole_fits():
                model = _fit(contender, kind, X_train, y_train, seed)
            seconds = time.perf_counter() - start
            judge = kind.judge(y_train, y_test)
            rng = np.random.default_rng(seed)
            draws = [rng.integers(0, len(y_test), len(y_test)) for _ in range(N_DRAWS)]
            scores = judge.score(judge.forecast(model, X_test), draws)
            pooled = kind.judge(target, target).forecast(model, X_test)
            return Judged(scores, pooled, _count_used(model, X_test), seconds)
    except (ValueError, TypeError, FloatingPointError, MemoryError) as error:
        return str(error).split("\n")[0] or type(error).__name__


def _fit(contender: Contender, kind: Kind, X: Any, y: np.ndarray, seed: int) -> Any:
    """The method fitted to training rows, some of which choose its settings first."""
    settings: Mapping[str, Any] = {}
    if contender.candidates:
        settings = choose_settings(contender.make, contender.candidates, kind, X, y, seed)
    return contender.make(seed, **settings).fit(X, y)


def _count_used(model: Any, X: Any) -> float:
    if hasattr(model, "selected"):
        return float(np.median(np.asarray(model.selected(X).sum(axis=1)).ravel()))
    return float(model.count_used(X)) if hasattr(model, "count_used") else float(X.shape[1])


def _gather(
    kind: Kind,
    target: np.ndarray,
    contenders: Mapping[str, Contender],
    folds: list[Fold],
    judged: Mapping[str, Sequence[Judged | str]],
) -> Leaderboard:
    metrics = kind.judge(target, target).metrics
    rows, by_fold, failed = {}, [], {}
    for name, contender in contenders.items():
        parts = judged[name]
        done = [part for part in parts if isinstance(part, Judged)]
        if len(done) < len(parts):
            failed[name] = next(part for part in parts if isinstance(part, str))
            continue
        by_fold += [_list_fold(name, place, part) for place, part in enumerate(done)]
        rows[name] = {
            **{column: value for m in metrics for column, value in _mean_score(m, done).items()},
            "n_features": float(np.median([part.n_features for part in done])),
            "seconds": float(np.mean([part.seconds for part in done])),
            "calibration_error": _calibrate(kind, target, folds, done),
            "note": contender.note,
        }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    if len(frame):
        frame = frame.sort_values(metrics[0].key, ascending=metrics[0].better == "low", kind="stable")
    n_judged = sum(len(fold.test) for fold in folds)
    return Leaderboard(kind.task, metrics, frame, pd.DataFrame(by_fold), failed, n_judged, len(folds))


def _list_fold(name: str, place: int, part: Judged) -> dict[str, Any]:
    scores = {key: score.value for key, score in part.scores.items()}
    return {"method": name, "fold": place, **scores, "n_features": part.n_features, "seconds": part.seconds}


def _mean_score(metric: Metric, parts: list[Judged]) -> dict[str, float]:
    """The mean over folds, with the interval of a mean of independent estimates."""
    scores = [part.scores.get(metric.key, Interval(np.nan, np.nan, np.nan)) for part in parts]
    mean = float(np.mean([score.value for score in scores]))
    errors = np.array([(score.upper - score.lower) / (2 * NORMAL) for score in scores])
    width = NORMAL * float(np.sqrt(np.sum(errors**2))) / len(scores)
    lower, upper = mean - width, mean + width
    if metric.better == "high":
        upper = min(upper, 1.0)
    else:
        lower = max(lower, 0.0)
    return {metric.key: mean, f"{metric.key}_lower": lower, f"{metric.key}_upper": upper}


def _calibrate(kind: Kind, target: np.ndarray, folds: list[Fold], parts: list[Judged]) -> float:
    """Mean distance of predicted and observed outcome over bins of all rows, each predicted while held out."""
    tested = np.concatenate([fold.test for fold in folds])
    order, target = np.argsort(tested), target[np.sort(tested)]
    mixed = np.random.default_rng(0).permutation(len(order))  # equal predictions must not be binned by their place
    order, target = order[mixed], target[mixed]
    forecasts = [part.forecast for part in parts if part.forecast is not None]
    predicted = np.concatenate([forecast.predicted for forecast in forecasts])[order]
    curves = [forecast.survival for forecast in forecasts if forecast.survival is not None]
    survival = np.concatenate(curves)[order] if curves else None
    bins = np.array(kind.judge(target, target).calibrate(Forecast(predicted, survival))["bins"], float)
    if not len(bins):
        return np.nan
    error = np.average(np.abs(bins[:, 0] - bins[:, 1]), weights=bins[:, -1])
    has_unit = target.dtype.names is None and not kind.has_classes
    return float(error / target.std()) if has_unit else float(error)

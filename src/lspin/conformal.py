"""Conformal prediction: sets of classes, intervals and bounds that hold the truth as often as asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from lspin.fitting.ensemble import wanting_whole_fits
from lspin.fitting.progress import Progress
from lspin.fitting.running import run_tasks
from lspin.survival import StepFunction
from lspin.targets import KINDS, Kind, kind_of


@dataclass(frozen=True, eq=False)
class Conformal:
    """A model, or those of several folds, with the errors they made on rows that they had not seen.

    Made by :func:`split_conformal` or :func:`cross_conformal`.
    """

    models: list[Any]
    kind: Kind
    scores: np.ndarray  # (n,), of each row: distance, 1 - probability of its class, or hazard up to its time
    fold: np.ndarray  # (n,), which model had not seen the row
    codes: np.ndarray | None  # (n,), class of each row, if coverage is to hold within each class

    def __repr__(self) -> str:
        how = "split" if len(self.models) == 1 else f"CV+ over {len(self.models)} folds"
        return f"<Conformal {self.kind.noun}, {how}, {len(self.scores)} rows>"

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Intervals of the response.

        Parameters
        ----------
        X : table
            Rows to predict.
        coverage : float, default=0.9
            Share of new rows whose response is to be in its interval.

        Returns
        -------
        numpy.ndarray of shape (n_samples, 2)
            Lower and upper end; infinite where there are too few rows for the coverage.

        """
        if self.kind.has_classes or self.kind.task == "survive":
            raise ValueError("intervals are for a response; use predict_set for classes, predict_lower for times")
        _check_coverage(coverage)
        predictions = [np.asarray(model.predict(X), float) for model in self.models]
        if len(predictions) == 1:
            width = _upper(self.scores[None], coverage)
            return np.stack([predictions[0] - width, predictions[0] + width], axis=1)
        centres = np.stack(predictions, axis=1)[:, self.fold]
        # The lower end is the negative of an upper one, so that both miss equally often.
        lower, upper = -_upper(self.scores - centres, coverage), _upper(centres + self.scores, coverage)
        return np.stack([lower, upper], axis=1)

    def predict_set(self, X: Any, coverage: float = 0.9) -> pd.DataFrame:
        """Sets of classes, at least one class in each.

        Parameters
        ----------
        X : table
            Rows to predict.
        coverage : float, default=0.9
            Share of new rows whose class is to be in its set (of each class, if made with ``by_class=True``).

        Returns
        -------
        pandas.DataFrame of bool
            One row a sample and one column a class: whether it is in the set.

        """
        if not self.kind.has_classes or self.kind.labels is None:
            raise ValueError("sets are for classes; for a response use predict_interval")
        _check_coverage(coverage)
        strange = np.stack([1 - np.asarray(model.predict_proba(X)) for model in self.models])
        inside = np.empty(strange.shape[1:], bool)
        for code in range(strange.shape[2]):
            rows = slice(None) if self.codes is None else np.flatnonzero(self.codes == code)
            scores, fold = self.scores[rows], self.fold[rows]
            # Rows that the model was less wrong about than it would be if this were the class.
            n_below = (scores < strange[fold, :, code].T - 1e-12).sum(axis=1)
            inside[:, code] = n_below < coverage * (len(scores) + 1)
        likeliest = strange.mean(axis=0).argmin(axis=1)
        inside[np.arange(len(inside)), likeliest] = True
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(inside, index=index, columns=pd.Index(self.kind.labels, name="class"))

    def predict_lower(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Times that patients live to see without the event: lower bounds of survival times.

        Parameters
        ----------
        X : table
            Rows to predict.
        coverage : float, default=0.9
            Share of new rows whose event comes at the bound or later.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            Bounds, in the unit of the times; 0 where there are too few rows for the coverage.

        Notes
        -----
        The bound is one of the time of observation, which ends with the event or with censoring. The event does
        not come before that, so the bound holds for it too, whatever decides who is censored (Candès, Lei and Ren,
        2023). Where many are censored early, it is lower than it need be.

        """
        if self.kind.task != "survive":
            raise ValueError("lower bounds are for survival times; use predict_interval or predict_set")
        _check_coverage(coverage)
        rank = int(np.floor((1 - coverage) * (len(self.scores) + 1) + 1e-9))
        if rank == 0:
            return np.zeros(X.shape[0])
        times = np.empty((X.shape[0], len(self.scores)))
        for place, model in enumerate(self.models):
            own = self.fold == place
            times[:, own] = _find_times(model, self.scores[own] / np.exp(model.predict(X))[:, None])
        return np.partition(times, rank - 1, axis=1)[:, rank - 1]


def split_conformal(model: Any, X: Any, y: Any, *, by_class: bool = False) -> Conformal:
    """Calibrate a fitted model on rows that it has not seen.

    Parameters
    ----------
    model : estimator
        Fitted classifier or regressor, of this package or of scikit-learn, or a survival model of this package.
    X, y : table and target
        Rows that took no part in the fit, not even in the choice of its settings.
    by_class : bool, default=False
        Whether sets are to hold the truth as often within each class. Rare classes then need rows of their own: at
        90 % at least nine each.

    Returns
    -------
    Conformal
        With ``predict_set`` or ``predict_interval``.

    Notes
    -----
    If new rows are exchangeable with these, the truth is in the set or interval with the probability that is asked
    for, whatever the model (Vovk et al. 2005; sets are those of Sadinle et al. 2019; bounds of survival times come
    from the predicted distribution of each row, as in Chernozhukov et al. 2021). That holds on average over all
    patients, not for each one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from lspin import LSPINClassifier
    >>> from lspin.conformal import split_conformal
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X, X_held, y, y_held = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    >>> model = LSPINClassifier(start="groups", random_state=0).fit(X, y)
    >>> sets = split_conformal(model, X_held[:100], y_held[:100]).predict_set(X_held[100:], coverage=0.95)

    """
    kind = _find_kind(model, by_class)
    target = kind.tidy(y)
    codes = np.searchsorted(kind.labels, target) if kind.labels is not None else None
    scores = _score(model, X, target, codes)
    return Conformal([model], kind, scores, np.zeros(len(scores), int), codes if by_class else None)


def cross_conformal(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_folds: int = 5,
    by_class: bool = False,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Conformal:
    """Fit an estimator on all folds but one, in turn, and calibrate it on the rows left out (CV+).

    Parameters
    ----------
    estimator : estimator
        Classifier, regressor or survival model. It is cloned.
    X, y : table and target
        All rows: none has to be set aside.
    n_folds : int, default=5
        Number of folds; each takes a fit.
    by_class : bool, default=False
        As in :func:`split_conformal`.
    n_jobs : int, default=None
        Fits to run in parallel, as in joblib.
    random_state : int, default=0
        Seed of the folds.
    verbose : int, default=0
        1 shows progress and the time left.

    Returns
    -------
    Conformal
        With ``predict_set`` or ``predict_interval``.

    Notes
    -----
    Barber et al. (2021) prove a coverage of about ``1 - 2 * (1 - coverage)``; in practice it is close to the one
    asked for. Sets of classes are those of Romano et al. (2020).

    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    target, strata = _read_target(estimator, y)
    parting = KFold if strata is None else StratifiedKFold
    strata = np.zeros(len(target)) if strata is None else strata
    folds = list(parting(n_folds, shuffle=True, random_state=random_state).split(strata, strata))
    tasks = [(estimator, X, target, train) for train, _ in folds]
    done: dict[int, Any] = {}
    with Progress(n_folds, shown=verbose > 0) as progress:
        run_tasks(_fit, tasks, n_jobs=n_jobs, progress=progress, done=done)
    models = [done[place] for place in range(n_folds)]
    kind = _find_kind(models[0], by_class)
    codes = np.searchsorted(kind.labels, target) if kind.labels is not None else None
    _refuse_absent(models, kind)
    scores, fold = np.empty(len(target)), np.empty(len(target), int)
    for place, (model, (_, test)) in enumerate(zip(models, folds, strict=True)):
        own = None if codes is None else codes[test]
        scores[test], fold[test] = _score(model, _safe_indexing(X, test), target[test], own), place
    return Conformal(models, kind, scores, fold, codes if by_class else None)


def _read_target(estimator: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """The target, and what folds are to have equal shares of: classes or events."""
    if hasattr(estimator, "predict_survival_function"):
        target = KINDS["survive"]().tidy(y)
        return target, target["event"]
    target = np.asarray(y)
    return target, target if hasattr(estimator, "predict_proba") else None


def _fit(
    estimator: Any, X: Any, target: np.ndarray, train: np.ndarray, report: Callable[..., None] | None = None
) -> Any:
    with wanting_whole_fits():
        return clone(estimator).fit(_safe_indexing(X, train), target[train])


def _find_kind(model: Any, by_class: bool) -> Kind:
    kind = kind_of(model)
    if by_class and not kind.has_classes:
        raise ValueError("by_class=True is for classes")
    return kind


def _refuse_absent(models: Sequence[Any], kind: Kind) -> None:
    if kind.labels is None:
        return
    for model in models:
        if not np.array_equal(model.classes_, kind.labels):
            raise ValueError("a class is missing from a fold: take fewer folds")


def _score(model: Any, X: Any, target: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    """How wrong a model is about rows: distance, 1 - probability of the class, or hazard up to the time."""
    if target.dtype.names:
        # The cumulative hazard at the end of observation, which rises with the predicted probability of it.
        hazard = StepFunction(model.unique_times_, model.cumulative_baseline_hazard_, before=0.0)
        last = model.unique_times_[-1]
        return hazard(np.minimum(target["time"], last)) * np.exp(model.predict(X))
    if codes is None:
        return np.abs(target.astype(float) - model.predict(X))
    return 1 - np.asarray(model.predict_proba(X))[np.arange(len(codes)), codes]


def _find_times(model: Any, hazards: np.ndarray) -> np.ndarray:
    """The first time at which the cumulative baseline hazard reaches a number; the last one if it never does."""
    places = np.searchsorted(model.cumulative_baseline_hazard_, hazards, side="left")
    times = np.asarray(model.unique_times_)[np.minimum(places, len(model.unique_times_) - 1)]
    return np.where(hazards > 0, times, 0.0)


def _upper(values: np.ndarray, coverage: float) -> np.ndarray:
    """Of each row, the value that a new one is below with the probability asked for; infinite if rows are few."""
    n_values = values.shape[1]
    rank = int(np.ceil(coverage * (n_values + 1) - 1e-9))
    if rank > n_values:
        return np.full(len(values), np.inf)
    return np.partition(values, rank - 1, axis=1)[:, rank - 1]


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")

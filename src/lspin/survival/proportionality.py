"""Whether hazards are proportional: Schoenfeld residuals, and their trend over time."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, rankdata

from lspin.survival.curves import kaplan_meier
from lspin.survival.targets import Survival, read_numbers, read_survival

TIME_SCALES = ("rank", "km", "log", "identity")


class Proportionality(NamedTuple):
    """The test of each column; a small ``p_value`` speaks against proportional hazards."""

    statistic: np.ndarray  # (p,), chi-squared with one degree of freedom if hazards are proportional
    p_value: np.ndarray  # (p,)
    trend: np.ndarray  # (p,), correlation of the scaled residuals with time: below 0, the effect falls over time


def schoenfeld_residuals(y: Any, X: Any, *, log_hazard: Any) -> np.ndarray:
    """Each event's values less their mean over the samples at risk, shape ``(n_events, p)``, by rising time.

    Parameters
    ----------
    y
        Times and events; see :func:`read_survival`.
    X
        Columns of numbers, shape ``(n, p)``.
    log_hazard
        Log-hazard that a model predicts for these rows; the mean is weighted by the hazards.

    Returns
    -------
    numpy.ndarray
        One row for each event.

    Notes
    -----
    Tied events share one mean, Efron's. Events of the same time keep the order of the rows.
    """
    return measure_events(*_read(y, X, log_hazard)).residuals


def check_proportionality(y: Any, X: Any, *, log_hazard: Any, time_scale: str = "rank") -> Proportionality:
    """Test proportional hazards by Grambsch and Therneau: whether scaled Schoenfeld residuals change with time.

    Parameters
    ----------
    y
        Times and events of the rows that the model was fitted on.
    X
        Columns whose effects are tested together, shape ``(n, p)``. For a Cox regression these are its covariates.
        For another model, one column with its log-hazard, or a column for each part of a sum that is the
        log-hazard, such as the contributions of features.
    log_hazard
        What the model predicts for the rows.
    time_scale
        Scale on which an effect may change: ``"rank"`` of the event times, ``"km"`` (one less the Kaplan-Meier
        estimate), ``"log"`` or ``"identity"``.

    Returns
    -------
    Proportionality
        The test of each column.

    Notes
    -----
    A column that is the same for all samples at risk has no test: its numbers are NaN.
    """
    if time_scale not in TIME_SCALES:
        raise ValueError(f"time_scale must be one of {', '.join(TIME_SCALES)}, got {time_scale!r}")
    survival, X, log_hazard = _read(y, X, log_hazard)
    events = measure_events(survival, X, log_hazard)
    n_events = len(events.times)
    if n_events < 2:
        raise ValueError(f"the test needs at least two events, and there are {n_events}")
    covariance = np.linalg.pinv(events.information, hermitian=True)
    scaled = n_events * events.residuals @ covariance
    times = _scale_times(survival, events.times, time_scale)
    times = times - times.mean()
    spread = (times**2).sum()
    if spread <= 0:
        raise ValueError(f"all {n_events} events are at one time, so no effect can change between them")
    slope = times @ scaled
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = slope**2 / (n_events * np.diag(covariance) * spread)
        trend = slope / np.sqrt(spread * ((scaled - scaled.mean(axis=0)) ** 2).sum(axis=0))
    known = np.diag(events.information) > 1e-12 * max(np.diag(events.information).max(initial=0.0), 1e-300)
    statistic, trend = (np.where(known, numbers, np.nan) for numbers in (statistic, trend))
    return Proportionality(statistic, chi2.sf(statistic, 1), trend)


class Events(NamedTuple):
    """The events of a cohort, as a Cox model sees them."""

    times: np.ndarray  # (n_events,), rising
    residuals: np.ndarray  # (n_events, p)
    information: np.ndarray  # (p, p), of the partial likelihood by Efron


def _read(y: Any, X: Any, log_hazard: Any) -> tuple[Survival, np.ndarray, np.ndarray]:
    survival = read_survival(y, needs_events=False)
    n_rows = len(survival.time)
    X = np.asarray(X, np.float64)
    X = read_numbers(X, "X", (n_rows, X.shape[1] if X.ndim == 2 else 1))
    return survival, X, read_numbers(log_hazard, "log_hazard", (n_rows,))


def measure_events(survival: Survival, X: np.ndarray, log_hazard: np.ndarray) -> Events:
    """Residuals at the events and information of the columns, for a model with these log-hazards."""
    order = np.argsort(survival.time, kind="stable")
    time, event = survival.time[order], survival.event[order]
    X = (X - X.mean(axis=0))[order]  # the same residuals from smaller numbers
    hazard = np.exp(log_hazard[order] - log_hazard.max())[:, None]
    here = np.flatnonzero(event)
    if not len(here):
        return Events(time[here], X[here], np.zeros((X.shape[1],) * 2))
    first = np.searchsorted(time, time[here])  # of the rows at risk
    _, starts, place = np.unique(first, return_index=True, return_inverse=True)

    def sum_ties(parts: np.ndarray) -> np.ndarray:
        """Sums over the events of the same time, for each event."""
        return np.add.reduceat(parts, starts, axis=0)[place]

    def sum_at_risk(parts: np.ndarray) -> np.ndarray:
        """Sums over the rows at risk, for each event; Efron takes part of the tied events as gone."""
        return parts[::-1].cumsum(axis=0)[::-1][first] - gone * sum_ties(parts[here])

    n_tied = sum_ties(np.ones((len(here), 1)))
    gone = (np.arange(len(here)) - starts[place])[:, None] / n_tied
    total = sum_at_risk(hazard)
    means = sum_at_risk(hazard * X) / total
    # A row is at risk at all events until it ends: how often, each time divided by the total there.
    counted = np.cumsum(np.bincount(first, 1 / total[:, 0], len(hazard)))
    counted[here] -= sum_ties(gone / total)[:, 0]
    information = (X * hazard * counted[:, None]).T @ X - means.T @ means
    return Events(time[here], X[here] - sum_ties(means / n_tied), information)


def _scale_times(survival: Survival, times: np.ndarray, scale: str) -> np.ndarray:
    if scale == "rank":
        return rankdata(times)
    if scale == "km":
        return 1 - kaplan_meier(survival).survival(times)
    if scale == "log":
        if times[0] <= 0:
            raise ValueError("an event at time 0 has no place on the scale 'log'; take 'rank'")
        return np.log(times)
    return times

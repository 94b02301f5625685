"""Curves over time: step functions, Kaplan-Meier, Breslow's baseline hazard, and the survival of a sample."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from lspin.survival.targets import Survival, read_numbers, read_survival, read_weight

LARGEST_LOG_HAZARD = 690.0  # its exponential, and thousands of them together, are still floats


class StepFunction:
    """A step function of time; at a step it has the value after the step.

    Parameters
    ----------
    x, y
        Increasing times, and the value from each time on.
    before
        The value from time 0 to the first time.

    Notes
    -----
    The function is defined from 0 to the last time, as in scikit-survival. Times after it are an error, because
    the data say nothing about them. Before the first time, scikit-survival returns the value at the first time
    instead.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, *, before: float) -> None:
        self.x = np.asarray(x, np.float64)
        self.y = np.asarray(y, np.float64)
        self.before = before

    @property
    def domain(self) -> tuple[float, float]:
        """First and last time at which the curve is defined."""
        return 0.0, float(self.x[-1])

    def __call__(self, times: Any) -> Any:
        """Value at each time; a float if ``times`` is one number."""
        times = np.asarray(times, np.float64)
        outside = ~((times >= 0) & (times <= self.x[-1]))
        if outside.any():
            raise ValueError(
                f"the curve is known from 0 to {self.x[-1]:g}, and {outside.sum()} of {times.size} times lie "
                f"outside, such as {times[outside][0]:g}"
            )
        values = np.append(self.before, self.y)[np.searchsorted(self.x, times, side="right")]
        return values if values.ndim else float(values)

    def __repr__(self) -> str:
        return f"StepFunction({len(self.x)} steps from {self.x[0]:g} to {self.x[-1]:g})"


class SurvivalCurve(NamedTuple):
    """A survival curve with a pointwise confidence interval."""

    survival: StepFunction
    lower: StepFunction  # NaN where the curve is at 0
    upper: StepFunction


def kaplan_meier(y: Any, *, weight: Any = None, level: float = 0.95) -> SurvivalCurve:
    """Kaplan-Meier estimate: the share of the samples without the event up to each time.

    Parameters
    ----------
    y
        Times and events; see :func:`read_survival`.
    weight
        Weight of each sample. A sample of weight 2 equals the sample given twice.
    level
        Confidence level of the interval (Greenwood, on the scale log(-log S), so that it stays within [0, 1]).

    Returns
    -------
    SurvivalCurve
        The curve with its interval, three step functions.

    Examples
    --------
    >>> from lspin.survival import kaplan_meier
    >>> curve = kaplan_meier(([1.0, 2.0, 3.0, 4.0], [True, True, False, True]))  # two of four have the event by 2
    >>> float(curve.survival(2.0))
    0.5

    """
    counts = _count(read_survival(y, needs_events=False), weight)
    survival = np.cumprod(1 - _divide(counts.events, counts.at_risk))
    with np.errstate(all="ignore"):
        greenwood = np.cumsum(_divide(counts.events, counts.at_risk * (counts.at_risk - counts.events)))
        width = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(greenwood) / -np.log(survival)
        bounds = [np.where(survival == 1, 1.0, survival ** np.exp(sign * width)) for sign in (1, -1)]
    steps = (survival, *(np.where(survival > 0, bound, np.nan) for bound in bounds))
    return SurvivalCurve(*(StepFunction(counts.time, step, before=1.0) for step in steps))


class MedianSurvival(NamedTuple):
    """The time by which half of the samples have the event; infinite where the curve does not fall so far."""

    median: float
    lower: float
    upper: float


def median_survival(y: Any, *, weight: Any = None, level: float = 0.95) -> MedianSurvival:
    """Median survival by Kaplan and Meier, with the interval of Brookmeyer and Crowley.

    Parameters
    ----------
    y, weight, level
        As in :func:`kaplan_meier`; the interval holds the times at which its band does not exclude one half.

    Returns
    -------
    MedianSurvival
        The median and the ends of its interval; infinite where the curve does not fall so far.
    """
    curve = kaplan_meier(y, weight=weight, level=level)
    return MedianSurvival(*(_first_half(part) for part in curve))


def _first_half(curve: StepFunction) -> float:
    """First time at which a curve is at one half or below."""
    low = np.flatnonzero(curve.y <= 0.5)
    return float(curve.x[low[0]]) if len(low) else float("inf")


def number_at_risk(y: Any, times: Any) -> np.ndarray:
    """How many samples are still followed without the event just before each time.

    Parameters
    ----------
    y
        Times and events; see :func:`read_survival`.
    times
        Any times.

    Returns
    -------
    numpy.ndarray
        One number for each time.

    Examples
    --------
    >>> from lspin.survival import number_at_risk
    >>> number_at_risk(([1.0, 2.0, 3.0, 4.0], [True, True, False, True]), [0.0, 2.0, 4.0]).tolist()
    [4, 3, 1]

    """
    survival = read_survival(y, needs_events=False)
    ended = np.searchsorted(np.sort(survival.time), np.asarray(times, np.float64), side="left")
    return len(survival.time) - ended


def breslow_hazard(y: Any, *, log_hazard: Any, weight: Any = None) -> StepFunction:
    """Cumulative baseline hazard (Breslow): the cumulative hazard of a sample with log-hazard 0.

    Parameters
    ----------
    y
        Times and events of the rows the model was fitted on; see :func:`read_survival`.
    log_hazard
        Log-hazard that the model predicts for these rows. If all are 0, this is the Nelson-Aalen estimate.
    weight
        Of the rows.

    Returns
    -------
    StepFunction
        The cumulative hazard as a function of time.
    """
    survival = read_survival(y, needs_events=False)
    log_hazard = read_numbers(log_hazard, "log_hazard", (len(survival.time),))
    weight = read_weight(weight, len(survival.time))
    counts = _count(survival, weight)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows of weight 0
        latest_first = np.argsort(-survival.time)
        sums = np.logaddexp.accumulate((log_hazard + np.log(weight))[latest_first])
        last = np.searchsorted(-survival.time[latest_first], -counts.time, side="right") - 1
        log_steps = np.minimum(np.log(counts.events) - sums[last], LARGEST_LOG_HAZARD)
        steps = np.where(counts.events > 0, np.exp(log_steps), 0.0)
    return StepFunction(counts.time, np.cumsum(steps), before=0.0)


def martingale_residuals(y: Any, *, weight: Any = None) -> np.ndarray:
    """Events that came more or less than expected of a row if all had the same hazard, shape ``(n,)``."""
    survival = read_survival(y, needs_events=False)
    expected = breslow_hazard(survival, log_hazard=np.zeros(len(survival.time)), weight=weight)
    return survival.event - expected(survival.time)


def cumulative_hazard(hazard: StepFunction, *, log_hazard: Any, times: Any = None) -> np.ndarray:
    """Expected number of events up to each time, shape ``(n_samples, n_times)``; finite for every finite risk.

    Parameters
    ----------
    hazard
        Cumulative baseline hazard, from :func:`breslow_hazard`.
    log_hazard
        Log-hazard of each sample, shape ``(n_samples,)``.
    times
        By default the times of the steps of the baseline.

    Returns
    -------
    numpy.ndarray
        Cumulative hazards, shape ``(n_samples, n_times)``.
    """
    log_hazard = np.asarray(log_hazard, np.float64)
    baseline = hazard.y if times is None else hazard(np.atleast_1d(times))
    with np.errstate(divide="ignore"):
        # In logarithms, so that no infinite hazard meets a baseline of 0.
        return np.exp(np.minimum(np.log(baseline) + log_hazard[:, None], LARGEST_LOG_HAZARD))


def survival_probability(hazard: StepFunction, *, log_hazard: Any, times: Any = None) -> np.ndarray:
    """Probability of no event up to each time, shape ``(n_samples, n_times)``.

    Parameters
    ----------
    hazard
        Cumulative baseline hazard, from :func:`breslow_hazard`.
    log_hazard
        Log-hazard of each sample, shape ``(n_samples,)``.
    times
        By default the times of the steps of the baseline.

    Returns
    -------
    numpy.ndarray
        Probabilities, shape ``(n_samples, n_times)``.
    """
    return np.exp(-cumulative_hazard(hazard, log_hazard=log_hazard, times=times))


def censoring_curve(y: Any) -> StepFunction:
    """Probability not to be censored so far; at equal times, events come before censorings."""
    counts = _count(read_survival(y, needs_events=False))
    shares = _divide(counts.censored, counts.at_risk - counts.events)
    return StepFunction(counts.time, np.cumprod(1 - shares), before=1.0)


def _divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


class _Counts(NamedTuple):
    time: np.ndarray  # (m,), distinct and rising
    events: np.ndarray  # (m,), weight of the events at a time
    censored: np.ndarray  # (m,)
    at_risk: np.ndarray  # (m,), weight of the rows followed at least so long


def _count(survival: Survival, weight: Any = None) -> _Counts:
    weight = read_weight(weight, len(survival.time))
    time, place = np.unique(survival.time, return_inverse=True)
    events = np.bincount(place, weight * survival.event, len(time))
    leaving = np.bincount(place, weight, len(time))
    return _Counts(
        time=time,
        events=events,
        censored=np.bincount(place, weight * ~survival.event, len(time)),
        at_risk=leaving[::-1].cumsum()[::-1],
    )

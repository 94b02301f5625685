"""Curves over time: what a step function is, Kaplan-Meier, Breslow's baseline, and what follows for a sample."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from lspin.survival.targets import Survival, read_numbers, read_survival, read_weight


class StepFunction:
    """A curve that jumps at some times, and holds there the value after the jump.

    Parameters
    ----------
    x, y
        Rising times, and the values from each of them on.
    before
        The value from time 0 until the first of the times.

    Notes
    -----
    As scikit-survival's, it is known from 0 to the last time, and asking beyond is an error: what comes after
    the end of follow-up is not in the data. Before the first time scikit-survival has the value of the first.

    """

    def __init__(self, x: np.ndarray, y: np.ndarray, *, before: float) -> None:
        self.x = np.asarray(x, np.float64)
        self.y = np.asarray(y, np.float64)
        self.before = before

    @property
    def domain(self) -> tuple[float, float]:
        """First and last time at which the curve is known."""
        return 0.0, float(self.x[-1])

    def __call__(self, times: Any) -> Any:
        """Value at each of the times; a number for a number."""
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
    """A survival curve with its pointwise interval."""

    survival: StepFunction
    lower: StepFunction  # not a number where the curve is at 0
    upper: StepFunction


def kaplan_meier(y: Any, *, weight: Any = None, level: float = 0.95) -> SurvivalCurve:
    """Share of the samples without the event so far, by Kaplan and Meier.

    Parameters
    ----------
    y
        Times and events; see :func:`read_survival`.
    weight
        Of the samples; a whole number stands for as many samples alike.
    level
        Of the interval, which is Greenwood's on the scale of log(-log S), so that it stays within [0, 1].

    """
    counts = _count(read_survival(y, needs_events=False), weight)
    survival = np.cumprod(1 - _divide(counts.events, counts.at_risk))
    with np.errstate(all="ignore"):
        greenwood = np.cumsum(_divide(counts.events, counts.at_risk * (counts.at_risk - counts.events)))
        width = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(greenwood) / -np.log(survival)
        bounds = [np.where(survival == 1, 1.0, survival ** np.exp(sign * width)) for sign in (1, -1)]
    steps = (survival, *(np.where(survival > 0, bound, np.nan) for bound in bounds))
    return SurvivalCurve(*(StepFunction(counts.time, step, before=1.0) for step in steps))


def breslow_hazard(y: Any, *, log_hazard: Any, weight: Any = None) -> StepFunction:
    """Baseline cumulative hazard: that of a sample whose log-hazard is 0.

    Parameters
    ----------
    y
        Times and events of the rows the model was fitted on; see :func:`read_survival`.
    log_hazard
        What the model gives for the same rows. With 0 for all, the estimate is that of Nelson and Aalen.
    weight
        Of the rows.

    """
    survival = read_survival(y, needs_events=False)
    log_hazard = read_numbers(log_hazard, "log_hazard", (len(survival.time),))
    weight = read_weight(weight, len(survival.time))
    counts = _count(survival, weight)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows of weight 0
        latest_first = np.argsort(-survival.time)
        sums = np.logaddexp.accumulate((log_hazard + np.log(weight))[latest_first])
        last = np.searchsorted(-survival.time[latest_first], -counts.time, side="right") - 1
        steps = np.where(counts.events > 0, np.exp(np.log(counts.events) - sums[last]), 0.0)
    return StepFunction(counts.time, np.cumsum(steps), before=0.0)


def martingale_residuals(y: Any, *, weight: Any = None) -> np.ndarray:
    """Events that came more or less than expected of a row if all had the same hazard, shape ``(n,)``."""
    survival = read_survival(y, needs_events=False)
    expected = breslow_hazard(survival, log_hazard=np.zeros(len(survival.time)), weight=weight)
    return survival.event - expected(survival.time)


def survival_probability(hazard: StepFunction, *, log_hazard: Any, times: Any = None) -> np.ndarray:
    """Probability to be without the event at some times, shape ``(n_samples, n_times)``.

    Parameters
    ----------
    hazard
        The baseline's, from :func:`breslow_hazard`.
    log_hazard
        Of the samples, shape ``(n_samples,)``.
    times
        By default those at which the baseline has its steps.

    """
    log_hazard = np.asarray(log_hazard, np.float64)
    baseline = hazard.y if times is None else hazard(np.atleast_1d(times))
    with np.errstate(divide="ignore", over="ignore"):
        # In logarithms, so that no infinite hazard meets a baseline of 0.
        return np.exp(-np.exp(np.log(baseline) + log_hazard[:, None]))


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

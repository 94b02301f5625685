"""Calibration in two numbers: is a prediction right on average, and does it spread as the outcomes do?"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from lspin.survival import Survival, kaplan_meier
from lspin.survival.proportionality import measure_events
from lspin.targets.intervals import Interval, wilson_interval
from lspin.targets.verdicts import word_number

SMALLEST = 1e-9  # probability, so that its logit is finite
MOST_STEPS = 50  # of Newton
STEEPEST = 50.0  # slope, in standard deviations of what is predicted, from which classes are told apart wholly
Z = NormalDist().inv_cdf(0.975)
FARTHEST = 1e4  # end of an interval of a slope
FAR = 40.0  # log-odds at which an event is certain
UNKNOWN = Interval(np.nan, np.nan, np.nan)


class CalibrationScore(NamedTuple):
    """A number that is ``ideal`` for predictions that can be taken as they are."""

    key: str  # "ratio", "bias" or "slope"
    name: str
    interval: Interval
    ideal: float


def compare_shares(happened: np.ndarray, probability: np.ndarray) -> CalibrationScore:
    """Observed over expected: the share of events over the mean probability, with Wilson's interval."""
    expected = float(probability.mean())
    observed = wilson_interval(int(happened.sum()), len(happened))
    ratio = Interval(*(part / expected for part in observed)) if expected > 0 else UNKNOWN
    return CalibrationScore("ratio", "observed / expected", ratio, 1.0)


def logistic_slope(happened: np.ndarray, probability: np.ndarray) -> CalibrationScore:
    """Slope of a logistic regression of events on the predicted log-odds; 1 is ideal, below 1 is too extreme.

    The interval is that of the likelihood ratio: Wald's grows without end where the classes are told apart well.
    """
    x = logit(np.clip(probability, SMALLEST, 1 - SMALLEST))
    spread = max(float(x.std()), SMALLEST)
    x = (x - x.mean()) / spread  # where probabilities hardly vary, slopes are steep and x is nearly a constant
    inputs = np.column_stack([np.ones(len(x)), x])
    coefficients = np.array([0.0, spread])
    interval = UNKNOWN
    for _ in range(MOST_STEPS):
        given = expit(inputs @ coefficients)
        information = (inputs * (given * (1 - given))[:, None]).T @ inputs
        if np.linalg.cond(information) > 1e12 or abs(coefficients[1]) > STEEPEST:
            interval = UNKNOWN
            break
        step = np.linalg.solve(information, inputs.T @ (happened - given))
        coefficients = coefficients + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            interval = Interval(*(end / spread for end in _profile(happened, x, float(coefficients[1]))))
            break
    return CalibrationScore("slope", "calibration slope", interval, 1.0)


def _profile(happened: np.ndarray, x: np.ndarray, slope: float) -> Interval:
    """The slopes that a test of the likelihood ratio does not refuse, around the likeliest."""

    def excess(other: float) -> float:
        return likeliest - _likelihood(happened, other * x) - Z**2 / 2

    likeliest = _likelihood(happened, slope * x)
    ends = []
    for way in (-1, 1):
        far = way * max(abs(slope), 0.1)
        while excess(slope + far) < 0 and abs(far) < FARTHEST:
            far *= 2
        ends.append(brentq(excess, slope, slope + far) if excess(slope + far) > 0 else slope + far)
    return Interval(slope, *ends)


def _likelihood(happened: np.ndarray, log_odds: np.ndarray) -> float:
    """Log-likelihood of events with these log-odds and the constant that suits them best."""
    low, high = -log_odds.max() - FAR, -log_odds.min() + FAR
    constant = brentq(lambda level: float(np.sum(happened - expit(level + log_odds))), low, high)
    log_odds = log_odds + constant
    return float(-np.logaddexp(0, np.where(happened, -log_odds, log_odds)).sum())


def linear_slope(y: np.ndarray, predicted: np.ndarray) -> CalibrationScore:
    """Slope of a regression of the response on the prediction; 1 is ideal, below 1 is too extreme."""
    centred = predicted - predicted.mean()
    spread = float(centred @ centred)
    if len(y) < 3 or spread <= 1e-12 * max(float(predicted @ predicted), 1e-300):
        return CalibrationScore("slope", "calibration slope", UNKNOWN, 1.0)
    slope = float(centred @ y) / spread
    left = y - y.mean() - slope * centred
    error = np.sqrt(left @ left / (len(y) - 2) / spread)
    return CalibrationScore("slope", "calibration slope", _wald(slope, error), 1.0)


def mean_error(y: np.ndarray, predicted: np.ndarray) -> CalibrationScore:
    """How much is predicted too little on average: the mean of the response less that of the prediction."""
    errors = y - predicted
    width = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    return CalibrationScore("bias", "observed − predicted, mean", _wald(float(errors.mean()), float(width)), 0.0)


def compare_survival(y: np.ndarray, survival: np.ndarray, at: float) -> CalibrationScore:
    """Observed over expected risk at a time: one less the Kaplan-Meier estimate over the mean predicted risk."""
    name = f"observed / expected risk at {word_number(at)}"
    curve, expected = kaplan_meier(y), float(1 - survival.mean())
    if at > curve.survival.domain[1] or expected <= 0:
        return CalibrationScore("ratio", name, UNKNOWN, 1.0)
    risks = [(1 - part(at)) / expected for part in (curve.survival, curve.upper, curve.lower)]
    return CalibrationScore("ratio", name, Interval(*risks), 1.0)


def cox_slope(y: np.ndarray, log_hazard: np.ndarray) -> CalibrationScore:
    """Coefficient of a Cox regression on the predicted log-hazard; 1 is ideal, below 1 is too extreme."""
    survival = Survival(y["time"], y["event"])
    slope, interval = 1.0, UNKNOWN
    for _ in range(MOST_STEPS):
        events = measure_events(survival, log_hazard[:, None], slope * log_hazard)
        information = float(events.information[0, 0])
        if information <= 1e-12 or abs(slope) > STEEPEST:
            interval = UNKNOWN
            break
        step = float(np.clip(events.residuals.sum() / information, -2, 2))
        slope += step
        interval = _wald(slope, information**-0.5)
        if abs(step) < 1e-8:
            break
    return CalibrationScore("slope", "calibration slope", interval, 1.0)


def _wald(value: float, error: float) -> Interval:
    return Interval(float(value), float(value - Z * error), float(value + Z * error))

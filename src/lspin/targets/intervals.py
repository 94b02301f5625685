"""Intervals of scores, and rows in bins of about equal size."""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

SMALLEST_BIN = 5  # rows, so that no point of a calibration stands for one of them


class Interval(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    lower: float
    upper: float


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
    """A measure of the rows, with the percentiles of the same over rows drawn again and again.

    Draws on which the measure cannot be taken (a ``ValueError`` or not a number) are left out.
    """
    values = [value for rows in draws if (value := _try(measure, rows)) is not None]
    own = _try(measure, np.arange(len(draws[0])))
    if own is None or not values:
        return Interval(np.nan, np.nan, np.nan)
    lower, upper = sorted(offset + factor * np.quantile(values, [0.025, 0.975]))
    return Interval(offset + factor * own, float(lower), float(upper))


def _try(measure: Callable[[np.ndarray], float], rows: np.ndarray) -> float | None:
    try:
        value = float(measure(rows))
    except ValueError:  # one class only, or no event
        return None
    return value if np.isfinite(value) else None


def area_under_curve(is_case: np.ndarray, score: np.ndarray) -> float:
    """Share of the pairs of a case and a control in which the case has the higher score; ties count one half."""
    n_cases, n_controls = int(is_case.sum()), int((1 - is_case).sum())
    if n_cases == 0 or n_controls == 0:
        return np.nan
    return float((rankdata(score)[is_case == 1].sum() - n_cases * (n_cases + 1) / 2) / (n_cases * n_controls))


def equal_bins(values: np.ndarray, most: int = 10) -> list[np.ndarray]:
    """Places of the values in bins of about equal size, the lowest values first, at least five in each."""
    n_bins = max(1, min(most, len(values) // (2 * SMALLEST_BIN)))
    return np.array_split(np.argsort(values, kind="stable"), n_bins)

"""A Kaplan-Meier curve in a few numbers, for drawing: on a grid, so that no step is one sample's time."""

from typing import Any

import numpy as np

from lspin.survival.curves import kaplan_meier, number_at_risk
from lspin.survival.targets import read_survival

STEPS_PER_TICK = 12
SHOWN_FOLLOW_UP = 0.95  # beyond this quantile of the times hardly anybody is followed


def choose_ticks(time: np.ndarray) -> np.ndarray:
    """Round times from 0 on, at which an axis has ticks and the number at risk is told."""
    last = float(np.quantile(time, SHOWN_FOLLOW_UP)) or float(np.max(time)) or 1.0
    power = 10.0 ** np.floor(np.log10(last / 5))
    step = next(factor * power for factor in (1, 2, 3, 5, 6, 10, 12) if factor * power >= last / 6)
    return np.round(np.arange(0, last * (1 + 1e-9) + step / 2, step), 12)


def outline_curve(name: str, y: Any, ticks: np.ndarray) -> dict[str, Any]:
    """The curve with its band between the ticks, and the number at risk at them.

    Parameters
    ----------
    name
        What the curve is called.
    y
        Times and events of its samples.
    ticks
        Rising times from 0 on, evenly spaced.

    Returns
    -------
    dict
        ``name``, ``size``, ``times``, ``survival`` with ``lower`` and ``upper``, how many samples had ``ended`` by
        each time, and the number ``at_risk`` at each tick.
    """
    target = read_survival(y, needs_events=False)
    curve = kaplan_meier(target)
    grid = np.linspace(0, ticks[-1], STEPS_PER_TICK * max(len(ticks) - 1, 1) + 1)
    grid = grid[grid <= curve.survival.domain[1]]
    return {
        "name": name,
        "size": len(target.time),
        "times": grid,
        "survival": curve.survival(grid),
        "lower": curve.lower(grid),
        "upper": curve.upper(grid),
        "ended": np.searchsorted(np.sort(target.time), grid, side="right"),
        "at_risk": number_at_risk(target, ticks),
    }

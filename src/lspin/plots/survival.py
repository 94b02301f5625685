"""Figures of survival: Kaplan-Meier curves with their bands, and the curve that is predicted for one patient."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lspin.explanation.members import member_range
from lspin.plots.drawing import COLOURS, GREY, shorten, take_axes
from lspin.survival import (
    StepFunction,
    kaplan_meier,
    make_survival,
    median_survival,
    number_at_risk,
    read_survival,
    survival_probability,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEWEST_ROWS = 20  # on which members are compared
STYLES = ("-", "--", "-.", ":")


def survival_curves(
    curves: Mapping[Any, tuple[np.ndarray, np.ndarray]],
    *,
    time_unit: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Survival curves that are known, such as predicted ones; for observed times, see :func:`survival_by_group`.

    Parameters
    ----------
    curves
        For each name, the times at which survival falls and the survival from each time on.
    time_unit
        Unit of the times, for the axis.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    ax = take_axes(ax, 4.6, 3.4)
    for place, (name, (times, survival)) in enumerate(curves.items()):
        steps = StepFunction(np.asarray(times, float), np.asarray(survival, float), before=1.0)
        _draw_steps(ax, steps, _style(place), shorten([name])[0])
    _label_axes(ax, time_unit)
    if curves:
        ax.legend(frameon=False, fontsize=8)
    return ax


def survival_by_group(
    y: Any,
    groups: Any = None,
    *,
    time_unit: str | None = None,
    level: float = 0.95,
    ax: "Axes | None" = None,
) -> "Axes":
    """Kaplan-Meier curves with their bands, the median with its interval, and the number at risk below.

    Parameters
    ----------
    y
        Times and events; see :func:`lspin.survival.read_survival`.
    groups
        Group of each sample, such as a treatment or a third of the predicted risk; one curve each. By default
        one curve for all samples.
    time_unit
        Unit of the times, such as ``"months"``, for the axis.
    level
        Of the bands and of the interval of the median.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    survival = read_survival(y, needs_events=False)
    target = make_survival(survival.time, survival.event)
    groups = np.full(len(target), "all samples") if groups is None else np.asarray(groups)
    if groups.shape != target.shape:
        raise ValueError(f"groups has the shape {groups.shape}, and y has {len(target)} rows")
    names = sorted(set(groups.tolist()), key=lambda name: (str(type(name)), name))
    ax = take_axes(ax, 6.0, 3.6 + 0.2 * len(names))
    for place, name in enumerate(names):
        own = target[groups == name]
        curve = kaplan_meier(own, level=level)
        style = _style(place)
        _draw_steps(ax, curve.survival, style, f"{shorten([name])[0]}: median {_word_median(own, level)}")
        _draw_band(ax, curve.lower, curve.upper, style["color"])
    _label_axes(ax, time_unit)
    ax.legend(frameon=False, fontsize=8)
    _list_at_risk(ax, [(shorten([name])[0], target[groups == name]) for name in names])
    return ax


def patient_survival(
    estimator: Any,
    X: Any,
    sample: str | int = 0,
    *,
    y: Any = None,
    time_unit: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """The survival that is predicted for one patient, with the range of the members, beside the cohort's.

    Parameters
    ----------
    estimator
        A fitted ``LSPINCox``.
    X
        Table that contains the patient, such as the training rows: members are compared over all its rows, and
        their range needs at least 20.
    sample
        Name (in the index of a frame) or position of the patient.
    y
        Times and events of the cohort to draw beside it, if known.
    time_unit
        Unit of the times, for the axis.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    explanation = estimator.explain(X)
    row = explanation.find(sample)
    baseline = estimator.kind_.known_baseline
    is_cohort = len(explanation.scores) >= FEWEST_ROWS
    spread = member_range(estimator, [estimator._read(X)], explanation.scores) if is_cohort else None

    def draw(log_hazard: float) -> StepFunction:
        survival = survival_probability(baseline, log_hazard=[log_hazard])[0]
        return StepFunction(baseline.x, survival, before=1.0)

    ax = take_axes(ax, 5.0, 3.4)
    if y is not None:
        cohort = kaplan_meier(y)
        _draw_steps(ax, cohort.survival, {"color": GREY, "linestyle": "--"}, "cohort")
        _draw_band(ax, cohort.lower, cohort.upper, GREY)
    style = _style(1)
    name = shorten([explanation.sample_names[row]])[0]
    members = "" if spread is None else f", range of {len(estimator.members_)} members"
    _draw_steps(ax, draw(explanation.scores[row, 0]), style, f"sample {name}{members}")
    if spread is not None:
        lowest, highest = spread[row]
        _draw_band(ax, draw(highest), draw(lowest), style["color"])
    _label_axes(ax, time_unit)
    ax.legend(frameon=False, fontsize=8)
    if y is not None:
        survival = read_survival(y, needs_events=False)
        _list_at_risk(ax, [("cohort", make_survival(survival.time, survival.event))])
    return ax


def _style(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": STYLES[place % len(STYLES)]}


def _draw_steps(ax: "Axes", curve: StepFunction, style: dict[str, Any], name: str) -> None:
    ax.step(np.append(0.0, curve.x), np.append(curve.before, curve.y), where="post", label=name, **style)


def _draw_band(ax: "Axes", lower: StepFunction, upper: StepFunction, colour: str) -> None:
    times = np.append(0.0, lower.x)
    low, high = (np.append(part.before, part.y) for part in (lower, upper))
    ax.fill_between(times, low, high, step="post", color=colour, alpha=0.15, linewidth=0)


def _label_axes(ax: "Axes", time_unit: str | None) -> None:
    ax.set(
        xlabel=f"time ({time_unit})" if time_unit else "time", ylabel="survival", ylim=(0, 1.02), xlim=(0, None)
    )
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def _word_median(y: np.ndarray, level: float) -> str:
    """The median with its interval, ∞ where the curve or its band stays above one half."""
    median, lower, upper = (f"{at:.3g}" if np.isfinite(at) else "∞" for at in median_survival(y, level=level))
    return f"not reached (from {lower})" if median == "∞" else f"{median} ({lower} to {upper})"


def _list_at_risk(ax: "Axes", groups: list[tuple[str, np.ndarray]]) -> None:
    """Rows of numbers below the axis, under its ticks."""
    last = max(float(own["time"].max()) for _, own in groups)
    ticks = [tick for tick in ax.get_xticks() if 0 <= tick <= max(last, ax.get_xlim()[1] * 0.999)]
    ax.set_xticks(ticks)
    place = ax.get_xaxis_transform()
    words: dict[str, Any] = {"fontsize": 8, "clip_on": False, "va": "top"}
    ax.annotate("at risk", (0, 0), (-16, -36), ax.transAxes, "offset points", ha="right", color=GREY, **words)
    for row, (name, own) in enumerate(groups):
        down = -48 - 12 * row
        colour = COLOURS[row % len(COLOURS)]
        ax.annotate(name, (0, 0), (-16, down), ax.transAxes, "offset points", ha="right", color=colour, **words)
        for tick, count in zip(ticks, number_at_risk(own, ticks), strict=True):
            ax.annotate(str(count), (tick, 0), (0, down), place, "offset points", ha="center", **words)

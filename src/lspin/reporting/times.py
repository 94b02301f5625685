"""What a page holds about survival: curves of the cohort and its groups, times of risks, proportional hazards."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lspin.reporting.hiding import FEWEST_ALIKE, hide_counts, thin_curve
from lspin.reporting.numbers import digits, finite
from lspin.reporting.samples import Cohort
from lspin.survival import Survival, check_proportionality
from lspin.survival.outline import choose_ticks, outline_curve
from lspin.survival.targets import split_times
from lspin.survival.units import choose_times, read_times, word_time
from lspin.targets.survival import Times
from lspin.targets.survival_judge import say_median

LEVEL = 0.05  # below which a p-value is told as a finding
FEWEST_EVENTS = 10  # for a test
EVENTS_A_FEATURE = 10
MOST_TESTED = 20  # features
LEAST_USED = 0.1  # part of the samples that select a tested feature
CURVE_POINTS = 121  # of a predicted curve


def describe_times(
    cohort: Cohort, *, at: Sequence[float] | None, time_unit: str | None, shows_samples: bool
) -> dict[str, Any]:
    """Curves with bands and numbers at risk, times of risks, and whether hazards are proportional."""
    kind = cohort.explanation.kind
    assert isinstance(kind, Times)
    survival = split_times(cohort.target)
    ticks = choose_ticks(survival.time)
    last = kind.known_baseline.domain[1]
    times = read_times(choose_times(survival.time, time_unit) if at is None else at, last)
    told: dict[str, Any] = {
        "unit": time_unit,
        # Files of version 0.1 do not hold the mean; that of the rows on the page is near.
        "mean": float(cohort.explanation.scores[:, 0].mean()) if kind.mean is None else kind.mean,
        "at": times,
        "at_words": [word_time(time, time_unit) for time in times],
        "cohort": _outline("all samples", survival, ticks, shows_samples=shows_samples),
        "groups": _outline_groups(cohort, survival, ticks, shows_samples=shows_samples),
        "proportionality": check_hazards(cohort, survival),
    }
    if shows_samples:
        grid = np.unique(np.append(np.linspace(0, min(ticks[-1], last), CURVE_POINTS), times))
        told["hazard"] = {"times": digits(grid, 7), "cumulative": digits(kind.known_baseline(grid), 6)}
    return told


def _outline_groups(
    cohort: Cohort, survival: Survival, ticks: np.ndarray, *, shows_samples: bool
) -> list[dict[str, Any]]:
    if cohort.n_groups < 2:
        return []
    parts = [(group, cohort.groups == group) for group in range(cohort.n_groups)]
    return [
        _outline(
            f"group {group + 1}",
            Survival(survival.time[inside], survival.event[inside]),
            ticks,
            shows_samples=shows_samples,
        )
        for group, inside in parts
        if inside.sum() >= FEWEST_ALIKE
    ]


def _outline(name: str, survival: Survival, ticks: np.ndarray, *, shows_samples: bool) -> dict[str, Any]:
    curve = outline_curve(name, survival, ticks)
    median = say_median(survival, 1 if shows_samples else FEWEST_ALIKE)
    return write_curve(curve | {"median": median, "ticks": ticks}, shows_samples=shows_samples)


def write_curve(curve: dict[str, Any], *, shows_samples: bool) -> dict[str, Any]:
    """A curve as the page holds it; without samples, at times between which enough of them end."""
    if not shows_samples:
        curve = thin_curve(curve) | {"at_risk": hide_counts(curve["at_risk"])}
    names = ("times", "survival", "lower", "upper", "ended", "ticks", "at_risk")
    return curve | {name: digits(curve[name], 6) for name in names}


# Proportional hazards ------------------------------------------------------------------------------------------


def check_hazards(cohort: Cohort, survival: Survival) -> dict[str, Any]:
    """Test the predicted risk, and what features add to it, by Schoenfeld residuals on the rows of the fit."""
    rows = np.flatnonzero(~cohort.is_held_out)
    y = Survival(survival.time[rows], survival.event[rows])
    n_events = int(y.event.sum())
    if n_events < FEWEST_EVENTS:
        return {"said": f"With {n_events} events there are too few to check that hazards are proportional."}
    log_hazard = cohort.explanation.scores[rows, 0]
    if np.ptp(log_hazard) == 0:
        return {"said": "All samples have the same risk, so there is no effect that could change over time."}
    features = _list_tested(cohort, rows, n_events)
    columns = _contributions(cohort, features)[rows]
    try:
        risk = check_proportionality(y, log_hazard[:, None], log_hazard=log_hazard)
        found = check_proportionality(y, columns, log_hazard=log_hazard)
    except ValueError as error:
        return {"said": f"Whether hazards are proportional was not checked: {error}."}
    names = [str(name) for name in cohort.explanation.feature_names[features]]
    corrected = correct_for_many(found.p_value)
    changing = [
        (name, f"{'fades' if trend < 0 else 'grows'} (corrected {_word_p(p_value, 'p')})")
        for name, p_value, trend in zip(names, corrected, found.trend, strict=True)
        if p_value < LEVEL
    ]
    return {
        "said": say_hazards(float(risk.p_value[0]), float(risk.trend[0]), corrected, changing),
        "p_value": finite(risk.p_value)[0],
        "features": names,
        "p_values": finite(corrected),
    }


def _list_tested(cohort: Cohort, rows: np.ndarray, n_events: int) -> np.ndarray:
    """The strongest features that enough samples select, as many as the events allow."""
    explanation = cohort.explanation
    inside = np.isin(explanation.rows, rows)
    share = np.bincount(explanation.columns[inside], minlength=len(explanation.feature_names)) / len(rows)
    often = [column for column in cohort.features if share[column] >= LEAST_USED]
    return np.array(often[: min(MOST_TESTED, n_events // EVENTS_A_FEATURE)], int)


def _contributions(cohort: Cohort, features: np.ndarray) -> np.ndarray:
    explanation = cohort.explanation
    place = np.full(len(explanation.feature_names), -1)
    place[features] = np.arange(len(features))
    shown = place[explanation.columns] >= 0
    filled = np.zeros((len(explanation.sample_names), len(features)))
    filled[explanation.rows[shown], place[explanation.columns[shown]]] = explanation.open_contributions[shown, 0]
    return filled


def correct_for_many(p_values: np.ndarray) -> np.ndarray:
    """Holm's correction; tests that could not be made stay so."""
    known = np.flatnonzero(np.isfinite(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected = np.full(len(p_values), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected


def say_hazards(whole: float, trend: float, corrected: np.ndarray, changing: list[tuple[str, str]]) -> str:
    """The finding, in a sentence or two."""
    meaning = (
        "Hazards are proportional if what raises the risk does so by the same factor early and late; the model "
        "assumes it. "
    )
    known = corrected[np.isfinite(corrected)]
    smallest = f", smallest corrected p of {len(known)} features {_word_p(known.min())}" if len(known) else ""
    if not changing and not whole < LEVEL:
        return f"{meaning}Schoenfeld residuals do not contradict it ({_word_p(whole, 'p')}{smallest})."
    parts = []
    if whole < LEVEL:
        word = "fades" if trend < 0 else "grows"
        parts.append(f"the effect of the predicted risk {word} over time ({_word_p(whole, 'p')})")
    if changing:
        parts.append("the effect of " + ", ".join(f"{name} {word}" for name, word in changing))
    return (
        f"{meaning}Schoenfeld residuals contradict it: {'; '.join(parts)}. Read risks early and late in the "
        "follow-up with care."
    )


def _word_p(p_value: float, name: str = "") -> str:
    if not np.isfinite(p_value):
        return "not known"
    if p_value < 0.001:
        return f"{name} < 0.001".strip()
    return f"{name} = {p_value:.2g}" if name else f"{p_value:.2g}"

"""How well risks are ordered and how honest survival probabilities are, with censoring taken into account."""

from typing import Any, NamedTuple

import numpy as np

from lspin.survival.curves import SurvivalCurve, censoring_curve, kaplan_meier
from lspin.survival.targets import Survival, read_numbers, read_survival, read_weight

# Risks: are they in the right order? ---------------------------------------------------------------------------


class Concordance(NamedTuple):
    """How often, of two samples, the one with the higher risk had its event first."""

    c_index: float  # (concordant + tied / 2) / (concordant + discordant + tied)
    concordant: float  # weight of the pairs in the right order
    discordant: float
    tied: float  # of the pairs with equal risks


def harrell_concordance(y: Any, *, risk: Any, weight: Any = None) -> Concordance:
    """Harrell's C: the share of comparable pairs whose risks are in the right order; 0.5 is chance.

    Parameters
    ----------
    y
        Times and events; see :func:`read_survival`.
    risk
        Higher is worse, shape ``(n,)``.
    weight
        Of the samples; a pair has the product of its two.

    Notes
    -----
    A pair is comparable where the one had its event before the other's time ended; at equal times, where the one
    had the event and the other was censored. Equal risks count one half; here they are equal in every digit,
    while scikit-survival also takes those for equal that are 1e-8 apart. In O(n log n): half a million samples
    take about a second.

    """
    survival = read_survival(y, needs_events=False)
    weight = read_weight(weight, len(survival.time))
    return _compare_pairs(
        survival, read_numbers(risk, "risk", (len(survival.time),)), weight * survival.event, weight
    )


def uno_concordance(y: Any, *, risk: Any, train: Any = None, until: float | None = None) -> Concordance:
    """Uno's C: Harrell's, freed from the censoring by weighting each event with how rarely it is seen.

    Parameters
    ----------
    y
        Times and events of the samples that are judged.
    risk
        Higher is worse, shape ``(n,)``.
    train
        Times and events from which the censoring is learned; by default ``y``.
    until
        Events from this time on are left out: late ones have huge weights.

    """
    survival = read_survival(y, needs_events=False)
    counted = survival.event & (survival.time < (np.inf if until is None else until))
    weights = _weigh_events(survival, counted, train)
    return _compare_pairs(
        survival, read_numbers(risk, "risk", (len(survival.time),)), weights**2, np.ones(len(weights))
    )


def _compare_pairs(
    survival: Survival, risk: np.ndarray, case_weight: np.ndarray, weight: np.ndarray
) -> Concordance:
    """Weight of all pairs of a case and a row that was event-free for longer, by the order of their risks."""
    # At equal times a censored row was event-free for longer; two events cannot be told apart.
    _, time_rank = np.unique(survival.time, return_inverse=True)
    rank = 2 * time_rank + ~survival.event
    by_rank = np.bincount(rank, weight)
    longer = (by_rank.sum() - by_rank.cumsum())[rank]
    below = _sum_ahead(rank, weight, np.lexsort((rank, risk)))
    has_ties = len(np.unique(risk)) < len(risk)
    not_above = _sum_ahead(rank, weight, np.lexsort((-rank, risk))) if has_ties else below
    concordant, tied = (float(case_weight @ part) for part in (below, not_above - below))
    total = float(case_weight @ longer)
    if total <= 0:
        raise ValueError(
            f"none of the pairs of {len(risk)} samples can be compared: nobody was followed for longer than "
            f"one who had the event ({int((case_weight > 0).sum())} samples had it)"
        )
    c_index = (concordant + tied / 2) / total
    return Concordance(c_index, concordant, max(total - concordant - tied, 0.0), max(tied, 0.0))


def _sum_ahead(rank: np.ndarray, weight: np.ndarray, order: np.ndarray) -> np.ndarray:
    """For each row, the weight of the rows ahead of it in the order that are of higher rank.

    Two ranks part at their highest differing bit. So bit by bit, from the highest, rows whose bits above are
    equal lie together, in the order, and those with a 1 are summed for those with a 0 behind them.
    """
    # What belongs to a row moves along with it: reading it at random places would take most of the time.
    rank, weight, total = rank[order], weight[order], np.zeros(len(rank))
    for bit in reversed(range(int(rank.max()).bit_length())):
        high = (rank >> bit) & 1 == 1
        running = np.cumsum(np.where(high, weight, 0.0))
        starts = np.flatnonzero(np.diff(rank >> (bit + 1), prepend=-1))
        before = np.repeat(np.append(0.0, running)[starts], np.diff(starts, append=len(rank)))
        total += np.where(high, 0.0, running - before)
        low = ~high
        order, rank, weight, total = (
            np.concatenate([part[low], part[high]]) for part in (order, rank, weight, total)
        )
    by_row = np.empty_like(total)
    by_row[order] = total
    return by_row


class DynamicAUC(NamedTuple):
    """How well risks tell those with the event by some time from those without it."""

    times: np.ndarray
    auc: np.ndarray  # one number for each of the times
    mean: float  # weighted by the events between the times


def dynamic_auc(y: Any, *, risk: Any, times: Any, train: Any = None) -> DynamicAUC:
    """Time-dependent area under the curve: cases so far against all who are followed for longer.

    Parameters
    ----------
    y
        Times and events of the samples that are judged.
    risk
        Higher is worse, shape ``(n,)``, or ``(n, n_times)`` where it changes with the time.
    times
        Rising; by each of them somebody must have had the event, and after it somebody must still be followed.
    train
        Times and events from which the censoring is learned; by default ``y``.

    """
    survival = read_survival(y, needs_events=False)
    times = _read_times(times, survival)
    changes = np.ndim(risk) == 2
    risk = read_numbers(risk, "risk", (len(survival.time), len(times))[: 1 + changes])
    places = _rank(risk if changes else risk[:, None])
    weights = _weigh_events(survival, survival.event & (survival.time <= times[-1]), train)
    auc = np.empty(len(times))
    for column, at in enumerate(times):
        cases = np.where(survival.time <= at, weights, 0.0)
        auc[column] = _area(places[:, column if changes else 0], cases, survival.time > at, at)
    alive = kaplan_meier(survival).survival(times)
    return DynamicAUC(times, auc, float(auc @ -np.diff(alive, prepend=1.0) / (1 - alive[-1])))


def _rank(columns: np.ndarray) -> np.ndarray:
    return np.stack([np.unique(column, return_inverse=True)[1] for column in columns.T], axis=1)


def _area(place: np.ndarray, cases: np.ndarray, controls: np.ndarray, at: float) -> float:
    """Share of the pairs of a case and a control in which the case has the higher place, ties by one half."""
    if not cases.any():
        raise ValueError(f"nobody had the event by time {at:g}, so there is nobody to tell from the others")
    by_place = np.bincount(place, controls)
    below = by_place.cumsum() - by_place / 2
    return float(cases @ below[place] / (cases.sum() * controls.sum()))


# Probabilities: are they honest? -------------------------------------------------------------------------------


def brier_score(y: Any, *, survival: Any, times: Any, train: Any = None) -> np.ndarray:
    """Mean squared error of the probability to survive some times, corrected for censoring; lower is better.

    Parameters
    ----------
    y
        Times and events of the samples that are judged.
    survival
        Probability to be without the event at each of the times, shape ``(n, n_times)``.
    times
        Rising, below the last time of ``y``.
    train
        Times and events from which the censoring is learned; by default ``y``.

    """
    target = read_survival(y, needs_events=False)
    times = _read_times(times, target)
    survival = _read_probabilities(survival, (len(target.time), len(times)))
    case_weights = _weigh_events(target, target.event & (target.time <= times[-1]), train)
    control_weights = 1 / _censoring_at(times, target, train)
    scores = np.empty(len(times))
    for place, at in enumerate(times):
        given = survival[:, place]
        cases = np.where(target.time <= at, case_weights, 0.0) * given**2
        controls = (target.time > at) * control_weights[place] * (1 - given) ** 2
        scores[place] = np.mean(cases + controls)
    return scores


def integrated_brier_score(y: Any, *, survival: Any, times: Any, train: Any = None) -> float:
    """Mean over time of the Brier score, by the trapezoidal rule; see :func:`brier_score`."""
    scores = brier_score(y, survival=survival, times=times, train=train)
    if len(scores) < 2:
        raise ValueError("the integral needs at least two times; for one, use brier_score")
    times = np.asarray(times, np.float64)
    return float(np.trapezoid(scores, times) / (times[-1] - times[0]))


class Calibration(NamedTuple):
    """Predicted and observed survival of groups of samples, those with the lowest prediction first."""

    predicted: np.ndarray  # mean of each group
    observed: np.ndarray  # by Kaplan-Meier; not a number where nobody of a group was followed so long
    lower: np.ndarray  # of the observed
    upper: np.ndarray
    size: np.ndarray  # samples in each group


def calibration_at(y: Any, *, survival: Any, at: float, n_groups: int = 10, level: float = 0.95) -> Calibration:
    """Whether of those given a chance of 80 % to survive a time, 80 % do.

    Parameters
    ----------
    y
        Times and events of the samples that are judged.
    survival
        Probability to be without the event at the time ``at``, shape ``(n,)``.
    at
        The time.
    n_groups
        Groups of about equal size; equal probabilities stay together, so there may be fewer.
    level
        Of the interval of what is observed.

    """
    target = read_survival(y, needs_events=False)
    survival = _read_probabilities(survival, (len(target.time),))
    edges = np.unique(np.quantile(survival, np.linspace(0, 1, n_groups + 1)[1:-1]))
    group = np.searchsorted(edges, survival, side="left")
    rows = []
    for members in (group == number for number in np.unique(group)):
        followed = Survival(target.time[members], target.event[members])
        seen = _curve_at(kaplan_meier(followed, level=level), at)
        rows.append((survival[members].mean(), *seen, members.sum()))
    return Calibration(*(np.array(column) for column in zip(*rows, strict=True)))


def _curve_at(curve: SurvivalCurve, at: float) -> tuple[float, ...]:
    if at > curve.survival.domain[1]:
        return (np.nan,) * 3
    return tuple(part(at) for part in curve)


# Weights against censoring, and checks -------------------------------------------------------------------------


def _weigh_events(survival: Survival, counted: np.ndarray, train: Any) -> np.ndarray:
    """One over the probability not to be censored before its event, for the counted rows; 0 for all others."""
    weights = np.zeros(len(survival.time))
    weights[counted] = 1 / _censoring_at(survival.time[counted], survival, train)
    return weights


def _censoring_at(times: np.ndarray, survival: Survival, train: Any) -> np.ndarray:
    curve = censoring_curve(survival if train is None else train)
    if (times > curve.domain[1]).any():
        raise ValueError(
            f"time {times.max():g} lies beyond the last training time, {curve.domain[1]:g}, so nothing is "
            "known of the censoring there; judge up to an earlier time"
        )
    uncensored = curve(times)
    if (uncensored <= 0).any():
        raise ValueError(
            f"all training rows still followed are censored by time {times[uncensored <= 0].min():g}, so events "
            "from then on have no weight; judge up to an earlier time"
        )
    return uncensored


def _read_times(times: Any, survival: Survival) -> np.ndarray:
    times = np.atleast_1d(np.asarray(times, np.float64))
    if times.ndim != 1 or len(times) == 0 or not (np.diff(times) > 0).all():
        raise ValueError(f"times must be a rising list of numbers, got {times.tolist()[:5]}")
    last = survival.time.max()
    if not (times[0] > 0 and times[-1] < last):
        raise ValueError(
            f"times must lie above 0 and below {last:g}, the last time of y; they range from {times[0]:g} to "
            f"{times[-1]:g}"
        )
    return times


def _read_probabilities(survival: Any, shape: tuple[int, ...]) -> np.ndarray:
    survival = read_numbers(survival, "survival", shape)
    if survival.min() < 0 or survival.max() > 1:
        raise ValueError(
            f"survival must be a probability, in [0, 1]; it ranges from {survival.min():g} to {survival.max():g}"
        )
    return survival

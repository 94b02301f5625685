"""Concordance, AUC, Brier score and calibration of survival predictions, corrected for censoring."""

from typing import Any, NamedTuple

import numpy as np

from lspin.survival.curves import SurvivalCurve, censoring_curve, kaplan_meier
from lspin.survival.targets import Survival, read_numbers, read_survival, read_weight

# Risks: are they in the right order? ---------------------------------------------------------------------------


class Concordance(NamedTuple):
    """Share of comparable pairs in which the sample with the higher risk had its event first."""

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
        Weight of each sample; the weight of a pair is the product.

    Returns
    -------
    Concordance
        The index ``c_index``, and the pairs behind it.

    Notes
    -----
    Two samples are comparable if one had its event before the follow-up of the other ended. If both times are
    equal, one must have had the event and the other must be censored. A pair of equal risks counts one half.
    Risks are equal if all digits are equal; scikit-survival treats risks up to 1e-8 apart as equal. The cost is
    O(n log n): about a second for 500,000 samples.

    Examples
    --------
    >>> from lspin.survival import harrell_concordance
    >>> y = ([1.0, 2.0, 3.0, 4.0], [True, True, False, True])
    >>> harrell_concordance(y, risk=[4.0, 3.0, 2.0, 1.0]).c_index  # who dies first has the highest risk
    1.0

    """
    survival = read_survival(y, needs_events=False)
    weight = read_weight(weight, len(survival.time))
    return _compare_pairs(
        survival, read_numbers(risk, "risk", (len(survival.time),)), weight * survival.event, weight
    )


def uno_concordance(y: Any, *, risk: Any, train: Any = None, until: float | None = None) -> Concordance:
    """Uno's C: concordance that does not depend on the censoring, by inverse probability weights.

    Parameters
    ----------
    y
        Times and events of the samples to evaluate.
    risk
        Higher is worse, shape ``(n,)``.
    train
        Times and events to estimate the censoring from; by default ``y``.
    until
        Events at this time or later are not counted, because late events have very large weights.

    Returns
    -------
    Concordance
        The index ``c_index``, and the weights of the pairs behind it.
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
    """How well risks separate samples with the event by a given time from samples without it."""

    times: np.ndarray
    auc: np.ndarray  # one number for each of the times
    mean: float  # weighted by the events between the times


def dynamic_auc(y: Any, *, risk: Any, times: Any, train: Any = None) -> DynamicAUC:
    """Time-dependent AUC: at each time, samples with the event so far against samples followed longer.

    Parameters
    ----------
    y
        Times and events of the samples to evaluate.
    risk
        Higher is worse. Shape ``(n,)``, or ``(n, n_times)`` if the risk changes over time.
    times
        Increasing times. Each needs at least one event up to it and at least one sample followed after it.
    train
        Times and events to estimate the censoring from; by default ``y``.

    Returns
    -------
    DynamicAUC
        The area at each time, and its mean.
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
    """Brier score: mean squared error of survival probabilities, corrected for censoring; lower is better.

    Parameters
    ----------
    y
        Times and events of the samples to evaluate.
    survival
        Probability of no event up to each time, shape ``(n, n_times)``.
    times
        Increasing times, below the last time in ``y``.
    train
        Times and events to estimate the censoring from; by default ``y``.

    Returns
    -------
    numpy.ndarray
        One score for each time.
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
    """Mean of the Brier score over time, by the trapezoidal rule; see :func:`brier_score`.

    Parameters
    ----------
    y, survival, times, train
        As in :func:`brier_score`; at least two times.

    Returns
    -------
    float
        The mean; lower is better.
    """
    scores = brier_score(y, survival=survival, times=times, train=train)
    if len(scores) < 2:
        raise ValueError("the integral needs at least two times; for one, use brier_score")
    times = np.asarray(times, np.float64)
    return float(np.trapezoid(scores, times) / (times[-1] - times[0]))


class Calibration(NamedTuple):
    """Predicted and observed survival in groups of samples, ordered from the lowest prediction."""

    predicted: np.ndarray  # mean of each group
    observed: np.ndarray  # by Kaplan-Meier; NaN if no sample of the group was followed that long
    lower: np.ndarray  # of the observed
    upper: np.ndarray
    size: np.ndarray  # samples in each group


def calibration_at(y: Any, *, survival: Any, at: float, n_groups: int = 10, level: float = 0.95) -> Calibration:
    """Calibration at one time: predicted against observed survival, in groups of similar prediction.

    Parameters
    ----------
    y
        Times and events of the samples to evaluate.
    survival
        Probability of no event up to the time ``at``, shape ``(n,)``.
    at
        The time.
    n_groups
        Number of groups of about equal size. There may be fewer, because equal probabilities stay together.
    level
        Confidence level of the intervals of the observed survival.

    Returns
    -------
    Calibration
        Predicted and observed survival of each group, with intervals.
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

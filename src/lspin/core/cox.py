"""The Cox partial likelihood: what log-hazards cost, given who was at risk when an event happened.

The functions run on NumPy and JAX arrays. Rows are sorted by decreasing time, so the risk set of an event is all
rows up to its own. Nothing here sorts, so everything can run inside a compiled loop.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np

from lspin.core.arrays import Array

ABSENT = -1e30  # log-weight of a row that does not count: finite, so that gradients are


class RiskSets(NamedTuple):
    """Who is at risk at each event, for rows sorted by falling time."""

    log_weight: Array  # (n,)
    event: Array  # (n,), weight of a row's event, 0 where it has none
    mean_event: Array  # (n,), mean weight of the events tied with a row's own, 0 where it has none
    last: Array  # (n,), whole numbers: at risk at a row's time are all rows up to this one
    passed: Array | None  # (n,), part of the tied events that Efron takes as gone before this one; None: Breslow


def find_risk_sets(time: Array, event: Array, weight: Array, *, ties: str = "efron") -> RiskSets:
    """Who is at risk at each event, found once before training or, in a minibatch, at each step.

    Parameters
    ----------
    time
        Times of the rows in decreasing order, shape ``(n,)``. Only order and equality matter, so ranks work too;
        they are safer in single precision, which may round two different times to the same number.
    event
        1 where the time ended in an event, else 0.
    weight
        Weights of the rows. Rows of weight 0 have no influence; padding has weight 0 and comes last.
    ties
        How events at one time are counted: ``"efron"`` or ``"breslow"``.

    """
    if ties not in ("efron", "breslow"):
        raise ValueError(f"ties must be 'efron' or 'breslow', got {ties!r}")
    xp = weight.__array_namespace__()
    counts = weight > 0
    happened = xp.astype(counts & (event > 0), xp.int32)
    group, last = _group_ties(time)
    n_tied = xp.astype(xp.maximum(sum_by_group(happened, group), 1)[group], weight.dtype)
    return RiskSets(
        log_weight=xp.where(counts, xp.log(xp.where(counts, weight, 1.0)), ABSENT),
        event=happened * weight,
        mean_event=happened * sum_by_group(happened * weight, group)[group] / n_tied,
        last=last,
        passed=_count_earlier(happened, group) / n_tied if ties == "efron" else None,
    )


def cox_loss(log_hazard: Array, sets: RiskSets) -> Array:
    """Negative log partial likelihood per event; 0, with a gradient of 0, where there is no event.

    Parameters
    ----------
    log_hazard
        Log-hazards of the rows in the order of the sets, shape ``(n,)``.
    sets
        From :func:`find_risk_sets` for the same rows.

    Notes
    -----
    The likelihood compares each event with all rows at risk then, so it does not split into minibatches; the exact
    likelihood needs all rows at once. A minibatch is treated as a small cohort of its own. A sample is then a
    larger part of its own risk set, so the mean gradient over batches is shorter, the more so the smaller the
    batch, but points in nearly the same direction. If hazards are proportional, minibatches share the optimum.

    """
    xp = log_hazard.__array_namespace__()
    n_events = sets.event.sum()
    return cox_terms(log_hazard, sets).sum() / xp.where(n_events > 0, n_events, 1.0)


def cox_terms(log_hazard: Array, sets: RiskSets) -> Array:
    """What each row's event adds to the negative log partial likelihood, shape ``(n,)``; 0 for all other rows.

    Notes
    -----
    Let S be the weighted sum of the hazards at risk and T that of the d events tied at one time. The l-th of these
    (counted from 0) adds ``log(S - l/d T)`` (Efron) or ``log S`` (Breslow), times the mean weight of the d events,
    minus its own weighted log-hazard. R's ``survival::coxph`` uses weights in the same way. Under Breslow a row of
    weight 2 equals the row given twice; under Efron it does not, because a repeated row is an additional tie.

    """
    xp = log_hazard.__array_namespace__()
    weighted = log_hazard + sets.log_weight
    log_at_risk = cumulative_log_sum(weighted)[sets.last]
    log_left = log_at_risk
    if sets.passed is not None:
        # Shares of the risk set lie in [0, 1] whatever the size of the hazards.
        share = xp.where(sets.event > 0, xp.exp(weighted - log_at_risk), 0.0)
        # Rows of one time, and no others, have the same last row.
        tied_share = sum_by_group(share, sets.last)[sets.last]
        log_left = log_at_risk + xp.log1p(-sets.passed * tied_share)
    return xp.where(sets.event > 0, sets.mean_event * log_left - sets.event * log_hazard, 0.0)


def cox_slope(log_hazard: np.ndarray, sets: RiskSets) -> np.ndarray:
    """Derivative of :func:`cox_loss` with ties by Breslow, in NumPy: minus the martingale residuals, per event."""
    log_at_risk = cumulative_log_sum(log_hazard + sets.log_weight)[sets.last]
    hazards = np.where(sets.event > 0, sets.event, 0.0) * np.exp(-(log_at_risk - log_at_risk.max()))
    first = np.searchsorted(sets.last, sets.last, side="left")  # of the rows tied with a row
    passed = np.cumsum(hazards[::-1])[::-1][first]  # over the events up to a row's time
    expected = passed * np.exp(log_hazard + sets.log_weight - log_at_risk.max())
    return (expected - sets.event) / max(sets.event.sum(), 1e-300)


def cumulative_log_sum(values: Array) -> Array:
    """Logarithm of the running sum of exponentials, at any size of the values."""
    if isinstance(values, np.ndarray):
        return np.logaddexp.accumulate(values)
    import jax
    import jax.numpy as jnp

    def add(total: Array, value: Array) -> tuple[Array, Array]:
        total = jnp.logaddexp(total, value)
        return total, total

    # jax.lax.cumlogsumexp takes 26 s to compile for 500,000 rows. Here all blocks of some hundred rows run
    # along side by side, then the totals of the blocks one after the other.
    size = isqrt(max(len(values) - 1, 0)) + 1
    blocks = jnp.pad(values, (0, -len(values) % size), constant_values=ABSENT).reshape(-1, size)
    totals, inside = jax.lax.scan(add, jnp.full_like(blocks[:, 0], ABSENT), blocks.T)
    _, through = jax.lax.scan(add, jnp.full_like(totals[0], ABSENT), totals)
    before = jnp.concatenate([jnp.full_like(totals[:1], ABSENT), through[:-1]])
    return jnp.logaddexp(inside.T, before[:, None]).reshape(-1)[: len(values)]


def sum_by_group(values: Array, group: Array) -> Array:
    """Sum of the values of each group, shape ``(n,)`` for groups numbered from 0 in rising order."""
    if isinstance(values, np.ndarray):
        return np.bincount(group, values, len(values)).astype(values.dtype)
    from jax.ops import segment_sum

    return segment_sum(values, group, num_segments=len(values), indices_are_sorted=True)


def _group_ties(time: Array) -> tuple[Array, Array]:
    """Number of each row's time, counted from 0 on, and the last row that has it."""
    xp = time.__array_namespace__()
    changes = xp.astype(time[1:] != time[:-1], xp.int32)
    group = xp.concat([xp.zeros(1, dtype=xp.int32), xp.cumulative_sum(changes, dtype=xp.int32)])
    sizes = sum_by_group(xp.ones(len(time), dtype=xp.int32), group)
    return group, xp.cumulative_sum(sizes, dtype=xp.int32)[group] - 1


def _count_earlier(happened: Array, group: Array) -> Array:
    """How many events of its own time stand before each row."""
    xp = happened.__array_namespace__()
    so_far = xp.cumulative_sum(happened, dtype=xp.int32)
    by_group = sum_by_group(happened, group)
    before_group = xp.cumulative_sum(by_group, dtype=xp.int32) - by_group
    return so_far - happened - before_group[group]

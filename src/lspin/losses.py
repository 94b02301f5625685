"""What predictions cost: squared error and cross-entropy row by row, the Cox likelihood over rows together."""

from lspin.hazards import cox_loss, find_risk_sets
from lspin.noise import Array


def squared_error(outputs: Array, target: Array) -> Array:
    """Squared error of each row, for outputs of shape ``(n, 1)`` and a target of shape ``(n,)``."""
    return (outputs[:, 0] - target) ** 2


def cross_entropy(outputs: Array, target: Array) -> Array:
    """Negative log-probability of each row's class, in nats.

    Parameters
    ----------
    outputs
        Scores, shape ``(n, n_classes)``; one column stands for two classes, the first of which scores 0.
    target
        Class codes, shape ``(n,)``.

    """
    xp = outputs.__array_namespace__()
    scores = complete_scores(outputs)
    highest = xp.max(scores, axis=1, keepdims=True)
    log_total = xp.log(xp.sum(xp.exp(scores - highest), axis=1)) + highest[:, 0]
    chosen = xp.astype(target, xp.int32)[:, None] == xp.arange(scores.shape[1])
    return log_total - xp.sum(xp.where(chosen, scores, 0.0), axis=1)


def complete_scores(outputs: Array) -> Array:
    """Scores with one column a class: a single column is the second class against a score of 0."""
    xp = outputs.__array_namespace__()
    if outputs.shape[1] > 1:
        return outputs
    return xp.concat([xp.zeros_like(outputs), outputs], axis=1)


def partial_likelihood(outputs: Array, target: Array, weight: Array, *, ties: str) -> Array:
    """Negative log partial likelihood per event, for rows in any order.

    Parameters
    ----------
    outputs
        Log-hazards, shape ``(n, 1)``.
    target
        Signed times, shape ``(n,)``: positive where the time ended in an event, negative where it was censored;
        ranks do as well. 0 is padding.
    weight
        Of the rows.
    ties
        ``"efron"`` or ``"breslow"``.

    """
    xp = outputs.__array_namespace__()
    latest_first = xp.argsort(-xp.abs(target), stable=True)
    signed = target[latest_first]
    sets = find_risk_sets(xp.abs(signed), signed > 0, weight[latest_first], ties=ties)
    return cox_loss(outputs[latest_first, 0], sets)


LOSSES = {"squared_error": squared_error, "cross_entropy": cross_entropy}
COX = {"cox_efron": "efron", "cox_breslow": "breslow"}  # and how events at one time are counted


def average_loss(name: str, outputs: Array, target: Array, shares: Array) -> Array:
    """The loss of some rows, each of which counts by its share; the shares add up to about 1."""
    if name in COX:
        return partial_likelihood(outputs, target, shares, ties=COX[name])
    return (LOSSES[name](outputs, target) * shares).sum()

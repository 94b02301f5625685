"""What a prediction costs, row by row: squared error and cross-entropy."""

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


LOSSES = {"squared_error": squared_error, "cross_entropy": cross_entropy}

"""What an explanation costs: the number of open gates, and how far gates of related samples differ.

``shares`` is each sample's share of the average, shape ``(n,)``: its weight over the sum of all weights.
"""

from lspin.core.arrays import Array
from lspin.core.gates import open_probability

SURE = 0.76  # mean at which a gate is fully open, or its opposite fully shut, with some room: tanh(1)


def sparsity_penalty(means: Array, noise_scale: Array, shares: Array) -> Array:
    """Expected number of open gates of a sample: the sum over features, averaged over samples.

    ``shares`` is broadcast to the shape of the means: ``(n, 1)`` for a table, ``(m,)`` for stored entries.
    """
    return (open_probability(means, noise_scale) * shares).sum()


def certainty_penalty(means: Array, shares: Array) -> Array:
    """How far gates are beyond fully open or shut: the sum over features, averaged over samples.

    Without it means run off to where the tanh is flat, and the price cannot shut a gate that was open for long.
    """
    xp = means.__array_namespace__()
    return (xp.clip(xp.abs(means) - SURE, 0.0, None) ** 2 * shares).sum()


def stability_penalty(gates: Array, affinity: Array, shares: Array) -> Array:
    """How far the gates of similar samples differ.

    Parameters
    ----------
    gates
        Shape ``(n, n_features)``.
    affinity
        Similarity of each pair of samples, in [0, 1], shape ``(n, n)``.
    shares
        Shape ``(n,)``.

    Notes
    -----
    The average over all pairs of ``K_ij ||z_i - z_j||^2``. The paper sums over the second sample of the
    pair; an average keeps its meaning when the batch size changes.

    """
    return _average_over_pairs(affinity * squared_distances(gates), shares)


def diversity_penalty(gates: Array, affinity: Array, shares: Array) -> Array:
    """How little the gates of dissimilar samples differ: minus their average squared distance."""
    return -_average_over_pairs((1.0 - affinity) * squared_distances(gates), shares)


def rbf_affinity(inputs: Array, bandwidth: Array) -> Array:
    """Gaussian similarity of all pairs of rows."""
    return inputs.__array_namespace__().exp(-squared_distances(inputs) / (2.0 * bandwidth**2))


def label_affinity(target: Array) -> Array:
    """1 for two samples of one class, else 0."""
    xp = target.__array_namespace__()
    return xp.astype(target[:, None] == target[None, :], xp.float32)


def squared_distances(rows: Array) -> Array:
    """Squared Euclidean distance of all pairs of rows."""
    norms = (rows * rows).sum(axis=1)
    distances = norms[:, None] + norms[None, :] - 2.0 * (rows @ rows.T)
    # Rounding can leave a tiny negative distance between equal rows.
    return rows.__array_namespace__().clip(distances, 0.0, None)


def _average_over_pairs(values: Array, shares: Array) -> Array:
    return shares @ values @ shares

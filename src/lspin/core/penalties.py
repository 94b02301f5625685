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


def stability_penalty(gates: Array, affinity: Array, shares: Array, n_rows: Array) -> Array:
    """How far the gates of a sample differ from those of similar samples.

    Parameters
    ----------
    gates
        Shape ``(n, n_features)``.
    affinity
        Similarity of each pair of samples, in [0, 1], shape ``(n, n)``.
    shares
        Shape ``(n,)``.
    n_rows
        How many of the samples are no padding.

    Notes
    -----
    The paper's term: for each sample the sum of ``K_ij ||z_i - z_j||^2`` over the samples of its batch; of that
    the average over samples.

    """
    return _sum_over_partners(affinity * squared_distances(gates), shares, n_rows)


def diversity_penalty(gates: Array, settled: Array, affinity: Array, shares: Array, n_rows: Array) -> Array:
    """How many open gates a sample shares with dissimilar samples.

    Parameters
    ----------
    gates, settled
        The gates with their noise and without it, shape ``(n, n_features)``.
    affinity, shares, n_rows
        As for :func:`stability_penalty`.

    Notes
    -----
    The paper's term ``-(1 - K_ij) ||z_i - z_j||^2`` is ``(1 - K_ij) (2 z_i z_j - |z_i|^2 - |z_j|^2)``: it also
    pays for every open gate, so that gates open which nobody needs. This is its first part alone. Partners count
    without noise: what noise opens here and there would make each open gate cost something.

    """
    return _sum_over_partners((1.0 - affinity) * 2.0 * (gates @ settled.T), shares, n_rows)


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


def _sum_over_partners(values: Array, shares: Array, n_rows: Array) -> Array:
    """The sum over the second sample of a pair, averaged over the first."""
    return n_rows * (shares @ values @ shares)

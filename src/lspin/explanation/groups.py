"""Groups of samples with similar gates, and the order of samples and features in a gate map."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_score

MOST_CLUSTERED = 1000  # samples
LEAST_SILHOUETTE = 0.25  # of groups: below it they are hardly apart
SMALLEST_GROUP = 0.05  # part of the samples


class Patterns(NamedTuple):
    """Which gates of some samples are open, and which are shut only because the value is missing."""

    opened: sp.csr_array  # (n_samples, n_features), 1 or 0
    missing: sp.csr_array  # of the same shape


def group_patterns(selected: sp.csr_array, most: int = 8, *, missing: sp.csr_array | None = None) -> np.ndarray:
    """Group samples by which gates are open: the group of each sample, shape ``(n,)``; 0 is the largest.

    Parameters
    ----------
    selected
        1 where a gate is open, shape ``(n_samples, n_features)``.
    most
        Largest number of groups.
    missing
        1 where a value is missing, which shuts its gate and says nothing of the sample's group.

    Returns
    -------
    numpy.ndarray
        Group of each sample, shape ``(n_samples,)``.

    Notes
    -----
    At most ``MOST_CLUSTERED`` samples, spread over all patterns, are clustered by average linkage. The distance is
    the Jaccard distance of their sets of open gates, over the features that both samples have a value of. Each
    feature is weighted by the variance of being selected, because a feature that nearly all or nearly no samples
    select does not separate groups. The tree is cut at every height. Clusters of fewer than two samples, or of
    less than a twentieth, join the nearest cluster. The cut with the best silhouette is used; if it is below
    ``LEAST_SILHOUETTE``, all samples are one group. The other samples join the nearest group.
    """
    samples = _tidy(selected, missing)
    patterns, pattern_of = _list_patterns(samples)
    by_pattern = np.argsort(pattern_of, kind="stable")
    spread = np.linspace(0, len(by_pattern) - 1, min(MOST_CLUSTERED, len(by_pattern))).round().astype(int)
    clustered = pattern_of[by_pattern[spread]]
    n_known = len(pattern_of) - np.asarray(samples.missing.sum(axis=0)).ravel()
    shares = np.asarray(samples.opened.sum(axis=0)).ravel() / np.maximum(n_known, 1)
    distances = jaccard_distances(patterns, _take(patterns, clustered), shares * (1 - shares))
    labels = _cluster(distances[clustered], most)
    nearest = _mean_distances(distances, labels).argmin(axis=1)
    nearest[clustered] = labels
    return _number_by_size(nearest[pattern_of])


def _tidy(selected: sp.csr_array, missing: sp.csr_array | None) -> Patterns:
    """The features that any sample selects: whether others are missing tells nothing."""
    opened = sp.csr_array(selected, dtype=np.float64)
    if missing is None:
        return Patterns(opened, sp.csr_array(opened.shape))
    used = np.flatnonzero(np.bincount(opened.indices, minlength=opened.shape[1]))
    return Patterns(opened[:, used], sp.csr_array(missing, dtype=np.float64)[:, used])


def _take(patterns: Patterns, rows: np.ndarray) -> Patterns:
    return Patterns(patterns.opened[rows], patterns.missing[rows])


def _list_patterns(samples: Patterns) -> tuple[Patterns, np.ndarray]:
    """The distinct patterns, and which of them each sample has."""
    places: list[list[bytes]] = []
    for part in samples:
        part.sort_indices()
        bounds = zip(part.indptr[:-1], part.indptr[1:], strict=True)
        places.append([part.indices[a:b].tobytes() for a, b in bounds])
    keys: dict[tuple[bytes, ...], int] = {}
    pattern_of = np.array([keys.setdefault(key, len(keys)) for key in zip(*places, strict=True)])
    _, first = np.unique(pattern_of, return_index=True)
    return _take(samples, first), pattern_of


def jaccard_distances(left: Patterns, right: Patterns, weights: np.ndarray) -> np.ndarray:
    """One minus the weight of what two sets share over that of all they hold; 0 where neither holds any.

    Only features that neither sample is missing count.
    """
    opened = left.opened @ sp.diags_array(weights), right.opened @ sp.diags_array(weights)
    shared = (opened[0] @ right.opened.T).toarray()
    either = (left.opened @ weights)[:, None] + right.opened @ weights - shared
    either -= (opened[0] @ right.missing.T + left.missing @ opened[1].T).toarray()
    # Rounding must leave a set at no distance from itself.
    apart = either - shared > 1e-9 * np.maximum(either, weights.max(initial=0.0))
    return np.where(apart, 1 - shared / np.where(apart, either, 1.0), 0.0)


def _cluster(distances: np.ndarray, most: int) -> np.ndarray:
    """The number of each row's cluster: 0, 1, ..., fewer than ``most``."""
    labels = np.zeros(len(distances), int)
    if most < 2 or not distances.any():
        return labels
    tree = linkage(squareform(distances, checks=False), "average")
    best = LEAST_SILHOUETTE
    for n_clusters in range(2, 4 * most):  # some of them will be too small to count
        cut = _join_small(fcluster(tree, n_clusters, "maxclust"), distances)
        if 0 < cut.max() < min(most, len(cut) - 1):
            score = silhouette_score(distances, cut, metric="precomputed")
            if score > best + 1e-9:
                labels, best = cut, score
    return labels


def _join_small(labels: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Clusters, where rows of small ones have joined the nearest of the others; numbered from 0."""
    kept, sizes = np.unique(labels, return_counts=True)
    large = kept[sizes >= max(2, SMALLEST_GROUP * len(labels))]
    large = kept[[sizes.argmax()]] if len(large) == 0 else large
    stays = np.isin(labels, large)
    joined = np.searchsorted(large, labels)
    joined[~stays] = _mean_distances(distances[~stays][:, stays], joined[stays]).argmin(axis=1)
    return joined


def _mean_distances(distances: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """From each row to the members of each cluster on average, shape ``(n, n_clusters)``."""
    inside = np.eye(labels.max() + 1)[labels]
    return distances @ (inside / inside.sum(axis=0))


def _number_by_size(groups: np.ndarray) -> np.ndarray:
    """Groups numbered from the largest on; of two that are as large, the one that comes first."""
    _, first, codes, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    return np.argsort(np.lexsort((first, -sizes)))[codes]


def order_alike(gates: np.ndarray) -> np.ndarray:
    """An order of the columns in which those that are open for the same samples are neighbours."""
    if gates.shape[1] < 3:
        return np.arange(gates.shape[1])
    return leaves_list(linkage(pdist(gates.T, "cityblock"), "average", optimal_ordering=True))


def order_gate_map(gates: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order of samples and of features in a gate map: samples by group, similar features side by side."""
    features = order_alike(gates)
    return np.lexsort((*(-gates[:, features].T[::-1]), groups)), features

"""Scores of selections (sparsity, correctness, faithfulness, stability, usefulness) and of probabilities.

All functions take plain arrays, so that every method is measured by the same code. R² and squared errors are in
``sklearn.metrics``.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

THIN = 0.2  # part of a table that is not 0, from which on zeros are stored too

# Selection against the truth --------------------------------------------------------------------------------


class SelectionScores(NamedTuple):
    """Scores of a selection, given the features that matter."""

    f1: Any  # a float for all samples together, or an array with one number a sample
    tpr: Any  # share of the relevant features that are selected
    fdr: Any  # share of the selected features that are not relevant


def score_selection(selected: np.ndarray, relevant: np.ndarray) -> SelectionScores:
    """F1, true positive rate and false discovery rate, pooled over samples as in the paper.

    Parameters
    ----------
    selected, relevant
        Whether a feature is selected for a sample, and whether it matters; shape ``(n_samples, n_features)``.

    Returns
    -------
    SelectionScores
        F1, true positive rate and false discovery rate.

    Notes
    -----
    If no feature is relevant, the true positive rate is 1. If no feature is selected, the false discovery rate is
    0. If both are empty, F1 is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lspin.metrics import score_selection
    >>> selected = np.array([[True, True, False], [False, True, False]])
    >>> relevant = np.array([[True, False, False], [False, True, False]])
    >>> score_selection(selected, relevant).tpr
    1.0

    """
    selected, relevant = _read_masks(selected, relevant)
    return SelectionScores(*(float(score) for score in _score_counts(selected.ravel(), relevant.ravel())))


def score_selection_by_sample(selected: np.ndarray, relevant: np.ndarray) -> SelectionScores:
    """F1, true positive rate and false discovery rate of each sample; see :func:`score_selection`.

    Parameters
    ----------
    selected, relevant
        As in :func:`score_selection`.

    Returns
    -------
    SelectionScores
        Three arrays of shape ``(n_samples,)``.
    """
    return _score_counts(*_read_masks(selected, relevant))


def _score_counts(selected: np.ndarray, relevant: np.ndarray) -> SelectionScores:
    hits = (selected & relevant).sum(axis=-1)
    n_selected, n_relevant = selected.sum(axis=-1), relevant.sum(axis=-1)
    return SelectionScores(
        f1=_share(2 * hits, n_selected + n_relevant, empty=1.0),
        tpr=_share(hits, n_relevant, empty=1.0),
        fdr=_share(n_selected - hits, n_selected, empty=0.0),
    )


def _share(part: np.ndarray, whole: np.ndarray, *, empty: float) -> np.ndarray:
    return np.where(whole > 0, part / np.maximum(whole, 1), empty)


# What the gates look like -----------------------------------------------------------------------------------


class GateSummary(NamedTuple):
    """Summary statistics of gates."""

    share_shut: float  # of all gates, those at 0
    share_open: float  # those at 1
    share_between: float
    n_selected: np.ndarray  # (n_samples,), gates above 0
    median: float  # of n_selected
    histogram: np.ndarray  # (len(edges) + 1,), share of the samples below the first edge, ..., from the last on
    union: int  # features that at least one sample selects
    limit: float  # a sample that selects more than this many features is suspicious
    suspicious: np.ndarray  # positions of those samples, the one with most features first


def summarise_gates(gates: np.ndarray, *, edges: Sequence[int] = (5, 10, 15, 20)) -> GateSummary:
    """Summarise gates: shares of shut and open gates, features per sample, and samples with too many features.

    Parameters
    ----------
    gates
        Gates in [0, 1], shape ``(n_samples, n_features)``.
    edges
        Increasing edges of the histogram: ``(5, 10)`` gives the shares of samples with fewer than 5, with 5 to 9,
        and with 10 or more features.

    Returns
    -------
    GateSummary
        Shares, counts and suspicious samples.

    Notes
    -----
    A sample that selects far more features than the others is a sign of overfitting. «Far more» means more than
    twice the median (than 2 if the median is below 1), and more than the median plus three robust standard
    deviations (1.4826 times the median absolute deviation).

    Examples
    --------
    >>> import numpy as np
    >>> from lspin.metrics import summarise_gates
    >>> summarise_gates(np.array([[0.0, 1.0, 0.5, 0.0]])).share_shut
    0.5

    """
    gates = _read_matrix(gates, "gates")
    if ((gates < 0) | (gates > 1)).any():
        raise ValueError(f"gates must lie in [0, 1]; they range from {gates.min():g} to {gates.max():g}")
    if list(edges) != sorted(set(edges)):
        raise ValueError(f"edges must rise, got {tuple(edges)}")
    n_selected = (gates > 0).sum(axis=1)
    median = float(np.median(n_selected))
    spread = 1.4826 * float(np.median(np.abs(n_selected - median)))
    limit = max(2 * max(median, 1.0), median + 3 * spread)
    most_first = np.argsort(-n_selected, kind="stable")
    places = np.searchsorted(edges, n_selected, side="right")
    return GateSummary(
        share_shut=float(np.mean(gates == 0)),
        share_open=float(np.mean(gates == 1)),
        share_between=float(np.mean((gates > 0) & (gates < 1))),
        n_selected=n_selected,
        median=median,
        histogram=np.bincount(places, minlength=len(edges) + 1) / len(gates),
        union=int((gates > 0).any(axis=0).sum()),
        limit=limit,
        suspicious=most_first[n_selected[most_first] > limit],
    )


# How good an explanation is ---------------------------------------------------------------------------------


def faithfulness(
    predict: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    importance: np.ndarray,
    *,
    removed: float | np.ndarray = 0.0,
) -> float:
    """Correlation of a feature's importance with the change of the prediction when it is removed, in [-1, 1].

    For each sample, features are removed one at a time, and the importances are correlated with the changes. The
    result is the mean over the samples.

    Parameters
    ----------
    predict
        Takes a table and returns probabilities, shape ``(n_samples, n_classes)``, or a response, shape
        ``(n_samples,)``. The change is the drop of the probability of the predicted class, or the absolute change
        of the response.
    X, importance
        Shape ``(n_samples, n_features)``.
    removed
        Value of a removed feature: one number, or one for each feature.

    Returns
    -------
    float
        The mean correlation, in [-1, 1].

    Notes
    -----
    A sample counts as 0 if all its importances or all its changes are equal, since there is no correlation then.
    """
    X, importance = _read_matrix(X, "X"), _read_matrix(importance, "importance")
    _refuse_unequal(X.shape, importance.shape, "X", "importance")
    drops = np.empty(X.shape)
    before = np.asarray(predict(X))
    for feature, value in enumerate(np.broadcast_to(removed, X.shape[1])):
        without = X.copy()
        without[:, feature] = value
        drops[:, feature] = _drop(before, np.asarray(predict(without)))
    return float(np.mean(_correlate(importance, drops)))


def _drop(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    if before.ndim == 1:
        return np.abs(before - after)
    rows, predicted = np.arange(len(before)), before.argmax(axis=1)
    return before[rows, predicted] - after[rows, predicted]


def _correlate(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Correlation of two tables row by row, 0 where a row is constant."""
    left = left - left.mean(axis=1, keepdims=True)
    right = right - right.mean(axis=1, keepdims=True)
    scale = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    # What is left of a constant row is rounding.
    varies = scale > 1e-14
    return np.where(varies, (left * right).sum(axis=1) / np.where(varies, scale, 1.0), 0.0)


def stability(X: np.ndarray, explanations: np.ndarray, *, radius: float | None = None) -> float:
    """Local Lipschitz constant of explanations: how much they differ between neighbours; lower is more stable.

    Parameters
    ----------
    X, explanations
        Samples and the vectors that explain them, one row each.
    radius
        Largest distance of neighbours. By default the median distance of a sample to its fifth nearest neighbour.

    Returns
    -------
    float
        The mean over the samples; lower is more stable.

    Notes
    -----
    The constant of a sample is the largest ``||w_i - w_k|| / ||x_i - x_k||`` over its neighbours. The result is
    the mean over the samples that have a neighbour. Equal samples with equal explanations do not count as
    neighbours; equal samples with different explanations have an infinite constant.
    """
    X, explanations = _read_matrix(X, "X"), _read_matrix(explanations, "explanations")
    _refuse_unequal(len(X), len(explanations), "X", "explanations")
    if len(X) < 2:
        raise ValueError("stability compares samples, and there is one only")
    search = NearestNeighbors().fit(X)
    if radius is None:
        radius = float(np.median(search.kneighbors(n_neighbors=min(5, len(X) - 1))[0][:, -1]))
    distances, neighbours = search.radius_neighbors(radius=radius)
    constants = [
        _steepest(np.linalg.norm(explanations[near] - explanation, axis=1), distance)
        for explanation, near, distance in zip(explanations, neighbours, distances, strict=True)
    ]
    known = [constant for constant in constants if constant is not None]
    if not known:
        nearest = search.kneighbors(n_neighbors=1)[0].min()
        raise ValueError(
            f"none of the {len(X)} samples has a different one within the radius {radius:g}: the nearest are "
            f"{nearest:g} apart"
        )
    return float(np.mean(known))


def _steepest(changes: np.ndarray, distances: np.ndarray) -> float | None:
    if (changes[distances == 0] > 0).any():
        return np.inf
    apart = distances > 0
    return float(np.max(changes[apart] / distances[apart])) if apart.any() else None


def diversity(selected: np.ndarray, y: np.ndarray) -> float:
    """How much the features of the classes differ: 0 if they are the same, 100 if no two classes share one.

    Parameters
    ----------
    selected
        Whether a feature is selected for a sample, shape ``(n_samples, n_features)``.
    y
        Classes, shape ``(n_samples,)``.

    Returns
    -------
    float
        The diversity, in [0, 100].

    Notes
    -----
    The features of a class are those that at least half of its samples select. The result is 100 times one minus
    the mean Jaccard index ``|A ∩ B| / |A ∪ B|`` over all pairs of classes; two empty sets count as equal.
    """
    selected, y = _read_matrix(selected, "selected").astype(bool), np.asarray(y)
    _refuse_unequal(len(selected), len(y), "selected", "y")
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"diversity compares classes, and all {len(y)} samples are of one")
    sets = [selected[y == label].mean(axis=0) >= 0.5 for label in classes]
    overlaps = [_share((a & b).sum(), (a | b).sum(), empty=1.0) for a, b in combinations(sets, 2)]
    return float(100 * (1 - np.mean(overlaps)))


class Generalizability(NamedTuple):
    """Accuracy of simple models on the gated data."""

    svm: float
    k_means: float


def generalizability(
    gated_train: np.ndarray,
    y_train: np.ndarray,
    gated_test: np.ndarray,
    y_test: np.ndarray,
    *,
    random_state: int | None = 0,
) -> Generalizability:
    """Accuracy that simple models reach with the gated values.

    Parameters
    ----------
    gated_train, gated_test
        Tables whose values are multiplied by their gates.
    y_train, y_test
        Classes.
    random_state
        Seed of k-means.

    Returns
    -------
    Generalizability
        Accuracy of the support vector machine and of k-means.

    Notes
    -----
    A support vector machine (Gaussian kernel, scikit-learn's defaults) is fitted to the training rows and predicts
    the test rows. k-means divides the test rows into as many clusters as there are classes; clusters and classes
    are matched one to one so that as many rows as possible agree (Hungarian method).
    """
    train, test = _read_matrix(gated_train, "gated_train"), _read_matrix(gated_test, "gated_test")
    y_train, y_test = np.asarray(y_train), np.asarray(y_test)
    _refuse_unequal(len(train), len(y_train), "gated_train", "y_train")
    _refuse_unequal(len(test), len(y_test), "gated_test", "y_test")
    _refuse_unequal(train.shape[1], test.shape[1], "gated_train", "gated_test", what="columns")
    classes, codes = np.unique(y_test, return_inverse=True)
    n_clusters = min(len(classes), len(np.unique(test, axis=0)))
    train, test = _store_thinly(train), _store_thinly(test)
    svm = SVC().fit(train, y_train).score(test, y_test)
    clusters = KMeans(n_clusters, n_init=10, random_state=random_state).fit_predict(test)
    return Generalizability(float(svm), match_clusters(clusters, codes))


def _store_thinly(table: np.ndarray) -> Any:
    """The table without its zeros where few values are left: the models are the same, and faster to fit."""
    return sp.csr_matrix(table) if 0 < np.mean(table != 0) < THIN else table


def match_clusters(clusters: np.ndarray, codes: np.ndarray) -> float:
    """Share of the rows that agree after the best one-to-one matching of clusters and classes (integer codes).

    Parameters
    ----------
    clusters
        Cluster of each row, as integers from 0.
    codes
        Class of each row, as integers from 0.

    Returns
    -------
    float
        The share, in [0, 1].
    """
    counts = confusion_matrix(codes, clusters)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / len(codes))


# Probabilities -----------------------------------------------------------------------------------------------


def negative_log_likelihood(y: np.ndarray, probabilities: np.ndarray, *, classes: Any = None) -> float:
    """Mean negative logarithm of the probability of the true class, in nats.

    Parameters
    ----------
    y
        Classes, shape ``(n_samples,)``.
    probabilities
        Shape ``(n_samples, n_classes)``.
    classes
        The class of each column; by default 0, 1, 2 and so on.

    Returns
    -------
    float
        The mean, in nats.

    Notes
    -----
    A probability of 0 for the true class is replaced by the smallest positive number, so that one row cannot make
    the mean infinite: it costs 708 nats. The order ``(probabilities, y)`` of earlier versions is understood too.
    """
    probabilities, codes = _read_probabilities(y, probabilities, classes)
    given = probabilities[np.arange(len(codes)), codes]
    return float(-np.mean(np.log(np.maximum(given, np.finfo(float).tiny))))


def expected_calibration_error(
    y: np.ndarray, probabilities: np.ndarray, *, classes: Any = None, n_bins: int = 15, pos_label: Any = None
) -> float:
    """Mean difference of confidence and accuracy over bins: 0 is calibrated, 1 is always certain and wrong.

    Parameters
    ----------
    y, probabilities, classes
        As in :func:`negative_log_likelihood`.
    n_bins
        Rows are put into this many bins of equal width, by the probability of their likeliest class.
    pos_label
        One of the classes, the event. With it, bins are by the probability of the event, which is compared with
        how often it happened.

    Returns
    -------
    float
        The error, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from lspin.metrics import expected_calibration_error
    >>> probability = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> round(expected_calibration_error(np.array(["no", "yes"]), probability, classes=["no", "yes"]), 2)
    0.25

    """
    bins, confidence, is_right = bin_by_confidence(
        y, probabilities, classes=classes, n_bins=n_bins, pos_label=pos_label
    )
    return float(np.abs(np.bincount(bins, is_right - confidence)).sum() / len(bins))


class ConfidenceBins(NamedTuple):
    """How sure a model is of each row, and whether it is right."""

    bins: np.ndarray  # (n_samples,), numbers from 0 to n_bins - 1
    confidence: np.ndarray  # (n_samples,), probability of the likeliest class, or of the event
    is_right: np.ndarray  # (n_samples,), whether that is the row's class


def bin_by_confidence(
    y: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 15, pos_label: Any = None
) -> ConfidenceBins:
    """Put rows into bins of equal width by the probability of their likeliest class, or of the event.

    Parameters
    ----------
    y, probabilities, classes, n_bins, pos_label
        As in :func:`expected_calibration_error`.

    Returns
    -------
    ConfidenceBins
        Bin, confidence and correctness of each row.
    """
    probabilities, codes = _read_probabilities(y, probabilities, classes)
    guessed = probabilities.argmax(axis=1)
    if pos_label is not None:
        columns = list(range(probabilities.shape[1])) if classes is None else np.asarray(classes).tolist()
        if pos_label not in columns:
            raise ValueError(f"pos_label={pos_label!r} is none of the classes {columns[:5]}")
        guessed = np.full(len(codes), columns.index(pos_label))
    confidence = probabilities[np.arange(len(codes)), guessed]
    # A bin holds its upper edge, so that full confidence falls into the last one.
    bins = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    return ConfidenceBins(bins, confidence, guessed == codes)


# Reading ----------------------------------------------------------------------------------------------------


def _read_matrix(values: Any, name: str) -> np.ndarray:
    matrix = np.asarray(values.toarray() if sp.issparse(values) else values, np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} must be a table with rows and columns; its shape is {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} holds {(~np.isfinite(matrix)).sum()} values that are missing or infinite")
    return matrix


def _read_masks(selected: Any, relevant: Any) -> tuple[np.ndarray, np.ndarray]:
    masks = _read_matrix(selected, "selected"), _read_matrix(relevant, "relevant")
    _refuse_unequal(masks[0].shape, masks[1].shape, "selected", "relevant")
    return masks[0] > 0, masks[1] > 0


def _read_probabilities(y: Any, probabilities: Any, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and, for each row, the column of its class."""
    if np.ndim(y) == 2 and np.ndim(probabilities) == 1:  # the order of version 0.1
        y, probabilities = probabilities, y
    probabilities, y = _read_matrix(probabilities, "probabilities"), np.asarray(y)
    _refuse_unequal(len(probabilities), len(y), "probabilities", "y")
    if probabilities.min() < 0 or not np.allclose(probabilities.sum(axis=1), 1, atol=1e-4):
        sums = probabilities.sum(axis=1)
        raise ValueError(
            f"probabilities must not be negative and add up to 1 in every row; the smallest is "
            f"{probabilities.min():g}, the sums range from {sums.min():g} to {sums.max():g}"
        )
    columns = np.arange(probabilities.shape[1]) if classes is None else np.asarray(classes)
    _refuse_unequal(probabilities.shape[1], len(columns), "probabilities", "classes", what="classes")
    matches = y[:, None] == columns
    if not matches.any(axis=1).all():
        unknown = y[~matches.any(axis=1)][0]
        raise ValueError(
            f"y holds {unknown!r}, which is none of the {len(columns)} classes {columns[:5].tolist()}"
        )
    return probabilities, matches.argmax(axis=1)


def _refuse_unequal(left: Any, right: Any, left_name: str, right_name: str, what: str = "rows") -> None:
    if left != right:
        kind = "shape" if isinstance(left, tuple) else f"number of {what}"
        raise ValueError(f"{left_name} and {right_name} differ in their {kind}: {left} and {right}")

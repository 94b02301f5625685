"""Localized LASSO: a sparse linear model of each row, alike for rows that are linked.

Yamada, Takeuchi, Iwata, Shawe-Taylor and Kaski, «Localized Lasso for high-dimensional regression», AISTATS 2017.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial import KDTree
from sklearn.exceptions import ConvergenceWarning

from lspin.baselines.rival import Rival
from lspin.fitting.preparation import Examples
from lspin.targets import Regressor
from lspin.targets.base import Given
from lspin.targets.settings import COUNT, NOT_NEGATIVE, POSITIVE, Setting, declare, first

NEGLIGIBLE = 1e-3  # part of a row's largest weight: what is less counts as 0
RELAXATION = 1.6  # of the splitting: steps a little longer than they need to be
FIRST_LOOK, IMBALANCE = 10, 1.5  # at the step, and the factor that it should be off by to be changed
TINY, LITTLE = 1e-12, 1e-2
WEBER_STEPS, WEBER_TOLERANCE = 200, 1e-9


class Weights(NamedTuple):
    """What Localized LASSO learns."""

    rows: np.ndarray  # (n, n_inputs), standardised training rows
    local: np.ndarray  # (n, 1 + n_inputs), intercept and weights of each


class Minimum(NamedTuple):
    """Where the solver ended."""

    local: np.ndarray
    n_iter: int
    converged: bool


@declare()
class LocalizedLassoRegressor(Regressor, Rival):
    """Regressor with a linear model for each row. Unlike LSPIN, it has no network; new rows use their neighbours.

    Notes
    -----
    Standardised rows ``x_i`` of weight ``a_i`` and a standardised response have intercepts ``b_i`` and weights
    ``w_i`` that minimise the convex ``sum_i a_i [(y_i - b_i - w_i x_i)^2 + exclusive |w_i|_1^2] + network sum_ij
    r_ij |(b_i, w_i) - (b_j, w_j)|_2``. The paper has no intercepts. Its reweighted least squares never reach an
    exact 0; here the same minimum is found by alternating directions, which does. A new row gets the weights with
    the smallest sum of distances to its neighbours' weights (Weber's problem). A row of the training table keeps
    its own. Weights below a thousandth of the row's largest are set to 0, and their gates are shut.

    References
    ----------
    Yamada, Takeuchi, Iwata, Shawe-Taylor and Kaski, «Localized Lasso for high-dimensional regression»,
    AISTATS 2017.

    """

    network: float = first(
        Setting([NOT_NEGATIVE], "Price of the distance between the weights of two linked rows."), default=0.1
    )
    exclusive: float = first(
        Setting([NOT_NEGATIVE], "Price of the squared sum of a row's absolute weights, which leaves few of them."),
        default=0.001,
    )
    n_neighbors: int = Setting(
        [COUNT], "Nearest rows that each row is linked with, and that new rows take their weights from."
    )(3)
    graph: Any = Setting(
        ["array-like", "sparse matrix", None],
        "Links between the training rows instead of nearest rows: shape (n_samples, n_samples), dense or sparse, "
        "not negative. New rows still take their weights from their nearest neighbours.",
    )(None)
    max_iter: int = Setting([COUNT], "Most iterations of the solver.")(5000)
    tol: float = Setting([POSITIVE], "Largest residuals, as a part of the weights and of the forces on them.")(
        1e-4
    )

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Given:
        given = super()._take(X, y, sample_weight)
        self._links = None
        if self.graph is not None:
            graph = sp.csr_array(self.graph, dtype=np.float64)
            if graph.shape != (given.n_rows, given.n_rows):
                raise ValueError(f"graph has the shape {graph.shape} where {given.n_rows} rows were given")
            if not np.isfinite(graph.data).all() or (graph.data < 0).any():
                raise ValueError("graph must hold finite numbers of at least 0")
            places = given.kept[given.rows.source]
            self._links = graph[places][:, places]
        return given

    def _learn(self, examples: Examples) -> Weights:
        inputs = np.column_stack([np.ones(len(examples.target)), examples.inputs])
        links = link_neighbors(examples.inputs, self.n_neighbors) if self._links is None else self._links
        terms = Terms(inputs, examples.target, examples.weight, links, self.network, self.exclusive)
        solution = minimise(terms, max_iter=self.max_iter, tol=self.tol)
        self.n_iter_ = solution.n_iter
        if not solution.converged:
            warnings.warn(
                f"the weights still moved after max_iter={self.max_iter} iterations; raise it or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Weights(examples.inputs, solution.local)

    def _localize(self, inputs: np.ndarray) -> np.ndarray:
        """Intercept and weights of rows, from those of their nearest training rows."""
        near = min(self.n_neighbors, len(self.weights_.rows))
        distances, places = KDTree(self.weights_.rows).query(inputs, np.arange(1, near + 1))
        # A row of the training table has weights of its own and need not ask.
        links = np.where(distances[:, :1] == 0, distances == 0, True).astype(float)
        local = find_weber_points(self.weights_.local[places], links)
        sizes = np.abs(local[:, 1:])
        local[:, 1:][sizes < NEGLIGIBLE * sizes.max(axis=1, keepdims=True)] = 0.0
        return local

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        gates = np.zeros((self.encoding_.n_features, len(inputs)))
        np.maximum.at(gates, self.encoding_.owners, (self._localize(inputs)[:, 1:] != 0).T)
        return gates.T

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        local = self._localize(inputs)
        return local[:, :1] + (gates * inputs * local[:, 1:]).sum(axis=1, keepdims=True)


def link_neighbors(inputs: np.ndarray, n_neighbors: int) -> sp.csr_array:
    """1 for two rows one of which is among the nearest of the other, else 0."""
    n_rows = len(inputs)
    near = min(n_neighbors, n_rows - 1)
    _, places = KDTree(inputs).query(inputs, near + 1)
    heads, tails = np.repeat(np.arange(n_rows), near + 1), places.ravel()
    links = sp.csr_array((np.ones(len(heads)), (heads, tails)), shape=(n_rows, n_rows))
    links.setdiag(0.0)
    return links.maximum(links.T)


class Terms(NamedTuple):
    """What the minimum is sought of."""

    inputs: np.ndarray  # (n, 1 + n_inputs), the first is the intercept's
    target: np.ndarray  # (n,)
    weight: np.ndarray  # (n,)
    links: sp.csr_array  # (n, n)
    network: float
    exclusive: float


def minimise(terms: Terms, *, max_iter: int, tol: float) -> Minimum:
    """Weights of all rows, by the alternating direction method of multipliers.

    The differences of linked rows and a copy of the weights are split off, so that each penalty has a step in
    closed form. What joins them is a linear system with one matrix for all inputs, the inverse of 1 + Laplacian,
    and by Woodbury's identity one more of the size of the rows. It ends when the primal and the dual residual are
    at most ``tol`` times the parts and the forces on them, as Boyd et al. (2011) have it; where these vanish, a
    hundredth of 1 and of the force at the start stand in for them.
    """
    split, prices = split_links(terms.links, terms.network)
    n_links, n_rows = len(prices), len(terms.target)
    smooth = np.linalg.inv((split.T @ split).toarray())
    inputs, target = np.sqrt(terms.weight)[:, None] * terms.inputs, np.sqrt(terms.weight) * terms.target
    coupling = smooth * (inputs @ inputs.T)
    first_force = 2 * float(np.linalg.norm(inputs * target[:, None]))

    step, look = 1.0, FIRST_LOOK
    factor = cho_factor(coupling + step / 2 * np.eye(n_rows))
    parts = np.zeros((n_links + n_rows, inputs.shape[1]))
    duals = np.zeros_like(parts)
    for iteration in range(1, max_iter + 1):
        pull = split.T @ (parts - duals)
        misfit = target - (inputs * (smooth @ pull)).sum(axis=1)
        joined = split @ (smooth @ (pull + cho_solve(factor, misfit)[:, None] * inputs))
        previous, relaxed = parts, RELAXATION * joined + (1 - RELAXATION) * parts + duals
        differences = shrink_rows(relaxed[:n_links], prices / step)
        copies = shrink_exclusively(relaxed[n_links:], terms.exclusive * terms.weight / step)
        parts = np.vstack([differences, copies])
        duals = relaxed - parts
        primal = relative(joined - parts, parts, np.sqrt(parts.size))
        dual = relative(split.T @ (parts - previous), split.T @ duals, first_force / step)
        if max(primal, dual) <= tol:
            return Minimum(copies, iteration, True)
        look = 2 * look if iteration > look else look  # ever fewer: steps that go on changing need not converge
        ratio = np.sqrt(max(primal, TINY) / max(dual, TINY))
        if iteration == look and not 1 / IMBALANCE < ratio < IMBALANCE:
            ratio = np.clip(ratio, 0.1, 10.0)
            step, duals = step * ratio, duals / ratio
            factor = cho_factor(coupling + step / 2 * np.eye(n_rows))
    return Minimum(copies, max_iter, False)


def split_links(links: sp.csr_array, network: float) -> tuple[sp.csr_array, np.ndarray]:
    """The matrix that makes differences of linked rows and a copy of all rows; and prices of the differences."""
    pairs = sp.coo_array(sp.triu(links + links.T, k=1))
    pairs.eliminate_zeros()
    heads, tails = pairs.coords
    n_links, n_rows = len(heads), links.shape[0]
    place = np.tile(np.arange(n_links), 2), np.concatenate([heads, tails])
    differ = sp.csr_array((np.repeat([1.0, -1.0], n_links), place), shape=(n_links, n_rows))
    return sp.csr_array(sp.vstack([differ, sp.eye_array(n_rows)])), network * pairs.data


def relative(residual: np.ndarray, whole: np.ndarray, typical: float) -> float:
    """Size of a residual as a part of the whole, or of a little of what is typical where the whole vanishes."""
    return float(np.linalg.norm(residual) / (np.linalg.norm(whole) + LITTLE * typical))


def shrink_rows(points: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The step for a norm: each row shorter by its price, or 0."""
    lengths = np.linalg.norm(points, axis=1)
    return points * np.maximum(1 - prices / np.maximum(lengths, TINY), 0.0)[:, None]


def shrink_exclusively(points: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The step for the squared sum of absolute weights: all but the first column soft-thresholded.

    Notes
    -----
    The minimum of ``price |v|_1^2 + |v - point|^2 / 2`` is the point with its sizes less ``2 price |v|_1``, and if
    the ``k`` largest are left, ``|v|_1`` is their sum over ``1 + 2 price k``: sizes in order give the ``k``.

    """
    sizes = np.abs(points[:, 1:])
    ordered = -np.sort(-sizes, axis=1)
    ranks = np.arange(1, sizes.shape[1] + 1)
    thresholds = 2 * prices[:, None] * np.cumsum(ordered, axis=1) / (1 + 2 * prices[:, None] * ranks)
    kept = np.maximum((ordered > thresholds).sum(axis=1), 1)
    least = np.take_along_axis(thresholds, kept[:, None] - 1, axis=1)
    return np.column_stack([points[:, 0], np.sign(points[:, 1:]) * np.maximum(sizes - least, 0.0)])


def find_weber_points(points: np.ndarray, links: np.ndarray) -> np.ndarray:
    """For each set of points the one with the least sum of distances times links to them.

    Parameters
    ----------
    points
        Shape ``(n, n_points, n_dimensions)``.
    links
        Shape ``(n, n_points)``, not negative, some of each row positive.

    Notes
    -----
    One of the points is it if the pulls of all others are no more than its own link; else Weiszfeld's iteration,
    which then stays clear of the points and converges linearly.

    """
    offsets = points[:, None] - points[:, :, None]  # of the last point from the first
    distances = np.linalg.norm(offsets, axis=3)
    apart = distances > 0
    pulls = np.where(apart, links[:, None] / np.where(apart, distances, 1.0), 0.0)
    together = np.where(apart, 0.0, links[:, None]).sum(axis=2)
    excess = np.linalg.norm((pulls[..., None] * offsets).sum(axis=2), axis=2) - together
    excess[links == 0] = np.inf
    best = excess.argmin(axis=1)
    found = np.take_along_axis(points, best[:, None, None], axis=1)[:, 0]
    open_rows = np.flatnonzero(excess.min(axis=1) > 0)
    centers = np.average(points, axis=1, weights=np.broadcast_to(links[..., None], points.shape))
    for _ in range(WEBER_STEPS):
        if not len(open_rows):
            break
        distances = np.linalg.norm(points[open_rows] - centers[open_rows, None], axis=2)
        pulls = links[open_rows] / np.maximum(distances, TINY)
        moved = (pulls[..., None] * points[open_rows]).sum(axis=1) / pulls.sum(axis=1, keepdims=True)
        steps = np.abs(moved - centers[open_rows]).max(axis=1)
        centers[open_rows] = found[open_rows] = moved
        open_rows = open_rows[steps > WEBER_TOLERANCE * np.abs(points[open_rows]).max(axis=(1, 2))]
    return found

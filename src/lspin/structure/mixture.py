"""A mixture of sparse linear models: which group a row belongs to, and the few columns that count in it."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import chi2

from lspin.structure.divisions import Cloud

MOST_ROUNDS = 15
SETTLED = 1e-3  # mean change of a membership at which the rounds end
SMALLEST_GROUP = 8.0  # rows that a group must keep
BY_CHANCE = 0.1  # columns without a difference that may pass for one that tells the groups
WITHIN_SHRINKAGE = 0.02  # of the covariance within groups towards its mean variance
LEAST_WITHIN = 0.01  # added to that variance, in units of a column's own
RIDGE = 1e-3  # added to the variance of a column in a group
DEPENDENT = 1e-2  # part of a column's variance below which the chosen ones explain it
MOST_TERMS = 60
MOST_TELLING = 200  # columns that tell the groups
MOST_SHARPENED = 30  # inputs of a context of which a sharp border is looked for
BLUNT, SHARP = 1e-3, 1e-4  # penalty of its squared weights while groups still move, and at the end
DECIDED = 4.0  # by which it is made sharper still, for a row belongs to one group, not to two by halves
MOST_STEPS = 30  # on the way to it


class Mixture(NamedTuple):
    """Which group a row belongs to, and a linear model for each group."""

    directions: np.ndarray  # (n_inputs, n_groups)
    offsets: np.ndarray  # (n_groups,): memberships are the softmax of ``values @ directions + offsets``
    responsibilities: np.ndarray  # (n, n_groups), of the training rows, which also know the outputs

    def memberships(self, values: np.ndarray) -> np.ndarray:
        """Probability that a row belongs to each group, shape ``(n, n_groups)``."""
        return softmax(values @ self.directions + self.offsets, axis=1)


class Models(NamedTuple):
    """A sparse linear model for each group."""

    weights: np.ndarray  # (n_groups, n_inputs, n_outputs)
    intercepts: np.ndarray  # (n_groups, n_outputs)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Outputs by each group's model, shape ``(n_groups, n, n_outputs)``."""
        return values @ self.weights + self.intercepts[:, None]


class Moments:
    """What any linear model of each group follows from; products of two columns are found when they are needed."""

    def __init__(
        self,
        values: np.ndarray,
        outputs: np.ndarray,
        shares: np.ndarray,
        counting: np.ndarray | slice = slice(None),
    ) -> None:
        self.size = shares.sum(axis=0)  # (n_groups,)
        self.mean = shares.T @ values / self.size[:, None]  # (n_groups, n_inputs)
        self.mean_output = shares.T @ outputs / self.size[:, None]  # (n_groups, n_outputs)
        self.squares = shares.T @ values**2 - self.size[:, None] * self.mean**2  # (n_groups, n_inputs), centred
        self.may_count = np.zeros(values.shape[1], bool)  # (n_inputs,)
        self.may_count[counting] = True
        self._values, self._shares = values, shares
        rests = [outputs - middle for middle in self.mean_output]
        parts = [(share[:, None], rest) for share, rest in zip(shares.T, rests, strict=True)]
        # Centred outputs add up to 0, so that columns need not be centred too.
        self.links = np.array([values.T @ (share * rest) for share, rest in parts])  # (n_groups, n_inputs, ...)
        self.spread = np.array([(share * rest**2).sum() for share, rest in parts])  # (n_groups,)

    def products(self, group: int, columns: Any, others: Any = slice(None)) -> np.ndarray:
        """Centred products of a column, or of several, with others; by default with all."""
        centred = self._values[:, columns] - self.mean[group, columns]
        return (self._shares[:, group] * centred.T) @ self._values[:, others]


class Term(NamedTuple):
    """A column in a group."""

    group: int
    column: int


def order_terms(moments: Moments, n_terms: int, *, n_considered: int = 0, clear: bool = False) -> list[Term]:
    """Add columns one by one, each in one group: always the one that lowers the squared error most.

    With ``clear``, only as long as the gain is above what the best of so many columns of noise would give;
    ``n_considered`` is their number where some were left out for telling little.
    """
    n_groups, n_inputs, n_outputs = moments.links.shape
    rest, room = moments.links.copy(), moments.squares.copy()
    least = DEPENDENT * np.maximum(room, 1e-12)
    basis: list[list[np.ndarray]] = [[] for _ in range(n_groups)]
    error, n_rows = moments.spread.sum(), moments.size.sum()
    rounding = 1e-9 * error
    by_chance = 2 * np.log(n_groups * max(n_inputs, n_considered)) * n_outputs
    terms: list[Term] = []
    while len(terms) < n_terms:
        gains = np.where((room > least) & moments.may_count, (rest**2).sum(axis=2) / np.maximum(room, 1e-12), 0.0)
        full = [len(parts) >= moments.size[group] / 4 for group, parts in enumerate(basis)]
        gains[full] = 0.0
        group, column = (int(i) for i in np.unravel_index(gains.argmax(), gains.shape))
        gain = gains[group, column]
        if gain <= rounding or (clear and gain < by_chance * error / (n_rows * n_outputs)):
            break
        direction = moments.products(group, column)
        for part in basis[group]:
            direction -= part * part[column]
        direction /= np.sqrt(room[group, column])
        rest[group] -= np.outer(direction, rest[group, column] / direction[column])
        room[group] -= direction**2
        basis[group].append(direction)
        error -= gain
        terms.append(Term(group, column))
    return terms


def solve_terms(moments: Moments, terms: list[Term]) -> Models:
    """The least-squares model of each group with its own terms."""
    weights = np.zeros_like(moments.links)
    for group, size in enumerate(moments.size):
        columns = [term.column for term in terms if term.group == group]
        if columns:
            products = moments.products(group, columns, columns) + RIDGE * size * np.eye(len(columns))
            weights[group, columns] = np.linalg.solve(products, moments.links[group, columns])
    return Models(weights, moments.mean_output - np.einsum("ki,kio->ko", moments.mean, weights))


def tell_apart(
    cloud: Cloud, shares: np.ndarray, n_considered: int = 0, *, penalty: float = BLUNT
) -> tuple[np.ndarray, np.ndarray]:
    """Directions and offsets whose softmax tells the groups, by the inputs that may tell them."""
    if not cloud.tells_by_context:
        return tell_groups(cloud.values, shares, n_considered)
    directions = np.zeros((cloud.values.shape[1], shares.shape[1]))
    seen = cloud.values[:, cloud.seen]
    found, offsets = tell_groups(seen, shares)
    telling = np.flatnonzero(found.any(axis=1))
    if 0 < len(telling) <= MOST_SHARPENED:
        found[telling], offsets = sharpen(seen[:, telling], shares, found[telling], offsets, penalty)
    directions[cloud.seen] = found
    return directions, offsets


def sharpen(
    values: np.ndarray, shares: np.ndarray, directions: np.ndarray, offsets: np.ndarray, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Directions and offsets of a logistic regression that starts from discriminants.

    Discriminants take a group for a round cloud. Groups that end at an age are none, and few inputs allow for
    the sharp border that they have.
    """
    n_inputs, n_groups = directions.shape
    total = shares.sum()

    def measure(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(n_inputs + 1, n_groups)
        said = log_softmax(values @ weights[1:] + weights[0], axis=1)
        rest = (np.exp(said) * shares.sum(axis=1, keepdims=True) - shares) / total
        slopes = np.vstack([rest.sum(axis=0), values.T @ rest + penalty * weights[1:]])
        return -(shares * said).sum() / total + penalty / 2 * (weights[1:] ** 2).sum(), slopes.ravel()

    first = np.vstack([offsets, directions - directions.mean(axis=1, keepdims=True)])
    found = minimize(measure, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}).x
    weights = found.reshape(n_inputs + 1, n_groups)
    return weights[1:], weights[0]


def tell_groups(values: np.ndarray, shares: np.ndarray, n_considered: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Directions and offsets whose softmax tells the groups: linear discriminants of the columns that differ.

    Where some columns were left out for telling little, ``n_considered`` is the number of all.
    """
    size, n_rows = shares.sum(axis=0), shares.sum()
    means = shares.T @ values / size[:, None]
    columns = find_telling(means, size, max(values.shape[1], n_considered))
    directions, offsets = np.zeros((values.shape[1], len(size))), np.log(size / n_rows)
    if len(columns):
        means, seen = means[:, columns], values[:, columns]
        weight = shares.sum(axis=1, keepdims=True)
        within = ((weight * seen).T @ seen - (means * size[:, None]).T @ means) / n_rows
        average = np.trace(within) / len(columns)
        # A covariance of many columns and few rows is mostly noise.
        shrinkage = max(WITHIN_SHRINKAGE, len(columns) / (len(columns) + len(values)))
        within = (1 - shrinkage) * within + (shrinkage * average + LEAST_WITHIN) * np.eye(len(columns))
        directions[columns] = np.linalg.solve(within, means.T)
        offsets = offsets - 0.5 * (directions[columns] * means.T).sum(axis=0)
    return directions, offsets


def find_telling(means: np.ndarray, size: np.ndarray, n_considered: int) -> np.ndarray:
    """Columns whose means differ between the groups, ``MOST_TELLING`` at most."""
    apart = (size[:, None] * means**2).sum(axis=0)
    columns = np.flatnonzero(apart > telling_limit(n_considered, len(size)))
    return columns[np.argsort(-apart[columns], kind="stable")[:MOST_TELLING]]


def telling_limit(n_columns: int, n_groups: int) -> float:
    """Sum of squared standardised group means above which a column differs between groups: a chi-squared test."""
    return float(chi2.isf(min(BY_CHANCE / n_columns, 1.0), n_groups - 1)) if n_groups > 1 else np.inf


def fit_mixture(cloud: Cloud, labels: np.ndarray, n_considered: int = 0) -> Mixture | None:
    """Groups and their models by expectation and maximisation, from a first division; nothing if a group dies out.

    Parameters
    ----------
    cloud
        The rows.
    labels
        The first division, shape ``(n,)``.
    n_considered
        Number of columns before those that tell little were left out.

    """
    values, _, outputs, weight = cloud[:4]
    n_groups = int(labels.max()) + 1
    shares = np.eye(n_groups)[labels] * weight[:, None]
    mixture = Mixture(*tell_apart(cloud, shares, n_considered), shares)
    if n_groups == 1:
        return mixture
    for _ in range(MOST_ROUNDS):
        moments = Moments(values, outputs, shares, cloud.counting)
        models = solve_terms(moments, order_terms(moments, MOST_TERMS, n_considered=n_considered, clear=True))
        errors = ((outputs - models.predict(values)) ** 2).sum(axis=2).T
        variance = max(float((shares * errors).sum() / shares.sum()) / outputs.shape[1], 1e-3)
        prior = np.log(np.maximum(mixture.memberships(values), 1e-12))
        updated = softmax(prior - errors / (2 * variance), axis=1) * weight[:, None]
        if updated.sum(axis=0).min() < SMALLEST_GROUP:
            return None
        moved = np.abs(updated - shares).mean()
        shares = updated
        mixture = Mixture(*tell_apart(cloud, shares, n_considered), shares)
        if moved < SETTLED:
            break
    if cloud.tells_by_context:  # a sharp border from the start would not move
        directions, offsets = tell_apart(cloud, shares, penalty=SHARP)
        mixture = Mixture(DECIDED * directions, DECIDED * offsets, shares)
    return mixture

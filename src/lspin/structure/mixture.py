"""A mixture of sparse linear models: which group a row belongs to, and the few columns that count in it."""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax
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


class Moments(NamedTuple):
    """Sums over the rows of each group, from which any of its linear models follows."""

    size: np.ndarray  # (n_groups,)
    mean: np.ndarray  # (n_groups, n_inputs)
    mean_output: np.ndarray  # (n_groups, n_outputs)
    products: np.ndarray  # (n_groups, n_inputs, n_inputs), centred
    links: np.ndarray  # (n_groups, n_inputs, n_outputs), centred
    spread: np.ndarray  # (n_groups,), squares of the centred outputs


class Term(NamedTuple):
    """A column in a group."""

    group: int
    column: int


def sum_up(values: np.ndarray, outputs: np.ndarray, shares: np.ndarray) -> Moments:
    """Moments of the groups; ``shares``, shape ``(n, n_groups)``, say how much of a row belongs to a group."""
    size = shares.sum(axis=0)
    mean, mean_output = shares.T @ values / size[:, None], shares.T @ outputs / size[:, None]
    products, links, spread = [], [], []
    for share, middle, middle_output in zip(shares.T, mean, mean_output, strict=True):
        inside = share > 1e-6
        centred, centred_output = values[inside] - middle, outputs[inside] - middle_output
        weighted = centred * share[inside, None]
        products.append(weighted.T @ centred)
        links.append(weighted.T @ centred_output)
        spread.append(float(share[inside] @ (centred_output**2).sum(axis=1)))
    return Moments(size, mean, mean_output, np.array(products), np.array(links), np.array(spread))


def order_terms(moments: Moments, n_terms: int, *, clear: bool = False) -> list[Term]:
    """Add columns one by one, each in one group: always the one that lowers the squared error most.

    With ``clear``, only as long as the gain is above what the best of so many columns of noise would give.
    """
    n_groups, n_inputs, n_outputs = moments.links.shape
    rest, room = moments.links.copy(), np.einsum("kii->ki", moments.products).copy()
    least = DEPENDENT * np.maximum(room, 1e-12)
    basis: list[list[np.ndarray]] = [[] for _ in range(n_groups)]
    error, n_rows = moments.spread.sum(), moments.size.sum()
    rounding = 1e-9 * error
    by_chance = 2 * np.log(n_groups * n_inputs) * n_outputs
    terms: list[Term] = []
    while len(terms) < n_terms:
        gains = np.where(room > least, (rest**2).sum(axis=2) / np.maximum(room, 1e-12), 0.0)
        full = [len(parts) >= moments.size[group] / 4 for group, parts in enumerate(basis)]
        gains[full] = 0.0
        group, column = (int(i) for i in np.unravel_index(gains.argmax(), gains.shape))
        gain = gains[group, column]
        if gain <= rounding or (clear and gain < by_chance * error / (n_rows * n_outputs)):
            break
        direction = moments.products[group, column].copy()
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
            products = moments.products[group][np.ix_(columns, columns)] + RIDGE * size * np.eye(len(columns))
            weights[group, columns] = np.linalg.solve(products, moments.links[group, columns])
    return Models(weights, moments.mean_output - np.einsum("ki,kio->ko", moments.mean, weights))


def tell_groups(values: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions and offsets whose softmax tells the groups: linear discriminants of the columns that differ."""
    size, n_rows = shares.sum(axis=0), shares.sum()
    means = shares.T @ values / size[:, None]
    columns = np.flatnonzero((size[:, None] * means**2).sum(axis=0) > telling_limit(values.shape[1], len(size)))
    directions, offsets = np.zeros((values.shape[1], len(size))), np.log(size / n_rows)
    if len(columns):
        means, seen = means[:, columns], values[:, columns]
        weight = shares.sum(axis=1, keepdims=True)
        within = ((weight * seen).T @ seen - (means * size[:, None]).T @ means) / n_rows
        average = np.trace(within) / len(columns)
        within = (1 - WITHIN_SHRINKAGE) * within
        within += (WITHIN_SHRINKAGE * average + LEAST_WITHIN) * np.eye(len(columns))
        directions[columns] = np.linalg.solve(within, means.T)
        offsets = offsets - 0.5 * (directions[columns] * means.T).sum(axis=0)
    return directions, offsets


def telling_limit(n_columns: int, n_groups: int) -> float:
    """Sum of squared standardised group means above which a column differs between groups: a chi-squared test."""
    return float(chi2.isf(min(BY_CHANCE / n_columns, 1.0), n_groups - 1)) if n_groups > 1 else np.inf


def fit_mixture(cloud: Cloud, labels: np.ndarray) -> Mixture | None:
    """Groups and their models by expectation and maximisation, from a first division; nothing if a group dies out.

    Parameters
    ----------
    cloud
        The rows.
    labels
        The first division, shape ``(n,)``.

    """
    values, _, outputs, weight = cloud
    n_groups = int(labels.max()) + 1
    shares = np.eye(n_groups)[labels] * weight[:, None]
    mixture = Mixture(*tell_groups(values, shares), shares)
    if n_groups == 1:
        return mixture
    for _ in range(MOST_ROUNDS):
        moments = sum_up(values, outputs, shares)
        models = solve_terms(moments, order_terms(moments, MOST_TERMS, clear=True))
        errors = ((outputs - models.predict(values)) ** 2).sum(axis=2).T
        variance = max(float((shares * errors).sum() / shares.sum()) / outputs.shape[1], 1e-3)
        prior = np.log(np.maximum(mixture.memberships(values), 1e-12))
        updated = softmax(prior - errors / (2 * variance), axis=1) * weight[:, None]
        if updated.sum(axis=0).min() < SMALLEST_GROUP:
            return None
        moved = np.abs(updated - shares).mean()
        shares = updated
        mixture = Mixture(*tell_groups(values, shares), shares)
        if moved < SETTLED:
            break
    return mixture

"""Ways to divide rows into groups: by what their columns have in common, or by the values of one or two."""

from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans

MOST_GROUPS = 8
MOST_COMPONENTS = 12
BEYOND_EDGE = 1.1  # eigenvalues that count, as a multiple of the largest that noise has
MOST_LEVELS = 6  # values of a column that divide the rows each on its own; more are halved at the median
N_COLUMNS = 3  # columns that divide the rows best, and are looked at
SMALLEST_GROUP = 10  # rows
N_STARTS = 4  # of k-means
MOST_PAIRED = 2000  # columns of which all pairs are looked at
N_AT_ONCE = 250  # columns of which copies are made at one time


class Rule(NamedTuple):
    """How rows are divided: not at all, by their components, by a column or by two columns at once.

    A pair makes a group of every combination that two columns have; a corner is the one combination that changes
    most, against all others.
    """

    source: str  # "whole", "all", "mean", "components", "column", "pair", "corner" or "given"
    which: int = 0  # number of groups, or the rank of the column, or of the pair, among those that divide


WHOLE = Rule("whole")  # one group, with few columns
ALL = Rule("all")  # one group, with all columns
MEAN = Rule("mean")  # one group: the mean of models with all columns, a third of them, a ninth, ...
GIVEN = Rule("given")  # as the rows were divided by columns that are not here
RULES = (
    *(Rule("components", n_groups) for n_groups in range(2, MOST_GROUPS + 1)),
    *(Rule("column", rank) for rank in range(N_COLUMNS)),
)
PAIRS = tuple(combinations(range(N_COLUMNS), 2))  # ranks of two columns
# Few columns are named as what tells the groups, so that pairs of them are worth a look.
RULES_OF_CONTEXT = (*RULES, *(Rule(source, rank) for source in ("pair", "corner") for rank in range(len(PAIRS))))


class Cloud(NamedTuple):
    """Rows as points."""

    values: np.ndarray  # (n, n_inputs), centred, of variance about 1
    owners: np.ndarray  # (n_inputs,), which feature an input belongs to
    outputs: np.ndarray  # (n, n_outputs), what is to be predicted, centred, of variance about 1
    weight: np.ndarray  # (n,), mean 1
    seen: np.ndarray | slice = slice(None)  # inputs that may tell the groups
    counting: np.ndarray | slice = slice(None)  # inputs that may count in a group

    @property
    def tells_by_context(self) -> bool:
        """Whether only some inputs may tell the groups."""
        return not isinstance(self.seen, slice)


class Divisions:
    """All ways to divide some rows; what several of them need is found once."""

    def __init__(self, cloud: Cloud, given: np.ndarray | None = None) -> None:
        self.cloud = cloud
        self.given = given  # (n,), labels by columns that are not here

    @cached_property
    def seen(self) -> Cloud:
        """The rows with the inputs that may tell the groups."""
        cloud = self.cloud
        return Cloud(cloud.values[:, cloud.seen], cloud.owners[cloud.seen], cloud.outputs, cloud.weight)

    @cached_property
    def row_products(self) -> np.ndarray | None:
        """Products of all rows, shape ``(n, n)``; nothing where there are not fewer rows than inputs."""
        values = self.cloud.values
        return values @ values.T if len(values) < values.shape[1] else None

    @cached_property
    def components(self) -> np.ndarray:
        """Principal directions of what is seen that are no accident, shape ``(n_seen, n_components)``."""
        return find_components(self.seen, None if self.cloud.tells_by_context else self.row_products)

    @cached_property
    def columns(self) -> np.ndarray:
        """The features whose values divide the rows best, shape ``(N_COLUMNS,)`` or fewer."""
        return find_dividing_columns(self.cloud, self.products)

    def divide(self, rule: Rule) -> np.ndarray | None:
        """Labels of the rows by a rule, shape ``(n,)``; nothing where it does not apply or makes a small group."""
        if rule.source == "whole":
            return np.zeros(len(self.cloud.values), int)
        ways = {"components": self._by_components, "column": self._by_rank}
        ways |= {"pair": self._by_pair, "corner": self._by_corner}
        labels = self.given if rule == GIVEN else ways[rule.source](rule.which)
        if labels is None or labels.max() == 0 or np.bincount(labels).min() < SMALLEST_GROUP:
            return None
        return labels

    def _by_components(self, n_groups: int) -> np.ndarray | None:
        directions = self.components[:, : n_groups - 1]
        if not directions.shape[1] or len(self.cloud.values) < 2 * SMALLEST_GROUP * n_groups:
            return None
        points = self.seen.values @ directions
        if len(np.unique(points, axis=0)) < n_groups:
            return None
        found = KMeans(n_groups, n_init=N_STARTS, random_state=0)
        return found.fit_predict(points, sample_weight=self.cloud.weight)

    def _by_rank(self, rank: int) -> np.ndarray | None:
        if rank >= len(self.columns):
            return None
        return divide_by_column(self.cloud.values[:, self.cloud.owners == self.columns[rank]])

    def _by_pair(self, rank: int) -> np.ndarray | None:
        first, second = (self._by_rank(place) for place in PAIRS[rank])
        if first is None or second is None:
            return None
        return np.unique(first * (second.max() + 1) + second, return_inverse=True)[1]

    def _by_corner(self, rank: int) -> np.ndarray | None:
        labels = self._by_pair(rank)
        if labels is None:
            return None
        members = labels[:, None] == np.flatnonzero(np.bincount(labels) >= SMALLEST_GROUP)
        if not members.shape[1]:
            return None
        links = _sum_largest(_link(self.products, _standardise(members), self.cloud.outputs.shape[1]))
        return members[:, links.argmax()].astype(int)

    @cached_property
    def products(self) -> np.ndarray:
        """Inputs times what a linear model leaves of the outputs."""
        return multiply_rest(self.cloud, self.row_products)


# Components --------------------------------------------------------------------------------------------------


def find_components(cloud: Cloud, row_products: np.ndarray | None = None) -> np.ndarray:
    """Principal directions that are no accident, shape ``(n_inputs, n_components)``.

    Products of all rows, where they are known, are not found again.

    Notes
    -----
    The largest correlation among ``p`` unrelated columns of ``n`` rows is about ``sqrt(4 log(p) / n)``. Columns
    that are related to no other more closely are left out: few columns that vary together would drown in the
    others. Among the ``p`` that remain, with variance ``v``, noise has no eigenvalue beyond
    ``v (1 + sqrt(p / n))²``, the edge of Marchenko and Pastur. The variance is estimated anew once a component is
    found.

    """
    n_rows, n_inputs = cloud.values.shape
    paired = find_most_related(cloud, row_products)
    values = cloud.values[:, paired]
    covariance = (values * cloud.weight[:, None].astype(values.dtype)).T @ values
    covariance /= n_rows
    related = _find_related(covariance, n_rows, n_inputs)
    strengths, vectors = _find_strongest(values[:, related], cloud.weight)
    total, count = np.trace(covariance[np.ix_(related, related)]), 0
    for place, strength in enumerate(strengths):
        rest = len(related) - place
        edge = total / rest * (1 + np.sqrt(rest / n_rows)) ** 2
        if rest < 2 or strength <= BEYOND_EDGE * edge:
            break
        total, count = total - strength, place + 1
    directions = np.zeros((n_inputs, count))
    directions[paired[related]] = vectors[:, :count]
    return directions


def _find_strongest(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of a covariance and their vectors, from products of rows or columns, if fewer."""
    n_rows, n_columns = values.shape
    scaled = values * np.sqrt(weight / n_rows)[:, None].astype(values.dtype)
    by_rows = n_rows < n_columns
    products = scaled @ scaled.T if by_rows else scaled.T @ scaled
    last = len(products) - 1
    most = [max(len(products) - MOST_COMPONENTS, 0), last]
    if last < 0:
        return np.zeros(0), np.zeros((0, 0))
    strengths, vectors = eigh(products, subset_by_index=most)
    strengths, vectors = strengths[::-1], vectors[:, ::-1]
    return strengths, scaled.T @ vectors / np.sqrt(np.maximum(strengths, 1e-12)) if by_rows else vectors


def find_most_related(cloud: Cloud, row_products: np.ndarray | None = None) -> np.ndarray:
    """The inputs with the largest sums of squared covariances with all others, ``MOST_PAIRED`` at most.

    Notes
    -----
    For an input ``x`` the sum is ``x' G x`` with ``G`` the products of all rows, so that no matrix of all pairs of
    inputs is needed.

    """
    n_inputs = cloud.values.shape[1]
    if n_inputs <= MOST_PAIRED:
        return np.arange(n_inputs)
    weight = cloud.weight.astype(cloud.values.dtype)[:, None]
    products = cloud.values @ cloud.values.T if row_products is None else row_products
    products = products * weight * weight.T
    blocks = (cloud.values[:, start : start + N_AT_ONCE] for start in range(0, n_inputs, N_AT_ONCE))
    sums = np.concatenate([np.einsum("ij,ij->j", block, products @ block) for block in blocks])
    return np.sort(np.argpartition(-sums, MOST_PAIRED)[:MOST_PAIRED])


def _find_related(covariance: np.ndarray, n_rows: int, n_inputs: int) -> np.ndarray:
    """Columns with a correlation that is no accident."""
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    sizes = np.outer(spread, spread)
    np.abs(np.divide(covariance, sizes, out=sizes), out=sizes)  # in its place: it may be as large as the table
    np.fill_diagonal(sizes, 0.0)
    return np.flatnonzero((sizes > np.sqrt(4 * np.log(max(n_inputs, 2)) / n_rows)).any(axis=1))


# Columns -----------------------------------------------------------------------------------------------------


def divide_by_column(inputs: np.ndarray) -> np.ndarray:
    """Groups by level: of a categorical feature with one input a level, of a number with few values, or halves."""
    if inputs.shape[1] > 1:
        return np.unique(inputs.argmax(axis=1), return_inverse=True)[1]
    column = inputs[:, 0]
    found, labels = np.unique(column, return_inverse=True)
    return labels if len(found) <= MOST_LEVELS else (column > np.median(column)).astype(int)


def find_dividing_columns(cloud: Cloud, products: np.ndarray | None = None) -> np.ndarray:
    """The features whose groups change most what the other columns tell of the outputs.

    Notes
    -----
    For every input and every group of a feature, the product of the input and the group is correlated with what a
    linear model of all inputs leaves. One matrix product serves many of them.

    """
    values, owners = cloud.values, cloud.owners
    products = multiply_rest(cloud) if products is None else products
    told = np.zeros(int(owners.max()) + 1)
    candidates = np.unique(owners[cloud.seen])
    for start in range(0, len(candidates), N_AT_ONCE):
        inside = np.flatnonzero(np.isin(owners, candidates[start : start + N_AT_ONCE]))
        members, feature_of = _list_members(values[:, inside], owners[inside])
        links = _link(products, members, cloud.outputs.shape[1])
        features, first = np.unique(feature_of, return_index=True)
        told[features] = _sum_largest(np.maximum.reduceat(links, first, axis=2))
    return np.argsort(-told, kind="stable")[: min(N_COLUMNS, np.count_nonzero(told))]


def multiply_rest(cloud: Cloud, row_products: np.ndarray | None = None) -> np.ndarray:
    """Inputs times what a linear model of all leaves of the outputs, shape ``(n, n_outputs * n_others)``."""
    values, _, outputs, weight = cloud[:4]
    rest = (weight[:, None] * (outputs - _ridge_scores(values, outputs, row_products))).astype(values.dtype)
    other = values[:, _find_most_telling(cloud)]
    return np.concatenate([other * output[:, None] for output in rest.T], axis=1) / len(values)


def _link(products: np.ndarray, members: np.ndarray, n_outputs: int) -> np.ndarray:
    """Squared relation of products and groups, shape ``(n_outputs, n_others, n_groups)``."""
    return ((products.T @ members) ** 2).reshape(n_outputs, -1, members.shape[1])


def _sum_largest(links: np.ndarray) -> np.ndarray:
    """The three largest of each output, added up, shape ``(n_groups,)``."""
    return np.sort(links, axis=1)[:, -3:].sum(axis=(0, 1))


def _standardise(members: np.ndarray) -> np.ndarray:
    return (members - members.mean(axis=0)) / np.maximum(members.std(axis=0), 1e-9)


def _list_members(values: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows belong to the groups of each feature, standardised, ``(n, m)``; and the feature of each group."""
    halved = _find_halved(values, owners)
    members = [values[:, halved] <= np.median(values[:, halved], axis=0)]
    feature_of = [owners[halved]]
    for feature in np.setdiff1d(owners, owners[halved]):
        labels = divide_by_column(values[:, owners == feature])
        groups = np.arange(labels.max() + 1)
        # One of two groups says as much as both; the only one says nothing.
        members.append(labels[:, None] == (groups if len(groups) != 2 else groups[:1]))
        feature_of.append(np.full(members[-1].shape[1], feature))
    joined = np.concatenate(feature_of)
    order = np.argsort(joined, kind="stable")
    return _standardise(np.hstack(members)[:, order].astype(values.dtype)), joined[order]


def _find_halved(values: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Inputs, each the only one of its feature, of which a few rows show too many values for a group each."""
    shown = np.sort(values[: 4 * MOST_LEVELS], axis=0)
    many = 1 + (np.diff(shown, axis=0) > 0).sum(axis=0) > MOST_LEVELS
    return np.flatnonzero(many & (np.bincount(owners)[owners] == 1))


def _find_most_telling(cloud: Cloud) -> np.ndarray:
    """The inputs that are most closely related to the outputs, so many that all pairs can be looked at."""
    n_inputs = cloud.values.shape[1]
    most = max(min(MOST_PAIRED**2 // n_inputs, n_inputs), 1)
    told = ((cloud.values.T @ cloud.outputs.astype(cloud.values.dtype)) ** 2).sum(axis=1)
    candidates = np.arange(n_inputs)[cloud.counting]
    return candidates[np.argsort(-told[candidates], kind="stable")[:most]]


def _ridge_scores(values: np.ndarray, outputs: np.ndarray, row_products: np.ndarray | None) -> np.ndarray:
    """What a linear model of all inputs says of the rows, solved for whichever are fewer, inputs or rows."""
    n_rows, n_inputs = values.shape
    if n_inputs <= n_rows:
        products = values.T @ values + np.sqrt(n_rows) * np.eye(n_inputs)
        return values @ np.linalg.solve(products, values.T @ outputs)
    # With more inputs than rows the penalty is the mean strength of a row, which leaves half of it.
    products = values @ values.T if row_products is None else row_products
    penalty = max(np.trace(products) / n_rows, 1.0)  # a part of the rows may have columns that do not vary
    return products @ np.linalg.solve(products + penalty * np.eye(n_rows), outputs)

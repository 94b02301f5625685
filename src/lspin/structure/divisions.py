"""Ways to divide rows into groups: by what their columns have in common, or by the values of one column."""

from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans

MOST_GROUPS = 8
MOST_COMPONENTS = 12
BEYOND_EDGE = 1.1  # eigenvalues that count, as a multiple of the largest that noise has
MOST_LEVELS = 6  # values of a column that divide the rows each on its own; more are halved at the median
N_COLUMNS = 3  # columns that divide the rows best, and are looked at
SMALLEST_GROUP = 10  # rows
N_STARTS = 4  # of k-means


class Rule(NamedTuple):
    """How rows are divided: not at all, by their components or by a column."""

    source: str  # "whole", "components" or "column"
    which: int = 0  # number of groups, or the feature


WHOLE = Rule("whole")


class Cloud(NamedTuple):
    """Rows as points."""

    values: np.ndarray  # (n, n_inputs), centred, of variance about 1
    owners: np.ndarray  # (n_inputs,), which feature an input belongs to
    outputs: np.ndarray  # (n, n_outputs), what is to be predicted, centred, of variance about 1
    weight: np.ndarray  # (n,), mean 1


def divide(cloud: Cloud, rule: Rule) -> np.ndarray | None:
    """Labels of the rows by a rule, shape ``(n,)``; nothing if a group would be too small."""
    if rule.source == "whole":
        return np.zeros(len(cloud.values), int)
    labels = (
        _by_components(cloud, rule.which)
        if rule.source == "components"
        else _by_column(cloud.values[:, cloud.owners == rule.which])
    )
    if labels is None or labels.max() == 0 or np.bincount(labels).min() < SMALLEST_GROUP:
        return None
    return labels


def list_rules(cloud: Cloud) -> list[Rule]:
    """Rules worth a try: any number of groups by components, and the columns that change what others tell."""
    has_components = find_components(cloud).shape[1] > 0
    by_components = [
        Rule("components", n_groups)
        for n_groups in range(2, MOST_GROUPS + 1)
        if has_components and len(cloud.values) >= 2 * SMALLEST_GROUP * n_groups
    ]
    return by_components + [Rule("column", int(feature)) for feature in _dividing_columns(cloud)]


def find_components(cloud: Cloud) -> np.ndarray:
    """Principal directions that are no accident, shape ``(n_inputs, n_components)``.

    Notes
    -----
    The largest correlation among ``p`` unrelated columns of ``n`` rows is about ``sqrt(4 log(p) / n)``. Columns
    that are related to no other more closely are left out: few columns that vary together would drown in the
    others. Among the ``p`` that remain, with variance ``v``, noise has no eigenvalue beyond
    ``v (1 + sqrt(p / n))²``, the edge of Marchenko and Pastur. The variance is estimated anew once a component is
    found.

    """
    n_rows, n_inputs = cloud.values.shape
    covariance = (cloud.values * cloud.weight[:, None]).T @ cloud.values / n_rows
    related = _find_related(covariance, n_rows)
    strengths, vectors = np.linalg.eigh(covariance[np.ix_(related, related)])
    strengths, vectors = strengths[::-1], vectors[:, ::-1]
    count = 0
    for place in range(min(len(related) - 1, MOST_COMPONENTS)):
        rest = len(related) - place
        edge = strengths[place:].mean() * (1 + np.sqrt(rest / n_rows)) ** 2
        if strengths[place] <= BEYOND_EDGE * edge:
            break
        count = place + 1
    directions = np.zeros((n_inputs, count))
    directions[related] = vectors[:, :count]
    return directions


def _find_related(covariance: np.ndarray, n_rows: int) -> np.ndarray:
    """Columns with a correlation that is no accident."""
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    sizes = np.abs(covariance / np.outer(spread, spread))
    np.fill_diagonal(sizes, 0.0)
    return np.flatnonzero((sizes > np.sqrt(4 * np.log(max(len(sizes), 2)) / n_rows)).any(axis=1))


def _by_components(cloud: Cloud, n_groups: int) -> np.ndarray | None:
    directions = find_components(cloud)[:, : n_groups - 1]
    if not directions.shape[1]:
        return None
    points = cloud.values @ directions
    if len(np.unique(points, axis=0)) < n_groups:
        return None
    return KMeans(n_groups, n_init=N_STARTS, random_state=0).fit_predict(points, sample_weight=cloud.weight)


def _by_column(inputs: np.ndarray) -> np.ndarray:
    """Groups by level: of a categorical feature with one input a level, of a number with few values, or halves."""
    if inputs.shape[1] > 1:
        return np.unique(inputs.argmax(axis=1), return_inverse=True)[1]
    column = inputs[:, 0]
    found, labels = np.unique(column, return_inverse=True)
    return labels if len(found) <= MOST_LEVELS else (column > np.median(column)).astype(int)


def _dividing_columns(cloud: Cloud) -> np.ndarray:
    """The features whose groups change most what the other columns tell of the outputs.

    Notes
    -----
    For every input and every group of a feature, the product of the input and the group is correlated with what a
    linear model of all inputs leaves. One matrix product serves all of them.

    """
    values, owners, outputs, weight = cloud
    n_rows, n_inputs = values.shape
    ridge = np.linalg.solve(values.T @ values + np.sqrt(n_rows) * np.eye(n_inputs), values.T @ outputs)
    rest = weight[:, None] * (outputs - values @ ridge)
    features = np.unique(owners)
    told = np.zeros(len(features))
    for place, feature in enumerate(features):
        labels = _by_column(values[:, owners == feature])
        if len(np.unique(labels)) < 2:
            continue
        members = np.eye(labels.max() + 1)[labels]
        members = (members - members.mean(axis=0)) / np.maximum(members.std(axis=0), 1e-9)
        for output in rest.T:
            links = (values * output[:, None]).T @ members / n_rows
            told[place] += np.sort((links**2).max(axis=1))[-3:].sum()
    return features[np.argsort(-told, kind="stable")[:N_COLUMNS]]

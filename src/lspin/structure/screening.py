"""Which of very many columns are worth a look, once the rows are divided."""

import numpy as np

from lspin.structure.divisions import Cloud

MOST_LOOKED_AT = 1000  # features that may count in a group
MOST_SIGNS = 300  # features that may tell the groups, besides


def screen_features(cloud: Cloud, labels: np.ndarray) -> np.ndarray:
    """Features that are closely related to the outputs in some group, or differ most between the groups; ordered.

    All of them, where they are not very many.
    """
    n_features = int(cloud.owners.max()) + 1
    if n_features <= MOST_LOOKED_AT:
        return np.arange(n_features)
    members = [labels == group for group in np.unique(labels)]
    groups = [np.where(inside, cloud.weight, 0.0).astype(cloud.values.dtype) for inside in members]
    related = np.max([_relate(cloud, weight) for weight in groups], axis=0)
    apart = sum(weight.sum() * _average(cloud.values, weight) ** 2 for weight in groups)
    counting = _most(_by_feature(related, cloud.owners), MOST_LOOKED_AT, _features(cloud, cloud.counting))
    telling = _most(_by_feature(apart, cloud.owners), MOST_SIGNS, _features(cloud, cloud.seen))
    return np.union1d(counting, telling)


def rank_related(cloud: Cloud) -> np.ndarray:
    """The features that may count, those most closely related to the outputs first."""
    told = _by_feature(_relate(cloud, cloud.weight.astype(cloud.values.dtype)), cloud.owners)
    return _most(told, len(told), _features(cloud, cloud.counting))


def _relate(cloud: Cloud, weight: np.ndarray) -> np.ndarray:
    """Rows of a group times the part of the outputs' variance that each column explains in it."""
    middle = weight @ cloud.outputs / weight.sum()
    rest = (weight[:, None] * (cloud.outputs - middle)).astype(cloud.values.dtype)
    links = cloud.values.T @ rest
    squares = np.einsum("i,ij,ij->j", weight, cloud.values, cloud.values)  # without a copy of the table
    squares -= weight.sum() * _average(cloud.values, weight) ** 2
    return (links**2).sum(axis=1) / np.maximum(squares * (rest**2).sum() / weight.sum(), 1e-12)


def _average(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ values / weight.sum()


def _by_feature(told: np.ndarray, owners: np.ndarray) -> np.ndarray:
    best = np.zeros(int(owners.max()) + 1)
    np.maximum.at(best, owners, told)
    return best


def _features(cloud: Cloud, inputs: np.ndarray | slice) -> np.ndarray:
    return np.unique(cloud.owners[inputs])


def _most(told: np.ndarray, number: int, among: np.ndarray) -> np.ndarray:
    return among[np.argsort(-told[among], kind="stable")[:number]]

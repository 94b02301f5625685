"""Synthetic tables of the paper, in which the features that matter for each sample are known."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """Some samples of a table."""

    X: np.ndarray  # (n_samples, n_features)
    y: np.ndarray  # (n_samples,)
    relevant: np.ndarray  # (n_samples, n_features), whether a feature matters for a sample


class Dataset(NamedTuple):
    """A table with the split of the paper."""

    train: Part
    valid: Part
    test: Part


def load_synthetic(name: str, seed: int, n_train: int | None = None) -> Dataset:
    """One draw of a synthetic table.

    Parameters
    ----------
    name
        ``"E1"`` to ``"E5"``, ``"overlap"`` (E1 with a feature in both groups), ``"linear"`` (two groups with
        their own linear response) or ``"unequal"`` (one coefficient of which differs between the groups).
    seed
        Of the draw and of the split.
    n_train
        Take so many of the training samples only.

    """
    rng = np.random.default_rng(seed)
    draw, n_valid, n_test = SETS[name]
    samples = draw(rng)
    order = rng.permutation(len(samples.y))
    parts = np.split(order, [n_test, n_test + n_valid])
    test, valid, train = (Part(*(array[rows] for array in samples)) for rows in parts)
    return Dataset(Part(*(array[:n_train] for array in train)), valid, test)


def _draw_nonlinear(rng: np.random.Generator, first: str, second: str, n_samples: int = 2000) -> Part:
    """E1 to E3: the sign of the last feature decides which expression of the others makes the class."""
    X = rng.normal(size=(n_samples, 11))
    expressions: dict[str, tuple[np.ndarray, list[int]]] = {
        "product": (X[:, 0] * X[:, 1], [0, 1]),
        "shared product": (X[:, 0] * X[:, 2], [0, 2]),
        "squares": ((X[:, 2:6] ** 2).sum(axis=1) - 4, [2, 3, 4, 5]),
        "mixture": (
            -10 * np.sin(0.2 * X[:, 6]) + np.abs(X[:, 7]) + X[:, 8] + np.exp(-X[:, 9]) - 2.4,
            [6, 7, 8, 9],
        ),
    }
    negative = X[:, 10] < 0
    exponent = np.where(negative, expressions[first][0], expressions[second][0])
    relevant = np.zeros(X.shape, bool)
    relevant[:, 10] = True
    relevant[:, expressions[first][1]] |= negative[:, None]
    relevant[:, expressions[second][1]] |= ~negative[:, None]
    # 1 / (1 + exp(e)) > 0.5 says e < 0.
    return Part(X, (exponent < 0).astype(int), relevant)


def _draw_groups(rng: np.random.Generator, n_each: int, n_features: int) -> np.ndarray:
    """Two groups of samples around 1 and -1; the variance is read as a standard deviation of one half."""
    return np.vstack([rng.normal(center, 0.5, (n_each, n_features)) for center in (1, -1)])


def _draw_e4(rng: np.random.Generator) -> Part:
    n = 500
    X = np.hstack([_draw_groups(rng, n, 4), rng.normal(0, 0.5, (2 * n, 46))])
    exponent = np.concatenate([X[:n, 0] * X[:n, 1] - 0.9, X[n:, 2] ** 2 + X[n:, 3] ** 2 - 2.5])
    relevant = np.zeros(X.shape, bool)
    relevant[:n, :2] = relevant[n:, 2:4] = True
    return Part(X, (exponent < 0).astype(int), relevant)


def _draw_e5(rng: np.random.Generator) -> Part:
    n = 700
    signs = rng.choice([-1.0, 1.0], (3 * n, 20))
    place = np.repeat([0, 1, 2], n)
    rows = np.arange(3 * n)
    y = signs[rows, place] * signs[rows, place + 1] + 2 * (place - 1)
    relevant = np.zeros((3 * n, 21), bool)
    relevant[rows, place] = relevant[rows, place + 1] = relevant[:, 20] = True
    return Part(np.column_stack([signs, place - 1.0]), y, relevant)


def _draw_linear(rng: np.random.Generator, shared: float) -> Part:
    """Two groups of 300; ``shared`` is the third feature's coefficient in the second. The response has range 1."""
    n = 300
    X = _draw_groups(rng, n, 5)
    y = np.concatenate([X[:n] @ [-2, 1, -0.5, 0, 0], X[n:] @ [0, 0, shared, 1, -2]])
    relevant = np.zeros(X.shape, bool)
    relevant[:n, :3] = relevant[n:, 2:] = True
    return Part(X, (y - y.min()) / np.ptp(y), relevant)


# How to draw a set, and how many samples are for validation and for the test.
SETS: dict[str, tuple[Callable[[np.random.Generator], Part], int, int]] = {
    "E1": (lambda rng: _draw_nonlinear(rng, "product", "squares"), 90, 200),
    "E2": (lambda rng: _draw_nonlinear(rng, "product", "mixture"), 90, 200),
    "E3": (lambda rng: _draw_nonlinear(rng, "squares", "mixture"), 90, 200),
    "E4": (_draw_e4, 95, 50),
    "E5": (_draw_e5, 300, 300),
    "overlap": (lambda rng: _draw_nonlinear(rng, "shared product", "squares", 6000), 300, 300),
    "linear": (lambda rng: _draw_linear(rng, -0.5), 60, 60),
    "unequal": (lambda rng: _draw_linear(rng, 0.5), 60, 60),
}

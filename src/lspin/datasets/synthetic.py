"""Synthetic tables, most of them the paper's, in which the features that matter for each sample are known.

Everything is drawn from ``numpy.random.RandomState``, whose streams NumPy has frozen, so that one call gives the
same table in every version and on every machine, up to the rounding of logarithms in the last digit.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """Some samples of a table."""

    X: np.ndarray  # (n_samples, n_features)
    y: np.ndarray  # (n_samples,)
    relevant: np.ndarray  # (n_samples, n_features), whether a feature matters for a sample
    groups: np.ndarray  # (n_samples,), which of the subgroups 0, 1, ... a sample belongs to
    feature_names: np.ndarray  # (n_features,)


class Dataset(NamedTuple):
    """A table with the split of the paper."""

    train: Part
    valid: Part
    test: Part


def load_synthetic(name: str, seed: int, n_train: int | None = None, n_features: int | None = None) -> Dataset:
    """Draw a synthetic table.

    Parameters
    ----------
    name
        ``"E1"`` to ``"E5"`` (the paper's); ``"overlap"`` (E1 with a feature that both groups use); ``"linear"``
        (two groups, each with its own linear response); ``"unequal"`` (two groups that differ in one coefficient);
        ``"markers"`` (simulated counts of two cell types with one marker gene each); ``"Syn1"`` to ``"Syn6"``
        (from the INVASE paper; the classes are random given the features).
    seed
        Seed of the table and of the split.
    n_train
        Number of training samples, by default the paper's. If it is larger, new samples are added (only for E1,
        E2, E3 and overlap). Validation and test samples stay the same.
    n_features
        Number of features: standard normal noise features are added, as in the paper's time benchmark (only for
        E1, E2, E3 and overlap). The other features stay the same.

    Returns
    -------
    Dataset
        Training, validation and test samples, each with the features that matter.

    Notes
    -----
    In ``"Syn3"``, ``"Syn5"`` and ``"Syn6"`` the third expression is that of E2, as in INVASE's public code, which
    differs from the formula in its paper (``-10 sin(2 x7) + 2 |x8| + x9 + exp(-x10)``). Validation rows are ours.

    ``"markers"`` is a simulation; call it one wherever you show it. It has raw counts of 500 microglia and 500
    oligodendrocyte precursors. The counts are negative binomial, with means and dispersions fitted to CD74 and
    PDGFRA in human nuclei; 100 noise genes have the same mean in both classes. ``relevant`` marks the marker gene
    of the cell's own class. Real precursors have more than twice as many molecules, so every gene separates the
    classes; here both classes have the same distribution of the library size, so that noise genes are noise.

    Examples
    --------
    >>> from lspin.datasets import load_synthetic
    >>> data = load_synthetic("E1", seed=0)
    >>> data.train.X.shape
    (1710, 11)
    >>> data.train.relevant.mean(axis=0).round(1)[[0, 10]].tolist()  # x1 matters in half of the rows, x11 in all
    [0.5, 1.0]

    """
    if name not in SETS:
        raise ValueError(f"there is no synthetic table {name!r}; there are {', '.join(SETS)}")
    design = SETS[name]
    _check_sizes(name, design, n_train, n_features)
    rng = np.random.RandomState(seed)
    samples = design.draw(rng, design.n_samples)
    order = rng.permutation(design.n_samples)
    rows = np.split(order, [design.n_test, design.n_test + design.n_valid])
    test, valid, train = (_take(samples, chosen) for chosen in rows)
    # Streams of their own, so that more samples or features change nothing else.
    more_samples, more_features = (np.random.RandomState([seed, stream]) for stream in (1, 2))
    if n_train is not None:
        if n_train > len(train.y):
            train = _join(train, design.draw(more_samples, n_train - len(train.y)))
        train = _take(train, np.arange(n_train))
    if n_features is not None:
        test, valid, train = (_widen(part, n_features, more_features) for part in (test, valid, train))
    return Dataset(train, valid, test)


def _check_sizes(name: str, design: "Design", n_train: int | None, n_features: int | None) -> None:
    if n_train is not None and (n_train < 1 or (n_train > design.n_train and not design.extensible)):
        possible = "at least 1" if design.extensible else f"1 to {design.n_train}"
        raise ValueError(f"n_train = {n_train}, but {name} can have {possible} training samples")
    if n_features is None or n_features == design.n_features:
        return
    if not design.extensible:
        raise ValueError(
            f"n_features = {n_features}, but {name} always has {design.n_features} features; "
            f"only {', '.join(other for other in SETS if SETS[other].extensible)} can be widened"
        )
    if n_features < design.n_features:
        raise ValueError(f"n_features = {n_features}, but {name} has at least {design.n_features} features")


def _take(part: Part, rows: np.ndarray) -> Part:
    return Part(part.X[rows], part.y[rows], part.relevant[rows], part.groups[rows], part.feature_names)


def _join(first: Part, second: Part) -> Part:
    pairs = zip(first[:4], second[:4], strict=True)
    X, y, relevant, groups = (np.concatenate(pair) for pair in pairs)
    return Part(X, y, relevant, groups, first.feature_names)


def _widen(part: Part, n_features: int, rng: np.random.RandomState) -> Part:
    n_samples, n_own = part.X.shape
    noise = rng.standard_normal((n_samples, n_features - n_own))
    relevant = np.hstack([part.relevant, np.zeros(noise.shape, bool)])
    return part._replace(X=np.hstack([part.X, noise]), relevant=relevant, feature_names=_number(n_features))


def _number(n_features: int) -> np.ndarray:
    """Names as in the paper: x1, x2, ..."""
    return np.array([f"x{place}" for place in range(1, n_features + 1)])


def _express(X: np.ndarray) -> dict[str, tuple[np.ndarray, list[int]]]:
    """Exponents of E1 to E3 and Syn1 to Syn6, and the features in them."""
    return {
        "product": (X[:, 0] * X[:, 1], [0, 1]),
        "shared product": (X[:, 0] * X[:, 2], [0, 2]),
        "squares": ((X[:, 2:6] ** 2).sum(axis=1) - 4, [2, 3, 4, 5]),
        "mixture": (
            -10 * np.sin(0.2 * X[:, 6]) + np.abs(X[:, 7]) + X[:, 8] + np.exp(-X[:, 9]) - 2.4,
            [6, 7, 8, 9],
        ),
    }


def _switch(X: np.ndarray, first: str, second: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponent, relevant features and group: the sign of the last feature decides which expression counts."""
    expressions, negative = _express(X), X[:, 10] < 0
    exponent = np.where(negative, expressions[first][0], expressions[second][0])
    relevant = np.zeros(X.shape, bool)
    relevant[:, 10] = True
    relevant[:, expressions[first][1]] |= negative[:, None]
    relevant[:, expressions[second][1]] |= ~negative[:, None]
    return exponent, relevant, (~negative).astype(int)


def _draw_nonlinear(rng: np.random.RandomState, n_samples: int, first: str, second: str) -> Part:
    """E1 to E3: the class is certain."""
    X = rng.standard_normal((n_samples, 11))
    exponent, relevant, groups = _switch(X, first, second)
    # 1 / (1 + exp(e)) > 0.5 says e < 0.
    return Part(X, (exponent < 0).astype(int), relevant, groups, _number(11))


def _draw_published(rng: np.random.RandomState, n_samples: int, first: str, second: str | None) -> Part:
    """Syn1 to Syn6: the class is drawn, with probability 1 / (1 + exp(e)); one expression needs no switch."""
    X = rng.standard_normal((n_samples, 11))
    if second is None:
        exponent, features = _express(X)[first]
        relevant = np.broadcast_to(np.isin(np.arange(11), features), X.shape)
        groups = np.zeros(n_samples, int)
    else:
        exponent, relevant, groups = _switch(X, first, second)
    y = rng.random_sample(n_samples) * (1 + np.exp(exponent)) < 1
    return Part(X, y.astype(int), relevant, groups, _number(11))


def _draw_groups(rng: np.random.RandomState, n_samples: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Two groups of samples around 1 and -1; the variance is read as a standard deviation of one half."""
    groups = np.repeat([0, 1], n_samples // 2)
    return groups, rng.normal(1 - 2 * groups[:, None], 0.5, (n_samples, n_features))


def _draw_e4(rng: np.random.RandomState, n_samples: int) -> Part:
    groups, informative = _draw_groups(rng, n_samples, 4)
    X = np.hstack([informative, rng.normal(0, 0.5, (n_samples, 46))])
    exponent = np.where(groups == 0, X[:, 0] * X[:, 1] - 0.9, X[:, 2] ** 2 + X[:, 3] ** 2 - 2.5)
    relevant = np.zeros(X.shape, bool)
    relevant[groups == 0, :2] = relevant[groups == 1, 2:4] = True
    return Part(X, (exponent < 0).astype(int), relevant, groups, _number(50))


def _draw_e5(rng: np.random.RandomState, n_samples: int) -> Part:
    signs = np.where(rng.random_sample((n_samples, 20)) < 0.5, -1.0, 1.0)
    place = np.repeat([0, 1, 2], n_samples // 3)
    rows = np.arange(n_samples)
    y = signs[rows, place] * signs[rows, place + 1] + 2 * (place - 1)
    relevant = np.zeros((n_samples, 21), bool)
    relevant[rows, place] = relevant[rows, place + 1] = relevant[:, 20] = True
    return Part(np.column_stack([signs, place - 1.0]), y, relevant, place, _number(21))


def _draw_linear(rng: np.random.RandomState, n_samples: int, shared: float) -> Part:
    """``shared`` is the third feature's coefficient in the second group. The response has range 1."""
    groups, X = _draw_groups(rng, n_samples, 5)
    y = np.where(groups == 0, X @ [-2, 1, -0.5, 0, 0], X @ [0, 0, shared, 1, -2])
    relevant = np.zeros(X.shape, bool)
    relevant[groups == 0, :3] = relevant[groups == 1, 2:] = True
    return Part(X, (y - y.min()) / np.ptp(y), relevant, groups, _number(5))


def _draw_markers(rng: np.random.RandomState, n_samples: int, n_noise: int = 100) -> Part:
    """Class 0 is microglia, class 1 precursors; a gene's count has mean library size x rate of the gene."""
    y = np.repeat([0, 1], n_samples // 2)
    # Between the two classes' own laws in the real cells, (7.57, 0.49) and (8.47, 0.36).
    library_size = rng.lognormal(8.02, 0.43, n_samples)
    noise_rates = np.exp(rng.uniform(np.log(1e-5), np.log(1e-3), n_noise))
    dispersions = np.concatenate([[1.4, 6.7], rng.uniform(0.5, 5, n_noise)])
    rates = np.column_stack([np.where(y == 0, 5.7e-4, 0.0), np.where(y == 0, 5e-6, 7.0e-4)])
    rates = np.hstack([rates, np.broadcast_to(noise_rates, (n_samples, n_noise))])
    # A Poisson count whose mean is gamma distributed is negative binomial.
    means = rng.gamma(dispersions, library_size[:, None] * rates / dispersions)
    relevant = np.zeros(means.shape, bool)
    relevant[np.arange(n_samples), y] = True
    names = ["marker_microglia", "marker_opc", *(f"noise_{place}" for place in range(1, n_noise + 1))]
    return Part(rng.poisson(means).astype(float), y, relevant, y, np.array(names))


class Design(NamedTuple):
    """How to draw a set, its size and its split."""

    draw: Callable[[np.random.RandomState, int], Part]
    n_features: int
    n_train: int
    n_valid: int
    n_test: int
    extensible: bool = False  # samples and noise features are independent draws, so there can be more

    @property
    def n_samples(self) -> int:
        """Samples of all three parts."""
        return self.n_train + self.n_valid + self.n_test


def _nonlinear(first: str, second: str) -> Callable[[np.random.RandomState, int], Part]:
    return lambda rng, n_samples: _draw_nonlinear(rng, n_samples, first, second)


def _published(first: str, second: str | None = None) -> Callable[[np.random.RandomState, int], Part]:
    return lambda rng, n_samples: _draw_published(rng, n_samples, first, second)


SETS = {
    "E1": Design(_nonlinear("product", "squares"), 11, 1710, 90, 200, extensible=True),
    "E2": Design(_nonlinear("product", "mixture"), 11, 1710, 90, 200, extensible=True),
    "E3": Design(_nonlinear("squares", "mixture"), 11, 1710, 90, 200, extensible=True),
    "E4": Design(_draw_e4, 50, 855, 95, 50),
    "E5": Design(_draw_e5, 21, 1500, 300, 300),
    "overlap": Design(_nonlinear("shared product", "squares"), 11, 5400, 300, 300, extensible=True),
    "linear": Design(lambda rng, n_samples: _draw_linear(rng, n_samples, -0.5), 5, 480, 60, 60),
    "unequal": Design(lambda rng, n_samples: _draw_linear(rng, n_samples, 0.5), 5, 480, 60, 60),
    "markers": Design(_draw_markers, 102, 800, 100, 100),
    "Syn1": Design(_published("product"), 11, 10_000, 1000, 10_000),
    "Syn2": Design(_published("squares"), 11, 10_000, 1000, 10_000),
    "Syn3": Design(_published("mixture"), 11, 10_000, 1000, 10_000),
    "Syn4": Design(_published("product", "squares"), 11, 10_000, 1000, 10_000),
    "Syn5": Design(_published("product", "mixture"), 11, 10_000, 1000, 10_000),
    "Syn6": Design(_published("squares", "mixture"), 11, 10_000, 1000, 10_000),
}

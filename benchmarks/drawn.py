"""Tables with known truth, drawn at random: a distribution of tables to judge defaults on, not a few fixed ones.

A family is a kind of table; ``draw(family, seed)`` gives one table of it. Sizes, groups, effects and noise change
with the seed, so that a default which is tuned to one table does not get far.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.protocol import accuracy_or_r2
from lspin.datasets import Part

N_TEST = 400


class Drawn(NamedTuple):
    """A table of a family."""

    is_regression: bool  # whether y is a response; else it is a class, 0 or 1
    train: Part
    test: Part
    ceiling: float  # accuracy or R² of the true function without its noise on the test rows


class Cohort(NamedTuple):
    """A table before noise and split: what each row is, what drives it, and by how much."""

    is_regression: bool
    n_train: int
    noise: float  # its standard deviation, that of the signal being 1
    X: np.ndarray  # (n_rows, n_features)
    signal: np.ndarray  # (n_rows,), the response without noise
    relevant: np.ndarray  # (n_rows, n_features)
    groups: np.ndarray  # (n_rows,)


def draw(family: str, seed: int) -> Drawn:
    """One table of a family; the same call gives the same table."""
    rng = np.random.default_rng([sorted(FAMILIES).index(family), seed])
    cohort = FAMILIES[family](rng)
    signal = (cohort.signal - cohort.signal.mean()) / max(cohort.signal.std(), 1e-12)
    y = signal + cohort.noise * rng.normal(size=len(signal))
    if not cohort.is_regression:
        cut = np.median(y)
        y, signal = (y > cut).astype(int), (signal > cut).astype(int)
    order = rng.permutation(len(y))
    columns = rng.permutation(cohort.X.shape[1])  # where a feature stands tells nothing
    names = np.array([f"x{number}" for number in range(1, len(columns) + 1)])

    def take(rows: np.ndarray) -> Part:
        relevant = cohort.relevant[rows][:, columns]
        return Part(cohort.X[rows][:, columns], y[rows], relevant, cohort.groups[rows], names)

    train, test = order[: cohort.n_train], order[cohort.n_train : cohort.n_train + N_TEST]
    ceiling = accuracy_or_r2(signal[test], y[test], is_regression=cohort.is_regression)
    return Drawn(cohort.is_regression, take(train), take(test), ceiling)


def share_of_way(value: float, y: np.ndarray, drawn: Drawn) -> float:
    """How much of the way from a constant to the ceiling a score gets: 1 is perfect, 0 a constant.

    Parameters
    ----------
    value
        Accuracy or R².
    y
        The rows that were scored.
    drawn
        The table; where its ceiling is hardly above a constant, the difference to the constant is returned.

    """
    constant = 0.0 if drawn.is_regression else max(np.mean(y == 0), np.mean(y == 1))
    way = drawn.ceiling - constant
    return float((value - constant) / way if way > 0.05 else value - constant)


# Families ---------------------------------------------------------------------------------------------------
# The order of the draws is part of each: another order gives other tables.


def has_response(rng: np.random.Generator) -> bool:
    return not rng.random() < 0.5


def draw_coefficients(rng: np.random.Generator, number: int) -> np.ndarray:
    return rng.uniform(0.8, 2.0, number) * rng.choice([-1, 1], number)


def give_own_features(
    rng: np.random.Generator, X: np.ndarray, groups: np.ndarray, *, n_own: int, start: int
) -> tuple[np.ndarray, np.ndarray]:
    """Signal and relevant features: each group's response is a sum over features of its own."""
    signal, relevant = np.zeros(len(X)), np.zeros(X.shape, bool)
    for group in range(groups.max() + 1):
        rows = groups == group
        columns = start + n_own * group + np.arange(n_own)
        signal[rows] = X[np.ix_(rows, columns)] @ draw_coefficients(rng, n_own)
        relevant[np.ix_(rows, columns)] = True
    return signal, relevant


def draw_clinics(rng: np.random.Generator) -> Cohort:
    """More rows than columns; groups shifted in a few columns, each with its own linear rule."""
    n_train, n_groups, d = int(rng.integers(150, 800)), int(rng.integers(2, 4)), int(rng.integers(20, 60))
    n = n_train + N_TEST
    groups = rng.integers(n_groups, size=n)
    X = rng.normal(size=(n, d))
    centres = rng.normal(0, 1.5, (n_groups, 5))
    X[:, :5] += centres[groups]
    signal, relevant = give_own_features(rng, X, groups, n_own=3, start=5)
    return Cohort(has_response(rng), n_train, 0.2, X, signal, relevant, groups)


def draw_subtypes(rng: np.random.Generator) -> Cohort:
    """Fewer rows than columns; subtypes with expression signatures, each with a few genes of its own."""
    n_train, n_groups, d = int(rng.integers(150, 400)), int(rng.integers(2, 4)), int(rng.integers(500, 3000))
    n = n_train + N_TEST
    groups = rng.integers(n_groups, size=n)
    X = rng.normal(size=(n, d))
    for group in range(n_groups):
        X[groups == group, 15 * group : 15 * group + 15] += rng.uniform(1.0, 2.0)
    signal, relevant = give_own_features(rng, X, groups, n_own=3, start=100)
    return Cohort(has_response(rng), n_train, 0.1, X, signal, relevant, groups)


RULES: tuple[
    tuple[int, Callable[[np.ndarray], np.ndarray]], ...
] = (  # number of columns, and what is made of them
    (2, lambda X: X[:, 0] * X[:, 1]),
    (3, lambda X: (X[:, :3] ** 2).sum(1) - 3),
    (2, lambda X: np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) - 0.8),
    (2, lambda X: X[:, 0] + np.exp(-X[:, 1]) - 1.65),
)


def draw_switch(rng: np.random.Generator) -> Cohort:
    """A column's sign decides which of two nonlinear rules holds; the column itself matters to all."""
    n_train, d = int(rng.integers(600, 2000)), int(rng.integers(11, 40))
    n = n_train + N_TEST
    X = rng.normal(size=(n, d))
    groups = (X[:, 0] > 0).astype(int)
    signal, relevant = np.zeros(n), np.zeros(X.shape, bool)
    start = 1
    for group, place in enumerate(rng.choice(len(RULES), 2, replace=False)):
        width, rule = RULES[place]
        rows, columns = groups == group, start + np.arange(width)
        signal[rows] = rule(X[np.ix_(rows, columns)])
        relevant[np.ix_(rows, np.append(columns, 0))] = True
        start += width
    return Cohort(has_response(rng), n_train, 0.1, X, signal, relevant, groups)


def draw_modules(rng: np.random.Generator) -> Cohort:
    """Fewer rows than columns, columns in correlated modules, one global sparse rule: nothing local to find."""
    n_train, d, size = int(rng.integers(80, 300)), int(rng.integers(300, 2500)), int(rng.integers(5, 30))
    n = n_train + N_TEST
    shared = rng.normal(size=(n, d // size + 1))
    X = 0.7 * shared[:, np.arange(d) // size] + 0.7 * rng.normal(size=(n, d))
    columns = rng.choice(d, int(rng.integers(3, 8)), replace=False)
    relevant = np.zeros(X.shape, bool)
    relevant[:, columns] = True
    is_regression = has_response(rng)
    signal = X[:, columns] @ draw_coefficients(rng, len(columns))
    return Cohort(is_regression, n_train, 0.3, X, signal, relevant, np.zeros(n, int))


def draw_polygenic(rng: np.random.Generator) -> Cohort:
    """Fewer rows than columns, hundreds of weak effects: a ridge is the best one can do."""
    n_train, d = int(rng.integers(100, 300)), int(rng.integers(400, 2000))
    n = n_train + N_TEST
    X = rng.normal(size=(n, 12)) @ rng.normal(size=(12, d)) * 0.5 + rng.normal(size=(n, d))
    weights = rng.normal(size=d) * (rng.random(d) < 0.3)
    relevant = np.tile(weights != 0, (n, 1))
    return Cohort(has_response(rng), n_train, 0.3, X, X @ weights, relevant, np.zeros(n, int))


def draw_plain(rng: np.random.Generator) -> Cohort:
    """An ordinary clinical table: additive, mildly nonlinear, noisy, some columns useless; lines do well."""
    n_train, d = int(rng.integers(200, 1200)), int(rng.integers(8, 25))
    n = n_train + N_TEST
    mix = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    X = rng.normal(size=(n, d)) @ mix
    used = rng.choice(d, max(3, d // 2), replace=False)
    parts = [
        rng.uniform(0.3, 1.5) * rng.choice([-1, 1]) * (X[:, column] if place % 3 else np.tanh(2 * X[:, column]))
        for place, column in enumerate(used)
    ]
    relevant = np.zeros(X.shape, bool)
    relevant[:, used] = True
    return Cohort(has_response(rng), n_train, 0.6, X, np.sum(parts, axis=0), relevant, np.zeros(n, int))


def draw_pictures(rng: np.random.Generator) -> Cohort:
    """Rows look like one of several templates; y depends on other pixels in each, as in digits."""
    n_train, side, n_groups = int(rng.integers(800, 2500)), 12, int(rng.integers(4, 8))
    n, d = n_train + N_TEST, side * side
    templates = (rng.random((n_groups, d)) < 0.25) * 1.0
    groups = rng.integers(n_groups, size=n)
    X = np.clip(templates[groups] * rng.uniform(0.6, 1.0, (n, d)) + 0.15 * rng.normal(size=(n, d)), 0, None)
    signal, relevant = np.zeros(n), np.zeros(X.shape, bool)
    for group in range(n_groups):
        rows, columns = groups == group, rng.choice(np.flatnonzero(templates[group]), 3, replace=False)
        values = X[np.ix_(rows, columns)]
        signal[rows] = (values - values.mean(0)) @ draw_coefficients(rng, 3)
        relevant[np.ix_(rows, columns)] = True
    return Cohort(has_response(rng), n_train, 0.1, X, signal, relevant, groups)


def draw_sites(rng: np.random.Generator) -> Cohort:
    """A categorical column (coded 0, 1, 2, given as numbers) says which two columns count; the rest is noise."""
    n_train, d = int(rng.integers(150, 700)), int(rng.integers(15, 80))
    n = n_train + N_TEST
    groups = rng.integers(3, size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] = groups
    signal, relevant = give_own_features(rng, X, groups, n_own=2, start=1)
    relevant[:, 0] = True
    return Cohort(has_response(rng), n_train, 0.15, X, signal, relevant, groups)


def draw_nothing(rng: np.random.Generator) -> Cohort:
    """Noise: the best model is a constant, and no gate should open."""
    n_train, d = int(rng.integers(80, 400)), int(rng.choice([20, 1000]))
    n = n_train + N_TEST
    X = rng.normal(size=(n, d))
    is_regression, signal = has_response(rng), rng.normal(size=n)
    return Cohort(is_regression, n_train, 1e9, X, signal, np.zeros(X.shape, bool), np.zeros(n, int))


FAMILIES: dict[str, Callable[[np.random.Generator], Cohort]] = {
    "clinics": draw_clinics,
    "subtypes": draw_subtypes,
    "switch": draw_switch,
    "modules": draw_modules,
    "polygenic": draw_polygenic,
    "plain": draw_plain,
    "pictures": draw_pictures,
    "sites": draw_sites,
    "nothing": draw_nothing,
}

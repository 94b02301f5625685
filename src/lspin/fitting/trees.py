"""Boosted trees: what may be learned beyond linear rules, and which columns it takes."""

from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from lspin.tables.encoding import Encoding, encode, input_blocks
from lspin.tables.grid import Rows, take_rows
from lspin.targets.kind import Kind

MOST_RANKED_BY = 2000  # rows that order the columns
N_ROUNDS = 60  # of boosting, for an order
MOST_INPUTS = 300  # that trees look at, if they predict one number; if they predict several, fewer
N_BINS = 8  # parts of a column's range, to see whether the target differs between them
BIN_WIDTH = 0.7  # in standard deviations


class Ranking(NamedTuple):
    """Features in the order in which trees need them, and how far the first of them get."""

    order: list[int]
    errors: dict[int, float]  # of trees on rows held out from them, by the number of features they have

    @property
    def best_size(self) -> int:
        """The number of features with which trees do best."""
        return min(self.errors, key=lambda size: (self.errors[size], size))

    @property
    def part_left(self) -> float:
        """What is left of the error of trees with all features, with those they do best with."""
        return self.errors[self.best_size] / max(self.errors[max(self.errors)], 1e-300)


def tree_errors(rows: Rows, valid: Rows, encoding: Encoding, kind: Kind) -> np.ndarray:
    """Squared errors that boosted trees of some rows have on others."""
    seen, new = (encode(part.grid, encoding)[0] for part in (rows, valid))
    errors = np.zeros(len(new))
    with threadpool_limits(1):
        for output, truth in zip(kind.regressand(rows).T, kind.regressand(valid).T, strict=True):
            errors += (_grow(seen, output, rows.weight).predict(new) - truth) ** 2
    return errors


def look_at_most(encoding: Encoding, kind: Kind) -> int:
    """How many features trees look at."""
    return min(max(MOST_INPUTS // kind.n_outputs, 1), encoding.n_features)


def keep_telling(rows: Rows, encoding: Encoding, kind: Kind, number: int) -> np.ndarray:
    """The features between parts of whose range the target differs most; all, if they are not more."""
    if number >= encoding.n_features:
        return np.arange(encoding.n_features)
    outputs = kind.regressand(rows)
    outputs = outputs - np.average(outputs, axis=0, weights=rows.weight)
    told = np.concatenate([_explain(block, outputs, rows.weight) for block in input_blocks(rows.grid, encoding)])
    best = np.full(encoding.n_features, -np.inf)
    np.maximum.at(best, encoding.owners, told)
    return np.sort(np.argsort(-best, kind="stable")[:number])


def _explain(inputs: np.ndarray, outputs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Variance of the outputs between the bins of each input, less what chance makes of it."""
    center, spread = np.average(inputs, axis=0, weights=weight), np.maximum(inputs.std(axis=0), 1e-12)
    bins = np.clip((inputs - center) / (BIN_WIDTH * spread) + N_BINS / 2, 0, N_BINS - 1).astype(np.intp)
    cells, size = (bins + N_BINS * np.arange(inputs.shape[1])).ravel(), N_BINS * inputs.shape[1]
    repeated = np.repeat(weight, inputs.shape[1])
    counts = np.bincount(cells, repeated, size)
    between = np.zeros(size)
    for output in outputs.T:
        sums = np.bincount(cells, np.repeat(weight * output, inputs.shape[1]), size)
        between += np.divide(sums**2, counts, out=np.zeros(size), where=counts > 0)
    chance = (np.reshape(counts > 0, (-1, N_BINS)).sum(axis=1) - 1) * (weight @ outputs**2).sum() / weight.sum()
    return between.reshape(-1, N_BINS).sum(axis=1) - chance


def rank_by_trees(rows: Rows, encoding: Encoding, kind: Kind) -> Ranking:
    """The features, those first that boosted trees need most.

    Trees learn from each half of the rows. In the other half the values of one feature after the other are
    exchanged between rows; the half of the features that costs the trees least is left out, and trees of the
    others are asked again. A column that counts only together with another is seen, which no linear model does.
    """
    drawn = np.random.default_rng(0).permutation(len(rows.target))[:MOST_RANKED_BY]
    rows = take_rows(rows, drawn)
    inputs, outputs = encode(rows.grid, encoding)[0], kind.regressand(rows)
    left, others = np.arange(encoding.n_features), np.arange(0)
    errors: dict[int, float] = {}
    with threadpool_limits(1):
        while len(left) > 1:
            kept = np.isin(encoding.owners, left)
            errors[len(left)], cost = _cost_of_exchange(
                inputs[:, kept], encoding.owners[kept], outputs, rows.weight
            )
            order, half = left[np.argsort(-cost[left], kind="stable")], len(left) // 2
            left, others = np.sort(order[:half]), np.concatenate([order[half:], others])
    return Ranking([*left.tolist(), *others.tolist()], errors)


def _cost_of_exchange(
    inputs: np.ndarray, owners: np.ndarray, outputs: np.ndarray, weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Squared error of held-out rows, and by how much it rises if a feature has the values of other rows."""
    error, cost = 0.0, np.zeros(int(owners.max()) + 1)
    half = np.arange(len(inputs)) % 2
    for judging in (half == 0, half == 1):
        judges, share = inputs[judging], weight[judging] / weight.sum()
        foreign = judges[np.random.default_rng(0).permutation(len(judges))]
        exchanged = judges.copy()
        for output in outputs.T:
            trees = _grow(inputs[~judging], output[~judging], weight[~judging], N_ROUNDS)
            usual = float(share @ (trees.predict(judges) - output[judging]) ** 2)
            error += usual
            for feature in np.unique(owners):
                own = owners == feature
                exchanged[:, own] = foreign[:, own]
                cost[feature] += share @ (trees.predict(exchanged) - output[judging]) ** 2 - usual
                exchanged[:, own] = judges[:, own]
    return error, cost


def _grow(
    inputs: np.ndarray, output: np.ndarray, weight: np.ndarray, n_rounds: int = 100
) -> HistGradientBoostingRegressor:
    trees = HistGradientBoostingRegressor(max_iter=n_rounds, max_bins=63, early_stopping=False, random_state=0)
    # Weights make scikit-learn find the bins of each column by a slow loop.
    return trees.fit(inputs, output, sample_weight=None if np.ptp(weight) == 0 else weight)

"""Boosted trees: what may be learned beyond linear rules, and which columns it takes."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from lspin.tables.encoding import Encoding, encode
from lspin.tables.grid import Rows, take_rows
from lspin.targets.kind import Kind

MOST_RANKED_BY = 2000  # rows that order the columns
N_ROUNDS = 60  # of boosting, for an order
JUDGING = 4  # one of so many rows says what trees lose without a column


def tree_errors(rows: Rows, valid: Rows, encoding: Encoding, kind: Kind) -> np.ndarray:
    """Squared errors that boosted trees of some rows have on others."""
    seen, new = (encode(part.grid, encoding)[0] for part in (rows, valid))
    errors = np.zeros(len(new))
    with threadpool_limits(1):
        for output, truth in zip(kind.regressand(rows).T, kind.regressand(valid).T, strict=True):
            errors += (_grow(seen, output, rows.weight).predict(new) - truth) ** 2
    return errors


def rank_by_trees(rows: Rows, encoding: Encoding, kind: Kind) -> list[int]:
    """The features, those first that boosted trees need most.

    Trees learn from three quarters of the rows. On the others the values of one feature after the other are
    exchanged between rows; the half of the features that costs the trees least is left out, and trees of the
    others are asked again. A column that counts only together with another is seen, which no linear model does.
    """
    drawn = np.random.default_rng(0).permutation(len(rows.target))[:MOST_RANKED_BY]
    rows = take_rows(rows, drawn)
    inputs, outputs = encode(rows.grid, encoding)[0], kind.regressand(rows)
    left, others = np.arange(encoding.n_features), np.arange(0)
    with threadpool_limits(1):
        while len(left) > 1:
            kept = np.isin(encoding.owners, left)
            cost = _cost_of_exchange(inputs[:, kept], encoding.owners[kept], outputs, rows.weight)
            order, half = left[np.argsort(-cost[left], kind="stable")], len(left) // 2
            left, others = np.sort(order[:half]), np.concatenate([order[half:], others])
    return [*left.tolist(), *others.tolist()]


def _cost_of_exchange(
    inputs: np.ndarray, owners: np.ndarray, outputs: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """By how much squared errors of held-out rows rise if a feature has the values of other rows."""
    is_judge = np.arange(len(inputs)) % JUDGING == 0
    judges, shares = inputs[is_judge], weight[is_judge] / weight[is_judge].sum()
    foreign = judges[np.random.default_rng(0).permutation(len(judges))]
    exchanged, cost = judges.copy(), np.zeros(int(owners.max()) + 1)
    for output in outputs.T:
        trees = _grow(inputs[~is_judge], output[~is_judge], weight[~is_judge], N_ROUNDS)
        usual = shares @ (trees.predict(judges) - output[is_judge]) ** 2
        for feature in np.unique(owners):
            own = owners == feature
            exchanged[:, own] = foreign[:, own]
            cost[feature] += shares @ (trees.predict(exchanged) - output[is_judge]) ** 2 - usual
            exchanged[:, own] = judges[:, own]
    return cost


def _grow(
    inputs: np.ndarray, output: np.ndarray, weight: np.ndarray, n_rounds: int = 100
) -> HistGradientBoostingRegressor:
    trees = HistGradientBoostingRegressor(max_iter=n_rounds, max_bins=63, early_stopping=False, random_state=0)
    # Weights make scikit-learn find the bins of each column by a slow loop.
    return trees.fit(inputs, output, sample_weight=None if np.ptp(weight) == 0 else weight)

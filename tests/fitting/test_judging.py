import numpy as np
import pytest
from scipy.stats import ttest_rel

from lspin import LSPINRegressor
from lspin.fitting.judging import excess


def test_excess_is_the_paired_t_statistic():
    rng = np.random.default_rng(0)
    losses, others = rng.random(50), rng.random(50)
    # The statistic divides by n - 1 where ours divides by n.
    expected = ttest_rel(losses, others).statistic * np.sqrt(50 / 49)
    assert excess(losses, others, np.ones(50)) == pytest.approx(expected)


def test_excess_counts_rows_by_their_weight():
    losses, others = np.array([1.0, 2.0, 4.0]), np.array([1.5, 1.0, 1.0])
    gap = losses - others
    weight = np.array([1.0, 3.0, 2.0])
    mean = (weight * gap).sum() / 6
    error = np.sqrt((weight * (gap - mean) ** 2).sum() / 6 / 3)
    assert excess(losses, others, weight) == pytest.approx(mean / error)


@pytest.mark.parametrize("start", ["groups", "networks"])
def test_the_sparse_rule_opens_no_more_gates(table, start):
    X, y = table
    short = {"max_epochs": 60, "random_state": 0, "start": start}
    accurate, sparse = (LSPINRegressor(rule=rule, **short).fit(X, y) for rule in ("accurate", "sparse"))
    chosen = [model.path_.set_index("sparsity").loc[[model.sparsity_]] for model in (accurate, sparse)]
    assert chosen[1]["mean_features"].min() <= chosen[0]["mean_features"].max()

"""Which networks are tried, and the columns they look at: tables whose rule is known."""

import numpy as np
import pytest

from lspin import LSPINClassifier, LSPINCox
from lspin.fitting.attempts import (
    FAR_BEHIND,
    HOPELESS,
    ask_trees,
    compare_trees,
    find_linear_bar,
    narrow_splits,
    near_bar,
    plan_attempt,
    rank_columns,
)
from lspin.fitting.contest import find_contender
from lspin.fitting.path import split_rows
from posed import pose
from small_clouds import draw_groups

RNG = np.random.default_rng(0)
N = 160


def draw_product(n_rows=N, n_columns=5):
    """A response that no linear rule of any half of the rows gives."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return X, np.cos(2 * X[:, 0]) + np.cos(2 * X[:, 1])


def split(problem):
    return split_rows(problem.rows, problem.kind, 0.2, np.random.default_rng(0))


def rank(problem, splits):
    return [rank_columns(problem, part) for part in splits]


@pytest.fixture(scope="module")
def grouped():
    """A problem of two groups, its splits and the best model of groups."""
    problem = pose(*draw_groups(n_rows=N)[:2])
    splits = split(problem)
    return problem, splits, find_contender(problem, splits)


def test_trees_are_judged_on_rows_they_have_not_seen(grouped):
    problem, _, _ = grouped
    noise = RNG.permutation(problem.rows.target)
    shuffled = pose(draw_groups(n_rows=N)[0], noise)
    errors = np.concatenate([ask_trees(shuffled, part) for part in split(shuffled)])
    assert errors.mean() > 1  # the variance, which trees that had seen the rows would beat
    assert len(errors) == N


def test_networks_are_tried_where_trees_find_what_linear_rules_miss(grouped):
    problem, splits, contender = grouped
    assert plan_attempt(problem, contender, splits).bar == -np.inf
    other = pose(*draw_product())
    splits = split(other)
    assert plan_attempt(other, find_contender(other, splits), splits).bar == np.inf


def test_a_network_has_no_prospect_if_it_gains_nine_tenths_of_what_groups_gain_or_less(grouped):
    problem, splits, contender = grouped
    target = np.concatenate([part.valid.target for part in splits])
    constant = np.mean((target - np.average(problem.rows.target)) ** 2)
    reached = contender.level.loss
    assert near_bar(problem, contender, splits) == pytest.approx(reached + FAR_BEHIND * (constant - reached))
    np.testing.assert_array_equal(np.sort(contender.find([part.valid for part in splits])), np.arange(N))


def test_networks_look_at_the_columns_of_the_rule_and_few_others():
    X = np.random.default_rng(0).normal(size=(600, 30))
    problem = pose(X, X[:, 0] * X[:, 1])
    splits = split(problem)
    (narrow,) = narrow_splits(problem, splits, rank(problem, splits))
    assert {0, 1} <= set(narrow.panel.encoding.features)
    assert len(narrow.panel.encoding.features) <= 8
    np.testing.assert_array_equal(narrow.train, splits[0].train)


def test_trees_that_noise_columns_mislead_are_asked_again_with_the_columns_they_need():
    """By the sign of one column a product or a sum counts: with all 20 columns trees are behind linear rules."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1000, 20))
    score = np.where(X[:, 0] > 0, X[:, 1] * X[:, 2], X[:, 3] + X[:, 4])
    problem = pose(X, (score + 0.5 * rng.normal(size=1000) > 0).astype(int), LSPINClassifier())
    splits = split(problem)
    contender = find_contender(problem, splits)
    assert compare_trees(problem, contender, splits) > HOPELESS
    assert plan_attempt(problem, contender, splits).bar > -np.inf


def test_all_columns_stay_where_the_others_cost_trees_little():
    X = np.random.default_rng(0).normal(size=(400, 12))
    problem = pose(X, X[:, 0] + np.abs(X[:, 1]))
    splits = split(problem)
    assert narrow_splits(problem, splits, rank(problem, splits)) is None


def test_all_columns_stay_where_trees_need_most_of_them():
    X = np.random.default_rng(0).normal(size=(400, 10))
    problem = pose(X, (np.abs(X) + X**2).sum(axis=1))
    splits = split(problem)
    assert narrow_splits(problem, splits, rank(problem, splits)) is None


def test_hundreds_of_columns_with_more_rows_are_divided_into_groups():
    """Two groups, told by five shifted columns among 320, follow columns of their own."""
    rng = np.random.default_rng(0)
    n, group = 500, rng.integers(2, size=500)
    X = rng.normal(size=(n, 320))
    X[:, :5] += np.where(group == 1, 2.0, -2.0)[:, None]
    y = np.where(group == 1, X[:, 10] - X[:, 11] > 0, X[:, 20] + X[:, 21] > 0)
    model = LSPINClassifier(random_state=0).fit(X[:400], y[:400])
    assert model.start_ == "groups"
    assert model.score(X[400:], y[400:]) > 0.85
    selected = model.selected(X[400:])
    for kind, columns in ((1, [10, 11]), (0, [20, 21])):
        assert selected[group[400:] == kind][:, columns].mean() > 0.9
    assert selected.sum(axis=1).mean() < 4


def test_a_wide_table_with_a_nonlinear_rule_gets_hidden_layers_on_few_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 450))
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4).astype(int)
    model = LSPINClassifier(random_state=0).fit(X[:300], y[:300])
    assert model.start_ == "networks"
    assert len(model.members_[0].networks.prediction) == 3
    assert model.score(X[300:], y[300:]) > 0.85
    assert set(np.flatnonzero(model.selected(X[300:]).mean(axis=0) > 0.5)) == {0, 1}


def test_hazards_have_no_bar():
    """Trees learn the noise of times and are not asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    time = rng.exponential(np.exp(-X[:, 0]))
    y = np.rec.fromarrays([rng.random(N) < 0.7, time], names="event,time")
    problem = pose(X, y, LSPINCox())
    splits = split(problem)
    contender = find_contender(problem, splits)
    assert plan_attempt(problem, contender, splits).bar == find_linear_bar(problem, contender, splits) == np.inf

"""Boosted trees order columns: those of a drawn rule come first, also where none tells anything on its own."""

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_regression

from lspin.fitting.trees import keep_telling, rank_by_trees, tree_errors
from lspin.tables.encoding import learn_encoding
from lspin.tables.grid import Grid, Rows, take_rows
from lspin.targets import Response

N, N_COLUMNS = 400, 12


def make_rows(X, y, weight=None):
    return Rows(Grid(X, None), (y - y.mean()) / y.std(), np.ones(N) if weight is None else weight, np.arange(N))


RULES = {
    "product": lambda a, b: a * b,
    "squares": lambda a, b: a**2 + b**2,
    "switch": lambda a, b: np.sign(a) * np.abs(b),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_a_nonlinear_rule_come_first(rule, seed):
    rng = np.random.default_rng(seed)
    X, used = rng.normal(size=(N, N_COLUMNS)), rng.choice(N_COLUMNS, 2, replace=False)
    y = RULES[rule](*X[:, used].T) + 0.1 * rng.normal(size=N)
    rows = make_rows(X, y)
    order = rank_by_trees(rows, learn_encoding(rows, {}, N_COLUMNS), Response()).order
    assert sorted(order) == list(range(N_COLUMNS))
    assert set(order[:2]) == set(used)


def test_a_category_is_one_column():
    """Its three levels decide which of two columns counts; each level is an input of its own."""
    rng = np.random.default_rng(0)
    site, others = rng.integers(3, size=N), rng.normal(size=(N, 6))
    y = np.choose(site, [others[:, 0], -others[:, 0], others[:, 1]])
    rows = make_rows(np.hstack([others, np.eye(3)[site]]), y)
    encoding = learn_encoding(rows, {6: ("a", "b", "c")}, 7)
    assert set(rank_by_trees(rows, encoding, Response()).order[:3]) == {0, 1, 6}


def test_rows_without_weight_have_no_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, N_COLUMNS))
    counts = np.arange(N) % 2 == 0
    rows = make_rows(X, np.where(counts, X[:, 3] * X[:, 4], 3 * X[:, 7]), np.where(counts, 1.0, 1e-9))
    order = rank_by_trees(rows, learn_encoding(rows, {}, N_COLUMNS), Response()).order
    assert set(order[:2]) == {3, 4}


def test_errors_of_trees_are_small_where_the_rule_is_in_their_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, N_COLUMNS))
    rows = make_rows(X, np.sign(X[:, 0]))
    seen, new = (take_rows(rows, np.arange(start, N, 2)) for start in (0, 1))
    errors = tree_errors(seen, new, learn_encoding(seen, {}, N_COLUMNS), Response())
    assert errors.shape == (N // 2,)
    assert errors.mean() < 0.1


def test_trees_do_best_with_about_as_many_columns_as_a_rule_has():
    """Twelve columns are halved to six, three and one: two count, so three are the fewest that hold them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, N_COLUMNS))
    rows = make_rows(X, X[:, 3] * X[:, 4])
    ranking = rank_by_trees(rows, learn_encoding(rows, {}, N_COLUMNS), Response())
    assert list(ranking.errors) == [12, 6, 3]
    assert ranking.best_size == 3
    assert all(0 < error < 1 for error in ranking.errors.values())  # of a target of variance 1


def test_columns_that_tell_something_are_those_of_highest_mutual_information():
    """A square and a step tell as much as a line does; scikit-learn's estimate of mutual information agrees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, N_COLUMNS))
    y = X[:, 2] ** 2 + 1.5 * (X[:, 5] > 0.3) + X[:, 9] + 0.1 * rng.normal(size=N)
    rows = make_rows(X, y)
    kept = keep_telling(rows, learn_encoding(rows, {}, N_COLUMNS), Response(), 3)
    told = mutual_info_regression(X, y, random_state=0)
    assert set(kept) == set(np.argsort(-told)[:3]) == {2, 5, 9}

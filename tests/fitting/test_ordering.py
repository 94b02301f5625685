"""The ladder of terms against a slow loop over all of them, known truth, and scikit-learn's regressions."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lspin.core.losses import CROSS_ENTROPY, SQUARED_ERROR
from lspin.core.networks import Layer
from lspin.fitting.ordering import (
    PENALTY,
    Atoms,
    Model,
    Term,
    append_rest,
    build_ladder,
    exchange,
    find_weakest,
)

N, D = 120, 6


def draw(seed=0, n_columns=D, n_groups=1):
    rng = np.random.default_rng(seed)
    members = np.eye(n_groups)[np.arange(N) % n_groups]
    return rng.normal(size=(N, n_columns)), members, rng


def squared_error(columns, y):
    design = np.hstack([np.ones((len(y), 1)), *columns])
    return ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).mean()


@pytest.mark.parametrize("seed", range(5))
def test_the_first_columns_of_a_response_are_those_that_a_slow_loop_adds(seed, monkeypatch):
    monkeypatch.setattr("lspin.fitting.ordering.PENALTY", 1e-9)
    X, members, rng = draw(seed)
    y = X @ [2.0, -1.0, 0.5, 0.2, 0.1, 0.0] + rng.normal(size=N)
    ladder = build_ladder(Atoms(X, members, y, np.ones(N), SQUARED_ERROR), np.zeros(1), 3)
    chosen = []
    for _ in range(3):
        rest = [c for c in range(D) if c not in chosen]
        chosen.append(min(rest, key=lambda c: squared_error([X[:, [*chosen, c]]], y)))
    assert [term.column for term in ladder[3]] == chosen


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_two_classes_are_found_among_many(seed):
    X, members, rng = draw(seed, n_columns=200)
    y = (X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=N) > 0).astype(float)
    ladder = build_ladder(Atoms(X, members, y, np.ones(N), CROSS_ENTROPY), np.zeros(1), 10)
    assert {term.column for term in ladder[3]} == {0, 1, 2}
    assert all(len(terms) == count for count, terms in ladder.items())


def test_every_group_gets_its_own_columns_whatever_their_level_and_spread():
    X, members, rng = draw(n_columns=30, n_groups=3)
    group = members.argmax(axis=1)
    X = (
        0.2 * X + 5.0 * rng.normal(size=(3, 30))[group]
    )  # groups far apart: most of a column's spread is between them
    y = X[np.arange(N), group] / 0.2
    for k in range(3):
        y[group == k] -= y[group == k].mean()
    ladder = build_ladder(Atoms(X, members, y, np.ones(N), SQUARED_ERROR), np.zeros(1), 6)
    assert set(ladder[3]) == {Term(0, 0), Term(1, 1), Term(2, 2)}


def test_a_model_of_two_classes_is_a_ridge_logistic_regression():
    X, members, rng = draw()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(float)
    terms = [Term(0, column) for column in range(D)]
    start = Layer(np.zeros((1 + D, 1)), np.zeros(1))
    model = Model.fit(Atoms(X, members, y, np.ones(N), CROSS_ENTROPY), terms, start)
    judge = LogisticRegression(C=1 / (PENALTY * N), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.layer.weights[1:, 0], judge.coef_[0], atol=1e-3)


def test_the_weakest_column_is_the_one_whose_loss_costs_least():
    X, members, rng = draw()
    X[:, 3] = X[:, 0] + 0.1 * rng.normal(size=N)  # large weights of near copies do not make them strong
    y = X @ [1.0, 0.5, 0.7, 1.0, 0.4, 0.6] + 0.1 * rng.normal(size=N)
    atoms = Atoms(X, members, y, np.ones(N), SQUARED_ERROR)
    terms = [Term(0, column) for column in range(D)]
    model = Model.fit(atoms, terms, Layer(np.zeros((1 + D, 1)), np.zeros(1)))
    costs = [squared_error([np.delete(X, column, axis=1)], y) for column in range(D)]
    assert find_weakest(atoms, model) == int(np.argmin(costs))


def test_a_column_that_others_replace_leaves_again():
    X, members, rng = draw(seed=3, n_columns=8)
    X[:, 7] = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=N)  # tells most as long as the three are missing
    y = X[:, :3].sum(axis=1)
    ladder = build_ladder(Atoms(X, members, y, np.ones(N), SQUARED_ERROR), np.zeros(1), 8)
    assert ladder[1] == [Term(0, 7)]
    assert {term.column for term in ladder[3]} == {0, 1, 2}


def test_in_the_end_all_columns_are_there():
    terms = append_rest([Term(0, 4), Term(0, 1)], np.arange(5))
    assert [term.column for term in terms] == [4, 1, 0, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_of_columns_that_vary_together_no_other_would_do_better_than_one_that_was_taken(seed, monkeypatch):
    monkeypatch.setattr("lspin.fitting.ordering.PENALTY", 1e-9)
    X, members, rng = draw(seed, n_columns=12)
    X = 0.7 * X[:, np.arange(12) // 4] + 0.7 * X  # modules of four columns
    y = X[:, :3] @ [1.0, -2.0, 1.0] + X[:, 5] + 0.3 * rng.normal(size=N)
    atoms = Atoms(X, members, y, np.ones(N), SQUARED_ERROR)
    ladder = build_ladder(atoms, np.zeros(1), 4)
    columns = [term.column for term in ladder[4]]
    reached = squared_error([X[:, columns]], y)
    for place in range(4):
        kept = columns[:place] + columns[place + 1 :]
        assert reached <= min(squared_error([X[:, [*kept, c]]], y) for c in range(12) if c not in kept) + 1e-6


def test_a_wrong_column_of_a_module_is_replaced_by_the_right_one():
    X, members, rng = draw(n_columns=20)
    X[:, 7] = X[:, 0] + rng.normal(size=N)
    atoms = Atoms(X, members, 2 * X[:, 0] + X[:, 3], np.ones(N), SQUARED_ERROR)
    wrong = Model.fit(atoms, [Term(0, 7), Term(0, 3)], Layer(np.zeros((3, 1)), np.zeros(1)))
    assert {term.column for term in exchange(atoms, wrong).terms} == {0, 3}


def test_columns_without_relatives_are_left_alone():
    X, members, _ = draw(n_columns=4)
    X = np.linalg.qr(X - X.mean(axis=0))[0]  # no two are correlated
    atoms = Atoms(X / X.std(axis=0), members, X[:, 0], np.ones(N), SQUARED_ERROR)
    model = Model.fit(atoms, [Term(0, 1), Term(0, 2)], Layer(np.zeros((3, 1)), np.zeros(1)))
    assert exchange(atoms, model) is model

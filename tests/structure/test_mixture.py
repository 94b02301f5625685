"""Mixtures against slow loops, other people's regressions and discriminants, and groups that are known."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import adjusted_rand_score

from lspin.structure import mixture
from lspin.structure.mixture import (
    BY_CHANCE,
    RIDGE,
    WITHIN_SHRINKAGE,
    Moments,
    Term,
    fit_mixture,
    order_terms,
    solve_terms,
    tell_apart,
    tell_groups,
    telling_limit,
)
from small_clouds import draw_groups, make_cloud

RNG = np.random.default_rng(0)
N, D = 80, 6
VALUES = RNG.normal(size=(N, D))
OUTPUTS = RNG.normal(size=(N, 2)) + VALUES[:, :2]
SHARES = RNG.dirichlet([0.5, 0.5, 0.5], size=N)  # of three groups


def squared_error(values, outputs, share, columns):
    """What the best linear model of some columns leaves, by weighted least squares with a constant."""
    root = np.sqrt(share)[:, None]
    design = root * np.hstack([np.ones((len(values), 1)), values[:, columns]])
    weights = np.linalg.lstsq(design, root * outputs, rcond=None)[0]
    return ((root * outputs - design @ weights) ** 2).sum()


# Sums --------------------------------------------------------------------------------------------------------


def test_moments_are_weighted_covariances():
    moments = Moments(VALUES, OUTPUTS, SHARES)
    for group, share in enumerate(SHARES.T):
        whole = share.sum() * np.cov(np.hstack([VALUES, OUTPUTS]).T, aweights=share, ddof=0)
        np.testing.assert_allclose([moments.products(group, column) for column in range(D)], whole[:D, :D])
        np.testing.assert_allclose(moments.products(group, [0, 3], [1, 2]), whole[np.ix_([0, 3], [1, 2])])
        np.testing.assert_allclose(moments.squares[group], np.diag(whole)[:D])
        np.testing.assert_allclose(moments.links[group], whole[:D, D:])
        assert moments.spread[group] == pytest.approx(np.trace(whole[D:, D:]))


def test_a_row_of_double_share_is_the_row_twice():
    repeats = RNG.integers(1, 4, N)
    weighted = Moments(VALUES, OUTPUTS, repeats[:, None] * SHARES)
    repeated = Moments(*(np.repeat(part, repeats, axis=0) for part in (VALUES, OUTPUTS, SHARES)))
    for name in ("size", "mean", "mean_output", "squares", "links", "spread"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name))
    np.testing.assert_allclose(weighted.products(1, 2), repeated.products(1, 2))


# Columns -----------------------------------------------------------------------------------------------------


def test_columns_come_in_the_order_in_which_a_slow_loop_adds_them():
    chosen = {group: [] for group in range(3)}
    expected = []
    for _ in range(8):
        gains = {
            Term(group, column): squared_error(VALUES, OUTPUTS, SHARES[:, group], chosen[group])
            - squared_error(VALUES, OUTPUTS, SHARES[:, group], [*chosen[group], column])
            for group in chosen
            for column in set(range(D)) - set(chosen[group])
        }
        best = max(gains, key=gains.get)
        chosen[best.group].append(best.column)
        expected.append(best)
    assert order_terms(Moments(VALUES, OUTPUTS, SHARES), 8) == expected


def test_a_column_that_others_make_up_is_not_added():
    values = np.hstack([VALUES, VALUES[:, :1] + VALUES[:, 1:2], VALUES[:, 2:3]])
    terms = order_terms(Moments(values, OUTPUTS, np.ones((N, 1))), 20)
    columns = {term.column for term in terms}
    assert len(columns) == len(terms) == D
    assert len(columns & {0, 1, D}) == 2
    assert len(columns & {2, D + 1}) == 1


def test_no_column_is_added_once_all_is_explained():
    outputs = VALUES[:, [1]] - 2 * VALUES[:, [4]]
    terms = order_terms(Moments(VALUES, outputs, np.ones((N, 1))), 20)
    assert {term.column for term in terms} == {1, 4}


def test_few_rows_carry_few_columns():
    assert len(order_terms(Moments(VALUES[:12], OUTPUTS[:12], np.ones((12, 1))), 20)) == 3


def test_clear_columns_are_those_that_count_and_noise_has_hardly_any():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200, 40))
    signal = values[:, [3]] - values[:, [7]]
    found = [
        {term.column for term in order_terms(Moments(values, part, np.ones((200, 1))), 40, clear=True)}
        for part in (signal + 0.5 * rng.normal(size=(200, 1)), *rng.normal(size=(20, 200, 1)))
    ]
    assert found[0] >= {3, 7}
    assert len(found[0]) <= 3
    assert np.mean([len(columns) for columns in found[1:]]) < 0.5


@pytest.mark.parametrize("group", [0, 1, 2])
def test_models_of_chosen_columns_equal_scikit_learns_ridge(group):
    terms = [Term(0, 1), Term(1, 2), Term(0, 4), Term(2, 0), Term(2, 3), Term(2, 5)]
    models = solve_terms(Moments(VALUES, OUTPUTS, SHARES), terms)
    columns = [term.column for term in terms if term.group == group]
    share = SHARES[:, group]
    ridge = Ridge(alpha=RIDGE * share.sum()).fit(VALUES[:, columns], OUTPUTS, sample_weight=share)
    np.testing.assert_allclose(models.weights[group, columns], ridge.coef_.T, atol=1e-5)
    np.testing.assert_allclose(models.intercepts[group], ridge.intercept_, atol=1e-5)
    assert np.count_nonzero(models.weights[group].any(axis=1)) == len(columns)
    np.testing.assert_allclose(models.predict(VALUES)[group], ridge.predict(VALUES[:, columns]), atol=1e-5)


# Groups ------------------------------------------------------------------------------------------------------


def test_groups_are_told_as_by_scikit_learns_discriminant(monkeypatch):
    monkeypatch.setattr(mixture, "LEAST_WITHIN", 0.0)
    rng = np.random.default_rng(2)
    labels = np.arange(90) % 3
    values = rng.normal(size=(3, 4))[labels] + rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4))
    values -= values.mean(axis=0)
    monkeypatch.setattr(mixture, "BY_CHANCE", np.inf)  # all columns are looked at
    shares = np.eye(3)[labels]
    memberships = mixture.Mixture(*tell_groups(values, shares), shares).memberships(values)
    judge = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=max(WITHIN_SHRINKAGE, 4 / 94)).fit(values, labels)
    np.testing.assert_allclose(memberships, judge.predict_proba(values), atol=1e-9)


def test_a_context_tells_groups_as_scikit_learns_logistic_regression_does():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 4))
    labels = (values[:, 0] + 0.3 * rng.normal(size=200) > 0.4).astype(int) + (values[:, 1] > 0)
    cloud = make_cloud(values)._replace(seen=np.arange(2))
    shares = np.eye(3)[labels]
    directions, offsets = tell_apart(cloud, shares, penalty=1e-2)
    seen = cloud.values[:, :2]
    judge = LogisticRegression(C=1 / (200 * 1e-2), tol=1e-8).fit(seen, labels)
    said = mixture.Mixture(directions, offsets, shares).memberships(cloud.values)
    np.testing.assert_allclose(said, judge.predict_proba(seen), atol=2e-3)
    assert not directions[2:].any()


def test_only_inputs_that_may_count_become_terms():
    values, response, group = draw_groups()  # columns 3 and 4 count in one group, column 5 in the other
    cloud = make_cloud(values, response)
    allowed = np.array([0, 1, 2, 4, 6])
    moments = Moments(cloud.values, cloud.outputs, np.eye(2)[group], allowed)
    terms = order_terms(moments, 20)
    assert terms[0] == Term(0, 4)
    assert {term.column for term in terms} == set(allowed.tolist())


def test_only_columns_that_differ_tell_the_groups():
    values, _, group = draw_groups()
    cloud = make_cloud(values)
    directions, offsets = tell_groups(cloud.values, np.eye(2)[group])
    assert directions[:3].all()
    assert not directions[3:].any()
    guess = (cloud.values @ directions + offsets).argmax(axis=1)
    assert adjusted_rand_score(group, guess) > 0.95


def test_groups_of_noise_are_told_by_their_sizes_alone():
    cloud = make_cloud(np.random.default_rng(0).normal(size=(100, 5)))
    shares = np.eye(2)[(np.arange(100) % 4 == 0).astype(int)]
    members = mixture.Mixture(*tell_groups(cloud.values, shares), shares).memberships(cloud.values)
    np.testing.assert_allclose(members, np.tile([0.75, 0.25], (100, 1)))


@pytest.mark.parametrize(("n_columns", "n_groups"), [(1, 2), (30, 2), (30, 5)])
def test_a_column_without_a_difference_is_taken_for_one_with_a_small_probability(n_columns, n_groups):
    limit = telling_limit(n_columns, n_groups)
    assert n_columns * chi2.sf(limit, n_groups - 1) == pytest.approx(BY_CHANCE)
    assert telling_limit(n_columns, 1) == np.inf


def test_one_group_is_everyone():
    cloud = make_cloud(*draw_groups()[:2])
    found = fit_mixture(cloud, np.zeros(300, int))
    np.testing.assert_array_equal(found.responsibilities, np.ones((300, 1)))
    np.testing.assert_array_equal(found.memberships(cloud.values), np.ones((300, 1)))


@pytest.mark.parametrize("seed", range(3))
def test_groups_and_their_columns_are_found_from_a_division_with_errors(seed):
    values, response, group = draw_groups(seed)
    cloud = make_cloud(values, response)
    wrong = np.random.default_rng(seed).random(300) < 0.2
    found = fit_mixture(cloud, np.where(wrong, 1 - group, group))
    assert adjusted_rand_score(group, found.responsibilities.argmax(axis=1)) > 0.97
    assert adjusted_rand_score(group, found.memberships(cloud.values).argmax(axis=1)) > 0.97
    terms = order_terms(Moments(cloud.values, cloud.outputs, found.responsibilities), 3)
    assert set(terms) == {Term(0, 3), Term(0, 4), Term(1, 5)}


def test_a_group_that_dies_out_leaves_no_mixture():
    values, response, _ = draw_groups()
    assert fit_mixture(make_cloud(values, response), (np.arange(300) < 3).astype(int)) is None

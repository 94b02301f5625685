"""Divisions against groups that are known, scikit-learn's principal components, and noise that has none."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from lspin.structure import divisions
from lspin.structure.divisions import (
    MOST_LEVELS,
    N_COLUMNS,
    RULES,
    RULES_OF_CONTEXT,
    SMALLEST_GROUP,
    WHOLE,
    Divisions,
    Rule,
    divide_by_column,
    find_components,
    find_dividing_columns,
    find_most_related,
)
from small_clouds import draw_groups, make_cloud


@pytest.mark.parametrize("n_columns", [2, 10, 100])
def test_noise_has_no_component(n_columns):
    counts = [
        find_components(make_cloud(np.random.default_rng(seed).normal(size=(200, n_columns)))).shape
        for seed in range(10)
    ]
    assert counts == [(n_columns, 0)] * 10


@pytest.mark.parametrize("n_columns", [3, 10, 100])
def test_two_clouds_have_one_component_that_points_from_one_to_the_other(n_columns):
    values, _, group = draw_groups(n_columns=max(n_columns, 6))
    cloud = make_cloud(values[:, :n_columns])
    (direction,) = find_components(cloud).T
    assert abs(direction[:3].sum()) == pytest.approx(np.sqrt(3), rel=0.01)
    assert not direction[3:].any()  # columns that are related to no other are left out
    assert adjusted_rand_score(group, cloud.values @ direction > 0) > 0.95


def test_components_are_the_principal_ones():
    rng = np.random.default_rng(0)
    centers = 4 * rng.normal(size=(4, 6))
    cloud = make_cloud(centers[np.arange(400) % 4] + rng.normal(size=(400, 6)))
    found = find_components(cloud)
    expected = PCA(found.shape[1]).fit(cloud.values).components_
    assert found.shape[1] >= 3  # four centers span three directions
    np.testing.assert_allclose(np.abs(expected @ found), np.eye(found.shape[1]), atol=1e-9)


def test_a_heavy_row_counts_as_many():
    values, _, _ = draw_groups(n_rows=60)
    repeats = 1 + np.arange(60) % 3
    weighted = make_cloud(values[:, :3], weight=repeats)
    repeated = weighted._replace(values=np.repeat(weighted.values, repeats, axis=0), weight=np.ones(repeats.sum()))
    one, other = (find_components(cloud)[:, 0] for cloud in (weighted, repeated))
    assert abs(one @ other) == pytest.approx(1)


def test_no_rule_leaves_all_rows_together():
    assert not Divisions(make_cloud(draw_groups()[0])).divide(WHOLE).any()


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_components_tell_clouds_that_are_apart(n_groups):
    rng = np.random.default_rng(n_groups)
    truth = np.arange(60 * n_groups) % n_groups
    values = 8 * rng.normal(size=(n_groups, 5))[truth] + rng.normal(size=(len(truth), 5))
    labels = Divisions(make_cloud(values)).divide(Rule("components", n_groups))
    assert adjusted_rand_score(truth, labels) > 0.95


@pytest.mark.parametrize("n_levels", [2, MOST_LEVELS, MOST_LEVELS + 1, 300])
def test_a_column_divides_by_its_values_if_they_are_few_and_else_at_its_median(n_levels):
    column = np.random.default_rng(0).permutation(300) % n_levels
    labels = divide_by_column(make_cloud(column[:, None]).values)
    expected = column if n_levels <= MOST_LEVELS else column > np.median(column)
    assert adjusted_rand_score(expected, labels) == 1


def test_a_category_divides_by_its_levels():
    levels = np.random.default_rng(0).integers(3, size=90)
    assert adjusted_rand_score(levels, divide_by_column(make_cloud(np.eye(3)[levels]).values)) == 1


def test_rows_are_not_divided_where_a_group_would_be_small_or_there_is_nothing_to_tell_them():
    rng = np.random.default_rng(0)
    rare = np.arange(100) < SMALLEST_GROUP - 1
    response = np.where(rare, 5.0, -5.0) * rng.normal(size=100)
    cloud = make_cloud(np.column_stack([rare, rng.normal(size=100)]), response)
    assert Divisions(cloud).divide(Rule("column", list(find_dividing_columns(cloud)).index(0))) is None
    assert Divisions(cloud).divide(Rule("components", 2)) is None
    constant = cloud._replace(values=cloud.values * 0)
    assert all(Divisions(constant).divide(rule) is None for rule in RULES)


def test_rules_by_components_are_for_tables_that_have_some_and_rows_enough():
    values, response, _ = draw_groups(n_rows=100)
    found = Divisions(make_cloud(values, response))
    applied = [rule.which for rule in RULES if rule.source == "components" and found.divide(rule) is not None]
    assert applied[:2] == [2, 3]
    assert max(applied) <= 5  # groups of ten rows and more, with room to spare
    noise = Divisions(make_cloud(np.random.default_rng(0).normal(size=(100, 8)), response))
    assert {rule.source for rule in RULES if noise.divide(rule) is not None} == {"column"}


def test_of_very_many_columns_those_with_relations_are_paired(monkeypatch):
    values, _, _ = draw_groups(n_columns=40)
    cloud = make_cloud(values)
    expected = find_components(cloud)
    monkeypatch.setattr(divisions, "MOST_PAIRED", 10)
    covariance = np.cov(cloud.values.T, ddof=0)
    largest = np.argsort(-(covariance**2).sum(axis=0))[:10]
    np.testing.assert_array_equal(find_most_related(cloud), np.sort(largest))
    found = find_components(cloud)
    np.testing.assert_allclose(np.abs(found.T @ expected), np.eye(1), atol=1e-9)


def test_with_fewer_rows_than_columns_components_are_the_principal_ones_too():
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    values = rng.normal(size=(60, 90)) + 3 * group[:, None]  # every column is related to the others
    cloud = make_cloud(values)
    (direction,) = find_components(cloud).T
    expected = PCA(1).fit(cloud.values).components_[0]
    assert abs(direction @ expected) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["number", "two values", "category"])
def test_the_column_that_decides_which_others_count_is_looked_at_first(kind, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(300, 8))
    if kind == "two values":
        values[:, 0] = values[:, 0] > 0
    decides = values[:, 0] > values[:, 0].mean()
    response = np.where(decides, values[:, 3], -values[:, 4]) + 0.1 * rng.normal(size=300)
    cloud = make_cloud(values, response)
    if kind == "category":
        levels = np.eye(3)[np.where(decides, 0, 1 + np.arange(300) % 2)]
        cloud = make_cloud(np.hstack([levels, values[:, 1:]]), response, owners=[0, 0, 0, *range(1, 8)])
    columns = find_dividing_columns(cloud)
    assert columns[0] == 0
    assert len(columns) == N_COLUMNS


@pytest.mark.parametrize("n_columns", [30, 400])
def test_one_column_among_many_that_decides_which_others_count_is_found(n_columns):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, n_columns))
    response = np.where(values[:, 7] > 0, values[:, 3] - values[:, 4], values[:, 5] + values[:, 6])
    assert find_dividing_columns(make_cloud(values, response))[0] == 7


# A context ---------------------------------------------------------------------------------------------------


def test_only_inputs_that_are_seen_divide_the_rows():
    values, response, group = draw_groups()  # the first three columns tell the groups
    cloud = make_cloud(values, response)
    by_first = Divisions(cloud._replace(seen=np.arange(2))).divide(Rule("components", 2))
    assert adjusted_rand_score(group, by_first) > 0.9
    blind = Divisions(cloud._replace(seen=np.arange(3, 8)))
    assert blind.divide(Rule("components", 2)) is None
    assert set(blind.columns) <= set(range(3, 8))


def test_a_pair_of_columns_divides_by_all_combinations_and_a_corner_by_the_one_that_matters():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 6))
    values[:, 1] = np.arange(400) % 2
    halves = values[:, 0] > np.median(values[:, 0])
    corner = halves & (values[:, 1] == 1)
    response = np.where(corner, values[:, 2] - values[:, 3], values[:, 4])
    found = Divisions(make_cloud(values, response)._replace(seen=np.arange(2)))
    (pair,) = (rule for rule in RULES_OF_CONTEXT if rule.source == "pair" and found.divide(rule) is not None)
    assert adjusted_rand_score(2 * halves + values[:, 1], found.divide(pair)) == 1
    assert adjusted_rand_score(corner, found.divide(Rule("corner", pair.which))) == 1

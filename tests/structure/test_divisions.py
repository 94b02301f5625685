"""Divisions against groups that are known, scikit-learn's principal components, and noise that has none."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from lspin.structure.divisions import (
    MOST_LEVELS,
    N_COLUMNS,
    SMALLEST_GROUP,
    WHOLE,
    Rule,
    divide,
    find_components,
    list_rules,
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
    assert not divide(make_cloud(draw_groups()[0]), WHOLE).any()


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_components_tell_clouds_that_are_apart(n_groups):
    rng = np.random.default_rng(n_groups)
    truth = np.arange(60 * n_groups) % n_groups
    values = 8 * rng.normal(size=(n_groups, 5))[truth] + rng.normal(size=(len(truth), 5))
    labels = divide(make_cloud(values), Rule("components", n_groups))
    assert adjusted_rand_score(truth, labels) > 0.95


@pytest.mark.parametrize("n_levels", [2, MOST_LEVELS, MOST_LEVELS + 1, 300])
def test_a_column_divides_by_its_values_if_they_are_few_and_else_at_its_median(n_levels):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3))
    values[:, 1] = rng.permutation(300) % n_levels
    labels = divide(make_cloud(values), Rule("column", 1))
    expected = values[:, 1] if n_levels <= MOST_LEVELS else values[:, 1] > np.median(values[:, 1])
    assert adjusted_rand_score(expected, labels) == 1


def test_a_category_divides_by_its_levels():
    rng = np.random.default_rng(0)
    levels = rng.integers(3, size=90)
    values = np.hstack([rng.normal(size=(90, 1)), np.eye(3)[levels]])
    labels = divide(make_cloud(values, owners=[0, 1, 1, 1]), Rule("column", 1))
    assert adjusted_rand_score(levels, labels) == 1


def test_rows_are_not_divided_where_a_group_would_be_small_or_there_is_nothing_to_tell_them():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 3))
    values[:, 1] = np.arange(100) < SMALLEST_GROUP - 1
    cloud = make_cloud(values)
    assert divide(cloud, Rule("column", 1)) is None
    assert divide(cloud, Rule("components", 2)) is None
    assert divide(cloud._replace(values=cloud.values * [1, 1, 0]), Rule("column", 2)) is None


def test_rules_by_components_are_for_tables_that_have_some_and_rows_enough():
    values, response, _ = draw_groups(n_rows=100)
    sources = [rule for rule in list_rules(make_cloud(values, response)) if rule.source == "components"]
    assert sources == [Rule("components", n) for n in (2, 3, 4, 5)]  # of ten rows and more, with room to spare
    noise = np.random.default_rng(0).normal(size=(100, 8))
    assert {rule.source for rule in list_rules(make_cloud(noise, response))} == {"column"}


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
    rules = [rule for rule in list_rules(cloud) if rule.source == "column"]
    assert rules[0] == Rule("column", 0)
    assert len(rules) == N_COLUMNS

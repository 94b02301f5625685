"""Ridges of many columns of a wide table, and their mean, against predictions made apart and choices by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from lspin import LSPINRegressor
from lspin.fitting.groups import Setting, count_many, make_member
from lspin.fitting.judging import relation
from lspin.fitting.levels import choose_ridge, tells_something
from lspin.fitting.prediction import predict_counted
from lspin.structure.divisions import ALL, MEAN
from posed import pose

N_ROWS, N_COLUMNS = 60, 240


def draw_weak(seed=0):
    """A response of many weak effects."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4)) @ rng.normal(size=(4, N_COLUMNS)) + rng.normal(size=(N_ROWS, N_COLUMNS))
    return X, X @ rng.normal(size=N_COLUMNS)


def test_numbers_of_columns_fall_by_a_factor_to_those_of_few_columns():
    assert count_many(1000) == [1000, 333, 111]
    assert count_many(50) == [50]


def test_the_mean_of_ridges_says_the_mean_of_what_they_say():
    problem = pose(*draw_weak())
    made = {
        setting: make_member(problem.rows, problem.encoding, problem.kind, setting).member
        for setting in (Setting(MEAN, N_COLUMNS), *(Setting(ALL, count) for count in count_many(N_COLUMNS)))
    }
    mean, *each = (predict_counted([member], problem.rows.grid) for member in made.values())
    assert len(each) == 2
    assert np.abs(each[0].outputs - each[1].outputs).max() > 0.01
    np.testing.assert_allclose(mean.outputs, np.mean([one.outputs for one in each], axis=0), atol=1e-12)
    np.testing.assert_array_equal(mean.n_open, N_COLUMNS)


def test_a_table_of_weak_effects_gets_the_mean_of_ridges_whose_sums_are_exact():
    X, y = draw_weak()
    model = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    assert (model.gates(X[:3]) == 1).all()
    np.testing.assert_allclose((X - model.center_) @ model.coef_.T + model.intercept_, model.predict(X))


@pytest.mark.parametrize(("better_by", "expected"), [(0.1, "mean"), (1.9, "mean"), (2.1, "few")])
def test_one_of_several_ridges_has_to_be_better_than_their_mean_by_more_than_chance(better_by, expected):
    noise = np.random.default_rng(0).normal(size=40)
    noise = (noise - noise.mean()) / noise.std() * np.sqrt(40)  # a standard error of 1
    levels = {
        "all": SimpleNamespace(setting=Setting(ALL, 90), losses=np.full(40, 2.0)),
        "few": SimpleNamespace(setting=Setting(ALL, 30), losses=1.0 - better_by + noise),
        "mean": SimpleNamespace(setting=Setting(MEAN, 90), losses=np.full(40, 1.0)),
    }
    for level in levels.values():
        level.loss, level.weight = level.losses.mean(), np.ones(40)
    assert choose_ridge(list(levels.values())) is levels[expected]


@pytest.mark.parametrize(("mean_relation", "tells"), [(2.3, False), (2.4, True)])
@pytest.mark.parametrize("chosen", ["few", "mean"])
def test_whether_columns_tell_anything_is_asked_of_the_mean_which_was_not_picked(chosen, mean_relation, tells):
    constant = SimpleNamespace(losses=np.full(40, 1.0), weight=np.ones(40))
    better = np.linspace(-0.1, 0.1, 40) + 0.5  # by far, as the best of many may be
    levels = {
        "few": SimpleNamespace(setting=Setting(ALL, 30), n_terms=30, losses=better, relation=9.0),
        "mean": SimpleNamespace(
            setting=Setting(MEAN, 90), n_terms=90, losses=constant.losses, relation=mean_relation
        ),
    }
    assert tells_something(list(levels.values()), levels[chosen], constant) == tells


def test_the_relation_is_the_t_statistic_of_products_about_the_means_of_each_split():
    rng = np.random.default_rng(0)
    said, truth = ([rng.normal(size=(n, 2)) for n in (30, 20)] for _ in range(2))
    products = [
        sum((s[:, k] - s[:, k].mean()) * (t[:, k] - t[:, k].mean()) for k in range(2))
        for s, t in zip(said, truth, strict=True)
    ]
    expected = ttest_1samp(np.concatenate(products), 0).statistic * np.sqrt(50 / 49)  # ours divides by one more
    found = relation(said, truth, np.ones(50))
    assert found == pytest.approx(expected)
    shifted = [7 * part + shift for part, shift in zip(said, (3, -5), strict=True)]
    assert relation(shifted, truth, np.ones(50)) == pytest.approx(found)

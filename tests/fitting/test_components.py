"""What divided the rows of a model of groups, against principal components by scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from lspin import LSPINRegressor
from lspin.fitting.components import list_components
from lspin.structure.divisions import WHOLE, Divisions, Rule
from small_clouds import draw_groups, make_cloud

N_ROWS, N_COLUMNS = 200, 16


def draw_two_factors(owners=None, weight=None):
    """All columns follow one of two factors, the first eight the stronger one."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(N_ROWS, 2)) * [1.5, 1.0]
    values = np.repeat(factors, N_COLUMNS // 2, axis=1) * rng.choice([-1, 1], N_COLUMNS)
    return make_cloud(values + rng.normal(size=values.shape), owners=owners, weight=weight)


@pytest.mark.parametrize("place", [0, 1])
def test_a_component_has_the_variance_and_the_columns_that_pca_says(place):
    cloud = draw_two_factors()
    features = 100 + np.arange(N_COLUMNS)
    found = list_components(Divisions(cloud), Rule("components", 2), features)
    assert [part.divides for part in found] == [True, False]
    pca = PCA(2).fit(cloud.values)
    scores = pca.transform(cloud.values)[:, place]
    correlations = np.array([np.corrcoef(column, scores)[0, 1] for column in cloud.values.T])
    order = np.argsort(-np.abs(correlations))[:10]
    assert found[place].columns.tolist() == (100 + order).tolist()
    expected = correlations[order] * np.sign(correlations[order[0]])
    np.testing.assert_allclose(found[place].correlations, expected, atol=1e-9)
    assert found[place].variance == pytest.approx(pca.explained_variance_ratio_[place])


def test_a_row_of_weight_two_is_the_row_twice():
    weight = np.where(np.arange(N_ROWS) < 50, 2.0, 1.0)
    cloud = draw_two_factors(weight=weight)
    twice = cloud._replace(
        values=np.vstack([cloud.values, cloud.values[:50]]),
        outputs=np.vstack([cloud.outputs, cloud.outputs[:50]]),
        weight=np.ones(N_ROWS + 50),
    )
    one, other = (
        list_components(Divisions(c), Rule("components", 2), np.arange(N_COLUMNS)) for c in (cloud, twice)
    )
    for part, same in zip(one, other, strict=False):  # with more rows a third may be beyond chance
        np.testing.assert_array_equal(part.columns, same.columns)
        np.testing.assert_allclose(part.correlations, same.correlations, atol=1e-9)


def test_a_categorical_column_is_named_once():
    owners = np.arange(N_COLUMNS) // 4
    (first, second) = list_components(
        Divisions(draw_two_factors(owners)), Rule("components", 3), np.arange(N_COLUMNS // 4)
    )
    assert sorted(first.columns) == sorted(second.columns) == [0, 1, 2, 3]
    assert set(first.columns[:2]) == {0, 1}
    assert set(second.columns[:2]) == {2, 3}


@pytest.mark.parametrize("rule", [WHOLE, Rule("column", 0)])
def test_rows_that_components_do_not_divide_have_none(rule):
    assert list_components(Divisions(draw_two_factors()), rule, np.arange(N_COLUMNS)) == ()


def test_a_model_tells_the_components_of_every_member_by_name():
    rng = np.random.default_rng(0)
    group = np.arange(N_ROWS) % 2
    values = rng.normal(size=(N_ROWS, 20))
    values[:, :12] += 1.2 * group[:, None]  # no single column tells the groups
    X = pd.DataFrame(values).add_prefix("gene")
    y = np.where(group == 0, values[:, 15], values[:, 17])
    settings = {"start": "groups", "n_members": 3, "bootstrap": True, "random_state": 0}
    found = LSPINRegressor(**settings).fit(X, y).components_
    first = found[found["component"] == 0]
    assert first["member"].tolist() == [0, 1, 2]
    assert first["divides"].all()
    assert set(first["columns"].explode()) <= {f"gene{column}" for column in range(12)}


def test_a_model_of_one_group_has_no_components():
    values, _, _ = draw_groups()
    assert LSPINRegressor(start="groups").fit(values[:, 3:], values[:, 4]).components_.empty

"""Cox regression with an L1 penalty, against the conditions of its minimum and scikit-survival."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from lspin.baselines import CoxLasso
from lspin.survival import make_survival


def draw_cohort(n_rows=200, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    time = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1])).round(1) + 0.1  # with ties
    return X, make_survival(time, rng.random(n_rows) < 0.7)


def loss_by_hand(coefficients, X, y):
    log_hazard = X @ coefficients
    terms = [
        np.log(np.exp(log_hazard[y["time"] >= y["time"][i]]).sum()) - log_hazard[i]
        for i in np.flatnonzero(y["event"])
    ]
    return np.mean(terms)


def slopes_by_hand(coefficients, X, y):
    step = 1e-5 * np.eye(len(coefficients))
    return np.array(
        [(loss_by_hand(coefficients + e, X, y) - loss_by_hand(coefficients - e, X, y)) / 2e-5 for e in step]
    )


def standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.3])
def test_slopes_are_the_penalty_where_a_coefficient_is_not_0_and_less_elsewhere(penalty):
    X, y = draw_cohort()
    model = CoxLasso(penalty).fit(X, y)
    slopes = slopes_by_hand(model.weights_, standardise(X), y)
    is_used = model.weights_ != 0
    np.testing.assert_allclose(slopes[is_used], -penalty * np.sign(model.weights_[is_used]), atol=1e-3)
    assert (np.abs(slopes[~is_used]) <= penalty + 1e-3).all()
    assert is_used[0]
    np.testing.assert_array_equal(model.selected(X)[0], is_used)


def test_without_a_penalty_it_is_cox_regression():
    X, y = draw_cohort()
    best = minimize(loss_by_hand, np.zeros(6), args=(standardise(X), y)).x
    np.testing.assert_allclose(CoxLasso(0.0).fit(X, y).weights_, best, atol=2e-3)


def test_a_large_penalty_leaves_one_risk_for_all():
    X, y = draw_cohort()
    model = CoxLasso(10.0).fit(X, y)
    assert not model.selected(X).any()
    assert np.ptp(model.predict(X)) == 0


def test_the_chosen_penalty_finds_the_true_columns_of_many():
    X, y = draw_cohort(200, 300)
    model = CoxLasso(random_state=0).fit(X, y)
    used = set(np.flatnonzero(model.selected(X)[0]))
    assert used >= {0, 1}
    assert len(used) < 40
    assert model.score(*draw_cohort(500, 300, seed=1)) > 0.7
    again = CoxLasso(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.weights_, model.weights_)


def test_noise_alone_is_left_out():
    X, y = draw_cohort()
    rng = np.random.default_rng(2)
    n_used = [CoxLasso(random_state=0).fit(rng.normal(size=X.shape), y).selected(X)[0].sum() for _ in range(5)]
    assert np.median(n_used) == 0


def test_a_weight_of_two_is_a_row_given_twice():
    X, y = draw_cohort(80)
    weight = 1 + (np.arange(80) < 30)
    weighted = CoxLasso(0.05).fit(X, y, sample_weight=weight)
    repeated = CoxLasso(0.05).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-4)


def test_categories_and_missing_values_are_read():
    X, y = draw_cohort()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(c=pd.Categorical(np.where(X[:, 2] > 0, "u", "v")))
    frame.loc[::9, "b"] = np.nan
    model = CoxLasso(0.02).fit(frame, y)
    assert model.selected(frame).shape == frame.shape
    assert not model.selected(frame)[::9, 1].any()
    assert np.isfinite(model.predict_risk(frame, [0.5, 1.0])).all()


@pytest.mark.parametrize("penalty", [0.03, 0.15])
def test_coefficients_are_those_of_scikit_survival(penalty):
    sksurv = pytest.importorskip("sksurv.linear_model", reason="scikit-survival is in the extra survival-tests")
    X, y = draw_cohort()
    # Theirs is per row, ours per event.
    path = sksurv.CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=[penalty * y["event"].mean()], tol=1e-9)
    theirs = path.fit(standardise(X), y).coef_[:, 0]
    np.testing.assert_allclose(CoxLasso(penalty).fit(X, y).weights_, theirs, atol=2e-3)

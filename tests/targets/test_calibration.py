"""Calibration in numbers against other libraries, closed forms and drawn truth."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from scipy.stats import chi2, linregress
from sklearn.linear_model import LogisticRegression

from lspin.survival import harrell_concordance, make_survival
from lspin.targets.calibration import (
    compare_shares,
    compare_survival,
    cox_slope,
    linear_slope,
    logistic_slope,
    mean_error,
)
from small_cohorts import COEF, draw_cohort


@pytest.fixture(scope="module")
def forecast():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=400)
    return rng.random(400) < expit(log_odds), expit(2 * log_odds)  # too extreme by a factor of two


def test_the_slope_is_that_of_scikit_learns_logistic_regression(forecast):
    happened, given = forecast
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(given)[:, None], happened)
    found = logistic_slope(happened, given).interval
    assert found.value == pytest.approx(model.coef_[0, 0], rel=1e-4)
    assert found.lower < 0.5 < found.upper < 1


def test_the_interval_of_a_slope_ends_where_the_likelihood_has_fallen_by_what_chance_allows(forecast):
    happened, given = forecast
    x = logit(given)

    def deviance(slope):  # with the constant that suits it best
        def loss(constant):
            return 2 * np.logaddexp(0, np.where(happened, -1, 1) * (constant + slope * x)).sum()

        return minimize_scalar(loss).fun

    found = logistic_slope(happened, given).interval
    for end in (found.lower, found.upper):
        assert deviance(end) - deviance(found.value) == pytest.approx(chi2.ppf(0.95, 1), rel=1e-4)


def test_probabilities_that_hardly_vary_are_found_too_cautious_by_few_rows():
    rng = np.random.default_rng(0)
    log_odds = 4 * rng.normal(size=30)
    happened = rng.random(30) < expit(log_odds)
    whole = logistic_slope(happened, expit(log_odds)).interval
    for factor in (0.03, 0.001):
        found = logistic_slope(happened, expit(factor * log_odds - 0.3)).interval
        assert 5 < found.lower < found.value < found.upper
        np.testing.assert_allclose(np.multiply(factor, found), whole, rtol=1e-4)


def test_classes_that_are_told_apart_without_exception_have_no_slope():
    assert np.isnan(logistic_slope(np.arange(20) > 9, np.linspace(0.01, 0.99, 20)).interval.value)
    assert np.isnan(logistic_slope(np.arange(20) > 9, np.full(20, 0.5)).interval.value)


def test_observed_over_expected_is_a_ratio_of_means():
    found = compare_shares(np.array([1, 0, 0, 0]), np.array([0.5, 0.5, 0.5, 0.5])).interval
    assert found.value == pytest.approx(0.25 / 0.5)
    assert found.lower < found.value < found.upper


def test_the_slope_of_a_response_is_that_of_scipy():
    rng = np.random.default_rng(0)
    given = rng.normal(size=60)
    y = 0.5 * given + rng.normal(size=60)
    truth = linregress(given, y)
    found = linear_slope(y, given).interval
    assert found.value == pytest.approx(truth.slope)
    assert found.upper - found.value == pytest.approx(1.959964 * truth.stderr)
    assert np.isnan(linear_slope(y, np.ones(60)).interval.value)
    assert mean_error(y + 3, given).interval.value == pytest.approx((y + 3 - given).mean())


@pytest.mark.parametrize("n_times", [None, 6])
def test_the_slope_of_log_hazards_maximises_the_partial_likelihood(n_times):
    X, time, event = draw_cohort(n_times)
    y, log_hazard = make_survival(time, event), 2 * X @ COEF
    found = cox_slope(y, log_hazard).interval
    likelihood = [
        _efron(time, event, slope * log_hazard) for slope in (found.value - 0.01, found.value, found.value + 0.01)
    ]
    assert likelihood[1] > max(likelihood[0], likelihood[2])
    assert found.lower < 0.5 < found.upper
    assert harrell_concordance(y, risk=log_hazard).c_index > 0.5
    assert np.isnan(cox_slope(y, np.zeros(len(y))).interval.value)


def _efron(time, event, log_hazard):
    total = 0.0
    for at in np.unique(time[event]):
        tied = event & (time == at)
        sums = [np.exp(log_hazard[mask]).sum() for mask in (time >= at, tied)]
        steps = np.arange(tied.sum()) / tied.sum()
        total += log_hazard[tied].sum() - np.log(sums[0] - steps * sums[1]).sum()
    return total


def test_observed_over_expected_risk_is_kaplan_meiers_over_the_mean_predicted():
    y = make_survival([1, 2, 3, 4], [1, 1, 0, 1])
    found = compare_survival(y, np.full(4, 0.75), 2.5)
    assert found.interval.value == pytest.approx(0.5 / 0.25)
    assert np.isnan(compare_survival(y, np.full(4, 0.75), 9.0).interval.value)

"""Equal to scikit-survival, lifelines and statsmodels, with and without heavy ties.

They are needed by these tests only: ``pip install 'lspin[survival-tests]'``. scikit-survival is under the GPL, so
no code of it is in the package.
"""

import numpy as np
import pandas as pd
import pytest

from lspin.core.cox import cox_terms, find_risk_sets
from lspin.survival import (
    breslow_hazard,
    brier_score,
    dynamic_auc,
    harrell_concordance,
    integrated_brier_score,
    kaplan_meier,
    make_survival,
    survival_probability,
    uno_concordance,
)
from lspin.survival.curves import censoring_curve
from small_cohorts import COEF, draw_cohort

WHY = "compares with another library: pip install 'lspin[survival-tests]'"


@pytest.fixture(params=[None, 40, 6], ids=["no ties", "ties", "heavy ties"])
def cohort(request):
    return draw_cohort(request.param)


@pytest.fixture(params=[None, 40, 6], ids=["no ties", "ties", "heavy ties"])
def parts(request):
    """A cohort to learn the censoring from, one to judge, its risks with ties, and some times."""
    _, train_time, train_event = draw_cohort(request.param, seed=1)
    X, time, event = draw_cohort(request.param)
    inside = time < time.max()
    risk = (X[inside] @ COEF).round(1)
    at = np.unique(np.quantile(time[inside], [0.2, 0.4, 0.5, 0.7]))
    return (train_time, train_event), (time[inside], event[inside]), risk, at


def structured(*targets):
    return [make_survival(*target) for target in targets]


def test_heavy_ties_give_the_numbers_stored_from_other_libraries():
    """Needs none of them: computed by scikit-survival 0.28.0 and statsmodels 0.15.0, as in the tests below."""
    train = draw_cohort(6, seed=1)[1:]
    X, time, event = draw_cohort(6)
    inside = time < time.max()
    y, risk, at = (time[inside], event[inside]), (X[inside] @ COEF).round(1), np.array([1.0, 2.0])
    survival = np.exp(-np.outer(np.exp(risk), at / at[-1]))
    numbers = [
        harrell_concordance(y, risk=risk).c_index,
        uno_concordance(y, risk=risk, train=train).c_index,
        dynamic_auc(y, risk=risk, times=at, train=train).mean,
        integrated_brier_score(y, survival=survival, times=at, train=train),
        log_likelihood(X @ COEF, time, event, np.ones(len(time)), "efron"),
        log_likelihood(X @ COEF, time, event, np.ones(len(time)), "breslow"),
    ]
    stored = [
        0.7798208392267798,
        0.6725587423862341,
        0.8254674545972492,
        0.20627599614082442,
        -614.0924079173733,
        -662.4050956242133,
    ]
    np.testing.assert_allclose(numbers, stored)


def test_kaplan_meier_is_that_of_scikit_survival(cohort):
    nonparametric = pytest.importorskip("sksurv.nonparametric", reason=WHY)
    _, time, event = cohort
    curve = kaplan_meier((time, event))
    x, y, interval = nonparametric.kaplan_meier_estimator(event, time, conf_type="log-log")
    np.testing.assert_array_equal(curve.survival.x, x)
    np.testing.assert_allclose(curve.survival.y, y)
    np.testing.assert_allclose([curve.lower.y, curve.upper.y], interval)


def test_weighted_kaplan_meier_is_that_of_lifelines(cohort):
    lifelines = pytest.importorskip("lifelines", reason=WHY)
    _, time, event = cohort
    weight = np.random.default_rng(0).integers(1, 4, len(time))
    curve = kaplan_meier((time, event), weight=weight)
    fitted = lifelines.KaplanMeierFitter().fit(time, event, weights=weight)
    np.testing.assert_allclose(curve.survival.y, fitted.survival_function_at_times(curve.survival.x))
    interval = fitted.confidence_interval_.loc[curve.survival.x].to_numpy().T
    np.testing.assert_allclose([curve.lower.y, curve.upper.y], interval)


def test_censoring_curve_is_that_of_scikit_survival(cohort):
    nonparametric = pytest.importorskip("sksurv.nonparametric", reason=WHY)
    _, time, event = cohort
    x, y = nonparametric.kaplan_meier_estimator(event, time, reverse=True)
    np.testing.assert_allclose(censoring_curve((time, event))(x), y)


def test_breslow_without_features_is_nelson_aalen_of_scikit_survival(cohort):
    nonparametric = pytest.importorskip("sksurv.nonparametric", reason=WHY)
    _, time, event = cohort
    curve = breslow_hazard((time, event), log_hazard=np.zeros(len(time)))
    x, y = nonparametric.nelson_aalen_estimator(event, time)
    np.testing.assert_array_equal(curve.x, x)
    np.testing.assert_allclose(curve.y, y)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_baseline_and_survival_are_those_of_scikit_survival(cohort, ties):
    linear_model = pytest.importorskip("sksurv.linear_model", reason=WHY)
    X, time, event = cohort
    model = linear_model.CoxPHSurvivalAnalysis(ties=ties).fit(X, make_survival(time, event))
    log_hazard = model.predict(X)
    hazard = breslow_hazard((time, event), log_hazard=log_hazard)
    np.testing.assert_array_equal(hazard.x, model.unique_times_)
    np.testing.assert_allclose(hazard.y, model.cum_baseline_hazard_.y)
    expected = model.predict_survival_function(X[:9], return_array=True)
    np.testing.assert_allclose(survival_probability(hazard, log_hazard=log_hazard[:9]), expected)


def test_harrell_is_that_of_scikit_survival_and_lifelines(parts):
    metrics = pytest.importorskip("sksurv.metrics", reason=WHY)
    utils = pytest.importorskip("lifelines.utils", reason=WHY)
    _, (time, event), risk, _ = parts
    ours = harrell_concordance((time, event), risk=risk)
    np.testing.assert_allclose(ours, metrics.concordance_index_censored(event, time, risk)[:4])
    assert ours.c_index == pytest.approx(utils.concordance_index(time, -risk, event))


@pytest.mark.parametrize("truncated", [False, True])
def test_uno_is_that_of_scikit_survival(parts, truncated):
    metrics = pytest.importorskip("sksurv.metrics", reason=WHY)
    train, test, risk, at = parts
    until = at[-1] if truncated else None
    ours = uno_concordance(test, risk=risk, train=train, until=until)
    theirs = metrics.concordance_index_ipcw(*structured(train, test), risk, tau=until)
    assert ours.c_index == pytest.approx(theirs[0])


def test_dynamic_auc_is_that_of_scikit_survival(parts):
    metrics = pytest.importorskip("sksurv.metrics", reason=WHY)
    train, test, risk, at = parts
    ours = dynamic_auc(test, risk=risk, times=at, train=train)
    auc, mean = metrics.cumulative_dynamic_auc(*structured(train, test), risk, at)
    np.testing.assert_allclose(ours.auc, auc)
    assert ours.mean == pytest.approx(mean)
    noise = np.random.default_rng(0).normal(size=(len(risk), len(at)))
    changing = (risk[:, None] + noise).round(1)  # ties are exact: scikit-survival also ties what is 1e-8 apart
    auc, mean = metrics.cumulative_dynamic_auc(*structured(train, test), changing, at)
    ours = dynamic_auc(test, risk=changing, times=at, train=train)
    np.testing.assert_allclose(ours.auc, auc)
    assert ours.mean == pytest.approx(mean)


def test_brier_scores_are_those_of_scikit_survival(parts):
    metrics = pytest.importorskip("sksurv.metrics", reason=WHY)
    train, test, risk, at = parts
    survival = np.exp(-np.outer(np.exp(risk), at / at[-1]))
    _, expected = metrics.brier_score(*structured(train, test), survival, at)
    np.testing.assert_allclose(brier_score(test, survival=survival, times=at, train=train), expected)
    integral = metrics.integrated_brier_score(*structured(train, test), survival, at)
    ours = integrated_brier_score(test, survival=survival, times=at, train=train)
    assert ours == pytest.approx(integral)


@pytest.mark.parametrize("weighted", [False, True])
def test_efron_likelihood_is_that_of_lifelines(cohort, weighted):
    lifelines = pytest.importorskip("lifelines", reason=WHY)
    X, time, event = cohort
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(time)) if weighted else np.ones(len(time))
    table = pd.DataFrame(X, columns=list("abc")).assign(time=time, event=event, weight=weight)
    model = lifelines.CoxPHFitter()
    model.fit(table, "time", "event", weights_col="weight", robust=weighted)
    ours = log_likelihood(X @ model.params_.to_numpy(), time, event, weight, "efron")
    assert ours == pytest.approx(model.log_likelihood_)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_likelihood_is_that_of_statsmodels(cohort, ties):
    duration = pytest.importorskip("statsmodels.duration.hazard_regression", reason=WHY)
    X, time, event = cohort
    model = duration.PHReg(time, X, status=event.astype(int), ties=ties)
    ours = log_likelihood(X @ COEF, time, event, np.ones(len(time)), ties)
    assert ours == pytest.approx(model.loglike(COEF))


def log_likelihood(log_hazard, time, event, weight, ties):
    order = np.argsort(-time)
    sets = find_risk_sets(time[order], event[order], weight[order], ties=ties)
    return -cox_terms(log_hazard[order], sets).sum()

"""Linear models by their loss, against scikit-learn's."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from lspin.core.losses import CROSS_ENTROPY, POISSON, SQUARED_ERROR, complete_scores
from lspin.core.networks import Layer
from lspin.fitting import linear
from lspin.fitting.linear import fit_linear

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(120, 4))
WEIGHT = RNG.integers(1, 4, 120).astype(float)
SCORE = INPUTS @ [1.0, -1.0, 0.5, 0.0] + 0.3
PENALTIES = [1e-3, 1e-1]


@pytest.fixture(params=[linear.FEW, 0], ids=["newton", "quasi-newton"])
def precision(request, monkeypatch):
    """How near few weights come to the optimum, and how near many do."""
    monkeypatch.setattr(linear, "FEW", request.param)
    return 1e-5 if request.param else 3e-3


def constant(*bias):
    return Layer(np.zeros((4, len(bias))), np.array(bias))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_response_is_predicted_as_by_ridge(penalty, precision):
    target = SCORE + RNG.normal(size=120)
    layer = fit_linear(INPUTS, target, WEIGHT, loss=SQUARED_ERROR, start=constant(0.0), penalty=penalty)
    ridge = Ridge(alpha=penalty / 2 * WEIGHT.sum()).fit(INPUTS, target, sample_weight=WEIGHT)
    np.testing.assert_allclose(layer.weights[:, 0], ridge.coef_, atol=precision)
    np.testing.assert_allclose(layer.bias, ridge.intercept_, atol=precision)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_predicted_as_by_logistic_regression(n_classes, penalty, precision):
    codes = np.digitize(SCORE + RNG.logistic(size=120), [0.0, 1.0][: n_classes - 1])
    start = constant(*np.zeros(1 if n_classes == 2 else n_classes))
    layer = fit_linear(INPUTS, codes, WEIGHT, loss=CROSS_ENTROPY, start=start, penalty=penalty)
    judge = LogisticRegression(C=1 / (penalty * WEIGHT.sum()), tol=1e-8, max_iter=1000)
    expected = judge.fit(INPUTS, codes, sample_weight=WEIGHT).predict_proba(INPUTS)
    found = softmax(complete_scores(INPUTS @ layer.weights + layer.bias), axis=1)
    np.testing.assert_allclose(found, expected, atol=precision)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_rates_are_predicted_as_by_poisson_regression(penalty, precision):
    counts = RNG.poisson(np.exp(SCORE)).astype(float)
    start = constant(np.log(counts.mean()))
    layer = fit_linear(INPUTS, counts, WEIGHT, loss=POISSON, start=start, penalty=penalty)
    judge = PoissonRegressor(alpha=penalty, tol=1e-8, max_iter=1000).fit(INPUTS, counts, sample_weight=WEIGHT)
    np.testing.assert_allclose(layer.weights[:, 0], judge.coef_, atol=precision)
    np.testing.assert_allclose(layer.bias, judge.intercept_, atol=precision)


def test_a_row_of_weight_two_is_the_row_twice():
    target, repeats = SCORE + RNG.normal(size=120), WEIGHT.astype(int)
    settings = {"loss": SQUARED_ERROR, "start": constant(0.0), "penalty": 1e-2}
    weighted = fit_linear(INPUTS, target, WEIGHT, **settings)
    twice = [np.repeat(part, repeats, axis=0) for part in (INPUTS, target, np.ones(120))]
    repeated = fit_linear(*twice, **settings)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-9)


def test_the_start_does_not_matter(precision):
    target = SCORE + RNG.normal(size=120)
    elsewhere = Layer(RNG.normal(size=(4, 1)), np.array([3.0]))
    one, other = (
        fit_linear(INPUTS, target, WEIGHT, loss=SQUARED_ERROR, start=start, penalty=1e-2)
        for start in (constant(0.0), elsewhere)
    )
    np.testing.assert_allclose(one.weights, other.weights, atol=precision)


def test_without_inputs_the_constant_stays():
    codes = np.arange(120) % 3 // 2
    start = Layer(np.zeros((0, 1)), np.log([0.5]))
    layer = fit_linear(np.empty((120, 0)), codes, np.ones(120), loss=CROSS_ENTROPY, start=start, penalty=1e-3)
    np.testing.assert_allclose(layer.bias, start.bias, atol=1e-6)
    assert layer.weights.shape == (0, 1)


@pytest.mark.usefixtures("precision")
def test_weights_that_start_far_beyond_the_optimum_come_back():
    codes = (SCORE > 0).astype(int)
    huge = Layer(np.full((4, 1), 1e4), np.zeros(1))
    layer = fit_linear(INPUTS, codes, WEIGHT, loss=CROSS_ENTROPY, start=huge, penalty=1e-3)
    judge = LogisticRegression(C=1 / (1e-3 * WEIGHT.sum()), tol=1e-10, max_iter=5000)
    judge.fit(INPUTS, codes, sample_weight=WEIGHT)
    np.testing.assert_allclose(layer.weights[:, 0], judge.coef_[0], atol=3e-3)

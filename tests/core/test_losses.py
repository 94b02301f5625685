import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error

from lspin.core.losses import LARGEST_LOG_RATE, complete_scores, cross_entropy, poisson_deviance, squared_error

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_cross_entropy_equals_scikit_learns_log_loss(n_classes):
    scores, codes = RNG.normal(size=(50, n_classes)), RNG.integers(n_classes, size=50)
    expected = log_loss(codes, softmax(scores, axis=1), labels=range(n_classes))
    assert cross_entropy(scores, codes).mean() == pytest.approx(expected)


def test_one_column_is_the_second_of_two_classes():
    score, codes = RNG.normal(size=(50, 1)), RNG.integers(2, size=50)
    probability = 1 / (1 + np.exp(-score[:, 0]))
    assert cross_entropy(score, codes).mean() == pytest.approx(log_loss(codes, probability))
    np.testing.assert_array_equal(complete_scores(score), np.hstack([np.zeros((50, 1)), score]))


def test_cross_entropy_of_huge_scores_stays_finite():
    scores = np.array([[1e30, 0.0], [-1e30, 0.0]])
    np.testing.assert_allclose(cross_entropy(scores, np.array([1, 1])), [1e30, 0.0])


def test_gradient_of_cross_entropy_is_probability_minus_target():
    scores, codes = RNG.normal(size=(5, 3)).astype(np.float32), np.array([0, 1, 2, 0, 1])
    slope = jax.grad(lambda s: cross_entropy(s, codes).sum())(jnp.asarray(scores))
    np.testing.assert_allclose(slope, softmax(scores, axis=1) - np.eye(3)[codes], atol=1e-6)


def test_squared_error_equals_scikit_learns():
    outputs, target = RNG.normal(size=(50, 1)), RNG.normal(size=50)
    assert squared_error(outputs, target).mean() == pytest.approx(mean_squared_error(target, outputs[:, 0]))


def test_poisson_deviance_is_half_of_scikit_learns():
    log_rate, counts = RNG.normal(size=(50, 1)), RNG.poisson(1.0, 50).astype(float)
    expected = mean_poisson_deviance(counts, np.exp(log_rate[:, 0])) / 2
    assert poisson_deviance(log_rate, counts).mean() == pytest.approx(expected)


def test_the_slope_of_the_poisson_deviance_is_the_rate_minus_the_count_and_stays_finite():
    log_rate, counts = jnp.array([[0.3], [-2.0], [LARGEST_LOG_RATE + 60]]), jnp.array([2.0, 0.0, 1.0])
    slope = jax.grad(lambda outputs: poisson_deviance(outputs, counts).sum())(log_rate)[:, 0]
    rates = jnp.exp(jnp.minimum(log_rate[:, 0], LARGEST_LOG_RATE))
    np.testing.assert_allclose(slope, rates - counts, rtol=1e-5)

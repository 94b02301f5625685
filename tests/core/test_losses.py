import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error

from lspin.core.losses import (
    CROSS_ENTROPY,
    LARGEST_LOG_RATE,
    POISSON,
    SQUARED_ERROR,
    complete_scores,
    cross_entropy,
    poisson_deviance,
    squared_error,
)

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


@pytest.mark.parametrize(
    ("loss", "n_outputs", "target"),
    [
        (SQUARED_ERROR, 1, RNG.normal(size=6)),
        (POISSON, 1, RNG.poisson(1.0, 6).astype(float)),
        (CROSS_ENTROPY, 1, np.arange(6) % 2),
        (CROSS_ENTROPY, 3, np.arange(6) % 3),
    ],
    ids=["squared error", "Poisson", "two classes", "three classes"],
)
def test_slopes_equal_finite_differences(loss, n_outputs, target):
    outputs = RNG.normal(size=(6, n_outputs))
    by_hand = approx_fprime(outputs.ravel(), lambda flat: loss.by_row(flat.reshape(outputs.shape), target).sum())
    np.testing.assert_allclose(loss.slope(outputs, target), by_hand.reshape(outputs.shape), atol=1e-6)


def test_two_classes_have_a_quicker_way_to_the_same_loss_and_slope():
    outputs, target, shares = np.linspace(-800, 800, 41)[:, None], np.arange(41) % 2, np.full(41, 1 / 41)
    value, slopes = CROSS_ENTROPY.with_slope(outputs, target, shares)
    assert value == pytest.approx(CROSS_ENTROPY.average(outputs, target, shares))
    np.testing.assert_allclose(slopes, shares[:, None] * CROSS_ENTROPY.slope(outputs, target), atol=1e-15)


def test_slopes_of_huge_outputs_stay_finite():
    outputs, target = np.array([[1e30], [-1e30]]), np.array([0.0, 1.0])
    np.testing.assert_allclose(CROSS_ENTROPY.slope(outputs, target), [[1.0], [-1.0]])
    np.testing.assert_allclose(POISSON.slope(outputs, target), [[np.exp(LARGEST_LOG_RATE)], [-1.0]])


@pytest.mark.parametrize(
    ("loss", "n_outputs"), [(SQUARED_ERROR, 1), (POISSON, 1), (CROSS_ENTROPY, 1), (CROSS_ENTROPY, 3)]
)
def test_curvature_is_the_derivative_of_the_slope(loss, n_outputs):
    outputs, target = RNG.normal(size=(6, n_outputs)), RNG.integers(max(n_outputs, 2), size=6)
    assert loss.curvature is not None
    for row in range(6):
        slopes = approx_fprime(outputs[row], lambda said, row=row: loss.slope(said[None], target[[row]])[0])
        np.testing.assert_allclose(loss.curvature(outputs)[row], np.atleast_2d(slopes), atol=1e-5)


def test_curvature_of_huge_scores_is_0():
    assert not CROSS_ENTROPY.curvature(np.array([[1e30], [-1e30]])).any()
    assert not CROSS_ENTROPY.curvature(np.array([[1e30, 0.0, -1e30]])).any()

"""Selectors of drawn features: their slopes against the sum over all masks."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit

from lspin.baselines import invase, realx
from lspin.baselines.draws import draw_mask, log_likelihood, log_odds, sigmoid
from lspin.baselines.rival import Tuning
from lspin.core.losses import SQUARED_ERROR, squared_error
from lspin.core.networks import apply_layers, init_layers
from lspin.core.noise import split_key
from lspin.core.rows import Batch, Dense

jax = pytest.importorskip("jax")
jnp = jax.numpy

N_ROWS, N_FEATURES, N_DRAWS, PRICE = 4, 3, 20_000, 0.1
RNG = np.random.default_rng(0)
BATCH = Batch(
    values=Dense(jnp.asarray(RNG.normal(size=(N_ROWS, N_FEATURES)), jnp.float32)),
    context=None,
    shut=jnp.asarray(RNG.random((N_ROWS, N_FEATURES)) < 0.2, jnp.float32),
    target=jnp.asarray(RNG.normal(size=N_ROWS), jnp.float32),
    shares=jnp.array([0.4, 0.3, 0.2, 0.1]),
    affinity=None,
    n_rows=N_ROWS,
)
SELECTOR = init_layers(RNG, (N_FEATURES, N_FEATURES), scale=1.0)
PREDICTOR = init_layers(RNG, (N_FEATURES, 5, 1), scale=2.0)
CRITIC = init_layers(RNG, (N_FEATURES, 5, 1), scale=1.0)
MASKS = [jnp.array(mask, jnp.float32) for mask in product((0, 1), repeat=N_FEATURES)]


def tune(strengths):
    return Tuning(strengths, 0.1, 0.0, None)


def expected_loss(selector, predictor):
    """The sum over all masks of probability times loss, and the price of the expected number of features."""
    chances = jax.nn.sigmoid(apply_layers(selector, BATCH.inputs, "tanh")) * (1 - BATCH.shut)
    total = PRICE * chances.sum(axis=1)
    for mask in MASKS:
        probability = jnp.prod(jnp.where(mask == 1, chances, 1 - chances), axis=1)
        total += probability * squared_error(apply_layers(predictor, mask * BATCH.inputs, "silu"), BATCH.target)
    return (total * BATCH.shares).sum()


def draw_slopes(method, weights, strengths):
    """The slopes in the selector's weights for many draws, one line each."""

    def slope(key):
        slopes = jax.grad(method.objective, has_aux=True)(weights, BATCH, key, 0.0, tune(strengths))[0]
        return jnp.concatenate([part.ravel() for part in jax.tree.leaves(slopes.selector)])

    return np.asarray(jax.jit(jax.vmap(slope))(split_key(jnp.uint32(7), N_DRAWS)))


def draw_invase():
    weights = invase.Weights(SELECTOR, PREDICTOR, CRITIC)
    return draw_slopes(invase.ActorCritic(SQUARED_ERROR), weights, invase.Strengths(PRICE))


def draw_realx(temperature):
    method = realx.Rebar(realx.RandomMasks(SQUARED_ERROR, N_FEATURES))
    return draw_slopes(method, realx.Weights(SELECTOR, PREDICTOR), realx.Strengths(PRICE, temperature))


@pytest.mark.parametrize("draw", [draw_invase, lambda: draw_realx(0.1), lambda: draw_realx(1.0)])
def test_the_selectors_slope_is_on_average_that_of_the_expected_loss(draw):
    slopes = draw()
    exact = jax.grad(expected_loss)(SELECTOR, PREDICTOR)
    exact = np.concatenate([np.ravel(part) for part in jax.tree.leaves(exact)])
    errors = slopes.std(axis=0) / np.sqrt(N_DRAWS)
    assert np.abs(exact).max() > 50 * errors.max()  # the draws can tell
    assert np.all(np.abs(slopes.mean(axis=0) - exact) < 4.5 * errors + 1e-6)


def test_rebar_varies_less_than_reinforce_without_a_baseline():
    plain = draw_slopes(Reinforce(), realx.Weights(SELECTOR, PREDICTOR), realx.Strengths(PRICE, 0.5))
    assert draw_realx(0.5).var(axis=0).sum() < 0.5 * plain.var(axis=0).sum()


class Reinforce:
    """The loss of a drawn mask times the slope of its log-probability, and nothing taken off."""

    def objective(self, weights, batch, key, progress, tuning):
        odds = apply_layers(weights.selector, batch.inputs, "tanh")
        mask = draw_mask(key, jax.lax.stop_gradient(sigmoid(odds)))
        losses = realx.RandomMasks(SQUARED_ERROR, N_FEATURES).lose(weights.prediction, mask, batch, tuning)
        likelihood = (log_likelihood(odds, mask) * (1 - batch.shut)).sum(axis=1)
        return (jax.lax.stop_gradient(losses) * likelihood * batch.shares).sum(), mask.sum()


def test_invases_predictor_learns_from_the_drawn_features():
    def slope(key):
        weights = invase.Weights(SELECTOR, PREDICTOR, CRITIC)
        method = invase.ActorCritic(SQUARED_ERROR)
        slopes = jax.grad(method.objective, has_aux=True)(weights, BATCH, key, 0.0, tune(invase.Strengths(PRICE)))[
            0
        ]
        return slopes.prediction[-1].bias[0]

    slopes = np.asarray(jax.jit(jax.vmap(slope))(split_key(jnp.uint32(3), N_DRAWS)))
    exact = jax.grad(expected_loss, argnums=1)(SELECTOR, PREDICTOR)[-1].bias[0]
    assert slopes.mean() == pytest.approx(exact, abs=4.5 * slopes.std() / np.sqrt(N_DRAWS))


def test_odds_chances_and_likelihoods_are_scipys():
    odds = np.array([-40.0, -2.0, 0.0, 0.5, 40.0])
    np.testing.assert_allclose(sigmoid(odds), expit(odds), atol=1e-15)
    np.testing.assert_allclose(log_odds(np.array([0.2, 0.9])), logit([0.2, 0.9]))
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
    np.testing.assert_allclose(log_likelihood(odds, np.ones(5)), np.log(expit(odds)), atol=1e-12)
    np.testing.assert_allclose(log_likelihood(odds, np.zeros(5)), np.log(expit(-odds)), atol=1e-12)


def test_a_mask_drawn_again_is_the_same_mask():
    odds = jnp.asarray(RNG.normal(size=(50, 8)), jnp.float32)
    for temperature in (0.01, 1.0):
        mask, relaxed, again = realx.relax(jnp.uint32(1), jnp.uint32(2), odds, temperature)
        np.testing.assert_array_equal(relaxed > 0.5, mask == 1)
        np.testing.assert_array_equal(again > 0.5, mask == 1)
    assert jnp.abs(relaxed - again).max() > 0.1

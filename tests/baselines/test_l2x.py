"""L2X: draws of features against their law, and a model explained by what it uses."""

import numpy as np
import pytest
from scipy.special import softmax

from lspin.baselines import L2XClassifier, L2XRegressor
from lspin.baselines.l2x import draw_features, mark_highest
from lspin.core.losses import CROSS_ENTROPY

jax = pytest.importorskip("jax")
jnp = jax.numpy

SCORES = jnp.asarray(np.random.default_rng(0).normal(size=(20, 6)), jnp.float32)


@pytest.mark.parametrize("temperature", [0.01, 0.5, 5.0])
def test_relaxed_draws_are_gates_that_add_up_to_their_number_at_most(temperature):
    gates = np.asarray(draw_features(jnp.uint32(1), SCORES, 3, temperature))
    assert gates.shape == SCORES.shape
    assert gates.min() >= 0
    assert gates.max() <= 1 + 1e-6
    assert gates.sum(axis=1).max() <= 3 + 1e-5


def test_cold_draws_of_one_feature_follow_the_softmax_of_the_scores():
    keys = jnp.arange(1, 4001, dtype=jnp.uint32) * jnp.uint32(2654435761)
    draws = np.asarray(jax.jit(jax.vmap(lambda key: draw_features(key, SCORES[:1], 1, 1e-3)))(keys))[:, 0]
    assert np.mean((draws < 1e-3) | (draws > 1 - 1e-3)) > 0.99
    expected = softmax(np.asarray(SCORES[0], np.float64))
    np.testing.assert_allclose(draws.mean(axis=0), expected, atol=4.5 * np.sqrt(0.25 / 4000))


def test_cold_draws_by_clear_scores_are_the_highest():
    scores = jnp.array([[60.0, 0.0, 60.0, -60.0], [0.0, 60.0, -60.0, 60.0]])
    draws = np.asarray(draw_features(jnp.uint32(5), scores, 20, 0.01))  # twenty draws miss neither of two
    np.testing.assert_allclose(draws, mark_highest(np.asarray(scores), 2), atol=1e-6)


def test_the_highest_scores_are_marked_also_where_they_are_equal():
    marked = mark_highest(np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 0.0]]), 2)
    np.testing.assert_array_equal(marked, [[0, 1, 1], [1, 1, 0]])


def test_the_distance_from_the_model_is_least_at_the_model():
    model = np.array([[0.3], [-2.0]])
    at = np.asarray(CROSS_ENTROPY.against_model(jnp.asarray(model), jnp.asarray(model)))
    shares = 1 / (1 + np.exp(-model[:, 0]))
    np.testing.assert_allclose(at, -(shares * np.log(shares) + (1 - shares) * np.log(1 - shares)), rtol=1e-5)
    assert (np.asarray(CROSS_ENTROPY.against_model(jnp.asarray(model + 0.1), jnp.asarray(model))) > at).all()


def test_it_selects_the_given_number_of_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 8))
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    settings = {"gate_hidden_layer_sizes": (50,), "max_epochs": 200, "n_features": 2, "random_state": 0}
    for model, target in ((L2XClassifier((50,), **settings), y > 0), (L2XRegressor((50,), **settings), y)):
        model.fit(X[:600], target[:600])
        selected = model.selected(X[600:])
        assert (selected.sum(axis=1) == 2).all()
        answer = np.where(X[600:, 0] > 0, 1, 2)
        assert selected[np.arange(200), answer].mean() > 0.8
        assert model.score(X[600:], target[600:]) > 0.7  # a response is known up to how often the draws miss it


def test_more_features_than_columns_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=r"n_features=4, but X has 3 feature\(s\) that vary"):
        L2XClassifier().fit(X, X[:, 0] > 0)

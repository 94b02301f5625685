import numpy as np
import pytest
from scipy import special
from sklearn.datasets import load_iris
from sklearn.neural_network import MLPRegressor

from lspin.core.networks import Layer, apply_layers, init_layers, silu, softmax


def test_forward_pass_equals_scikit_learns_network():
    X, y = load_iris(return_X_y=True)
    other = MLPRegressor(hidden_layer_sizes=(5, 3), activation="tanh", solver="lbfgs", max_iter=20, random_state=0)
    with pytest.warns(match="Maximum number of iterations|lbfgs failed"):
        other.fit(X, y)
    layers = tuple(Layer(w, b) for w, b in zip(other.coefs_, other.intercepts_, strict=True))
    np.testing.assert_allclose(apply_layers(layers, X, "tanh")[:, 0], other.predict(X))


def test_a_network_without_hidden_layer_is_one_affine_map():
    layers = init_layers(np.random.default_rng(0), (3, 2), scale=1.0)
    X = np.eye(3)
    np.testing.assert_allclose(apply_layers(layers, X, "silu"), layers[0].weights + layers[0].bias)


def test_silu_is_x_over_one_plus_exp_of_minus_x():
    x = np.linspace(-20, 20, 101)
    np.testing.assert_allclose(silu(x), x / (1 + np.exp(-x)), atol=1e-12)


def test_silu_of_huge_numbers_does_not_overflow():
    np.testing.assert_array_equal(silu(np.array([-1e300, 1e300])), [0.0, 1e300])


def test_softmax_equals_scipys_and_does_not_overflow():
    x = np.array([[1.0, 2.0, -3.0], [1e300, 0.0, -1e300]])
    np.testing.assert_allclose(softmax(x), special.softmax(x, axis=1))


def test_initial_weights_have_the_spread_they_should():
    first, last = init_layers(np.random.default_rng(0), (400, 300, 200), scale=0.5)
    assert first.weights.std() == pytest.approx(0.5 / np.sqrt(400), rel=0.02)
    assert last.weights.std() == pytest.approx(0.5 / np.sqrt(300), rel=0.02)
    assert not first.bias.any()

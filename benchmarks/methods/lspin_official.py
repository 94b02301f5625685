"""The authors' own recipe, written from the paper, as a yardstick for speed and accuracy.

Plain gradient descent on the full batch for thousands of epochs; batch normalisation before every layer; the mean
over features of the open probability as penalty; a squashed logit. Two classes only.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lspin.gates import open_probability, sample_gates, settle_gates
from lspin.networks import Layer, Layers, init_layers

GATING, PREDICTION = (100, 100), (200, 200)
NOISE_SCALE = 0.5
MOMENTUM, EPSILON = 0.99, 1e-3


class Norm(NamedTuple):
    scale: jax.Array
    shift: jax.Array


class Weights(NamedTuple):
    gating: Layers
    prediction: Layers
    norms: tuple[Norm, ...]


class Moments(NamedTuple):
    mean: jax.Array
    variance: jax.Array


class Official:
    """A fitted model with the vocabulary of the package."""

    def __init__(self, weights: Weights, moments: tuple[Moments, ...]) -> None:
        self._weights, self._moments = weights, moments
        self.classes_ = np.array([0, 1])

    def selected(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(settle_gates(_means(self._weights, jnp.asarray(X))) > 0)

    def predict(self, X: np.ndarray) -> np.ndarray:
        gates = settle_gates(_means(self._weights, jnp.asarray(X)))
        return np.asarray(_logit(self._weights, gates * X, self._moments)[0] > 0).astype(int)


def fit(
    X: np.ndarray, y: np.ndarray, *, penalty: float, learning_rate: float, n_epochs: int, seed: int
) -> Official:
    """Train as the paper describes."""
    rng = np.random.default_rng(seed)
    sizes = (X.shape[1], *PREDICTION, 1)
    weights = Weights(
        _spread(rng, init_layers(rng, (X.shape[1], *GATING, X.shape[1]), scale=1.0)),
        _spread(rng, init_layers(rng, sizes, scale=1.0)),
        tuple(Norm(jnp.ones(size), jnp.zeros(size)) for size in sizes[:-1]),
    )
    moments = tuple(Moments(jnp.zeros(size), jnp.ones(size)) for size in sizes[:-1])
    data = jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32)
    return Official(*_train(weights, moments, *data, penalty, learning_rate, jax.random.key(seed), n_epochs))


def _spread(rng: np.random.Generator, layers: Layers) -> Layers:
    """The same standard deviation for all weights, as the paper draws them."""
    return tuple(Layer(rng.normal(0, 0.1, w.shape).astype(np.float32), bias) for w, bias in layers)


def _means(weights: Weights, X: jax.Array) -> jax.Array:
    hidden = X
    for layer in weights.gating:
        hidden = jnp.tanh(hidden @ layer.weights + layer.bias)
    return hidden


def _logit(
    weights: Weights, inputs: jax.Array, moments: tuple[Moments, ...] | None
) -> tuple[jax.Array, tuple[Moments, ...]]:
    hidden, seen = inputs, []
    for place, (layer, norm) in enumerate(zip(weights.prediction, weights.norms, strict=True)):
        now = Moments(hidden.mean(0), hidden.var(0)) if moments is None else moments[place]
        seen.append(now)
        hidden = (hidden - now.mean) / jnp.sqrt(now.variance + EPSILON) * norm.scale + norm.shift
        hidden = jnp.tanh(hidden @ layer.weights + layer.bias)
    return hidden[:, 0], tuple(seen)


def _objective(weights: Weights, X: jax.Array, y: jax.Array, key: jax.Array, penalty: float) -> tuple:
    means = _means(weights, X)
    gates = sample_gates(means, jax.random.normal(key, means.shape), NOISE_SCALE)
    logit, moments = _logit(weights, gates * X, None)
    # Two squashed logits of opposite sign, as a softmax of two outputs in (-1, 1) would have.
    loss = jnp.mean(jnp.logaddexp(0.0, 2 * logit) - 2 * logit * y)
    return loss + penalty * open_probability(means, NOISE_SCALE).mean(), moments


@jax.jit
def _train(
    weights: Weights,
    moments: tuple[Moments, ...],
    X: jax.Array,
    y: jax.Array,
    penalty: float,
    learning_rate: float,
    key: jax.Array,
    n_epochs: int,
) -> tuple[Weights, tuple[Moments, ...]]:
    def run_epoch(epoch: jax.Array, state: tuple) -> tuple:
        weights, moments = state
        slopes, now = jax.grad(_objective, has_aux=True)(weights, X, y, jax.random.fold_in(key, epoch), penalty)
        weights = jax.tree.map(lambda w, s: w - learning_rate * s, weights, slopes)
        return weights, jax.tree.map(lambda a, b: MOMENTUM * a + (1 - MOMENTUM) * b, moments, now)

    return jax.lax.fori_loop(0, n_epochs, run_epoch, (weights, moments))

"""Fully connected networks as plain pytrees: sizes in, weights out, the same forward pass in JAX and NumPy."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lspin.core.arrays import Array


class Layer(NamedTuple):
    """One affine map; its weights have shape ``(inputs, outputs)``."""

    weights: Array
    bias: Array


Layers = tuple[Layer, ...]


def init_layers(rng: np.random.Generator, sizes: tuple[int, ...], *, scale: float) -> Layers:
    """Random weights of standard deviation ``scale / sqrt(inputs)``, biases 0.

    ``sizes`` holds the width of every layer, from the input to the output.
    """
    return tuple(
        Layer(
            rng.normal(0.0, scale / max(n_inputs, 1) ** 0.5, (n_inputs, n_outputs)).astype(np.float32),
            np.zeros(n_outputs, np.float32),
        )
        for n_inputs, n_outputs in pairwise(sizes)
    )


def apply_layers(layers: Layers, inputs: Array, activation: str) -> Array:
    """Run the network: the activation stands between layers, and the output is left as it is."""
    hidden = inputs
    for layer in layers[:-1]:
        hidden = ACTIVATIONS[activation](hidden @ layer.weights + layer.bias)
    return hidden @ layers[-1].weights + layers[-1].bias


def tanh(x: Array) -> Array:
    """Hyperbolic tangent."""
    return x.__array_namespace__().tanh(x)


def softmax(x: Array) -> Array:
    """Shares that add up to 1 in each row."""
    xp = x.__array_namespace__()
    powers = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def silu(x: Array) -> Array:
    """``x`` times its logistic function, written with a tanh so that no exponential can overflow."""
    return 0.5 * x * (1.0 + tanh(0.5 * x))


ACTIVATIONS = {"tanh": tanh, "silu": silu}

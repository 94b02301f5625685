"""Linear models by the loss of a kind of target: the predictor once the gates are known."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

from lspin.core.losses import Loss
from lspin.core.networks import Layer

STOP = {"maxiter": 200, "ftol": 1e-7}


def fit_linear(
    inputs: Any, target: np.ndarray, weight: np.ndarray, *, loss: Loss, start: Layer, penalty: float
) -> Layer:
    """Minimise the mean loss and ``penalty / 2`` times the squared weights.

    Parameters
    ----------
    inputs
        Dense or sparse, shape ``(n, n_inputs)``.
    target, weight
        Of the rows, shape ``(n,)``.
    loss
        Of the kind of target.
    start
        Weights of shape ``(n_inputs, n_outputs)`` and a bias to start from.
    penalty
        Of the weights; the bias is free.

    """
    shares = weight / weight.sum()
    n_outputs = len(start.bias)

    def unpack(flat: np.ndarray) -> Layer:
        return Layer(flat[n_outputs:].reshape(start.weights.shape), flat[:n_outputs])

    def measure(flat: np.ndarray) -> tuple[float, np.ndarray]:
        layer = unpack(flat)
        outputs = inputs @ layer.weights + layer.bias
        value, slopes = loss.with_slope(outputs, target, shares)
        total = value + penalty / 2 * (layer.weights**2).sum()
        return total, np.concatenate([slopes.sum(axis=0), (inputs.T @ slopes + penalty * layer.weights).ravel()])

    first = np.concatenate([start.bias, start.weights.ravel()])
    return unpack(minimize(measure, first, jac=True, method="L-BFGS-B", options=STOP).x)

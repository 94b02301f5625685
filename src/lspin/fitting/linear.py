"""Linear models by the loss of a kind of target: the predictor once the gates are known."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from lspin.core.losses import Loss
from lspin.core.model import settled_gates, turn_gates
from lspin.core.networks import Layer
from lspin.core.rows import Dense
from lspin.fitting.prediction import Member, row_blocks
from lspin.tables.encoding import encode, gating_context
from lspin.tables.grid import Rows, take_grid

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


def refit_predictor(member: Member, rows: Rows, loss: Loss, penalty: float) -> Member:
    """The same gates with the best linear predictor behind them."""
    (first,) = member.networks.prediction
    gated = gate_rows(member, rows)
    used = np.unique(gated.indices)
    start = Layer(first.weights[used], first.bias)
    found = fit_linear(gated[:, used], rows.target, rows.weight, loss=loss, start=start, penalty=penalty)
    weights = first.weights.copy()
    weights[used] = found.weights
    return Member(member.encoding, member.networks._replace(prediction=(Layer(weights, found.bias),)))


def gate_rows(member: Member, rows: Rows) -> sp.csr_array:
    """The inputs of rows times their gates, with a sign, shape ``(n, n_inputs)``; most are 0."""
    blocks = []
    for block in row_blocks(rows.grid.n_rows, rows.grid.values.shape[1]):
        inputs, missing = encode(take_grid(rows.grid, block), member.encoding)
        context = Dense(gating_context(inputs, missing, member.encoding))
        gates = settled_gates(member.networks, context, Dense(inputs), missing)
        turned = turn_gates(member.networks, context, gates)
        blocks.append(sp.csr_array(Dense(inputs).open(turned, member.encoding.shared_owners).values))
    return sp.csr_array(sp.vstack(blocks, format="csr"))

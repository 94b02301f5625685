"""Linear models by the loss of a kind of target: the predictor once the gates are known."""

from typing import Any, NamedTuple

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
FEW = 100  # weights up to which Newton's method, which solves for all at once, is faster than quasi-Newton steps
MOST_STEPS = 50  # of Newton's method, which mostly needs five
SHORTEST = 1e-6  # part of a step that is tried
LEAST_FALL = 1e-4  # of the value, as a part of what a step promises
LEAST_CURVATURE = 1e-12  # along the biases, as a part of all: of several classes one bias is superfluous
GAIN = 1e-5  # of the loss: once a step promises less, what is left after it is less by far


class Objective(NamedTuple):
    """Mean loss of a linear model and its penalty, as functions of flat weights: the biases first."""

    inputs: Any  # (n, n_inputs)
    target: np.ndarray  # (n,)
    shares: np.ndarray  # (n,), of the rows
    loss: Loss
    penalty: float
    n_outputs: int

    def unpack(self, flat: np.ndarray) -> Layer:
        """The weights as a layer."""
        return Layer(flat[self.n_outputs :].reshape(-1, self.n_outputs), flat[: self.n_outputs])

    def predict(self, flat: np.ndarray) -> np.ndarray:
        """Outputs of the rows, shape ``(n, n_outputs)``."""
        layer = self.unpack(flat)
        return self.inputs @ layer.weights + layer.bias

    def measure(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        value, slopes = self.loss.with_slope(self.predict(flat), self.target, self.shares)
        weights = flat[self.n_outputs :]
        by_weight = (self.inputs.T @ slopes).ravel() + self.penalty * weights
        return value + self.penalty / 2 * (weights @ weights), np.concatenate([slopes.sum(axis=0), by_weight])

    def bend(self, flat: np.ndarray) -> np.ndarray:
        """Second derivative."""
        assert self.loss.curvature is not None
        curvature = self.shares[:, None, None] * self.loss.curvature(self.predict(flat))
        columns = np.hstack([np.ones((len(self.target), 1)), self.inputs])
        size, n_outputs = columns.shape[1], self.n_outputs
        blocks = np.empty((size, n_outputs, size, n_outputs))
        for first in range(n_outputs):
            for second in range(first + 1):
                part = columns.T @ (columns * curvature[:, first, second, None])
                blocks[:, first, :, second] = blocks[:, second, :, first] = part
        bent = blocks.reshape(len(flat), len(flat))
        penalties = np.repeat([0.0, self.penalty], [n_outputs, len(flat) - n_outputs])
        bent[np.diag_indices(len(flat))] += penalties + LEAST_CURVATURE * (np.trace(bent) + self.penalty)
        return bent


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
    objective = Objective(inputs, target, weight / weight.sum(), loss, penalty, len(start.bias))
    first = np.concatenate([start.bias, start.weights.ravel()])
    is_small = len(first) <= FEW and loss.curvature is not None and not sp.issparse(inputs)
    found = descend(objective, first) if is_small else None
    if found is None:
        found = minimize(objective.measure, first, jac=True, method="L-BFGS-B", options=STOP).x
    return objective.unpack(found)


def descend(objective: Objective, flat: np.ndarray) -> np.ndarray | None:
    """The optimum by Newton's method, with steps that are halved until the value falls.

    Nothing where no step lowers it, as far from the optimum, where probabilities of 0 and 1 have no curvature.
    """
    value, gradient = objective.measure(flat)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(objective.bend(flat), gradient)
        promise = gradient @ step / 2
        if promise <= GAIN * max(abs(value), 1.0):
            return flat - step
        length = 1.0
        while not (tried := objective.measure(flat - length * step))[0] < value - LEAST_FALL * length * promise:
            length /= 2
            if length < SHORTEST:
                return None
        flat = flat - length * step
        value, gradient = tried
    return None


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

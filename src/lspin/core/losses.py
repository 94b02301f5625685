"""What predictions cost: squared error, cross-entropy and Poisson by row, the Cox likelihood over all rows.

A loss is a record of functions. It is hashable, because it fixes a compiled program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lspin.core.arrays import Array
from lspin.core.cox import cox_loss, cox_slope, cox_terms, find_risk_sets

LARGEST_LOG_RATE = 30.0  # above it the Poisson loss is a straight line, so that single precision holds it


class Loss(Protocol):
    """What a model is trained and judged by."""

    @property
    def compares_rows(self) -> bool:
        """Whether what a row adds depends on the other rows."""
        ...

    def average(self, outputs: Array, target: Array, shares: Array) -> Array:
        """The loss of some rows, each of which counts by its share; the shares add up to about 1."""
        ...

    def by_row(self, outputs: Array, target: Array) -> Array:
        """What each row adds to the loss, shape ``(n,)``; the mean is the loss of all."""
        ...

    def with_slope(self, outputs: Array, target: Array, shares: Array) -> tuple[float, Array]:
        """The loss in NumPy, and its derivative by the outputs."""
        ...

    @property
    def curvature(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Second derivative in NumPy, ``(n, n_outputs, n_outputs)``; nothing where the loss compares rows."""
        ...


@dataclass(frozen=True)
class RowLoss:
    """A loss of each row by itself."""

    by_row: Callable[[Array, Array], Array]  # outputs (n, n_outputs), target (n,) -> (n,)
    against_model: Callable[[Array, Array], Array]  # outputs, outputs of another model -> (n,)
    slope: Callable[[Array, Array], Array]  # outputs, target -> derivative by the outputs, (n, n_outputs)
    curvature: Callable[[np.ndarray], np.ndarray]  # outputs -> second derivative, (n, n_outputs, n_outputs)
    # A single output (n,), target -> loss and derivative, (n,) each, in NumPy: for where both are wanted often.
    together: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    compares_rows = False

    def average(self, outputs: Array, target: Array, shares: Array) -> Array:
        """The weighted sum over rows."""
        return (self.by_row(outputs, target) * shares).sum()

    def with_slope(self, outputs: Array, target: Array, shares: Array) -> tuple[float, Array]:
        """The weighted sum over rows, and its derivative."""
        if self.together is not None and outputs.shape[1] == 1:
            losses, slopes = self.together(outputs[:, 0], target)
            return float(losses @ shares), (shares * slopes)[:, None]
        return float(self.average(outputs, target, shares)), shares[:, None] * self.slope(outputs, target)


@dataclass(frozen=True)
class CoxLoss:
    """The Cox partial likelihood, which compares rows with one another."""

    ties: str  # "efron" or "breslow"
    compares_rows = True
    curvature = None

    def average(self, outputs: Array, target: Array, shares: Array) -> Array:
        """Per event."""
        return partial_likelihood(outputs, target, shares, ties=self.ties)

    def by_row(self, outputs: Array, target: Array) -> Array:
        """What the event of each row adds, in NumPy; rows are compared with one another."""
        latest_first = np.argsort(-np.abs(target), kind="stable")
        signed = target[latest_first]
        n_rows = len(signed)
        sets = find_risk_sets(np.abs(signed), signed > 0, np.full(n_rows, 1 / n_rows), ties=self.ties)
        terms = np.empty(n_rows)
        terms[latest_first] = cox_terms(outputs[latest_first, 0], sets)
        return terms * n_rows**2 / max((signed > 0).sum(), 1)

    def with_slope(self, outputs: Array, target: Array, shares: Array) -> tuple[float, Array]:
        """Per event, ties by Breslow."""
        latest_first = np.argsort(-np.abs(target), kind="stable")
        signed, weight = target[latest_first], shares[latest_first]
        sets = find_risk_sets(np.abs(signed), signed > 0, weight, ties="breslow")
        slopes = np.empty_like(outputs)
        slopes[latest_first, 0] = cox_slope(outputs[latest_first, 0], sets)
        return float(cox_loss(outputs[latest_first, 0], sets)), slopes


def squared_error(outputs: Array, target: Array) -> Array:
    """Squared error of each row, for outputs of shape ``(n, 1)`` and a target of shape ``(n,)``."""
    return (outputs[:, 0] - target) ** 2


def squared_error_slope(outputs: Array, target: Array) -> Array:
    """Derivative of the squared error."""
    return 2 * (outputs - target[:, None])


def squared_error_curvature(outputs: np.ndarray) -> np.ndarray:
    """Second derivative of the squared error."""
    return np.full((len(outputs), 1, 1), 2.0)


def squared_distance(outputs: Array, model: Array) -> Array:
    """Squared distance of each row's output from a model's."""
    return squared_error(outputs, model[:, 0])


def poisson_deviance(outputs: Array, target: Array) -> Array:
    """Half the Poisson deviance of each row, for log rates of shape ``(n, 1)`` and a target of at least 0."""
    xp = outputs.__array_namespace__()
    log_rate = outputs[:, 0]
    bounded = xp.clip(log_rate, None, LARGEST_LOG_RATE)
    rate = xp.exp(bounded) * (1 + log_rate - bounded)
    surprise = target * xp.log(xp.where(target > 0, target, 1.0))
    return rate - target * log_rate + surprise - target


def poisson_slope(outputs: Array, target: Array) -> Array:
    """Derivative of half the Poisson deviance."""
    xp = outputs.__array_namespace__()
    return xp.exp(xp.clip(outputs, None, LARGEST_LOG_RATE)) - target[:, None]


def poisson_curvature(outputs: np.ndarray) -> np.ndarray:
    """Second derivative of half the Poisson deviance: the rate."""
    return np.exp(np.clip(outputs, None, LARGEST_LOG_RATE))[:, :, None]


def poisson_distance(outputs: Array, model: Array) -> Array:
    """Half the deviance of each row's log rate from the rate that a model gives."""
    xp = model.__array_namespace__()
    return poisson_deviance(outputs, xp.exp(xp.clip(model[:, 0], None, LARGEST_LOG_RATE)))


def cross_entropy(outputs: Array, target: Array) -> Array:
    """Negative log-probability of each row's class, in nats.

    Parameters
    ----------
    outputs
        Scores, shape ``(n, n_classes)``; one column stands for two classes, the first of which scores 0.
    target
        Class codes, shape ``(n,)``.

    """
    xp = outputs.__array_namespace__()
    scores = complete_scores(outputs)
    highest = xp.max(scores, axis=1, keepdims=True)
    log_total = xp.log(xp.sum(xp.exp(scores - highest), axis=1)) + highest[:, 0]
    chosen = xp.astype(target, xp.int32)[:, None] == xp.arange(scores.shape[1])
    return log_total - xp.sum(xp.where(chosen, scores, 0.0), axis=1)


def cross_entropy_slope(outputs: Array, target: Array) -> Array:
    """Derivative of the cross-entropy: probabilities minus the class."""
    xp = outputs.__array_namespace__()
    scores = complete_scores(outputs)
    powers = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    chosen = xp.astype(target, xp.int32)[:, None] == xp.arange(scores.shape[1])
    slopes = powers / xp.sum(powers, axis=1, keepdims=True) - chosen
    return slopes[:, -outputs.shape[1] :]


def cross_entropy_curvature(outputs: np.ndarray) -> np.ndarray:
    """Second derivative of the cross-entropy: the covariance of the classes."""
    if outputs.shape[1] == 1:
        small = np.exp(-np.abs(outputs))
        return (small / (1 + small) ** 2)[:, :, None]
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    return shares[:, :, None] * (np.eye(outputs.shape[1]) - shares[:, None, :])


def cross_entropy_of_two(score: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropy of two classes and its derivative, in NumPy and in a few operations."""
    small = np.exp(-np.abs(score))
    probability = np.where(score > 0, 1.0, small) / (1 + small)
    return np.maximum(score, 0.0) + np.log1p(small) - target * score, probability - target


def soft_cross_entropy(outputs: Array, model: Array) -> Array:
    """Cross-entropy of each row's classes with the probabilities that the scores of a model give them."""
    from jax.nn import log_softmax, softmax

    return -(softmax(complete_scores(model)) * log_softmax(complete_scores(outputs))).sum(axis=1)


def complete_scores(outputs: Array) -> Array:
    """Scores with one column a class: a single column is the second class against a score of 0."""
    xp = outputs.__array_namespace__()
    if outputs.shape[1] > 1:
        return outputs
    return xp.concat([xp.zeros_like(outputs), outputs], axis=1)


def partial_likelihood(outputs: Array, target: Array, weight: Array, *, ties: str) -> Array:
    """Negative log partial likelihood per event, for rows in any order.

    Parameters
    ----------
    outputs
        Log-hazards, shape ``(n, 1)``.
    target
        Signed times, shape ``(n,)``: positive for an event, negative for censoring, 0 for padding. Ranks of the
        times give the same result.
    weight
        Weights of the rows.
    ties
        ``"efron"`` or ``"breslow"``.

    """
    xp = outputs.__array_namespace__()
    latest_first = xp.argsort(-xp.abs(target), stable=True)
    signed = target[latest_first]
    sets = find_risk_sets(xp.abs(signed), signed > 0, weight[latest_first], ties=ties)
    return cox_loss(outputs[latest_first, 0], sets)


SQUARED_ERROR = RowLoss(squared_error, squared_distance, squared_error_slope, squared_error_curvature)
POISSON = RowLoss(poisson_deviance, poisson_distance, poisson_slope, poisson_curvature)
CROSS_ENTROPY = RowLoss(
    cross_entropy, soft_cross_entropy, cross_entropy_slope, cross_entropy_curvature, cross_entropy_of_two
)

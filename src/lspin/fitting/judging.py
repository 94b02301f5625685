"""Models beside each other on the same held-out rows: losses row by row, and differences in standard errors."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lspin.targets.kind import Kind


def row_losses(kind: Kind, outputs: list[np.ndarray], valid: list[Any]) -> np.ndarray:
    """Loss of every held-out row, split by split."""
    return np.concatenate([kind.loss.by_row(part, rows.target) for part, rows in zip(outputs, valid, strict=True)])


def difference(losses: np.ndarray, others: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """By how much losses are above others of the same rows on average, and the standard error of that."""
    gap = losses - others
    return float(np.average(gap, weights=weight)), standard_error(gap, weight)


def standard_error(losses: np.ndarray, weight: np.ndarray) -> float:
    """The standard error of the mean of held-out rows."""
    mean = np.average(losses, weights=weight)
    return float(np.sqrt(np.average((losses - mean) ** 2, weights=weight) / len(losses)))


def excess(losses: np.ndarray, others: np.ndarray, weight: np.ndarray) -> float:
    """By how many standard errors losses are above others of the same rows."""
    mean, error = difference(losses, others, weight)
    return mean / max(error, 1e-12)


def relation(said: list[np.ndarray], truth: list[np.ndarray], weight: np.ndarray) -> float:
    """By how many standard errors what is said of held-out rows goes along with the truth, split by split centred.

    Unlike a loss it does not depend on how far apart a model spreads what it says.
    """
    center = [one - one.mean(axis=0) for one in said]
    products = [(one * (own - own.mean(axis=0))).sum(axis=1) for one, own in zip(center, truth, strict=True)]
    joined = np.concatenate(products)
    return excess(joined, np.zeros_like(joined), weight)


class Standing(NamedTuple):
    """How a model does on held-out rows, beside the one that was chosen."""

    model: str
    loss: float  # not a number: it was not tried
    behind: float  # its loss less that of the chosen one, on the same rows
    standard_error: float  # of what it is behind
    chosen: bool


def rank(losses: Mapping[str, np.ndarray | None], chosen: str, weight: np.ndarray) -> list[Standing]:
    """Models beside each other, given the losses of the same rows; ``None`` for those that were not tried."""
    best = losses[chosen]
    assert best is not None
    standings = []
    for model, own in losses.items():
        numbers = (np.nan,) * 3
        if own is not None:
            numbers = float(np.average(own, weights=weight)), *difference(own, best, weight)
        standings.append(Standing(model, *numbers, chosen=model == chosen))
    return standings

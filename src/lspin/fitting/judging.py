"""Models beside each other on the same held-out rows: losses row by row, and differences in standard errors."""

from typing import Any

import numpy as np

from lspin.targets.kind import Kind


def row_losses(kind: Kind, outputs: list[np.ndarray], valid: list[Any]) -> np.ndarray:
    """Loss of every held-out row, split by split."""
    return np.concatenate([kind.loss.by_row(part, rows.target) for part, rows in zip(outputs, valid, strict=True)])


def excess(losses: np.ndarray, others: np.ndarray, weight: np.ndarray) -> float:
    """By how many standard errors losses are above others of the same rows."""
    gap = losses - others
    mean = float(np.average(gap, weights=weight))
    error = float(np.sqrt(np.average((gap - mean) ** 2, weights=weight) / len(gap)))
    return mean / max(error, 1e-12)

"""Numbers as a page holds them: as short as they are shown, and none that JSON has no sign for."""

from typing import Any

import numpy as np


def digits(numbers: Any, n_digits: int = 5) -> list:
    """Numbers with so many significant digits, which is all that a page shows; whole ones as such."""
    return [_shorten(float(f"{number:.{n_digits}g}")) for number in np.asarray(numbers, float).tolist()]


def _shorten(number: float) -> float | int | None:
    if number != number or number in (np.inf, -np.inf):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def finite(numbers: Any) -> list:
    """Numbers in full, nothing in place of those that are not finite."""
    return [float(number) if np.isfinite(number) else None for number in numbers]

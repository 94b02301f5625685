"""Arrays of NumPy or JAX, and the padded sizes that compiled programs share."""

from typing import Any

import numpy as np

Array = Any  # a NumPy array or a JAX array: both carry their own namespace


def bucket_size(n: int) -> int:
    """The padded size for ``n`` rows: four sizes an octave, so that tables of similar size share a program."""
    step = max(8, 2 ** max((n - 1).bit_length() - 1, 0) // 4)
    return -(-n // step) * step


def pad(array: np.ndarray, n_rows: int, n_columns: int | None = None) -> np.ndarray:
    """The array in single precision, with zeros behind its rows and, if asked for, behind its columns."""
    shape = (n_rows, *array.shape[1:]) if n_columns is None else (n_rows, n_columns)
    padded = np.zeros(shape, np.float32)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded

"""Entries of a column, cell by cell: words and numbers."""

from typing import Any

import numpy as np
import pandas as pd


def as_word(entry: Any) -> str:
    """An entry as the file shows it: a gap in a column turns its whole numbers into floats."""
    if isinstance(entry, float | np.floating) and float(entry).is_integer():
        entry = int(entry)
    return str(entry).strip()


def are_whole(column: pd.Series) -> bool:
    numbers = column.to_numpy(np.float64)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all())

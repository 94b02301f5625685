"""Columns as a user names them, by their names or positions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np


def find_columns(context: Iterable[Any], n_columns: int, names: Sequence[str] | None) -> np.ndarray:
    """Positions of the columns of a context, ascending; one that is not there is an error that names it.

    Parameters
    ----------
    context
        Names or positions of columns.
    n_columns
        Number of columns of the table.
    names
        Their names, if they have any.

    """
    columns = [_find_column(entry, n_columns, names) for entry in context]
    if not columns:
        raise ValueError("context is empty: name at least one column that the gates look at, or leave it at None")
    column, count = Counter(columns).most_common(1)[0]
    if count > 1:
        raise ValueError(f"context names column {column if names is None else names[column]!r} {count} times")
    return np.sort(columns)


def _find_column(entry: Any, n_columns: int, names: Sequence[str] | None) -> int:
    if isinstance(entry, str):
        if names is None:
            raise ValueError(f"context names a column {entry!r}, but the columns of X have no names that are text")
        if entry not in names:
            raise ValueError(f"context names a column {entry!r}, which X does not have")
        return int(np.flatnonzero(np.asarray(names, object) == entry)[0])
    if isinstance(entry, bool | np.bool_) or not isinstance(entry, Integral):
        raise TypeError(f"context holds {entry!r}, which is neither the name of a column nor its position")
    if not 0 <= int(entry) < n_columns:
        raise ValueError(f"context holds position {entry}, but X has the columns 0 to {n_columns - 1}")
    return int(entry)

"""Numbers of a table and some of its rows; rows with their targets and weights."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

BLOCK_ENTRIES = 2**20  # numbers of a wide table that are in double precision at one time
SECOND_TABLE = 2**40  # more rows than any table has


class Grid(NamedTuple):
    """Numbers of a table before they are standardised.

    Some rows of a dense table are named, not copied: they stay where the user has them.
    """

    values: Any  # (n, n_inputs), float, dense or CSR; 0 where missing
    missing: Any  # (n, n_columns), bool, dense or CSR as the values are; None where nothing is missing
    rows: np.ndarray | None = None  # which of the dense values, in which order; None: all of them as they stand

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0] if self.rows is None else len(self.rows)

    @property
    def is_sparse(self) -> bool:
        """Whether the values are CSR."""
        return sp.issparse(self.values)


class Rows(NamedTuple):
    """A table with its targets and weights, no two rows alike, in an order that the data alone decide."""

    grid: Grid
    target: np.ndarray
    weight: np.ndarray
    source: np.ndarray  # row of the user's table that stands for each row


def take_grid(table: Grid, rows: np.ndarray | slice) -> Grid:
    """Some rows of a table; those of a sparse one are copied, unless they are all of them in their order."""
    if table.rows is not None:
        return table._replace(rows=table.rows[rows])
    if isinstance(rows, np.ndarray):
        if not table.is_sparse:
            return table._replace(rows=np.arange(table.n_rows)[rows])
        if len(rows) == table.n_rows and (rows == np.arange(table.n_rows)).all():
            return table
    return Grid(table.values[rows], None if table.missing is None else table.missing[rows])


def gather(table: Grid) -> Grid:
    """The same table with its rows in a place of their own."""
    if table.rows is None:
        return table
    return Grid(table.values[table.rows], None if table.missing is None else table.missing[table.rows])


def pick_columns(matrix: Any, rows: np.ndarray | None, columns: np.ndarray | slice) -> Any:
    """Some columns of the rows of a table."""
    if rows is None:
        return matrix[:, columns]
    return matrix[:, columns][rows] if isinstance(columns, slice) else matrix[rows[:, None], columns]


def take_rows(rows: Rows, which: np.ndarray) -> Rows:
    """Some of the rows."""
    return Rows(take_grid(rows.grid, which), rows.target[which], rows.weight[which], rows.source[which])


def join_rows(rows: Rows, others: Rows) -> Rows:
    """Rows of two tables with the same columns; sources in the second are counted on from a number beyond any."""
    first, second = gather(rows.grid), gather(others.grid)
    stack = sp.vstack if first.is_sparse else np.vstack
    return Rows(
        Grid(stack([first.values, second.values]), _join_missing(first, second)),
        np.concatenate([rows.target, others.target]),
        np.concatenate([rows.weight, others.weight]),
        np.concatenate([rows.source, others.source + SECOND_TABLE]),
    )


def _join_missing(*tables: Grid) -> Any:
    known = next((table.missing for table in tables if table.missing is not None), None)
    if known is None:
        return None
    none = sp.csr_array if sp.issparse(known) else np.zeros
    parts = [
        none((table.n_rows, known.shape[1]), dtype=bool) if table.missing is None else table.missing
        for table in tables
    ]
    return sp.vstack(parts) if sp.issparse(known) else np.vstack(parts)


def store_sparsely(table: Grid) -> Grid:
    """The same table without its zeros."""
    if table.is_sparse:
        return table
    values, missing, _ = gather(table)
    return Grid(sp.csr_array(values), None if missing is None else sp.csr_array(missing))


def column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Columns of a wide table, some at a time."""
    width = max(BLOCK_ENTRIES // max(n_rows, 1), 1)
    return (slice(start, min(start + width, n_columns)) for start in range(0, n_columns, width))

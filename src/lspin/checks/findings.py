"""What a check finds, and a table as the checks look at it: column by column, gaps as not-a-number."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.tables.grid import Grid
from lspin.tables.merging import hash_rows
from lspin.tables.reading import Levels, as_numbers, columns_of_inputs, is_frame, list_names, read_table
from lspin.tables.settling import settle_for_checks
from lspin.targets import Kind

FEWEST_ROWS = 8  # below which everything follows everything by chance
CHANCE = 0.01  # of naming a column that has nothing to do with the target, over all columns
MOST_NAMED = 10  # columns that one check names


class Finding(NamedTuple):
    """Something that a person should look at before trusting a model of the table."""

    check: str  # "single column", "after the outcome", "duplicates", "codes" or "spellings"
    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()  # places of a few rows, counted from 0
    is_warning: bool = True


class Checks(NamedTuple):
    """What the checks found, and the columns that predict best alone."""

    findings: list[Finding]
    best: tuple[str, float, str] | None  # its name, its score, and what the score is called
    strongest: tuple[tuple[str, float], ...] = ()  # the columns that predict best alone, with their scores


class Table(NamedTuple):
    """A table as the checks look at it."""

    grid: Grid
    levels: Levels
    names: list[str]
    owners: np.ndarray  # the column of each input
    hashes: np.ndarray  # a number for the content of each row
    fewest: int  # rows that a number may stand for

    def rows(self, n_rows: int) -> str:
        """A number of rows in words."""
        if n_rows < self.fewest:
            return f"fewer than {self.fewest} rows"
        return f"{n_rows:,} row" + ("" if n_rows == 1 else "s")

    def column(self, place: int) -> np.ndarray:
        """Numbers of a column, or codes of its levels; not-a-number where missing."""
        first, last = np.searchsorted(self.owners, [place, place + 1])
        block = densify(self.grid.values[:, first:last])
        values = block.argmax(axis=1).astype(float) if place in self.levels else block[:, 0].astype(float)
        if self.grid.missing is not None:
            values[densify(self.grid.missing[:, [place]])[:, 0]] = np.nan
        return values


def read_for_checks(X: Any, fewest: int = 1, levels: Levels | None = None) -> Table:
    """The table with its columns within reach; another one with the levels of the first."""
    X = settle_for_checks(X) if is_frame(X) else X
    grid, levels = read_table(as_numbers(X), levels)
    hashes = hash_rows(grid)
    names = [str(name) for name in list_names(X) or range(X.shape[1])]
    if grid.is_sparse:  # columns are looked at one by one
        grid = Grid(sp.csc_array(grid.values), None if grid.missing is None else sp.csc_array(grid.missing))
    return Table(grid, levels, names, columns_of_inputs(len(names), levels), hashes, fewest)


def densify(matrix: Any) -> np.ndarray:
    """A dense array."""
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def classes_of(y: Any, kind: Kind) -> np.ndarray:
    """Classes, or events; one value for all rows if the target has none."""
    return np.asarray(kind.strata(kind.entries(y, trains=False)))

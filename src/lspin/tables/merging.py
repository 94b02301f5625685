"""Equal rows become one row with the sum of their weights, in an order that the data alone decide."""

import numpy as np
import scipy.sparse as sp

from lspin.tables.grid import Grid, Rows, gather, take_grid


def merge_rows(table: Grid, target: np.ndarray, weight: np.ndarray) -> Rows:
    """One row for all rows that are equal in every column and in the target, with the sum of their weights.

    Notes
    -----
    The rows come out ordered by a hash of their content. So a row given twice and a row of double weight
    are the same thing to all that follows, and so are two tables that differ in the order of their rows.

    """
    hashes = hash_rows(table) + _mix(_bits(target.astype(np.float64)) ^ np.uint64(0xD1B54A32D192ED03))
    order = np.argsort(hashes, kind="stable")
    follows_equal = np.zeros(len(order), bool)
    candidates = np.flatnonzero(np.diff(hashes[order]) == 0) + 1
    follows_equal[candidates] = _rows_equal(table, target, order[candidates - 1], order[candidates])
    starts = np.flatnonzero(~follows_equal)
    kept = order[starts]
    return Rows(
        take_grid(table, kept), target[kept], np.add.reduceat(weight[order].astype(np.float64), starts), kept
    )


def find_shared(table: Grid) -> np.ndarray:
    """Which rows have the same values as another one, shape ``(n,)``."""
    _, which, counts = np.unique(hash_rows(gather(table)), return_inverse=True, return_counts=True)
    return counts[which] > 1


def hash_rows(table: Grid) -> np.ndarray:
    """A number for the content of each row; equal rows have equal ones."""
    values = table.values
    salts = _mix(np.arange(values.shape[1], dtype=np.uint64))
    if sp.issparse(values):
        entries = _mix(_bits(values.data) ^ salts[values.indices])
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
        hashes = running[values.indptr[1:]] - running[values.indptr[:-1]]
    else:
        hashes = np.zeros(len(values), np.uint64)
        for column, salt in enumerate(salts):
            hashes += _mix(_bits(values[:, column]) ^ salt)
    if table.missing is not None:
        hashes += table.missing.astype(np.uint64) @ _mix(salts[: table.missing.shape[1]] + np.uint64(1))
    return hashes


def _bits(values: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(values, np.float64) + 0.0).view(np.uint64)  # adding 0 makes -0 and 0 one number


def _mix(bits: np.ndarray) -> np.ndarray:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _rows_equal(table: Grid, target: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    a, b = gather(take_grid(table, first)), gather(take_grid(table, second))
    difference = a.values != b.values
    equal = np.asarray(difference.sum(axis=1)).ravel() == 0
    if a.missing is not None and b.missing is not None:
        equal &= np.asarray((a.missing != b.missing).sum(axis=1)).ravel() == 0
    return equal & (target[first] == target[second])

"""Rows of a sparse table as lists of stored entries, so that what is absent costs nothing."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.noise import Array


class Entries(NamedTuple):
    """The stored entries of some rows, row by row; in JAX padded to a fixed number with entries that are 0."""

    rows: Array  # (m,), ascending
    columns: Array  # (m,)
    values: Array  # (m,)
    present: Array  # (m,), 1 for an entry, 0 for padding
    counts: Array  # (n,), of each row; its length tells how many rows there are


def list_entries(matrix: sp.csr_array) -> Entries:
    """The entries of a sparse table in NumPy."""
    counts = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    return Entries(rows, matrix.indices, matrix.data, np.ones(len(rows)), counts)


def project(entries: Entries, weights: Array) -> Array:
    """The rows times a matrix, shape ``(n, n_outputs)``."""
    if isinstance(weights, np.ndarray):
        starts = np.concatenate([[0], np.cumsum(entries.counts)])
        shape = (len(entries.counts), len(weights))
        return sp.csr_array((entries.values, entries.columns, starts), shape=shape) @ weights
    from jax.ops import segment_sum

    terms = entries.values[:, None] * weights[entries.columns]
    return segment_sum(terms, entries.rows, num_segments=len(entries.counts), indices_are_sorted=True)


def pick_products(left: Array, right: Array, entries: Entries) -> Array:
    """Of the matrix ``left @ right``, what stands at the places of the entries, shape ``(m,)``."""
    return (left[entries.rows] * right.T[entries.columns]).sum(axis=1)


def scatter(entries: Entries, values: Array, n_columns: int) -> Array:
    """A dense matrix with a value at the place of each entry, and 0 elsewhere."""
    xp = values.__array_namespace__()
    blank = xp.zeros((len(entries.counts), n_columns), dtype=values.dtype)
    if isinstance(values, np.ndarray):
        blank[entries.rows, entries.columns] = values
        return blank
    return blank.at[entries.rows, entries.columns].add(values * entries.present)

"""Rows of a table in two forms with the same methods: all numbers, or only the stored entries of a sparse table.

What is absent from a sparse table has no gate and costs nothing. Gates have the shape of the values they belong
to: ``(n, n_features)`` for dense rows, ``(m,)`` for ``m`` stored entries.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from lspin.core.arrays import Array, pad


class Dense(NamedTuple):
    """Rows with all their numbers; a whole table as well as a batch."""

    values: Array  # (n, n_inputs)

    def take(self, index: Array, room: int | None) -> Self:
        """Some of the rows."""
        return self._replace(values=self.values[index])

    def project(self, weights: Array) -> Array:
        """The rows times a matrix, shape ``(n, n_outputs)``."""
        return self.values @ weights

    def products(self, left: Array, right: Array) -> Array:
        """The matrix ``left @ right``, one row for each of the rows, at the places of the gates."""
        return left @ right

    def at_places(self, matrix: Array) -> Array:
        """What stands in a matrix of shape ``(n, n_features)`` at the places of the gates."""
        return matrix

    def by_column(self, vector: Array) -> Array:
        """A number for each feature, brought to the places of the gates."""
        return vector

    def by_row(self, vector: Array) -> Array:
        """A number for each row, brought to the places of the gates."""
        return vector[:, None]

    def open(self, gates: Array, owners: Array | None) -> Self:
        """The rows times their gates; ``owners`` say which gate an input has, where several share one."""
        return self._replace(values=spread_gates(gates, owners) * self.values)

    def foreign(self, gates: Array, partners: Array, sample: Callable[[Array], Array]) -> Array:
        """The gates of other rows."""
        return gates[partners]

    def fill(self, gates: Array, partners: Array, chosen: Array) -> Array:
        """What to add to the opened values: for chosen rows, the values of others where gates are shut."""
        xp = self.values.__array_namespace__()
        return xp.where(chosen[:, None], (1 - gates) * self.values[partners], 0.0)

    def scatter(self, gates: Array, n_columns: int) -> Array:
        """The gates as a matrix."""
        return gates


class Entries(NamedTuple):
    """The stored entries of some rows, row by row; in JAX padded to a fixed number with entries that are 0."""

    rows: Array  # (m,), ascending
    columns: Array  # (m,)
    values: Array  # (m,)
    present: Array  # (m,), 1 for an entry, 0 for padding
    counts: Array  # (n,), of each row; its length tells how many rows there are

    def project(self, weights: Array) -> Array:
        """The rows times a matrix, shape ``(n, n_outputs)``."""
        if isinstance(weights, np.ndarray):
            starts = np.concatenate([[0], np.cumsum(self.counts)])
            shape = (len(self.counts), len(weights))
            return sp.csr_array((self.values, self.columns, starts), shape=shape) @ weights
        from jax.ops import segment_sum

        terms = self.values[:, None] * weights[self.columns]
        return segment_sum(terms, self.rows, num_segments=len(self.counts), indices_are_sorted=True)

    def products(self, left: Array, right: Array) -> Array:
        """Of the matrix ``left @ right``, what stands at the places of the entries."""
        return (left[self.rows] * right.T[self.columns]).sum(axis=1)

    def at_places(self, matrix: Array) -> Array:
        """What stands in a matrix of shape ``(n, n_features)`` at the places of the entries."""
        return matrix[self.rows, self.columns]

    def by_column(self, vector: Array) -> Array:
        """A number for each feature, brought to the entries."""
        return vector[self.columns]

    def by_row(self, vector: Array) -> Array:
        """A number for each row, brought to the entries; 0 for padding."""
        return vector[self.rows] * self.present

    def open(self, gates: Array, owners: Array | None) -> Self:
        """The entries times their gates; a sparse table has one gate an input."""
        return self._replace(values=gates * self.values)

    def foreign(self, gates: Array, partners: Array, sample: Callable[[Array], Array]) -> Array:
        """The gates of other rows at the places of these, which are sampled anew: others have other entries."""
        return sample(partners)

    def fill(self, gates: Array, partners: Array, chosen: Array) -> Array:
        """Nothing: what is absent is never filled."""
        return self.values.__array_namespace__().zeros_like(self.values)

    def scatter(self, gates: Array, n_columns: int) -> Array:
        """The gates as a matrix, 0 where there is no entry."""
        xp = gates.__array_namespace__()
        blank = xp.zeros((len(self.counts), n_columns), dtype=gates.dtype)
        if isinstance(gates, np.ndarray):
            blank[self.rows, self.columns] = gates
            return blank
        return blank.at[self.rows, self.columns].add(gates * self.present)


class Stored(NamedTuple):
    """A whole sparse table: all its entries row by row, padded, and where each row's begin."""

    starts: Array  # (n + 1,)
    columns: Array  # (n_entries,)
    values: Array  # (n_entries,)

    def take(self, index: Array, room: int | None) -> Entries:
        """The entries of some rows, in as many places as the fullest batch needs."""
        import jax.numpy as jnp

        assert room is not None
        counts = self.starts[index + 1] - self.starts[index]
        rows = jnp.repeat(jnp.arange(index.shape[0]), counts, total_repeat_length=room)
        ends = jnp.cumsum(counts)
        place = jnp.arange(room)
        present = (place < ends[-1]).astype(jnp.float32)
        entry = jnp.where(place < ends[-1], self.starts[index][rows] + place - (ends - counts)[rows], 0)
        return Entries(rows, self.columns[entry], self.values[entry] * present, present, counts)


AnyRows = Dense | Entries
AnyTable = Dense | Stored


class Batch(NamedTuple):
    """Rows as a method learns from them, padded to a fixed number."""

    values: AnyRows  # standardised, 0 where missing
    context: AnyRows  # what gates look at
    shut: Array | None  # (n, n_features), 1 where a value is missing
    target: Array  # (n,)
    shares: Array  # (n,), each row's share of the average, 0 for padding
    affinity: Array | None  # (n, n)
    n_rows: Array  # how many of the rows are no padding

    @property
    def inputs(self) -> Array:
        """The numbers of dense rows, shape ``(n, n_inputs)``."""
        return self.values.values


def spread_gates(gates: Array, owners: Array | None) -> Array:
    """One gate an input: all levels of a categorical column share the gate of their column."""
    return gates if owners is None else gates[:, owners]


def list_entries(matrix: sp.csr_array) -> Entries:
    """The entries of a sparse table in NumPy."""
    counts = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    return Entries(rows, matrix.indices, matrix.data, np.ones(len(rows)), counts)


def place_dense(values: np.ndarray, n_rows: int) -> Dense:
    """A table in single precision, padded to a number of rows."""
    return Dense(pad(values, n_rows))


def place_entries(matrix: sp.csr_array, n_rows: int, n_entries: int) -> Stored:
    """A sparse table in single precision, padded to a number of rows and of entries."""
    starts = np.full(n_rows + 1, len(matrix.data), np.int32)
    starts[: len(matrix.indptr)] = matrix.indptr
    columns, values = np.zeros(n_entries, np.int32), np.zeros(n_entries, np.float32)
    columns[: len(matrix.data)], values[: len(matrix.data)] = matrix.indices, matrix.data
    return Stored(starts, columns, values)

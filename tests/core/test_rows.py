"""Stored entries against the dense matrices they stand for."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

from lspin.core.rows import Dense, Entries, list_entries, place_entries, spread_gates

RNG = np.random.default_rng(0)
TABLE = sp.random_array((6, 5), density=0.4, rng=RNG, format="csr")
LEFT, RIGHT = RNG.normal(size=(6, 3)), RNG.normal(size=(3, 5))


def on_device(entries):
    """The same entries as training has them, with two places of padding."""
    padded = [np.pad(part, (0, 2)) for part in entries[:4]]
    padded[0][-2:] = len(entries.counts) - 1
    return Entries(*(jnp.asarray(part) for part in (*padded, entries.counts)))


@pytest.mark.parametrize("place", [lambda entries: entries, on_device])
def test_products_with_entries_are_those_with_the_dense_table(place):
    entries = place(list_entries(TABLE))
    array = np.asarray if isinstance(entries.values, np.ndarray) else jnp.asarray
    weights = RNG.normal(size=(5, 2))
    np.testing.assert_allclose(entries.project(array(weights)), TABLE.toarray() @ weights, rtol=1e-5, atol=1e-6)
    picked = np.asarray(entries.products(array(LEFT), array(RIGHT)))[: TABLE.nnz]
    np.testing.assert_allclose(picked, (LEFT @ RIGHT)[TABLE.toarray() != 0], rtol=1e-5)


@pytest.mark.parametrize("place", [lambda entries: entries, on_device])
def test_scattered_entries_are_the_dense_table(place):
    entries = place(list_entries(TABLE))
    np.testing.assert_allclose(entries.scatter(entries.values, 5), TABLE.toarray(), rtol=1e-6)


def test_rows_of_a_stored_table_are_those_of_the_dense_one():
    index = jnp.array([4, 0, 0])
    stored = place_entries(TABLE, n_rows=8, n_entries=24).take(index, room=12)
    dense = Dense(jnp.asarray(TABLE.toarray(), jnp.float32)).take(index, None)
    np.testing.assert_allclose(stored.scatter(stored.values, 5), dense.values, rtol=1e-6)
    np.testing.assert_array_equal(
        stored.by_row(jnp.array([1.0, 2.0, 3.0])).sum(), stored.counts @ np.array([1, 2, 3])
    )


def test_both_forms_of_the_same_rows_open_the_same_values():
    gates, vector = RNG.random((6, 5)), RNG.normal(size=5)
    dense, entries = Dense(TABLE.toarray()), list_entries(TABLE)
    opened = dense.open(gates, None)
    np.testing.assert_allclose(
        entries.scatter(entries.open(entries.at_places(gates), None).values, 5), opened.values
    )
    np.testing.assert_allclose(
        entries.scatter(entries.by_column(vector), 5), np.where(TABLE.toarray() != 0, dense.by_column(vector), 0)
    )


def test_levels_of_a_category_share_one_gate():
    gates = np.array([[0.2, 0.7]])
    np.testing.assert_array_equal(spread_gates(gates, np.array([0, 1, 1, 1])), [[0.2, 0.7, 0.7, 0.7]])

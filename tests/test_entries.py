"""Stored entries against the dense matrices they stand for."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

from lspin.entries import Entries, list_entries, pick_products, project, scatter

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
    np.testing.assert_allclose(project(entries, array(weights)), TABLE.toarray() @ weights, rtol=1e-5, atol=1e-6)
    picked = np.asarray(pick_products(array(LEFT), array(RIGHT), entries))[: TABLE.nnz]
    np.testing.assert_allclose(picked, (LEFT @ RIGHT)[TABLE.toarray() != 0], rtol=1e-5)


@pytest.mark.parametrize("place", [lambda entries: entries, on_device])
def test_scattered_entries_are_the_dense_table(place):
    entries = place(list_entries(TABLE))
    np.testing.assert_allclose(scatter(entries, entries.values, 5), TABLE.toarray(), rtol=1e-6)

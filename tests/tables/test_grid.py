"""Rows of a table that are named, not copied: against a copy of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lspin.tables.encoding import context_blocks, encode, encode_inputs, learn_encoding
from lspin.tables.grid import Rows, gather, join_rows, take_grid, take_rows
from lspin.tables.merging import merge_rows
from lspin.tables.reading import read_table
from small_tables import drawn, small_tables


def test_rows_of_a_dense_table_stay_where_the_user_has_them():
    values = np.arange(12.0).reshape(4, 3)
    merged = merge_rows(read_table(values)[0], np.arange(4), np.ones(4))
    some = take_grid(take_grid(merged.grid, np.array([2, 0])), slice(1, 2))
    assert merged.grid.values is some.values is values
    np.testing.assert_array_equal(gather(some).values, values[merged.source[[0]]])
    assert (merged.grid.n_rows, some.n_rows) == (4, 1)


@drawn
@given(drawn_table=small_tables, data=st.data())
def test_rows_in_their_place_are_read_like_a_copy_of_them(drawn_table, data):
    values, target, weight, _ = drawn_table
    table, _ = read_table(values)
    which = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=8)))
    named = Rows(take_grid(table, which), target[which], weight[which], which)
    copied = named._replace(grid=gather(named.grid))
    assert named.grid.values is table.values  # whether values are missing or not
    assert copied.grid.values is not table.values
    assert copied.grid.rows is None
    features = np.arange(values.shape[1])
    encoding = learn_encoding(named, {}, values.shape[1], features)
    expected = learn_encoding(copied, {}, values.shape[1], features)
    np.testing.assert_array_equal([encoding.center, encoding.scale], [expected.center, expected.scale])
    for ours, theirs in zip(encode(named.grid, encoding), encode(copied.grid, encoding), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    last = np.array([values.shape[1] - 1])
    np.testing.assert_array_equal(
        encode_inputs(named.grid, encoding, last), encode_inputs(copied.grid, encoding, last)
    )
    for ours, theirs in zip(
        context_blocks(named.grid, encoding), context_blocks(copied.grid, encoding), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("hole", [0, 5, None])
def test_two_halves_of_a_table_join_to_the_whole(form, hole):
    values = np.arange(1.0, 19.0).reshape(6, 3)
    if hole is not None:
        values[hole, 1] = np.nan
    rows = Rows(read_table(form(values))[0], np.arange(6), np.linspace(1, 2, 6), np.arange(6))
    halves = [take_rows(rows, part) for part in (np.arange(3), np.arange(3, 6))]
    # A half without a hole does not know of missing values.
    halves = [Rows(read_table(form(values[half.source]))[0], *half[1:]) for half in halves]
    joined = join_rows(*halves)
    whole, parts = (
        [one.toarray() if sp.issparse(one) else one for one in table if one is not None]
        for table in (rows.grid, joined.grid)
    )
    for ours, theirs in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(joined.target, rows.target)
    np.testing.assert_array_equal(joined.weight, rows.weight)
    assert len(set(joined.source)) == 6

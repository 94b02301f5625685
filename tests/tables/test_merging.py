"""Equal rows become one: against a dictionary of rows."""

from collections import Counter

import numpy as np
import scipy.sparse as sp
from hypothesis import given

from lspin.tables.grid import Grid
from lspin.tables.merging import merge_rows
from lspin.tables.reading import read_table
from small_tables import as_nan, drawn, small_tables


def weights_by_dictionary(values, target, weight):
    totals = Counter()
    for row, label, share in zip(values, target, weight, strict=True):
        totals[(*(None if np.isnan(v) else v + 0.0 for v in row), label)] += share
    return totals


def weights_by_merging(merged):
    keys = [
        (*(None if np.isnan(v) else v + 0.0 for v in row), label)
        for row, label in zip(as_nan(merged.grid), merged.target, strict=True)
    ]
    assert len(set(keys)) == len(keys)
    return Counter(dict(zip(keys, merged.weight, strict=True)))


@drawn
@given(drawn_table=small_tables)
def test_merged_weights_match_a_dictionary_of_rows(drawn_table):
    values, target, weight, _ = drawn_table
    merged = merge_rows(read_table(values)[0], target, weight)
    assert weights_by_merging(merged) == weights_by_dictionary(values, target, weight)


@drawn
@given(drawn_table=small_tables)
def test_the_source_of_a_merged_row_is_a_row_like_it(drawn_table):
    values, target, weight, _ = drawn_table
    merged = merge_rows(read_table(values)[0], target, weight)
    np.testing.assert_array_equal(as_nan(merged.grid), values[merged.source])
    np.testing.assert_array_equal(merged.target, target[merged.source])


def assert_same_rows(one, other):
    np.testing.assert_array_equal(as_nan(one.grid), as_nan(other.grid))
    np.testing.assert_array_equal(one.target, other.target)
    np.testing.assert_array_equal(one.weight, other.weight)


@drawn
@given(drawn_table=small_tables)
def test_merging_ignores_the_order_of_rows(drawn_table):
    values, target, weight, order = drawn_table
    given_order = merge_rows(read_table(values)[0], target, weight)
    other_order = merge_rows(read_table(values[order])[0], target[order], weight[order])
    assert_same_rows(given_order, other_order)


@drawn
@given(drawn_table=small_tables)
def test_a_row_given_twice_is_a_row_of_double_weight(drawn_table):
    values, target, weight, order = drawn_table
    row = order[0]
    heavier = weight.copy()
    heavier[row] *= 2
    doubled = merge_rows(
        read_table(np.vstack([values, values[row]]))[0],
        np.append(target, target[row]),
        np.append(weight, weight[row]),
    )
    assert_same_rows(doubled, merge_rows(read_table(values)[0], target, heavier))


@drawn
@given(drawn_table=small_tables)
def test_rows_of_a_sparse_table_are_merged_like_those_of_a_dense_one(drawn_table):
    values, target, weight, _ = drawn_table
    merged = merge_rows(read_table(sp.csr_array(values))[0], target, weight)
    missing = None if merged.grid.missing is None else merged.grid.missing.toarray()
    dense = merged._replace(grid=Grid(merged.grid.values.toarray(), missing))
    assert weights_by_merging(dense) == weights_by_dictionary(values, target, weight)


def test_a_missing_value_is_not_a_zero():
    assert len(merge_rows(read_table(np.array([[0.0], [np.nan]]))[0], np.zeros(2), np.ones(2)).target) == 2


def test_minus_zero_is_zero():
    merged = merge_rows(read_table(np.array([[0.0, 1.0], [-0.0, 1.0]]))[0], np.array([0.0, -0.0]), np.ones(2))
    np.testing.assert_array_equal(merged.weight, [2.0])

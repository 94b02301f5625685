"""Tables as people have them: against values written out, numpy on repeated rows and a dictionary of rows."""

import datetime
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lspin.tables import (
    LARGEST_DEVIATION,
    Rows,
    Table,
    columns_of_inputs,
    context_blocks,
    encode,
    encode_inputs,
    gather,
    gating_context,
    is_frame,
    learn_encoding,
    merge_rows,
    read_table,
    scale_sparse,
    take_table,
)

drawn = settings(max_examples=60, deadline=None, derandomize=True)


def as_nan(table):
    """Values of a table without categorical columns, NaN where missing."""
    table = gather(table)
    values = np.array(table.values)
    if table.missing is not None:
        values[table.missing] = np.nan
    return values


def rows_of(values, weight=None, target=None):
    """Rows that are taken as they are: not merged, not reordered."""
    n = values.shape[0]
    table, _ = read_table(values)
    return Rows(
        table,
        np.arange(n) if target is None else target,
        np.ones(n) if weight is None else np.asarray(weight, float),
        np.arange(n),
    )


# Reading -----------------------------------------------------------------------------------------------------

NUMBERS = {
    "pandas int": pd.Series([3, -1, 0]),
    "pandas uint8": pd.Series([3, 255, 0], dtype="uint8"),
    "pandas float32": pd.Series([0.5, np.nan, 2], dtype="float32"),
    "pandas float64": pd.Series([0.5, np.nan, 2]),
    "pandas bool": pd.Series([True, False, True]),
    "pandas Int64": pd.Series([3, pd.NA, 0], dtype="Int64"),
    "pandas Float64": pd.Series([0.5, pd.NA, 2], dtype="Float64"),
    "pandas boolean": pd.Series([True, pd.NA, False], dtype="boolean"),
    "pandas object": pd.Series([1, None, 2.5], dtype=object),
    "pandas object with NA": pd.Series([np.int8(1), pd.NA, np.nan], dtype=object),
    "pandas object of booleans": pd.Series([True, None, np.False_], dtype=object),
    "polars int": pl.Series([3, None, 0]),
    "polars float32": pl.Series([0.5, None, float("nan")], dtype=pl.Float32),
    "polars float64": pl.Series([0.5, None, 2.0]),
    "polars boolean": pl.Series([True, None, False]),
    "polars object": pl.Series([1, None, 2.5], dtype=pl.Object),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_column_of_numbers_is_read_as_floats_with_its_gaps(kind):
    column = NUMBERS[kind]
    frame = pd.DataFrame({"a": column}) if isinstance(column, pd.Series) else pl.DataFrame({"a": column})
    table, levels = read_table(frame)
    expected = [np.nan if entry is None or entry is pd.NA else float(entry) for entry in column.to_list()]
    assert levels == {}
    assert table.values.dtype == (np.float32 if kind == "pandas float32" else np.float64)
    np.testing.assert_array_equal(as_nan(table)[:, 0], expected)


def test_a_frame_without_gaps_has_no_mask_of_missing_values():
    assert read_table(pd.DataFrame({"a": [1, 2], "b": [0.5, 1]}))[0].missing is None


@pytest.mark.parametrize("names", [None, [1, 0, 2], ["c", "a", "b"]])
def test_columns_keep_their_places_whatever_their_names(names):
    values = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(read_table(pd.DataFrame(values, columns=names))[0].values, values)


CATEGORIES = {
    "pandas category": pd.Series(["u", None, "w", "u"]).astype("category"),
    "pandas category of nullable text": pd.Series(["u", pd.NA, "w", "u"], dtype="string").astype("category"),
    "pandas category with unused levels": pd.Series(pd.Categorical(["u", None, "w", "u"], categories=list("xwu"))),
    "polars Categorical": pl.Series(["u", None, "w", "u"], dtype=pl.Categorical),
    "polars Enum": pl.Series(["u", None, "w", "u"], dtype=pl.Enum(["x", "w", "u"])),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_a_categorical_column_has_one_input_for_each_level_that_occurs(kind):
    column = CATEGORIES[kind]
    frame = pd.DataFrame({"a": column}) if isinstance(column, pd.Series) else pl.DataFrame({"a": column})
    table, levels = read_table(frame)
    assert levels == {0: ("u", "w")}
    np.testing.assert_array_equal(table.values, [[1, 0], [0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(table.missing, [[False], [True], [False], [False]])


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([2, 1, 2], (1, 2)),
        ([0.5, None, -1.0], (-1.0, 0.5)),
        ([True, False, True], (False, True)),
        (pd.cut([1.0, 2.0, 3.0], [0, 2, 4]), ("(0, 2]", "(2, 4]")),
    ],
)
def test_levels_of_a_pandas_category_are_plain_values_in_sorted_order(entries, expected):
    levels = read_table(pd.DataFrame({"a": pd.Categorical(entries)}))[1][0]
    assert levels == expected
    assert {type(level) for level in levels} <= {str, int, float, bool}


def test_unseen_levels_count_as_missing():
    fitted = pd.DataFrame({"a": pd.Categorical(["u", "w", "u"])})
    _, levels = read_table(fitted)
    table, again = read_table(pd.DataFrame({"a": pd.Categorical(["w", "new", None])}), levels)
    assert again == levels
    np.testing.assert_array_equal(table.values, [[0, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(table.missing[:, 0], [False, True, True])


def test_known_levels_are_found_in_a_column_of_plain_text():
    _, levels = read_table(pd.DataFrame({"a": pd.Categorical(["u", "w"])}))
    np.testing.assert_array_equal(read_table(pl.DataFrame({"a": ["w", "u"]}), levels)[0].values, [[0, 1], [1, 0]])


def test_a_categorical_column_without_any_value_has_no_inputs():
    frame = pd.DataFrame({"a": pd.Categorical([None, None], categories=["u"]), "b": [1, 2]})
    table, levels = read_table(frame)
    assert levels == {0: ()}
    np.testing.assert_array_equal(table.values, [[1], [2]])
    np.testing.assert_array_equal(columns_of_inputs(2, levels), [1])


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["high", "low", None], "column 'b' holds text .*'high'"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None], "column 'b' "),
        ([datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2), None], "column 'b' is of type Datetime"),
        ([datetime.timedelta(1), datetime.timedelta(2), None], "column 'b' is of type Duration"),
        ([[1], [2], [3]], "column 'b' "),
    ],
)
def test_a_column_that_holds_no_numbers_is_refused_by_name(library, entries, message):
    with pytest.raises(ValueError, match=message):
        read_table(library.DataFrame({"a": [1, 2, 3], "b": entries}))


def test_a_column_of_text_and_numbers_is_refused_as_text():
    with pytest.raises(ValueError, match=r"column 'b' holds text .*'low'"):
        read_table(pd.DataFrame({"b": np.array([1, "low", 2.0], dtype=object)}))


def test_a_category_where_the_model_knows_numbers_is_refused_by_name():
    with pytest.raises(ValueError, match="column 'b' is categorical here, but held numbers"):
        read_table(pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["u", "w"])}), {})


def test_an_array_where_the_model_knows_categories_is_refused():
    with pytest.raises(ValueError, match=r"column 1 is categorical .*'u', 'w'.* not ndarray"):
        read_table(np.eye(2), {1: ("u", "w")})


def test_a_name_given_twice_is_refused():
    with pytest.raises(ValueError, match="column name 'b' occurs 3 times"):
        is_frame(pd.DataFrame(np.eye(4), columns=["b", "a", "b", "b"]))


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
def test_a_frame_without_rows_or_columns_is_refused(shape):
    with pytest.raises(ValueError, match=rf"{shape[0]} sample\(s\) and {shape[1]} feature\(s\)"):
        is_frame(pd.DataFrame(np.zeros(shape)))


def test_a_lazy_frame_is_refused():
    with pytest.raises(TypeError, match=r"lazy frame.*collect"):
        is_frame(pl.LazyFrame({"a": [1, 2]}))


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize(
    ("container", "name"),
    [
        (np.asarray, "1"),
        (sp.csr_array, "1"),
        (lambda values: pd.DataFrame(values, columns=["a", "b"]), "'b'"),
        (lambda values: pl.DataFrame(values, schema=["a", "b"]), "'b'"),
    ],
    ids=["array", "sparse", "pandas", "polars"],
)
def test_infinity_is_refused_with_its_column_and_row(container, name, infinity):
    values = np.array([[1.0, 2.0], [np.nan, 3.0], [0.0, infinity]])
    with pytest.raises(ValueError, match=rf"infinity in column {name} \(row 2\)"):
        read_table(container(values))


def test_infinity_behind_a_categorical_column_is_refused_by_the_name_of_its_own_column():
    frame = pd.DataFrame({"a": pd.Categorical(["u", "v"]), "b": [1, 2], "c": [np.inf, -np.inf]})
    with pytest.raises(ValueError, match=r"infinity in column 'c' \(row 0\)"):
        read_table(frame)


def test_the_largest_floats_are_not_taken_for_infinity():
    values = np.full((3, 2), np.finfo(float).max)
    np.testing.assert_array_equal(read_table(values)[0].values, values)


sparse_like = arrays(np.float64, (5, 3), elements=st.sampled_from([0.0, 0.0, -0.0, 1.5, -2.0, np.nan]))


@drawn
@given(values=sparse_like)
def test_a_sparse_table_equals_the_dense_one(values):
    dense, _ = read_table(values)
    sparse, _ = read_table(sp.csr_array(values))
    np.testing.assert_array_equal(sparse.values.toarray(), dense.values)
    assert (dense.missing is None) == (sparse.missing is None)
    if dense.missing is not None:
        np.testing.assert_array_equal(sparse.missing.toarray(), dense.missing)


def test_entries_of_a_sparse_table_given_twice_are_added():
    twice = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)).tocsr()
    np.testing.assert_array_equal(read_table(twice)[0].values.toarray(), [[0, 3], [4, 0]])


def test_a_frame_of_plain_numbers_is_read_as_column_by_column():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=9), "b": np.arange(9), "c": rng.random(9) < 0.5}).astype({"a": "f4"})
    X.loc[3, "a"] = np.nan
    by_column = X.astype({"b": "Int64"})  # an extension's dtype, which is read one by one
    fast, slow = read_table(X)[0], read_table(by_column)[0]
    np.testing.assert_array_equal(fast.values, slow.values)
    np.testing.assert_array_equal(fast.missing, slow.missing)
    assert read_table(X[["b", "c"]])[0].missing is None
    with pytest.raises(ValueError, match="infinity in column 'a'"):
        read_table(X.assign(a=np.inf))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_frame_around_an_array_is_read_without_a_copy(kind):
    values = np.arange(6, dtype=kind).reshape(3, 2)
    table, _ = read_table(pd.DataFrame(values, copy=False))
    assert table.values.dtype == kind
    assert np.shares_memory(table.values, values)


# Merging equal rows ------------------------------------------------------------------------------------------

small_tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, 2), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan])),
        arrays(np.int64, n, elements=st.integers(0, 1)),
        arrays(np.float64, n, elements=st.integers(1, 4).map(float)),
        st.permutations(range(n)),
    )
)


def weights_by_dictionary(values, target, weight):
    totals = Counter()
    for row, label, share in zip(values, target, weight, strict=True):
        totals[(*(None if np.isnan(v) else v + 0.0 for v in row), label)] += share
    return totals


def weights_by_merging(merged):
    keys = [
        (*(None if np.isnan(v) else v + 0.0 for v in row), label)
        for row, label in zip(as_nan(merged.table), merged.target, strict=True)
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
    np.testing.assert_array_equal(as_nan(merged.table), values[merged.source])
    np.testing.assert_array_equal(merged.target, target[merged.source])


def assert_same_rows(one, other):
    np.testing.assert_array_equal(as_nan(one.table), as_nan(other.table))
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
    missing = None if merged.table.missing is None else merged.table.missing.toarray()
    dense = merged._replace(table=Table(merged.table.values.toarray(), missing))
    assert weights_by_merging(dense) == weights_by_dictionary(values, target, weight)


def test_a_missing_value_is_not_a_zero():
    assert len(merge_rows(read_table(np.array([[0.0], [np.nan]]))[0], np.zeros(2), np.ones(2)).target) == 2


def test_minus_zero_is_zero():
    merged = merge_rows(read_table(np.array([[0.0, 1.0], [-0.0, 1.0]]))[0], np.array([0.0, -0.0]), np.ones(2))
    np.testing.assert_array_equal(merged.weight, [2.0])


def test_rows_of_a_dense_table_stay_where_the_user_has_them():
    values = np.arange(12.0).reshape(4, 3)
    merged = merge_rows(read_table(values)[0], np.arange(4), np.ones(4))
    some = take_table(take_table(merged.table, np.array([2, 0])), slice(1, 2))
    assert merged.table.values is some.values is values
    np.testing.assert_array_equal(gather(some).values, values[merged.source[[0]]])
    assert (merged.table.n_rows, some.n_rows) == (4, 1)


@drawn
@given(drawn_table=small_tables, data=st.data())
def test_rows_in_their_place_are_read_like_a_copy_of_them(drawn_table, data):
    values, target, weight, _ = drawn_table
    table, _ = read_table(values)
    which = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=8)))
    named = Rows(take_table(table, which), target[which], weight[which], which)
    copied = named._replace(table=gather(named.table))
    assert named.table.values is values or table.missing is not None
    assert copied.table.rows is None
    features = np.arange(values.shape[1])
    encoding = learn_encoding(named, {}, values.shape[1], features)
    expected = learn_encoding(copied, {}, values.shape[1], features)
    np.testing.assert_array_equal([encoding.center, encoding.scale], [expected.center, expected.scale])
    for ours, theirs in zip(encode(named.table, encoding), encode(copied.table, encoding), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    last = np.array([values.shape[1] - 1])
    np.testing.assert_array_equal(
        encode_inputs(named.table, encoding, last), encode_inputs(copied.table, encoding, last)
    )
    for ours, theirs in zip(
        context_blocks(named.table, encoding), context_blocks(copied.table, encoding), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


# Standardising -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12, 1e30, 1e300])
def test_moments_match_numpy_on_repeated_rows(scale):
    rng = np.random.default_rng(0)
    values, weight = rng.normal(3, 2, (9, 2)), rng.integers(1, 5, 9)
    encoding = learn_encoding(rows_of(values * scale, weight), {}, 2)
    repeated = np.repeat(values, weight, axis=0)
    np.testing.assert_allclose(encoding.center, np.average(values, axis=0, weights=weight) * scale)
    np.testing.assert_allclose(encoding.center, repeated.mean(axis=0) * scale)
    np.testing.assert_allclose(encoding.scale, repeated.std(axis=0) * scale)


def test_moments_leave_missing_values_out():
    values = np.array([[1.0, 5.0], [np.nan, 6.0], [4.0, np.nan], [np.nan, 9.0]])
    weight = np.array([1, 2, 3, 4])
    encoding = learn_encoding(rows_of(values, weight), {}, 2)
    for column in range(2):
        present = np.repeat(values[:, column], weight)
        np.testing.assert_allclose(encoding.center[column], np.nanmean(present))
        np.testing.assert_allclose(encoding.scale[column], np.nanstd(present))


def test_scales_of_a_sparse_table_match_numpy_and_its_zeros_stay():
    values = np.array([[0.0, 2.0, 70.0], [3.0, 0.0, 0.0], [0.0, 0.0, 90.0], [1.0, 5.0, 0.0]])
    weight = np.array([1, 2, 3, 1])
    rows = rows_of(sp.csr_array(values), weight)
    encoding = learn_encoding(rows, {}, 3)
    stored = [column[column != 0] for column in np.repeat(values, weight, axis=0).T]
    sizes = np.array([np.sqrt(np.mean(column**2)) for column in stored])
    # The first two are of one size, whose scale is the median's; the last is another unit.
    expected = np.array([np.median(sizes), np.median(sizes), sizes[2]])
    np.testing.assert_allclose(encoding.scale, expected)
    np.testing.assert_array_equal(encoding.center, [0, 0, 0])
    np.testing.assert_allclose(scale_sparse(rows.table.values, encoding).toarray(), values / expected)


@pytest.mark.parametrize("scales", [(1e-12, 1e12), (1e30, 1.0), (1e307, 1e-300)])
def test_columns_on_any_scale_have_mean_0_and_variance_1_side_by_side(scales):
    values = np.random.default_rng(0).normal(loc=5, size=(20, 2)) * scales
    rows = rows_of(values)
    inputs, missing = encode(rows.table, learn_encoding(rows, {}, 2))
    assert missing is None
    np.testing.assert_allclose(inputs.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(inputs.std(axis=0), 1)


def test_a_column_is_centred_only_where_zero_is_no_ordinary_value():
    values = np.random.default_rng(0).normal(loc=[0.3, 5.0, -5.0], size=(200, 3))
    encoding = learn_encoding(rows_of(values), {}, 3)
    np.testing.assert_allclose(encoding.center, values.mean(axis=0) * [0, 1, 1])
    np.testing.assert_allclose(encoding.scale, values.std(axis=0))


@pytest.mark.parametrize("spread", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_a_column_of_two_values_is_read_as_finite_numbers(spread):
    rows = rows_of(np.array([[spread], [0.0], [-spread]]))
    inputs, _ = encode(rows.table, learn_encoding(rows, {}, 1))
    assert np.isfinite(inputs).all()
    assert inputs[0] > inputs[1] > inputs[2]


def test_values_far_outside_the_fitted_range_are_cut_off():
    encoding = learn_encoding(rows_of(np.array([[1e-12], [-1e-12]])), {}, 1)
    inputs, _ = encode(read_table(np.array([[1e308], [-1e308]]))[0], encoding)
    np.testing.assert_array_equal(inputs, [[LARGEST_DEVIATION], [-LARGEST_DEVIATION]])


@pytest.mark.parametrize("constant", [0.0, 0.1, -7.0, 1e30])
def test_constant_columns_are_dropped(constant):
    values = np.column_stack([np.arange(7.0), np.full(7, constant), np.arange(7.0) ** 2])
    rows = rows_of(values, np.array([0.1, 0.2, 0.3, 1, 1, 1, 7]))
    encoding = learn_encoding(rows, {}, 3)
    np.testing.assert_array_equal(encoding.features, [0, 2])
    assert encode(rows.table, encoding)[0].shape == (7, 2)


def test_a_column_that_is_constant_but_for_its_gaps_is_dropped():
    values = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 5.0]])
    np.testing.assert_array_equal(learn_encoding(rows_of(values), {}, 2).features, [0])


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_table_of_constant_columns_is_refused(container):
    with pytest.raises(ValueError, match="all 2 columns are constant over the 3 distinct rows"):
        learn_encoding(rows_of(container(np.tile([4.0, 0.0], (3, 1)))), {}, 2)


@pytest.mark.parametrize("entries", [list("uvuuvu"), list("uvwxuv"), ["u", "v", None, "u", "u", "v"]])
def test_a_categorical_column_has_one_gate_and_total_variance_1(entries):
    frame = pd.DataFrame({"a": pd.Categorical(entries), "b": np.arange(6.0)})
    table, levels = read_table(frame)
    rows = Rows(table, np.arange(6), np.ones(6), np.arange(6))
    encoding = learn_encoding(rows, levels, 2)
    n_levels = len(set(entries) - {None})
    inputs, _ = encode(table, encoding)
    present = [entry is not None for entry in entries]
    np.testing.assert_array_equal(encoding.owners, [0] * n_levels + [1])
    np.testing.assert_allclose(inputs[present, :n_levels].var(axis=0).sum(), 1)


def test_a_missing_value_is_0_among_the_inputs_and_flagged_to_the_gating_network():
    values = np.array([[1.0, 5.0], [np.nan, 6.0], [4.0, np.nan], [2.0, 9.0]])
    rows = rows_of(values)
    encoding = learn_encoding(rows, {}, 2)
    inputs, missing = encode(rows.table, encoding)
    context = gating_context(inputs, missing, encoding)
    assert context.shape == (4, encoding.n_context)
    np.testing.assert_array_equal(inputs[np.isnan(values)], 0.0)
    np.testing.assert_array_equal(context[:, 2:], np.isnan(values))

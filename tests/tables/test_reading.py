"""Tables as people have them: against values written out."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lspin.tables.reading import as_numbers, columns_of_inputs, is_frame, list_names, read_table, unmask
from small_tables import as_nan, drawn

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


def test_a_pyarrow_table_is_read_as_the_same_pandas_frame():
    pa = pytest.importorskip("pyarrow")
    stages = pa.array(["II", None, "I"]).dictionary_encode()
    table = pa.table({"n": [3, None, 0], "x": [0.5, 1.5, 2.5], "stage": stages, "is_old": [True, None, False]})
    frame = table.to_pandas()
    assert is_frame(table)
    (ours, levels), (theirs, expected) = read_table(table), read_table(frame)
    assert levels == expected == {2: ("I", "II")}
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.missing, theirs.missing)
    assert list_names(table) == list_names(frame) == ["n", "x", "stage", "is_old"]


def test_one_batch_of_a_pyarrow_table_is_refused_with_advice():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match=r"pyarrow.Table.from_batches\(\[X\]\)"):
        is_frame(pa.table({"a": [1.0]}).to_batches()[0])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, bool])
def test_masked_entries_are_missing(kind):
    values = np.ma.masked_array([[1, 0], [1, 1]], mask=[[0, 1], [0, 0]], dtype=kind)
    np.testing.assert_array_equal(as_numbers(values), [[1, np.nan], [1, 1]])
    assert unmask(values).dtype == (np.float32 if kind is np.float32 else np.float64)
    np.testing.assert_array_equal(unmask(np.ma.masked_array([[1.0]])), [[1.0]])


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_dates_and_times_in_an_array_are_refused(kind):
    with pytest.raises(ValueError, match=r"X holds dates or times \((datetime|timedelta)64"):
        as_numbers(np.zeros((2, 2), kind))


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

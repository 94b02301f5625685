"""Targets and weights as people have them: against values written out."""

import numpy as np
import pandas as pd
import pytest

from lspin.tables.labels import list_target, read_labels, read_response, read_weights, refuse_constant


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([2, 1, 2], [1, 2]),
        (["b", "a", "b"], ["a", "b"]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        ([True, False, True], [False, True]),
        ([1.0, 0.0, 1.0], [0.0, 1.0]),
        ([2e19, 1e19, 2e19], [1e19, 2e19]),  # beyond 64-bit integers
        ([2**62 + 1, 2**62, 2**62 + 1], [2**62, 2**62 + 1]),  # beyond exact floats
        (np.ma.masked_array([2, 1, 2]), [1, 2]),
    ],
)
def test_labels_are_sorted_classes_and_codes(y, classes):
    found, codes = read_labels(y)
    assert list(found) == classes
    assert list(codes) == [1, 0, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, 1.0, np.nan, np.nan], r"y contains NaN \(2 of 4 rows, the first is row 2\)"),
        ([0.0, np.inf, 1.0, 1.0], r"y contains infinity .*\(1 of 4 rows, the first is row 1\)"),
        (np.array(["a", "b", None], dtype=object), r"y contains NaN \(1 of 3 rows, the first is row 2\)"),
        (np.array(["a", pd.NA, "b"], dtype=object), r"y contains NaN \(1 of 3 rows, the first is row 1\)"),
        ([3, 3, 3], r"one class only .*3.* in all 3 rows"),
        (["x"], r"one class only .*'x'.* in all 1 rows"),
        ([0.5, 1.5, 1.5], "continuous.*0.5.*use LSPINRegressor"),
        ([7, 8, 9, 10], "4 classes in 4 rows, so no class occurs twice"),
        (np.array(["a", "b", 3], dtype=object), r"mixes text \('a' in row 0\) and 3 \(row 2\)"),
        (np.array([1, 2, 1], dtype=object), "unknown.*dtype is object"),
        (np.eye(3), r"1d array, got an array of shape \(3, 3\)"),
        (np.array(["2020-01-01", "NaT", "2020-01-01"], dtype="M8[D]"), r"y contains NaN \(1 of 3 .*row 1"),
    ],
)
def test_a_target_that_holds_no_classes_is_refused_with_the_reason(y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(y)


@pytest.mark.parametrize("y", [[1, 2, 4], [True, False, True], ["1", "2.5", "-3"], [1e308, -1e308, 0]])
def test_a_response_is_read_as_floats(y):
    response = read_response(y)
    assert response.dtype == np.float64
    np.testing.assert_array_equal(response, [float(value) for value in y])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, np.nan, 1.0], r"y contains NaN \(1 of 3 rows, the first is row 1\)"),
        ([0.5, 2.0, -np.inf], r"y contains infinity .*the first is row 2"),
        (np.array([1, pd.NA, 2], dtype=object), r"y contains NaN \(1 of 3 rows, the first is row 1\)"),
        (np.array(["low", "high"]), "the target holds 'low'"),
        (["1", "low", "3"], r"'low'.* \(row 1\), which is no number; for classes use LSPINClassifier"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), "dates or times"),
        ([1j, 2.0], "Complex data not supported"),
    ],
)
def test_a_response_that_is_no_number_is_refused_with_its_row(y, message):
    with pytest.raises(ValueError, match=message):
        read_response(y)


@pytest.mark.parametrize(
    ("read", "y"), [(read_labels, [1, 2, 1]), (read_labels, ["a", "b", "a"]), (read_response, [0.5, 1, 2])]
)
def test_a_masked_target_is_missing(read, y):
    masked = np.ma.masked_array(y, mask=[False, False, True])
    with pytest.raises(ValueError, match=r"y contains NaN \(1 of 3 rows, the first is row 2\)"):
        read(list_target(masked))


def test_a_constant_response_is_refused_with_its_value():
    with pytest.raises(ValueError, match=r"constant \(2.5 in all 3 rows\)"):
        refuse_constant(np.full(3, 2.5))


def test_rows_without_given_weights_weigh_1():
    np.testing.assert_array_equal(read_weights(None, np.eye(3)), [1, 1, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2.5, 1], r"negative in row 1 \(-2.5\)"),
        ([0, 0, 0], "all 3 sample weights are zero"),
        ([1, np.nan, 1], "sample_weight contains NaN"),
        ([1, np.inf, 1], "sample_weight contains infinity"),
        (np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]), "sample_weight contains NaN"),
        ([1, 1], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([1e308, 1e308, 1], "adds up to infinity .*1e[+]308"),
    ],
)
def test_weights_that_weigh_nothing_or_less_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        read_weights(weights, np.eye(3))

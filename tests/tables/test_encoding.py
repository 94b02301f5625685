"""Standardised inputs: against numpy on repeated rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lspin.tables.encoding import (
    LARGEST_DEVIATION,
    Manner,
    common_unit,
    context_blocks,
    encode,
    gating_context,
    give_context,
    learn_encoding,
    relearn_encoding,
    scale_sparse,
    use_features,
)
from lspin.tables.grid import Rows, take_rows
from lspin.tables.reading import read_table
from small_tables import rows_of


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
    np.testing.assert_allclose(scale_sparse(rows.grid.values, encoding).toarray(), values / expected)


@pytest.mark.parametrize("scales", [(1e-12, 1e12), (1e30, 1.0), (1e307, 1e-300)])
def test_columns_on_any_scale_have_mean_0_and_variance_1_side_by_side(scales):
    values = np.random.default_rng(0).normal(loc=5, size=(20, 2)) * scales
    rows = rows_of(values)
    inputs, missing = encode(rows.grid, learn_encoding(rows, {}, 2))
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
    inputs, _ = encode(rows.grid, learn_encoding(rows, {}, 1))
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
    assert encode(rows.grid, encoding)[0].shape == (7, 2)


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
    inputs, missing = encode(rows.grid, encoding)
    context = gating_context(inputs, missing, encoding)
    assert context.shape == (4, encoding.n_context)
    np.testing.assert_array_equal(inputs[np.isnan(values)], 0.0)
    np.testing.assert_array_equal(context[:, 2:], np.isnan(values))


def test_columns_of_one_unit_share_its_scale():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(160, 120)).astype(float)
    pixels[0] = 255.0
    assert common_unit(rows_of(pixels)) == 255.0
    encoding = learn_encoding(rows_of(pixels), {}, 120)
    np.testing.assert_array_equal(encoding.scale, 255.0)
    np.testing.assert_array_equal(encoding.center, 0.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda pixels: pixels - 1.0,  # negative values
        lambda pixels: pixels * np.linspace(1, 2, 120),  # other largest values
        lambda pixels: pixels[:100],  # fewer rows than columns
        lambda pixels: pixels[:, :60],  # few columns
        lambda pixels: np.where(np.arange(120) == 3, np.nan, pixels),  # missing values
    ],
)
def test_other_tables_have_no_common_unit(change):
    pixels = np.random.default_rng(0).integers(0, 256, size=(160, 120)).astype(float)
    pixels[0] = 255.0
    assert common_unit(rows_of(change(pixels))) is None


VARIED = np.array([[10.0, -1.0, 3.0], [12.0, 1.0, 0.0], [11.0, -4.0, 0.0], [13.0, 2.0, 9.0]])


@pytest.mark.parametrize(
    ("scaling", "scale", "centred"),
    [("columns", VARIED.std(axis=0), [True, False, False]), ("common", 13.0, False), ("none", 1.0, False)],
)
def test_scales_are_those_asked_for(scaling, scale, centred):
    encoding = learn_encoding(rows_of(VARIED), {}, 3, manner=Manner(scaling))
    np.testing.assert_allclose(encoding.scale, np.broadcast_to(scale, 3))
    np.testing.assert_allclose(encoding.center, np.where(centred, VARIED.mean(axis=0), 0.0))
    again = relearn_encoding(rows_of(VARIED[:3]), encoding)
    assert again.manner == encoding.manner


@pytest.mark.parametrize("scaling", ["auto", "columns", "common", "none"])
@pytest.mark.parametrize("centering", [True, False])
def test_all_columns_are_centred_or_none_if_that_is_asked_for(scaling, centering):
    encoding = learn_encoding(rows_of(VARIED), {}, 3, manner=Manner(scaling, centering))
    np.testing.assert_allclose(encoding.center, centering * VARIED.mean(axis=0))


def test_the_sizes_of_small_integers_do_not_overflow():
    values = np.array([[-128, 3], [0, 5], [127, 4]], np.int8)
    encoding = learn_encoding(rows_of(values), {}, 2, manner=Manner("columns", False))
    np.testing.assert_allclose(encoding.scale, values.astype(float).std(axis=0))


@pytest.mark.parametrize("holes", [False, True])
def test_a_context_is_the_inputs_of_its_columns_and_their_flags(holes):
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 4.0, 8.0], "kind": pd.Categorical(list("xyxz")), "b": [0.0, 1.0, 0.0, 1.0]}
    )
    if holes:
        frame.loc[1, "a"] = frame.loc[2, "b"] = np.nan
    table, levels = read_table(frame)
    rows = Rows(table, np.arange(4), np.ones(4), np.arange(4))
    encoding = give_context(learn_encoding(rows, levels, 3), np.array([1, 2]), context_only=True)
    inputs, missing = encode(table, encoding)
    flags = [frame[["kind", "b"]].isna().to_numpy(float)] if holes else []
    expected = np.hstack([inputs[:, 1:], *flags])
    context = gating_context(inputs, missing, encoding)
    np.testing.assert_array_equal(context, expected)
    np.testing.assert_array_equal(np.hstack(list(context_blocks(table, encoding))), expected)
    assert encoding.n_context == expected.shape[1]
    assert encoding.gated_features.tolist() == [0]


def test_a_context_stays_where_scales_are_learned_again():
    rows = rows_of(np.random.default_rng(0).normal(size=(6, 3)))
    known = give_context(learn_encoding(rows, {}, 3), np.array([2]), context_only=True)
    again = relearn_encoding(take_rows(rows, np.arange(4)), known)
    assert again.context.tolist() == [2]
    assert again.context_only
    assert again.scale[0] != known.scale[0]


def test_some_features_are_encoded_as_they_are_among_all():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 1.0, 1.0], "c": [0.5, 0.1, 0.2]})
    frame.insert(1, "site", pd.Categorical(["x", "y", "x"]))
    table, levels = read_table(frame)
    whole = learn_encoding(rows_of(frame), levels, 4)
    part = use_features(whole, np.array([1, 2]))
    assert part.features.tolist() == [1, 3]
    assert part.owners.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(encode(table, part)[0], encode(table, whole)[0][:, 1:])


def test_of_a_context_the_columns_that_vary_count():
    values = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 1.0], [4.0, 5.0, 0.0]])
    encoding = give_context(learn_encoding(rows_of(values), {}, 3), np.array([1, 2]), context_only=False)
    assert encoding.features[encoding.context].tolist() == [2]

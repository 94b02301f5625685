"""Where no sample may be told from the others, every number is about five samples or more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lspin.reporting.hiding import FEWEST_ALIKE, hide_few, join_small_groups, merge_bins, thin_curve

sizes = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(sizes=sizes)
def test_groups_are_joined_until_each_is_large_enough(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    joined = join_small_groups(groups)
    found = np.bincount(joined)
    assert found.sum() == sum(sizes)
    assert found.min() >= min(FEWEST_ALIKE, sum(sizes))
    for group in range(len(sizes)):  # no group is torn apart
        assert len(set(joined[groups == group])) == 1
    if min(sizes) >= FEWEST_ALIKE:
        np.testing.assert_array_equal(joined, groups)


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=20).filter(lambda counts: sum(counts) >= 5))
def test_bins_are_merged_until_each_holds_enough_samples(counts):
    places = list(range(len(counts) + 1))
    merged = merge_bins({"from": places[:-1], "to": places[1:], "count": counts})
    assert min(merged["count"]) >= FEWEST_ALIKE
    assert sum(merged["count"]) == sum(counts)  # nobody is between two bins
    assert all(first >= last for first, last in zip(merged["from"], [0, *merged["to"][:-1]], strict=True))
    assert merged["to"][-1] == len(counts)
    inside = [sum(counts[first:last]) for first, last in zip(merged["from"], merged["to"], strict=True)]
    assert merged["count"] == inside


@pytest.mark.parametrize("size", [5, 9, 12])
def test_a_share_of_a_few_or_of_all_but_a_few_is_hidden(size):
    shown = hide_few(np.arange(size + 1) / size, size)
    for count, share in enumerate(shown):
        few = 0 < count < 5 or 0 < size - count < 5
        assert np.isnan(share) == few


def test_between_two_points_of_a_curve_enough_samples_end():
    ended = np.array([0, 1, 4, 6, 7, 12, 13, 20, 21])
    curve = {"name": "low", "size": 25, "times": np.arange(9.0), "survival": np.linspace(1, 0, 9), "ended": ended}
    curve |= {"lower": curve["survival"] / 2, "upper": curve["survival"] ** 0.5}
    thinned = thin_curve(curve)
    assert (np.diff(thinned["ended"]) >= FEWEST_ALIKE).all()
    np.testing.assert_array_equal(thinned["times"], [0, 3, 5, 7])
    np.testing.assert_array_equal(thinned["survival"], curve["survival"][[0, 3, 5, 7]])
    np.testing.assert_array_equal(thinned["upper"], curve["upper"][[0, 3, 5, 7]])
    assert thinned["size"] == 25

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lspin.fitting.path import (
    Candidate,
    Split,
    beats_constant,
    deal,
    judge,
    next_prices,
    split_rows,
    weighted_median,
)
from lspin.fitting.prediction import Counted
from lspin.tables.grid import Grid, Rows, take_rows
from lspin.targets import Classes, Response, Times

RNG = np.random.default_rng(0)


def make_rows(target, weight=None):
    target = np.asarray(target)
    weight = np.ones(len(target)) if weight is None else np.asarray(weight, float)
    return Rows(Grid(np.arange(len(target), dtype=float)[:, None], None), target, weight, np.arange(len(target)))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=12))
def test_weighted_median_is_the_median_of_repeated_values(pairs):
    values, weights = (np.array(part) for part in zip(*pairs, strict=True))
    assert weighted_median(values, weights.astype(float)) == np.median(np.repeat(values, weights))


def test_a_small_table_is_held_out_row_by_row_exactly_once():
    splits = split_rows(make_rows(RNG.integers(2, size=50)), Classes(), 0.2, RNG)
    held_out = np.concatenate([split.valid.source for split in splits])
    assert sorted(held_out) == list(range(50))
    for split in splits:
        assert not set(split.train) & set(split.valid.source)


def test_a_large_table_is_split_once_and_classes_keep_their_shares():
    codes = np.repeat([0, 1, 2], [600, 300, 100])
    (split,) = split_rows(make_rows(codes), Classes(), 0.2, RNG)
    np.testing.assert_array_equal(np.bincount(split.valid.target), [120, 60, 20])
    assert sorted([*split.train, *split.valid.source]) == list(range(1000))


def test_a_class_of_one_row_is_never_held_out():
    codes = np.array([0] * 20 + [1] * 20 + [2])
    for split in split_rows(make_rows(codes), Classes(), 0.2, RNG):
        assert 2 in codes[split.train]


def test_nothing_is_held_out_where_every_class_has_one_row():
    assert split_rows(make_rows([0, 1]), Classes(), 0.2, RNG) == []


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 9), st.integers(2, 6))
def test_copies_fall_to_the_folds_in_turn(copies, dealt, n_folds):
    ends = dealt + np.cumsum(copies)
    numbers = [np.arange(end - some, end) % n_folds for some, end in zip(copies, ends, strict=True)]
    expected = np.transpose([np.bincount(folds, minlength=n_folds) for folds in numbers])
    np.testing.assert_array_equal(deal(ends - copies, ends, n_folds), expected)


def test_copies_of_a_row_are_held_out_one_by_one_if_other_rows_have_its_columns():
    rows = make_rows([0, 1, 0, 1], [20, 10, 20, 10])
    shared = rows._replace(grid=Grid(np.array([[0.0], [0.0], [1.0], [2.0]]), None))
    splits = split_rows(shared, Classes(), 0.2, RNG)
    held_out = sum(np.bincount(split.valid.source, split.valid.weight, 4) for split in splits)
    np.testing.assert_allclose(held_out, shared.weight)
    for split in splits:
        weight = np.zeros(4)
        weight[split.train] = split.weight
        together = weight + np.bincount(split.valid.source, split.valid.weight, 4)
        np.testing.assert_allclose(together, shared.weight)
        np.testing.assert_allclose(weight[:2], [16, 8])
        assert set(weight[2:]) <= {0.0, 20.0, 10.0}  # alone with their columns: as a whole


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9, unique=True), st.data())
def test_a_walk_ends_where_both_neighbours_cost_more(costs, data):
    prices = [float(price) for price in range(len(costs))]
    done = {data.draw(st.sampled_from(prices))}

    def best():
        return min(done, key=lambda price: costs[int(price)])

    while missing := next_prices(prices, done, best(), walks=True):
        done |= set(missing)
    place = int(best())
    assert all(costs[place] <= cost for cost in costs[max(place - 1, 0) : place + 2])
    assert set(next_prices(prices, done, best(), walks=False)) == set(prices) - done


@pytest.mark.parametrize(
    ("score", "target", "kind", "expected"),
    [
        (0.65, np.ones(100), Classes(), True),
        (0.55, np.ones(100), Classes(), False),  # within two standard errors of .05
        (0.55, np.ones(10_000), Classes(), True),
        (0.65, np.ones(100), Times(), True),  # a concordance, and events
        (0.65, -np.ones(100), Times(), False),  # censored rows tell nothing
        (0.65, np.ones(100), Response(), False),  # its score says what its loss says
    ],
)
def test_a_constant_is_beaten_by_two_standard_errors_only(score, target, kind, expected):
    def scored(value):
        return Candidate(0.1, 0.0, 1.0, value, 1.0, 1.0)

    assert beats_constant(scored(score), scored(0.5), target, kind) == expected


def test_the_loss_of_a_row_of_the_path_has_the_standard_error_of_its_mean():
    target = RNG.normal(size=12)
    said = [Counted(np.full((size, 1), 0.25), np.zeros(size, int)) for size in (5, 7)]
    rows = make_rows(target)
    splits = [
        Split(np.arange(12), np.ones(12), take_rows(rows, part)) for part in (np.arange(5), np.arange(5, 12))
    ]
    candidate = judge(0.1, 0.0, said, splits, Response())
    losses = [(one - 0.25) ** 2 for one in target]
    mean = sum(losses) / 12
    assert candidate.validation_loss == pytest.approx(mean)
    assert candidate.loss_error == pytest.approx((sum((loss - mean) ** 2 for loss in losses) / 12 / 12) ** 0.5)

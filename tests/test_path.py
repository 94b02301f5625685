import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss, r2_score

from lspin.path import (
    Candidate,
    Split,
    Tried,
    constant_outputs,
    held_out_score,
    highest_price,
    is_right_more_often,
    next_prices,
    split_rows,
    weighted_median,
)
from lspin.tables import Rows, Table

RNG = np.random.default_rng(0)


def make_rows(target, weight=None):
    target = np.asarray(target)
    weight = np.ones(len(target)) if weight is None else np.asarray(weight, float)
    return Rows(Table(np.arange(len(target), dtype=float)[:, None], None), target, weight, np.arange(len(target)))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=12))
def test_weighted_median_is_the_median_of_repeated_values(pairs):
    values, weights = (np.array(part) for part in zip(*pairs, strict=True))
    assert weighted_median(values, weights.astype(float)) == np.median(np.repeat(values, weights))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_null_loss_is_the_log_loss_of_the_class_frequencies(n_classes):
    codes, weight = RNG.integers(n_classes, size=40), RNG.uniform(1, 3, 40)
    shares = np.bincount(codes, weights=weight) / weight.sum()
    expected = log_loss(codes, np.tile(shares, (40, 1)), sample_weight=weight, labels=range(n_classes))
    assert highest_price(make_rows(codes, weight), "cross_entropy") == pytest.approx(expected)
    outputs = constant_outputs(make_rows(codes, weight), "cross_entropy", 1 if n_classes == 2 else 3)
    assert len(outputs) == (1 if n_classes == 2 else 3)


def test_null_loss_of_a_response_is_its_weighted_variance():
    y, weight = RNG.normal(size=40), RNG.uniform(1, 3, 40)
    expected = np.cov(y, aweights=weight, ddof=0)
    assert highest_price(make_rows(y, weight), "squared_error") == pytest.approx(float(expected))


def test_held_out_scores_equal_scikit_learns():
    weight = RNG.uniform(1, 3, 30)
    scores, codes = RNG.normal(size=(30, 3)), RNG.integers(3, size=30)
    accuracy = accuracy_score(codes, scores.argmax(axis=1), sample_weight=weight)
    split = Split(np.arange(0), make_rows(codes, weight))
    assert held_out_score([scores], [split], "cross_entropy") == pytest.approx(accuracy)
    y, outputs = RNG.normal(size=30), RNG.normal(size=(30, 1))
    expected = r2_score(y, outputs[:, 0], sample_weight=weight)
    halves = [Split(np.arange(0), make_rows(y[part], weight[part])) for part in (slice(12), slice(12, 30))]
    parts = [outputs[:12], outputs[12:]]
    assert held_out_score(parts, halves, "squared_error") == pytest.approx(expected)


def test_a_small_table_is_held_out_row_by_row_exactly_once():
    splits = split_rows(make_rows(RNG.integers(2, size=50)), "cross_entropy", 0.2, RNG)
    held_out = np.concatenate([split.valid.source for split in splits])
    assert sorted(held_out) == list(range(50))
    for split in splits:
        assert not set(split.train) & set(split.valid.source)


def test_a_large_table_is_split_once_and_classes_keep_their_shares():
    codes = np.repeat([0, 1, 2], [600, 300, 100])
    (split,) = split_rows(make_rows(codes), "cross_entropy", 0.2, RNG)
    np.testing.assert_array_equal(np.bincount(split.valid.target), [120, 60, 20])
    assert sorted([*split.train, *split.valid.source]) == list(range(1000))


def test_a_class_of_one_row_is_never_held_out():
    codes = np.array([0] * 20 + [1] * 20 + [2])
    for split in split_rows(make_rows(codes), "cross_entropy", 0.2, RNG):
        assert 2 in codes[split.train]


def test_nothing_is_held_out_where_every_class_has_one_row():
    assert split_rows(make_rows([0, 1]), "cross_entropy", 0.2, RNG) == []


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
    ("score", "n_judged", "loss", "expected"),
    [
        (0.65, 100, "cross_entropy", True),
        (0.55, 100, "cross_entropy", False),  # within two standard errors of .05
        (0.55, 10_000, "cross_entropy", True),
        (0.65, 100, "cox_efron", True),  # a concordance, and events
        (0.65, 100, "squared_error", False),  # its score says what its loss says
    ],
)
def test_a_constant_is_beaten_by_two_standard_errors_only(score, n_judged, loss, expected):
    def scored(value):
        return Tried(Candidate(0.1, 0.0, 1.0, value, 1.0, 1.0), [], 1.0)

    assert is_right_more_often(scored(score), scored(0.5), n_judged, loss) == expected

"""Concordance, area, Brier score and calibration against slow loops, and laws by drawn inputs."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import brier_score_loss, roc_auc_score

from lspin.survival import (
    brier_score,
    calibration_at,
    dynamic_auc,
    harrell_concordance,
    integrated_brier_score,
    kaplan_meier,
    uno_concordance,
)

N = 15
times = arrays(np.float64, N, elements=st.sampled_from([1.0, 2.0, 2.5, 4.0, 7.0]))
events = arrays(bool, N)
risks = arrays(np.float64, N, elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0]))
repeats = arrays(np.int64, N, elements=st.integers(0, 3))


def pairs_by_hand(time, event, risk, case_weight, weight):
    """Concordant, discordant and tied weight by a double loop."""
    sums = np.zeros(3)
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                kind = 0 if risk[i] > risk[j] else 1 if risk[i] < risk[j] else 2
                sums[kind] += case_weight[i] * weight[j]
    return sums


def draw_cohort(n=300, seed=0, *, rounded=False):
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=n)
    time, censoring = rng.exponential(np.exp(-risk)), rng.exponential(2, n)
    seen = np.minimum(time, censoring)
    return (np.ceil(seen * 4) if rounded else seen, time <= censoring), risk


def comparable(time, event, weight=None):
    case = event if weight is None else event & (weight > 0)
    longest = time if weight is None else time[weight > 0]
    return case.any() and time[case].min() < longest.max()


@given(time=times, event=events, risk=risks, weight=repeats)
def test_harrell_is_that_of_a_double_loop(time, event, risk, weight):
    assume(comparable(time, event, weight))
    result = harrell_concordance((time, event), risk=risk, weight=weight)
    concordant, discordant, tied = pairs_by_hand(time, event, risk, weight, weight)
    assert result[1:] == (concordant, discordant, tied)
    assert result.c_index == pytest.approx((concordant + tied / 2) / (concordant + discordant + tied))


@given(time=times, event=events, risk=risks, weight=repeats)
def test_a_weight_is_a_repeat_to_harrell(time, event, risk, weight):
    assume(comparable(time, event, weight))
    rows = np.repeat(np.arange(N), weight)
    repeated = harrell_concordance((time[rows], event[rows]), risk=risk[rows])
    assert harrell_concordance((time, event), risk=risk, weight=weight) == repeated


@given(time=times, event=events, risk=risks)
def test_concordance_sees_the_order_of_risks_only_and_turns_with_their_sign(time, event, risk):
    assume(comparable(time, event))
    y = (time, event)
    plain = harrell_concordance(y, risk=risk)
    assert harrell_concordance(y, risk=np.exp(3 * risk) - 7) == plain
    assert harrell_concordance(y, risk=-risk).c_index == pytest.approx(1 - plain.c_index)
    until = time.max()
    assume((event & (time < until)).any())
    uno = uno_concordance(y, risk=risk, until=until).c_index
    assert uno_concordance(y, risk=-risk, until=until).c_index == pytest.approx(1 - uno)


def test_risk_that_is_minus_the_time_is_perfect():
    (time, event), _ = draw_cohort()
    assert harrell_concordance((time, event), risk=-time).c_index == 1
    assert harrell_concordance((time, event), risk=np.zeros(len(time))).c_index == 0.5


def test_without_censoring_uno_is_harrell():
    (time, _), risk = draw_cohort(rounded=True)
    y = (time, np.ones(len(time), bool))
    assert uno_concordance(y, risk=risk) == pytest.approx(harrell_concordance(y, risk=risk))


def test_half_a_million_samples_are_compared_exactly():
    rng = np.random.default_rng(0)
    n = 500_000
    order = rng.permutation(n)
    # Of a perfect order, one adjacent pair is swapped.
    risk = -order.astype(float)
    first, second = np.flatnonzero(order == 100)[0], np.flatnonzero(order == 101)[0]
    risk[[first, second]] = risk[[second, first]]
    result = harrell_concordance((order + 1.0, np.ones(n, bool)), risk=risk)
    assert result[1:] == (n * (n - 1) / 2 - 1, 1.0, 0.0)


def test_without_comparable_pairs_there_is_no_concordance():
    with pytest.raises(ValueError, match="none of the pairs of 3 samples"):
        harrell_concordance(([2, 2, 2], [1, 1, 1]), risk=[1, 2, 3])


def test_without_censoring_the_area_is_that_of_a_classifier():
    (time, _), risk = draw_cohort(rounded=True)
    y = (time, np.ones(len(time), bool))
    at = [1.0, 3.0, 6.0]
    expected = [roc_auc_score(time <= t, risk) for t in at]
    result = dynamic_auc(y, risk=risk, times=at)
    np.testing.assert_allclose(result.auc, expected)
    shares = np.diff([0.0, *(np.mean(time <= t) for t in at)])
    assert result.mean == pytest.approx(np.average(expected, weights=shares))


def test_a_risk_that_changes_is_judged_column_by_column():
    y, risk = draw_cohort()
    columns = np.column_stack([risk, -risk])
    both = dynamic_auc(y, risk=columns, times=[0.5, 1.0])
    plain = dynamic_auc(y, risk=risk, times=[0.5, 1.0])
    np.testing.assert_allclose(both.auc, [plain.auc[0], 1 - plain.auc[1]])


def test_without_censoring_the_brier_score_is_that_of_a_classifier():
    (time, _), _ = draw_cohort(rounded=True)
    y, at = (time, np.ones(len(time), bool)), [1.0, 3.0, 6.0]
    survival = np.random.default_rng(0).random((len(time), 3))
    expected = [brier_score_loss(time > t, survival[:, place]) for place, t in enumerate(at)]
    np.testing.assert_allclose(brier_score(y, survival=survival, times=at), expected)
    integral = np.trapezoid(expected, at) / 5
    assert integrated_brier_score(y, survival=survival, times=at) == pytest.approx(integral)


def test_censoring_does_not_bias_the_brier_score():
    # A good forecast of an exponential time: the score is that of the uncensored cohort.
    rng = np.random.default_rng(0)
    n = 100_000
    time, censoring = rng.exponential(1, n), rng.exponential(2, n)
    survival = np.clip(0.5 + 0.3 * np.sign(time - 1 + rng.normal(size=n)), 0, 1)[:, None]
    full = brier_score((time, np.ones(n, bool)), survival=survival, times=[0.8])
    seen = brier_score((np.minimum(time, censoring), time <= censoring), survival=survival, times=[0.8])
    np.testing.assert_allclose(seen, full, atol=0.004)


def test_true_probabilities_are_calibrated_and_reversed_ones_are_not():
    y, risk = draw_cohort(20_000)
    truth = np.exp(-np.exp(risk))  # of an exponential time of rate exp(risk), at time 1
    result = calibration_at(y, survival=truth, at=1.0)
    assert result.size.tolist() == [2000] * 10
    np.testing.assert_allclose(result.observed, result.predicted, atol=0.04)
    assert np.mean((result.lower <= result.predicted) & (result.predicted <= result.upper)) >= 0.8
    assert np.abs(calibration_at(y, survival=1 - truth, at=1.0).observed - result.predicted).max() > 0.5


def test_one_group_observes_what_kaplan_meier_does():
    y, _ = draw_cohort()
    result = calibration_at(y, survival=np.full(300, 0.7), at=0.5)
    expected = [part(0.5) for part in kaplan_meier(y)]
    np.testing.assert_allclose([result.observed[0], result.lower[0], result.upper[0]], expected)
    assert (len(result.size), result.predicted[0]) == (1, pytest.approx(0.7))


def test_a_group_that_nobody_followed_so_long_is_not_a_number():
    y = ([1, 2, 9, 9], [1, 0, 0, 0])
    result = calibration_at(y, survival=[0.1, 0.1, 0.9, 0.9], at=5, n_groups=2)
    np.testing.assert_array_equal(result.observed, [np.nan, 1])


Y, RISK = draw_cohort()
LAST = Y[0].max()


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (lambda: harrell_concordance(Y, risk=RISK[:-1]), r"risk must have the shape \(300,\).*\(299,\)"),
        (lambda: harrell_concordance(Y, risk=np.append(RISK[1:], np.nan)), r"not finite \(row 299\)"),
        (lambda: dynamic_auc(Y, risk=RISK, times=[2, 1]), "rising"),
        (lambda: dynamic_auc(Y, risk=RISK, times=[LAST]), "the last time of y"),
        (lambda: dynamic_auc(Y, risk=RISK, times=[Y[0].min() / 2]), "nobody had the event by time"),
        (lambda: brier_score(Y, survival=np.full((300, 1), 1.2), times=[1]), "ranges from 1.2 to 1.2"),
        (lambda: brier_score(Y, survival=np.ones((300, 2)), times=[1]), r"\(300, 1\).*\(300, 2\)"),
        (lambda: integrated_brier_score(Y, survival=np.ones((300, 1)), times=[1]), "at least two times"),
        (
            lambda: uno_concordance(([1, 5, 7], [1, 1, 0]), risk=[1, 2, 3], train=([1, 2], [1, 1])),
            "beyond the last",
        ),
        (
            lambda: uno_concordance(([1, 2, 7], [1, 1, 0]), risk=[1, 2, 3], train=([1, 2], [1, 0])),
            "censored by time 2",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused_with_its_numbers(judge, message):
    with pytest.raises(ValueError, match=message):
        judge()

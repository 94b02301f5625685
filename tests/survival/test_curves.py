"""Curves against hand-computed cases, a loop over times, and laws by drawn inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lspin.survival import (
    StepFunction,
    breslow_hazard,
    cumulative_hazard,
    kaplan_meier,
    median_survival,
    number_at_risk,
    survival_probability,
)
from lspin.survival.curves import censoring_curve

N = 12
times = arrays(np.float64, N, elements=st.sampled_from([1.0, 2.0, 2.5, 7.0]))
events = arrays(bool, N)
repeats = arrays(np.int64, N, elements=st.integers(0, 3)).filter(np.any)
log_hazards = arrays(np.float64, N, elements=st.floats(-60, 60))


def test_kaplan_meier_of_six_samples_by_hand():
    curve = kaplan_meier(([1, 2, 2, 3, 4, 5], [1, 1, 0, 0, 1, 0])).survival
    assert curve.x.tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(curve.y, np.cumprod([5 / 6, 4 / 5, 1, 1 / 2, 1]))


def test_censoring_comes_after_events_of_the_same_time():
    # At time 2 one has the event and one is censored: two of the five are gone before the censoring is counted.
    curve = censoring_curve(([1, 2, 2, 3, 4], [1, 1, 0, 0, 1]))
    np.testing.assert_allclose(curve.y, np.cumprod([1, 1 - 1 / 3, 1 - 1 / 2, 1]))


def test_breslow_hazard_of_four_samples_by_hand():
    y, hazards = ([1, 2, 2, 3], [1, 1, 1, 0]), np.array([2.0, 1.0, 3.0, 5.0])
    curve = breslow_hazard(y, log_hazard=np.log(hazards))
    np.testing.assert_allclose(curve.y, np.cumsum([1 / 11, 2 / 9, 0]))


@given(time=times, event=events, weight=repeats)
def test_a_weight_is_a_repeat_to_kaplan_meier_and_breslow(time, event, weight):
    rows = np.repeat(np.arange(N), weight)
    log_hazard = np.linspace(-1, 1, N)
    weighted = kaplan_meier((time, event), weight=weight)
    repeated = kaplan_meier((time[rows], event[rows]))
    at = repeated.survival.x
    for ours, theirs in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(ours(at), theirs(at))
    hazard = breslow_hazard((time, event), log_hazard=log_hazard, weight=weight)
    expected = breslow_hazard((time[rows], event[rows]), log_hazard=log_hazard[rows])
    np.testing.assert_allclose(hazard(at), expected(at))


@given(time=times, event=events, log_hazard=log_hazards)
def test_survival_starts_at_1_never_rises_and_stays_in_bounds(time, event, log_hazard):
    hazard = breslow_hazard((time, event), log_hazard=log_hazard)
    at = np.append(np.linspace(0, time.max(), 30), time.max())
    survival = survival_probability(hazard, log_hazard=log_hazard, times=at)
    assert survival.shape == (N, len(at))
    for curves in (
        survival,
        survival_probability(hazard, log_hazard=log_hazard),
        kaplan_meier((time, event))[0].y,
    ):
        assert ((curves >= 0) & (curves <= 1)).all()
        assert (np.diff(curves) <= 0).all()
    first = time[event].min(initial=np.inf)
    assert (survival[:, at < first] == 1).all()


@given(time=times, event=events)
def test_the_interval_holds_the_curve(time, event):
    curve, lower, upper = (part.y for part in kaplan_meier((time, event)))
    known = curve > 0
    assert np.isnan(lower[~known]).all()
    assert ((lower >= 0) & (lower <= curve) & (curve <= upper) & (upper <= 1))[known].all()


def test_huge_log_hazards_give_no_missing_numbers():
    y = ([1, 2, 3, 4], [0, 1, 1, 0])
    log_hazard = np.array([700.0, -700.0, 0.0, 500.0])
    survival = survival_probability(breslow_hazard(y, log_hazard=log_hazard), log_hazard=log_hazard)
    assert ((survival >= 0) & (survival <= 1)).all()


@pytest.mark.parametrize("size", [1.0, 50.0, 700.0, 1e6, 1e308])
def test_cumulative_hazards_of_enormous_risks_are_finite_and_rise(size):
    y = (np.array([1.0, 2, 3, 4, 5]), np.array([False, True, True, False, True]))
    risk = size * np.array([1.0, -1.0, 0.0, 0.5, -0.5])
    baseline = breslow_hazard(y, log_hazard=risk)
    hazards = cumulative_hazard(baseline, log_hazard=risk)
    assert np.isfinite(hazards).all()
    assert (np.diff(hazards, axis=1) >= 0).all()
    assert (hazards[:, 0] == 0).all()  # before the first event, whatever the risk
    if size <= 50:
        np.testing.assert_allclose(hazards, np.exp(risk)[:, None] * baseline.y)
    np.testing.assert_allclose(survival_probability(baseline, log_hazard=risk), np.exp(-hazards))


def test_a_step_function_holds_its_value_from_each_step_on():
    curve = StepFunction([1, 2, 4], [0.9, 0.5, 0.2], before=1.0)
    assert curve([0, 0.99, 1, 1.5, 2, 4]).tolist() == [1, 1, 0.9, 0.9, 0.5, 0.2]
    assert curve(3) == 0.5
    assert isinstance(curve(3), float)
    assert curve.domain == (0, 4)
    assert repr(curve) == "StepFunction(3 steps from 1 to 4)"


@pytest.mark.parametrize("outside", [-0.1, 4.1, np.nan])
def test_a_step_function_is_silent_on_what_lies_outside(outside):
    with pytest.raises(ValueError, match=f"known from 0 to 4, and 1 of 2 times lie outside, such as {outside:g}"):
        StepFunction([1, 4], [0.9, 0.5], before=1.0)([2, outside])


@pytest.mark.parametrize(("weight", "message"), [([1, -1], "-1 to 1"), ([0, 0], "all 0"), ([1], r"\(2,\)")])
def test_wrong_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        kaplan_meier(([1, 2], [1, 0]), weight=weight)


def test_the_median_is_where_the_curve_and_its_band_reach_one_half():
    y = ([1, 2, 2, 3, 4, 5, 6, 7], [1, 1, 1, 1, 0, 1, 1, 0])
    curve = kaplan_meier(y)
    expected = [
        min((t for t, s in zip(part.x, part.y, strict=True) if s <= 0.5), default=np.inf) for part in curve
    ]
    assert median_survival(y) == tuple(expected)
    assert median_survival(y).median == 3
    assert median_survival(y).upper == np.inf


def test_the_number_at_risk_is_a_count_of_those_still_followed():
    time, event = np.array([0, 1, 2, 2, 5]), np.array([1, 0, 1, 1, 0])
    at = [0, 0.5, 2, 2.1, 5, 6]
    assert number_at_risk((time, event), at).tolist() == [int((time >= t).sum()) for t in at]

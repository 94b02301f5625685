"""Schoenfeld residuals against a loop over events; the test of their trend against lifelines and known truth."""

import numpy as np
import pandas as pd
import pytest

from lspin.survival import check_proportionality, schoenfeld_residuals
from small_cohorts import draw_cohort

WHY = "compares with another library: pip install 'lspin[survival-tests]'"
SCALES = ["rank", "km", "log", "identity"]


def residuals_by_hand(X, time, event, log_hazard):
    """One event after the other; tied events share the mean of Efron's means."""
    rows = []
    for at in np.unique(time[event]):
        tied = np.flatnonzero(event & (time == at))
        means = []
        for gone in range(len(tied)):
            weight = np.exp(log_hazard) * (time >= at)
            weight[tied] *= 1 - gone / len(tied)
            means.append(weight @ X / weight.sum())
        rows += [X[row] - np.mean(means, axis=0) for row in tied]
    return np.array(rows)


@pytest.mark.parametrize("n_times", [None, 40, 6])
def test_residuals_match_a_loop_over_events(n_times):
    X, time, event = draw_cohort(n_times)
    log_hazard = X @ [0.5, 0.1, -0.2]
    found = schoenfeld_residuals((time, event), X, log_hazard=log_hazard)
    np.testing.assert_allclose(found, residuals_by_hand(X, time, event, log_hazard), atol=1e-12)


def test_the_numbers_of_lifelines_are_reached_without_it():
    """Computed by lifelines 0.30.3: its coefficients, and its test on the scale "km"."""
    X, time, event = draw_cohort(40)
    log_hazard = X @ [0.9256521409569834, -0.558040474660993, 0.293762212599691]
    found = check_proportionality((time, event), X, log_hazard=log_hazard, time_scale="km")
    np.testing.assert_allclose(
        found.statistic, [0.052260413458224846, 2.2951126047812704, 0.01555571560232307], rtol=1e-6
    )


# lifelines gives tied times different ranks, in the order of the rows.
@pytest.mark.parametrize(
    ("n_times", "scale"), [(n, scale) for n in (None, 40, 6) for scale in SCALES if n is None or scale != "rank"]
)
def test_the_test_is_that_of_lifelines(n_times, scale):
    lifelines = pytest.importorskip("lifelines", reason=WHY)
    X, time, event = draw_cohort(n_times)
    table = pd.DataFrame(X, columns=list("abc")).assign(time=time, event=event)
    model = lifelines.CoxPHFitter().fit(table, "time", "event")
    theirs = lifelines.statistics.proportional_hazard_test(model, table, time_transform=scale)
    ours = check_proportionality((time, event), X, log_hazard=X @ model.params_.to_numpy(), time_scale=scale)
    np.testing.assert_allclose(ours.statistic, theirs.test_statistic, rtol=1e-6)
    np.testing.assert_allclose(ours.p_value, theirs.p_value, rtol=1e-5)


def test_proportional_hazards_are_doubted_as_seldom_as_the_level_says():
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(200):
        x = rng.normal(size=(120, 1))
        time, censoring = rng.exponential(np.exp(-x[:, 0])), rng.exponential(2.0, 120)
        y = (np.minimum(time, censoring), time <= censoring)
        p_values.append(check_proportionality(y, x, log_hazard=x[:, 0]).p_value[0])
    assert 0.01 < np.mean(np.array(p_values) < 0.05) < 0.10


def test_an_effect_that_fades_is_found():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 400).astype(float)
    early, late = rng.exponential(np.where(x > 0, 0.5, 2.0)), rng.exponential(2.0, 400)
    time = np.where(early < 1, early, 1 + late)  # after time 1 both groups have the same hazard
    found = check_proportionality((time, np.ones(400, bool)), x[:, None], log_hazard=1.0 * x)
    assert found.p_value[0] < 0.001
    assert found.trend[0] < 0


def test_a_constant_column_has_no_test():
    X, time, event = draw_cohort(40)
    X = np.column_stack([X[:, :1], np.ones(len(X))])
    found = check_proportionality((time, event), X, log_hazard=X[:, 0])
    alone = check_proportionality((time, event), X[:, :1], log_hazard=X[:, 0])
    assert np.isnan(found.statistic[1])
    assert found.statistic[0] == pytest.approx(alone.statistic[0])


@pytest.mark.parametrize(
    ("y", "scale", "message"),
    [
        (([1, 2], [1, 0]), "rank", "at least two events, and there are 1"),
        (([1, 1], [1, 1]), "rank", "all 2 events are at one time"),
        (([0, 2], [1, 1]), "log", "event at time 0"),
        (([1, 2], [1, 1]), "days", "one of rank, km, log, identity, got 'days'"),
    ],
)
def test_what_cannot_be_tested_is_said(y, scale, message):
    with pytest.raises(ValueError, match=message):
        check_proportionality(y, np.array([[0.0], [1.0]]), log_hazard=np.zeros(2), time_scale=scale)

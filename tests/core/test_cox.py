"""The Cox likelihood against a double loop over risk sets, in NumPy and in JAX; laws by drawn inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lspin.core.cox import cox_loss, cox_terms, cumulative_log_sum, find_risk_sets
from lspin.core.losses import CoxLoss

RNG = np.random.default_rng(0)
N = 30
TIES = ["efron", "breslow"]

compiled_sets = jax.jit(find_risk_sets, static_argnames="ties")
compiled_loss = jax.jit(jax.value_and_grad(cox_loss))


def loss_and_slopes(log_hazard, sets):
    """Loss and gradient in single precision by JAX."""
    return compiled_loss(jnp.asarray(log_hazard, jnp.float32), jax.tree.map(jnp.asarray, sets))


def slopes_by_differences(log_hazard, sets):
    steps = 1e-5 * np.eye(len(log_hazard))
    return [(cox_loss(log_hazard + s, sets) - cox_loss(log_hazard - s, sets)) / 2e-5 for s in steps]


def latest_first(time, *others):
    order = np.argsort(-time, kind="stable")
    return tuple(values[order] for values in (time, *others))


def draw_rows(n=N, n_times=8, seed=0):
    rng = np.random.default_rng(seed)
    time = rng.integers(1, n_times + 1, n).astype(float)
    return latest_first(time, rng.random(n) < 0.6, rng.uniform(0.5, 2.0, n), rng.normal(size=n))


def likelihood_by_hand(log_hazard, time, event, weight, ties):
    """Negative log partial likelihood, with the weights of R's survival::coxph."""
    total = 0.0
    for at in np.unique(time[event & (weight > 0)]):
        dead = event & (time == at) & (weight > 0)
        hazards = weight * np.exp(log_hazard)
        d, mean_weight = dead.sum(), weight[dead].mean()
        for number in range(d):
            gone = number / d if ties == "efron" else 0.0
            total += mean_weight * np.log(hazards[time >= at].sum() - gone * hazards[dead].sum())
        total -= (weight * log_hazard)[dead].sum()
    return total


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("n_times", [1, 8, 10_000])
def test_likelihood_is_that_of_a_double_loop_over_risk_sets(ties, n_times):
    time, event, weight, log_hazard = draw_rows(n_times=n_times)
    terms = cox_terms(log_hazard, find_risk_sets(time, event, weight, ties=ties))
    assert terms.sum() == pytest.approx(likelihood_by_hand(log_hazard, time, event, weight, ties))
    assert (terms[~event] == 0).all()


def test_efron_of_three_tied_events_by_hand():
    # log(6 · (6 - 2) · (6 - 4)) - log(1 · 2 · 3), all three being at risk and dying at once.
    sets = find_risk_sets(np.ones(3), np.ones(3), np.ones(3))
    assert cox_loss(np.log([1.0, 2.0, 3.0]), sets) == pytest.approx(np.log(48 / 6) / 3)


@pytest.mark.parametrize("ties", TIES)
def test_jax_and_numpy_agree(ties):
    time, event, weight, log_hazard = draw_rows()
    sets = find_risk_sets(time, event, weight, ties=ties)
    traced = compiled_sets(time, event, weight, ties=ties)
    for ours, theirs in zip(sets, traced, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert float(loss_and_slopes(log_hazard, traced)[0]) == pytest.approx(cox_loss(log_hazard, sets), rel=1e-5)


@pytest.mark.parametrize("ties", TIES)
def test_gradient_is_the_slope_of_the_loss(ties):
    time, event, weight, log_hazard = draw_rows()
    sets = find_risk_sets(time, event, weight, ties=ties)
    _, gradient = loss_and_slopes(log_hazard, sets)
    np.testing.assert_allclose(gradient, slopes_by_differences(log_hazard, sets), atol=1e-6)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("size", [50.0, 300.0])
def test_huge_log_hazards_overflow_nowhere(ties, size):
    time, event, weight, _ = draw_rows()
    log_hazard = size * RNG.choice([-1.0, 0.0, 1.0], N)
    sets = find_risk_sets(time, event, weight, ties=ties)
    expected = likelihood_by_hand(log_hazard, time, event, weight, ties) / weight[event].sum()
    loss, gradient = loss_and_slopes(log_hazard, sets)
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert cox_loss(log_hazard, sets) == pytest.approx(expected)
    assert np.isfinite(gradient).all()


@given(repeats=arrays(np.int64, N, elements=st.integers(0, 3)).filter(np.any))
@settings(deadline=None)
def test_a_weight_is_a_repeat_under_breslow(repeats):
    time, event, _, log_hazard = draw_rows()
    weighted = cox_terms(log_hazard, find_risk_sets(time, event, repeats.astype(float), ties="breslow")).sum()
    rows = np.repeat(np.arange(N), repeats)
    sets = find_risk_sets(time[rows], event[rows], np.ones(len(rows)), ties="breslow")
    assert weighted == pytest.approx(cox_terms(log_hazard[rows], sets).sum(), abs=1e-9)


@pytest.mark.parametrize("ties", TIES)
def test_scaling_all_weights_adds_a_constant(ties):
    time, event, weight, log_hazard = draw_rows()
    losses = [cox_loss(log_hazard, find_risk_sets(time, event, c * weight, ties=ties)) for c in (1.0, 7.0)]
    assert losses[1] - losses[0] == pytest.approx(np.log(7.0))


@pytest.mark.parametrize("ties", TIES)
def test_rows_of_weight_0_have_no_influence(ties):
    time, event, weight, log_hazard = draw_rows()
    weight = np.where(RNG.random(N) < 0.3, 0.0, weight)
    weight[:2] = 0  # nobody is at risk yet
    kept = weight > 0
    loss, gradient = loss_and_slopes(log_hazard, find_risk_sets(time, event, weight, ties=ties))
    fewer = find_risk_sets(time[kept], event[kept], weight[kept], ties=ties)
    assert float(loss) == pytest.approx(cox_loss(log_hazard[kept], fewer), rel=1e-6)
    np.testing.assert_allclose(gradient[kept], slopes_by_differences(log_hazard[kept], fewer), atol=1e-6)
    assert (gradient[~kept] == 0).all()


@pytest.mark.parametrize("padding_time", [0.0, 1.0])
@pytest.mark.parametrize("ties", TIES)
def test_padding_has_no_influence(ties, padding_time):
    time, event, weight, log_hazard = draw_rows()
    pad = (0, 7)
    padded = find_risk_sets(
        np.pad(time, pad, constant_values=padding_time),
        np.pad(event, pad, constant_values=True),
        np.pad(weight, pad),
        ties=ties,
    )
    loss = cox_loss(np.pad(log_hazard, pad, constant_values=80.0), padded)
    assert loss == pytest.approx(cox_loss(log_hazard, find_risk_sets(time, event, weight, ties=ties)))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_batch_without_events_costs_nothing(ties, weight):
    sets = compiled_sets(np.ones(N), np.zeros(N), np.full(N, weight), ties=ties)
    loss, gradient = loss_and_slopes(np.linspace(-50, 50, N), sets)
    assert loss == 0
    assert (gradient == 0).all()


def test_gradients_of_minibatches_point_where_the_exact_one_does():
    rng = np.random.default_rng(0)
    n = 2000
    X = rng.normal(size=(n, 3))
    time, censoring = rng.exponential(np.exp(-X @ [1.0, -0.5, 0.2])), rng.exponential(1, n)
    time, event, X = latest_first(np.minimum(time, censoring), time <= censoring, X)

    def slope(rows):
        # At log-hazards of 0 and without ties, an event's slope is the mean of those at risk minus its own row.
        at_risk = np.cumsum(X[rows], axis=0) / np.arange(1, len(rows) + 1)[:, None]
        return event[rows] @ (at_risk - X[rows]) / event[rows].sum()

    exact = slope(np.arange(n))
    batches = [np.sort(rng.choice(n, N, replace=False)) for _ in range(500)]
    sets = find_risk_sets(time[batches[0]], event[batches[0]], np.ones(N))
    _, gradient = loss_and_slopes(np.zeros(N), sets)
    np.testing.assert_allclose(X[batches[0]].T @ np.asarray(gradient), slope(batches[0]), atol=1e-5)
    mean = np.mean([slope(rows) for rows in batches], axis=0)
    assert mean @ exact / np.linalg.norm(mean) / np.linalg.norm(exact) > 0.995
    assert 0.85 < np.linalg.norm(mean) / np.linalg.norm(exact) < 1


@given(shift=st.floats(-100, 100), ties=st.sampled_from(TIES))
@settings(deadline=None)
def test_a_constant_added_to_all_log_hazards_changes_nothing(shift, ties):
    time, event, weight, log_hazard = draw_rows()
    sets = find_risk_sets(time, event, weight, ties=ties)
    assert cox_loss(log_hazard + shift, sets) == pytest.approx(cox_loss(log_hazard, sets))


@pytest.mark.parametrize("n", [1, 2, 9, 10, 1000])
def test_cumulative_log_sum_is_that_of_running_sums(n):
    values = RNG.normal(size=n) * 3
    expected = np.log(np.cumsum(np.exp(values)))
    np.testing.assert_allclose(cumulative_log_sum(values), expected)
    np.testing.assert_allclose(cumulative_log_sum(jnp.asarray(values)), expected, atol=1e-4)


@pytest.mark.parametrize("ties", TIES)
def test_single_precision_holds_for_half_a_million_rows(ties):
    time, event, weight, log_hazard = draw_rows(500_000, n_times=300)
    sets = find_risk_sets(time, event, weight, ties=ties)
    rows = jnp.asarray(log_hazard, jnp.float32), jax.tree.map(jnp.asarray, sets)
    compiled = compiled_loss.lower(*rows).compile()
    loss, gradient = jax.block_until_ready(compiled(*rows))
    assert float(loss) == pytest.approx(cox_loss(log_hazard, sets), rel=1e-5)
    # A constant added to all log-hazards changes nothing, so the slopes add up to nothing.
    assert abs(float(gradient.sum())) < 1e-4 * float(jnp.abs(gradient).sum())


def test_unknown_ties_are_refused():
    with pytest.raises(ValueError, match="'exact'"):
        find_risk_sets(np.ones(2), np.ones(2), np.ones(2), ties="exact")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_matches_finite_differences(weighted):
    rng = np.random.default_rng(3)
    n = 30
    signed = rng.integers(1, 12, n) * rng.choice([-1.0, 1.0], n)  # with ties
    outputs = rng.normal(size=(n, 1))
    shares = rng.random(n) if weighted else np.ones(n)
    shares /= shares.sum()
    loss = CoxLoss("breslow")
    value, slopes = loss.with_slope(outputs, signed, shares)
    assert value == pytest.approx(float(loss.average(outputs, signed, shares)))
    for row in range(n):
        step = np.zeros((n, 1))
        step[row] = 1e-6
        change = loss.average(outputs + step, signed, shares) - loss.average(outputs - step, signed, shares)
        assert slopes[row, 0] == pytest.approx(float(change) / 2e-6, abs=1e-8)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_the_mean_of_what_rows_add_is_the_loss(ties):
    rng = np.random.default_rng(4)
    n = 30
    signed, outputs = rng.integers(1, 12, n) * rng.choice([-1.0, 1.0], n), rng.normal(size=(n, 1))
    loss = CoxLoss(ties)
    terms = loss.by_row(outputs, signed)
    assert terms.mean() == pytest.approx(float(loss.average(outputs, signed, np.full(n, 1 / n))))
    assert not terms[signed < 0].any()

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

from lspin.core.losses import SQUARED_ERROR
from lspin.core.model import (
    Architecture,
    Moment,
    Networks,
    Start,
    Strengths,
    Tuning,
    draw_partners,
    exchange_gates,
    fill_shut,
    gate_means,
    hide_inputs,
    init_networks,
    list_weights,
    objective,
    predict_outputs,
    settled_gates,
)
from lspin.core.networks import Layer
from lspin.core.rows import Batch, Dense, Entries, list_entries

RNG = np.random.default_rng(0)
N, D = 10, 4
ARCHITECTURE = Architecture(
    n_features=D, n_inputs=D, n_context=D, n_outputs=1, gating_layers=(5,), prediction_layers=(6,),
    loss=SQUARED_ERROR,
)  # fmt: skip
START = Start(gate_spread=0.4, gate_bias=0.1, own=0.0, prediction_spread=1.0)
NETWORKS = init_networks(RNG, ARCHITECTURE, START)
VALUES = RNG.normal(size=(N, D)).astype(np.float32)
QUIET = Moment(*(jnp.float32(part) for part in (0.5, 0.0, 1.0, 0.1, 0.0)))  # without noise, all penalties on
STRENGTHS = Strengths(
    sparsity=0.1, noise_scale=0.5, final_noise=1.0, learning_rate=0.0, gate_rate=1.0, weight_decay=0.0,
    gate_decay=0.0, gate_decay_until=1.0, gate_shrink=0.0, exchange=0.5,
)  # fmt: skip
TUNING = Tuning(STRENGTHS, None, None)


def make_batch(n_rows=N, shut=None, affinity=None):
    shares = (np.arange(N) < n_rows) / n_rows
    return Batch(
        values=Dense(jnp.asarray(VALUES)),
        context=Dense(jnp.asarray(VALUES)),
        shut=shut,
        target=jnp.zeros(N),
        shares=jnp.asarray(shares, jnp.float32),
        affinity=affinity,
        n_rows=jnp.int32(n_rows),
    )


def test_objective_without_noise_is_loss_plus_price_of_gates():
    from scipy.stats import norm

    total, n_open = objective(NETWORKS, make_batch(), jnp.uint32(1), QUIET, TUNING, ARCHITECTURE)
    means = gate_means(NETWORKS, Dense(VALUES), Dense(VALUES))
    gates = np.clip(0.5 + means, 0, 1)
    loss = np.mean(predict_outputs(NETWORKS, Dense(gates * VALUES)) ** 2)
    price = 0.1 * norm.cdf((means + 0.5) / 0.5).sum(axis=1).mean()
    assert float(total) == pytest.approx(loss + price, rel=1e-4)
    assert float(n_open) == pytest.approx((gates > 0).sum(axis=1).mean())


def test_padding_does_not_change_the_objective():
    arguments = (jnp.uint32(1), QUIET, TUNING, ARCHITECTURE)
    padded = make_batch(n_rows=7)
    spoiled = padded._replace(
        values=Dense(padded.inputs.at[7:].set(99.0)), context=Dense(padded.inputs.at[7:].set(-99.0))
    )
    assert objective(NETWORKS, padded, *arguments)[0] == objective(NETWORKS, spoiled, *arguments)[0]


def test_an_anchor_pulls_by_the_squared_distance_to_it():
    anchor = RNG.normal(size=NETWORKS.prediction[0].weights.shape)
    strengths = STRENGTHS._replace(anchoring=0.3)
    free, held = (
        float(objective(NETWORKS, make_batch(), jnp.uint32(1), QUIET, tuning, ARCHITECTURE)[0])
        for tuning in (Tuning(strengths, None, None), Tuning(strengths, None, anchor))
    )
    expected = 0.3 * ((NETWORKS.prediction[0].weights - anchor) ** 2).sum()
    assert held - free == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("prediction_layers", [(), (6,)])
@pytest.mark.parametrize("own", [0.0, 0.3])
def test_a_table_without_zeros_costs_the_same_as_stored_entries(prediction_layers, own):
    architecture = replace(ARCHITECTURE, prediction_layers=prediction_layers, affinity="rbf")
    networks = init_networks(np.random.default_rng(1), architecture, START._replace(own=own))
    networks = jax.tree.map(jnp.asarray, networks)  # padding is known in JAX only
    tuning = TUNING._replace(strengths=STRENGTHS._replace(stability=0.2, diversity=0.1))
    arguments = (jnp.uint32(1), QUIET, tuning, architecture)
    listed = list_entries(sp.csr_array(VALUES))
    # Two places of padding, as in a batch that is not the fullest.
    entries = Entries(*(jnp.asarray(np.pad(part, (0, 2))) for part in listed[:4]), jnp.asarray(listed.counts))
    entries = entries._replace(rows=entries.rows.at[-2:].set(N - 1))
    dense = objective(networks, make_batch(), *arguments)
    sparse = objective(networks, make_batch()._replace(values=entries, context=entries), *arguments)
    np.testing.assert_allclose(sparse, dense, rtol=1e-5)


def test_a_large_value_opens_its_own_gate_and_a_small_one_shuts_it():
    networks = init_networks(np.random.default_rng(1), ARCHITECTURE, START._replace(own=0.3))
    small, large = (np.full((1, D), size) for size in (0.0, 2.0))
    context = Dense(np.zeros((1, D)))
    assert (gate_means(networks, context, Dense(large)) > gate_means(networks, context, Dense(small))).all()


@pytest.mark.parametrize("kind", ["rbf", "matrix"])
def test_unlike_gates_of_like_rows_and_shared_gates_of_others_cost(kind):
    architecture = replace(ARCHITECTURE, affinity=kind)
    batch = make_batch(affinity=jnp.full((N, N), 0.5) if kind == "matrix" else None)

    def cost(**relations):
        tuning = TUNING._replace(strengths=STRENGTHS._replace(**relations))
        return float(objective(NETWORKS, batch, jnp.uint32(1), QUIET, tuning, architecture)[0])

    assert cost(diversity=1.0) > cost() < cost(stability=1.0)


@pytest.mark.parametrize("n_rows", [2, 7, N])
def test_a_partner_is_another_row_and_never_padding(n_rows):
    for key in range(20):
        partners = np.asarray(draw_partners(jnp.uint32(key), make_batch(n_rows)))[:n_rows]
        assert sorted(partners) == list(range(n_rows))
        assert (partners != np.arange(n_rows)).all()


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
def test_a_share_of_the_rows_sees_foreign_gates(share, expected):
    gates = jnp.arange(N, dtype=jnp.float32)[:, None] * jnp.ones((1, D))
    foreign = -1 - gates
    changed = [
        np.mean(np.asarray(exchange_gates(gates, foreign, make_batch(), jnp.uint32(key), share))[:, 0] < 0)
        for key in range(200)
    ]
    assert np.mean(changed) == pytest.approx(expected, abs=0.05)


def test_foreign_values_come_only_where_gates_are_shut():
    gates = jnp.asarray(RNG.integers(2, size=(N, D)), jnp.float32)
    filled = np.asarray(fill_shut(gates, make_batch(), jnp.uint32(4), 1.0))
    assert not filled[np.asarray(gates) == 1].any()
    assert all(value in VALUES for value in filled[np.asarray(gates) == 0])


def test_gates_of_missing_values_are_shut():
    shut = np.zeros((N, D))
    shut[3, 2] = 1
    gates = settled_gates(NETWORKS, Dense(VALUES), Dense(VALUES), shut)
    assert gates[3, 2] == 0
    np.testing.assert_array_equal(
        np.delete(gates, 3, axis=0), np.delete(settled_gates(NETWORKS, Dense(VALUES), Dense(VALUES), None), 3, 0)
    )


def test_gates_of_groups_follow_the_softmax_of_a_row():
    from scipy.special import softmax

    groups = Layer(RNG.normal(size=(D, 3)), RNG.normal(size=3))
    levels = Layer(RNG.normal(size=(3, D)), RNG.normal(size=D))
    networks = Networks((levels,), NETWORKS.prediction, groups=groups)
    members = softmax(VALUES @ groups.weights + groups.bias, axis=1)
    expected = np.clip(0.5 + np.tanh(members @ levels.weights + levels.bias), 0, 1)
    np.testing.assert_allclose(settled_gates(networks, Dense(VALUES), Dense(VALUES), None), expected, rtol=1e-6)
    # All that differs between two rows of one group is its own values: the gates are those of the group.
    sure = networks._replace(groups=Layer(1e4 * groups.weights, 1e4 * groups.bias))
    gates = settled_gates(sure, Dense(VALUES), Dense(VALUES), None)
    group = (VALUES @ groups.weights + groups.bias).argmax(axis=1)
    by_group = np.clip(0.5 + np.tanh(levels.weights + levels.bias), 0, 1)
    np.testing.assert_allclose(gates, by_group[group], rtol=1e-6)


def test_weights_of_groups_are_among_all_weights():
    groups = Layer(np.ones((D, 2)), np.zeros(2))
    assert len(list_weights(NETWORKS._replace(groups=groups))) == len(list_weights(NETWORKS)) + 2


def test_hidden_inputs_leave_the_sum_over_a_row_as_it_is_on_average():
    whole = Dense(jnp.ones((2000, D)))
    hidden = np.asarray(hide_inputs(whole, jnp.uint32(3), jnp.float32(0.2)).values)
    np.testing.assert_allclose(np.unique(hidden), [0, 1.25])
    assert np.mean(hidden == 0) == pytest.approx(0.2, abs=0.02)
    assert hidden.mean() == pytest.approx(1, abs=0.02)


def test_hidden_inputs_change_what_gates_learn_from_and_not_settled_gates():
    hiding = replace(ARCHITECTURE, hides_inputs=True)
    tuning = TUNING._replace(strengths=STRENGTHS._replace(hidden_share=0.5))
    noisy = QUIET._replace(exploring=jnp.float32(1.0), noise_scale=jnp.float32(1e-6))
    costs = [
        [
            float(objective(NETWORKS, make_batch(), jnp.uint32(1), moment, tuning, part)[0])
            for moment in (QUIET, noisy)
        ]
        for part in (ARCHITECTURE, hiding)
    ]
    assert costs[0][0] == costs[1][0]
    assert costs[0][1] != pytest.approx(costs[1][1], rel=1e-3)

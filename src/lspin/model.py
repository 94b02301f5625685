"""The two networks joined: what they are, how a row passes through them, and what training minimises."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.gates import sample_gates, settle_gates
from lspin.losses import LOSSES
from lspin.networks import Layers, apply_layers, init_layers, tanh
from lspin.noise import Array, normal, split_key, uniform
from lspin.penalties import (
    diversity_penalty,
    label_affinity,
    rbf_affinity,
    sparsity_penalty,
    stability_penalty,
)

FILL = 0.3  # rows filled with foreign values, as a part of those that see foreign gates


@dataclass(frozen=True)
class Architecture:
    """What fixes the compiled program."""

    n_features: int  # gates: one for each column of the user's table that varies
    n_inputs: int  # columns of numbers: a categorical column has one for each level
    n_context: int  # what the gating network sees: the inputs, and which values are missing
    n_outputs: int
    gating_layers: tuple[int, ...]
    prediction_layers: tuple[int, ...]
    loss: str
    affinity: str | None = None  # "rbf", "labels" or "matrix" where stability or diversity is asked for


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float  # price of an open gate, in units of the loss
    noise_scale: float  # at the start
    final_noise: float  # the noise at the end, as a part of that at the start
    learning_rate: float
    gate_rate: float  # learning rate of the gating network, as a part of the other
    weight_decay: float
    gate_decay: float
    gate_decay_until: float  # part of the run after which the gating network's weights no longer decay
    gate_shrink: float  # pull on all weights of an input of the gating network together
    exchange: float  # share of the rows that see another row's gates
    stability: float = 0.0
    diversity: float = 0.0
    bandwidth: float = 1.0  # of the RBF affinity


class Networks(NamedTuple):
    """All weights of a model."""

    gating: Layers
    prediction: Layers


class Batch(NamedTuple):
    """Rows as the networks take them, padded to a fixed number."""

    values: Array  # (n, n_inputs), standardised, 0 where missing
    context: Array  # (n, n_context)
    shut: Array | None  # (n, n_features), 1 where a value is missing
    target: Array  # (n,)
    shares: Array  # (n,), each row's share of the average, 0 for padding
    affinity: Array | None  # (n, n)
    n_rows: Array  # how many of the rows are no padding


class Moment(NamedTuple):
    """Where in its schedule a training step stands."""

    noise_scale: Array
    exploring: Array  # 1 while gates are noisy and exchanged, 0 once they are settled
    relating: Array  # 1 where stability and diversity are on, else 0


def init_networks(
    rng: np.random.Generator, architecture: Architecture, gate_spread: float, prediction_spread: float
) -> Networks:
    """Random weights for both networks."""
    a = architecture
    return Networks(
        gating=init_layers(rng, (a.n_context, *a.gating_layers, a.n_features), scale=gate_spread),
        prediction=init_layers(rng, (a.n_inputs, *a.prediction_layers, a.n_outputs), scale=prediction_spread),
    )


def gate_means(networks: Networks, context: Array) -> Array:
    """Mean of every gate before the shift by one half, in (-1, 1)."""
    return tanh(apply_layers(networks.gating, context, "tanh"))


def settled_gates(networks: Networks, context: Array, shut: Array | None) -> Array:
    """Gates of a trained model, shape ``(n, n_features)``."""
    return shut_missing(settle_gates(gate_means(networks, context)), shut)


def shut_missing(gates: Array, shut: Array | None) -> Array:
    """The gates, with those of missing values at 0."""
    return gates if shut is None else gates * (1 - shut)


def spread_gates(gates: Array, owners: Array | None) -> Array:
    """One gate an input: all levels of a categorical column share the gate of their column."""
    return gates if owners is None else gates[:, owners]


def predict_outputs(networks: Networks, gated: Array) -> Array:
    """Outputs of the prediction network for gated inputs."""
    return apply_layers(networks.prediction, gated, "silu")


def objective(
    networks: Networks,
    batch: Batch,
    owners: Array | None,
    key: Array,
    moment: Moment,
    strengths: Strengths,
    architecture: Architecture,
) -> tuple[Array, Array]:
    """Loss and penalties of a batch, with sampled gates; and how many gates of a row are open without noise."""
    noise_key, exchange_key, fill_key = split_key(key, 3)
    means = gate_means(networks, batch.context)
    noise = moment.exploring * normal(noise_key, means.shape)
    gates = shut_missing(sample_gates(means, noise, moment.noise_scale), batch.shut)
    exchange = moment.exploring * strengths.exchange
    seen = spread_gates(exchange_gates(gates, batch, exchange_key, exchange), owners)
    gated = seen * batch.values + fill_shut(seen, batch, fill_key, FILL * exchange)
    outputs = predict_outputs(networks, gated)
    total = (LOSSES[architecture.loss](outputs, batch.target) * batch.shares).sum()
    total += strengths.sparsity * sparsity_penalty(means, moment.noise_scale, batch.shares)
    if architecture.affinity is not None:
        affinity = batch_affinity(batch, strengths.bandwidth, architecture.affinity)
        total += moment.relating * strengths.stability * stability_penalty(gates, affinity, batch.shares)
        total += moment.relating * strengths.diversity * diversity_penalty(gates, affinity, batch.shares)
    n_open = shut_missing((means > -0.5).astype(means.dtype), batch.shut).sum(axis=1)
    return total, (n_open * batch.shares).sum()


def exchange_gates(gates: Array, batch: Batch, key: Array, share: Array) -> Array:
    """The gates, a share of the rows having those of another row, to which no gradient flows.

    Notes
    -----
    A predictor that meets every row with foreign gates too cannot read the answer off the gates.

    """
    import jax

    partner_key, row_key = split_key(key, 2)
    foreign = jax.lax.stop_gradient(gates[draw_partners(partner_key, batch)])
    chosen = uniform(row_key, (len(gates), 1)) < share
    return gates.__array_namespace__().where(chosen, shut_missing(foreign, batch.shut), gates)


def fill_shut(gates: Array, batch: Batch, key: Array, share: Array) -> Array:
    """What to add to the gated inputs: for a share of the rows, another row's values where gates are shut.

    Notes
    -----
    A shut gate then is no exact 0 that tells the predictor which gates are shut.

    """
    partner_key, row_key = split_key(key, 2)
    foreign = (1 - gates) * batch.values[draw_partners(partner_key, batch)]
    chosen = uniform(row_key, (len(gates), 1)) < share
    return gates.__array_namespace__().where(chosen, foreign, 0.0)


def draw_partners(key: Array, batch: Batch) -> Array:
    """For every row another one: all rows moved on by one random number of places, padding left out."""
    xp = batch.target.__array_namespace__()
    shift = 1 + xp.astype(uniform(key, ()) * (batch.n_rows - 1), xp.int32)
    return (xp.arange(len(batch.target)) + shift) % batch.n_rows


def batch_affinity(batch: Batch, bandwidth: Array, kind: str) -> Array:
    """How related the rows of a batch are, pair by pair."""
    if kind == "rbf":
        return rbf_affinity(batch.values, bandwidth)
    if kind == "labels":
        return label_affinity(batch.target)
    return batch.affinity

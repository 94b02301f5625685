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
    noise_scale: float
    learning_rate: float
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


def init_networks(rng: np.random.Generator, architecture: Architecture) -> Networks:
    """Random weights for both networks."""
    a = architecture
    return Networks(
        gating=init_layers(rng, (a.n_context, *a.gating_layers, a.n_features), scale=0.4),
        prediction=init_layers(rng, (a.n_inputs, *a.prediction_layers, a.n_outputs), scale=1.0),
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
    noise_key, exchange_key = split_key(key, 2)
    means = gate_means(networks, batch.context)
    noise = moment.exploring * normal(noise_key, means.shape)
    gates = shut_missing(sample_gates(means, noise, moment.noise_scale), batch.shut)
    seen = exchange_gates(gates, batch, exchange_key, moment.exploring * strengths.exchange)
    outputs = predict_outputs(networks, spread_gates(seen, owners) * batch.values)
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
    import jax.numpy as jnp

    shift_key, row_key = split_key(key, 2)
    n_padded = gates.shape[0]
    shift = 1 + jnp.floor(uniform(shift_key, ()) * (batch.n_rows - 1)).astype(jnp.int32)
    partner = (jnp.arange(n_padded) + shift) % batch.n_rows
    foreign = shut_missing(jax.lax.stop_gradient(gates[partner]), batch.shut)
    return jnp.where(uniform(row_key, (n_padded, 1)) < share, foreign, gates)


def batch_affinity(batch: Batch, bandwidth: Array, kind: str) -> Array:
    """How related the rows of a batch are, pair by pair."""
    if kind == "rbf":
        return rbf_affinity(batch.values, bandwidth)
    if kind == "labels":
        return label_affinity(batch.target)
    return batch.affinity

"""The two networks joined: what they are, how a row passes through them, and what training minimises."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.entries import Entries, pick_products, project, scatter
from lspin.gates import sample_gates, settle_gates
from lspin.losses import average_loss
from lspin.networks import Layer, Layers, apply_layers, init_layers, silu, tanh
from lspin.noise import Array, normal, split_key, uniform
from lspin.penalties import (
    diversity_penalty,
    label_affinity,
    rbf_affinity,
    sparsity_penalty,
    stability_penalty,
)

LARGEST_SIZE = 3.0  # of a feature's own value, as its gate sees it
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
    n_entries: int | None = None  # places for the stored entries of a batch; None for a dense table


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
    anchoring: float = 0.0  # pull of the predictor's weights towards the anchor
    price_rise: float = 0.0  # part of the run over which the sparsity rises to its full price


class Start(NamedTuple):
    """How networks are before training."""

    gate_spread: float
    gate_bias: float  # of all gates: above -0.55 they start open
    own: float  # weight of a feature's own size in its gate; 0: its size has no such weight
    prediction_spread: float


class Networks(NamedTuple):
    """All weights of a model."""

    gating: Layers
    prediction: Layers
    own: Array | None = None  # (n_features,), how the size of a feature's own value moves its gate


def list_weights(networks: Networks) -> list[Array]:
    """All arrays of a model, one after the other."""
    layered = [part for layers in (networks.gating, networks.prediction) for layer in layers for part in layer]
    return layered if networks.own is None else [*layered, networks.own]


class Batch(NamedTuple):
    """Rows as the networks take them, padded to a fixed number."""

    values: Array | Entries  # (n, n_inputs), standardised, 0 where missing
    context: Array | Entries  # (n, n_context)
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
    pricing: Array  # part of the price that is asked


class Explored(NamedTuple):
    """What a batch looks like under sampled gates."""

    means: Array  # (n, n_features), or (m,) for stored entries
    gates: Array  # of the same shape
    shares: Array  # what each gate counts: its row's share, broadcast to the shape of the means
    outputs: Array  # (n, n_outputs)


def init_networks(rng: np.random.Generator, architecture: Architecture, start: Start) -> Networks:
    """Random weights for both networks."""
    a = architecture
    gating = init_layers(rng, (a.n_context, *a.gating_layers, a.n_features), scale=start.gate_spread)
    gating = (*gating[:-1], Layer(gating[-1].weights, gating[-1].bias + np.float32(start.gate_bias)))
    return Networks(
        gating=gating,
        prediction=init_layers(
            rng, (a.n_inputs, *a.prediction_layers, a.n_outputs), scale=start.prediction_spread
        ),
        # Levels of a category share a gate and have no one size.
        own=np.full(a.n_features, start.own, np.float32) if start.own and a.n_inputs == a.n_features else None,
    )


def gate_means(networks: Networks, context: Array | Entries, values: Array | Entries) -> Array:
    """Mean of every gate before the shift by one half, in (-1, 1); for stored entries, of theirs."""
    if not isinstance(values, Entries):
        return tanh(apply_layers(networks.gating, context, "tanh") + own_push(networks, values))
    return entry_means(networks, hide_context(networks, context), values)


def hide_context(networks: Networks, context: Array | Entries) -> Array:
    """What the last layer of the gating network sees."""
    hidden = context
    for layer in networks.gating[:-1]:
        product = project(hidden, layer.weights) if isinstance(hidden, Entries) else hidden @ layer.weights
        hidden = tanh(product + layer.bias)
    return hidden


def entry_means(networks: Networks, hidden: Array | Entries, entries: Entries) -> Array:
    """Means of the gates of stored entries, shape ``(m,)``."""
    last = networks.gating[-1]
    if isinstance(hidden, Entries):  # no hidden layer
        products = project(hidden, last.weights)[entries.rows, entries.columns]
    else:
        products = pick_products(hidden, last.weights, entries)
    return tanh(products + last.bias[entries.columns] + own_push(networks, entries))


def own_push(networks: Networks, values: Array | Entries) -> Array | float:
    """How the size of a feature's own value moves its gate: a large one opens it, a common one shuts it."""
    if networks.own is None:
        return 0.0
    own, sizes = networks.own, values
    if isinstance(values, Entries):
        own, sizes = own[values.columns], values.values
    xp = own.__array_namespace__()
    return own * (xp.clip(xp.abs(sizes), 0.0, LARGEST_SIZE) - 1.0)


def settled_gates(
    networks: Networks, context: Array | Entries, values: Array | Entries, shut: Array | None
) -> Array:
    """Gates of a trained model, shape ``(n, n_features)``, or those of stored entries."""
    return shut_missing(settle_gates(gate_means(networks, context, values)), shut)


def shut_missing(gates: Array, shut: Array | None) -> Array:
    """The gates, with those of missing values at 0."""
    return gates if shut is None else gates * (1 - shut)


def spread_gates(gates: Array, owners: Array | None) -> Array:
    """One gate an input: all levels of a categorical column share the gate of their column."""
    return gates if owners is None else gates[:, owners]


def gate_values(gates: Array, values: Array | Entries, owners: Array | None) -> Array | Entries:
    """The inputs times their gates."""
    if isinstance(values, Entries):
        return values._replace(values=gates * values.values)
    return spread_gates(gates, owners) * values


def predict_outputs(networks: Networks, gated: Array | Entries) -> Array:
    """Outputs of the prediction network for gated inputs."""
    if not isinstance(gated, Entries):
        return apply_layers(networks.prediction, gated, "silu")
    first, *rest = networks.prediction
    outputs = project(gated, first.weights) + first.bias
    return apply_layers(tuple(rest), silu(outputs), "silu") if rest else outputs


def objective(
    networks: Networks,
    batch: Batch,
    owners: Array | None,
    anchor: Array | None,
    key: Array,
    moment: Moment,
    strengths: Strengths,
    architecture: Architecture,
) -> tuple[Array, Array]:
    """Loss and penalties of a batch, with sampled gates; and how many gates of a row are open without noise."""
    if isinstance(batch.values, Entries):
        means, gates, shares, outputs = explore_entries(networks, batch, key, moment, strengths)
    else:
        means, gates, shares, outputs = explore(networks, batch, owners, key, moment, strengths)
    total = average_loss(architecture.loss, outputs, batch.target, batch.shares)
    total += strengths.sparsity * moment.pricing * sparsity_penalty(means, moment.noise_scale, shares)
    if anchor is not None:
        total += strengths.anchoring * ((networks.prediction[0].weights - anchor) ** 2).sum()
    if architecture.affinity is not None:
        if isinstance(batch.values, Entries):
            gates = scatter(batch.values, gates, architecture.n_features)
        affinity = batch_affinity(batch, strengths.bandwidth, architecture)
        total += moment.relating * strengths.stability * stability_penalty(gates, affinity, batch.shares)
        total += moment.relating * strengths.diversity * diversity_penalty(gates, affinity, batch.shares)
    is_open = (means > -0.5).astype(means.dtype)
    return total, (is_open * (shares if batch.shut is None else shares * (1 - batch.shut))).sum()


def explore(
    networks: Networks,
    batch: Batch,
    owners: Array | None,
    key: Array,
    moment: Moment,
    strengths: Strengths,
) -> Explored:
    """Sampled gates and what the predictor makes of them."""
    noise_key, exchange_key, fill_key = split_key(key, 3)
    means = gate_means(networks, batch.context, batch.values)
    noise = moment.exploring * normal(noise_key, means.shape)
    gates = shut_missing(sample_gates(means, noise, moment.noise_scale), batch.shut)
    exchange = moment.exploring * strengths.exchange
    seen = spread_gates(exchange_gates(gates, batch, exchange_key, exchange), owners)
    gated = seen * batch.values + fill_shut(seen, batch, fill_key, FILL * exchange)
    return Explored(means, gates, batch.shares[:, None], predict_outputs(networks, gated))


def explore_entries(
    networks: Networks, batch: Batch, key: Array, moment: Moment, strengths: Strengths
) -> Explored:
    """The same for the stored entries of a sparse table; what is absent has no gate and is never filled."""
    import jax

    noise_key, exchange_key, foreign_key = split_key(key, 3)
    partner_key, row_key = split_key(exchange_key, 2)
    entries, hidden = batch.values, hide_context(networks, batch.context)
    means = entry_means(networks, hidden, entries)
    gates = sample_gates(means, moment.exploring * normal(noise_key, means.shape), moment.noise_scale)
    seen = gates
    if not isinstance(hidden, Entries):
        # Another row's gates at the places of this row's entries.
        foreign_means = entry_means(networks, hidden[draw_partners(partner_key, batch)], entries)
        noise = normal(foreign_key, means.shape)
        foreign = jax.lax.stop_gradient(sample_gates(foreign_means, noise, moment.noise_scale))
        chosen = uniform(row_key, batch.shares.shape) < moment.exploring * strengths.exchange
        seen = gates.__array_namespace__().where(chosen[entries.rows], foreign, gates)
    outputs = predict_outputs(networks, entries._replace(values=seen * entries.values))
    return Explored(means, gates, batch.shares[entries.rows] * entries.present, outputs)


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


def batch_affinity(batch: Batch, bandwidth: Array, architecture: Architecture) -> Array:
    """How related the rows of a batch are, pair by pair."""
    if architecture.affinity == "rbf":
        values = batch.values
        if isinstance(values, Entries):
            values = scatter(values, values.values, architecture.n_inputs)
        return rbf_affinity(values, bandwidth)
    if architecture.affinity == "labels":
        return label_affinity(batch.target)
    return batch.affinity

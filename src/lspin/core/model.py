"""The two networks joined: what they are, how a row passes through them, and what training minimises."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.core.arrays import Array
from lspin.core.gates import sample_gates, settle_gates
from lspin.core.losses import Loss
from lspin.core.networks import Layer, Layers, apply_layers, init_layers, silu, softmax, tanh
from lspin.core.noise import normal, split_key, uniform
from lspin.core.penalties import (
    certainty_penalty,
    diversity_penalty,
    label_affinity,
    rbf_affinity,
    sparsity_penalty,
    stability_penalty,
)
from lspin.core.rows import AnyRows, Batch, Dense, spread_gates

LARGEST_SIZE = 3.0  # of a feature's own value, as its gate sees it
ANY_PRICE = 1e9  # no price of a gate is as high
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
    loss: Loss
    affinity: str | None = None  # "rbf", "labels" or "matrix" where stability or diversity is asked for
    n_entries: int | None = None  # places for the stored entries of a batch; None for a dense table
    hides_inputs: bool = False  # whether the gating network learns from rows with hidden inputs (dropout)


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
    stability: float = 0.0  # of a pair of rows of a batch
    diversity: float = 0.0  # the same
    bandwidth: float = 1.0  # of the RBF affinity
    anchoring: float = 0.0  # pull of the predictor's weights towards the anchor
    price_rise: float = 0.0  # part of the run over which the sparsity rises to its full price
    first_price: float = ANY_PRICE  # the price is never above one that rises by equal factors from this
    last_price: float = ANY_PRICE  # to this
    last_reached: float = 1.0  # part of the run at which it is there
    exchange_rise: float = 0.0  # part of the run over which the share of foreign gates rises from 0
    edge: float = 0.0  # pull on gates that are surer than it takes to be fully open or shut
    hidden_share: float = 0.0  # of the gating network's inputs, drawn anew in every step (dropout)
    head_start: float = 0.1  # part of the run until which the predictor learns alone
    settled_rate: float = 0.3  # part of the learning rate at the start of the last phase, with fixed gates


class Tuning(NamedTuple):
    """What a compiled program is given at every step."""

    strengths: Strengths
    owners: Array | None  # which gate an input has, where several share one
    anchor: Array | None  # weights that the predictor is drawn to, shape (n_inputs, n_outputs)


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
    groups: Layer | None = None  # its softmax tells the group of a row, which is then all that gates look at
    signs: Array | None = None  # (n_groups, n_features), -1 where a group turns a feature's coefficient around


def list_weights(networks: Networks) -> list[Array]:
    """All arrays of a model, one after the other."""
    layered = [part for layers in (networks.gating, networks.prediction) for layer in layers for part in layer]
    single = [part for part in (networks.own, networks.signs) if part is not None]
    return [*layered, *single, *([] if networks.groups is None else networks.groups)]


class Moment(NamedTuple):
    """Where in its schedule a training step stands."""

    noise_scale: Array
    exploring: Array  # 1 while gates are noisy, 0 once they are settled
    relating: Array  # what part of stability and diversity is on
    price: Array  # of an open gate
    exchange: Array  # share of the rows that see another row's gates


class Explored(NamedTuple):
    """What a batch looks like under sampled gates."""

    means: Array  # of the shape of the values
    gates: Array  # of the same shape
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


def gate_means(networks: Networks, context: AnyRows, values: AnyRows, partners: Array | None = None) -> Array:
    """Mean of every gate before the shift by one half, in (-1, 1).

    With ``partners``, the means that the contexts of other rows give at the places of these rows.
    """
    *hidden_layers, last = networks.gating
    if networks.groups is not None:
        context = Dense(memberships(networks.groups, context))
    if hidden_layers:
        first, *others = hidden_layers
        hidden = tanh(context.project(first.weights) + first.bias)
        for layer in others:
            hidden = tanh(hidden @ layer.weights + layer.bias)
        hidden = hidden if partners is None else hidden[partners]
        raised = values.products(hidden, last.weights) + values.by_column(last.bias)
    else:
        whole = context.project(last.weights)
        raised = values.at_places(whole if partners is None else whole[partners]) + values.by_column(last.bias)
    return tanh(raised if networks.own is None else raised + own_push(networks.own, values))


def memberships(groups: Layer, context: AnyRows) -> Array:
    """Probability that a row belongs to each group, shape ``(n, n_groups)``."""
    return softmax(context.project(groups.weights) + groups.bias)


def turn_gates(networks: Networks, context: AnyRows, gates: Array) -> Array:
    """The gates, with a negative sign where the group of a row turns a feature's coefficient around."""
    if networks.signs is None or networks.groups is None:
        return gates
    return gates * (memberships(networks.groups, context) @ networks.signs)


def own_push(weights: Array, values: AnyRows) -> Array:
    """How the size of a feature's own value moves its gate: a large one opens it, a common one shuts it."""
    own = values.by_column(weights)
    xp = own.__array_namespace__()
    return own * (xp.clip(xp.abs(values.values), 0.0, LARGEST_SIZE) - 1.0)


def settled_gates(networks: Networks, context: AnyRows, values: AnyRows, shut: Array | None) -> Array:
    """Gates of a trained model, of the shape of the values."""
    return shut_missing(settle_gates(gate_means(networks, context, values)), shut)


def shut_missing(gates: Array, shut: Array | None) -> Array:
    """The gates, with those of missing values at 0."""
    return gates if shut is None else gates * (1 - shut)


def predict_outputs(networks: Networks, gated: AnyRows) -> Array:
    """Outputs of the prediction network for gated inputs."""
    first, *rest = networks.prediction
    if not rest:
        return gated.project(first.weights) + first.bias
    # What stands between two layers has no name: it makes room in the processor's cache as soon as it was used.
    return apply_layers(tuple(rest), silu(gated.project(first.weights) + first.bias), "silu")


# Training ----------------------------------------------------------------------------------------------------


def objective(
    networks: Networks, batch: Batch, key: Array, moment: Moment, tuning: Tuning, architecture: Architecture
) -> tuple[Array, Array]:
    """Loss and penalties of a batch, with sampled gates; and how many gates of a row are open without noise."""
    strengths = tuning.strengths
    hidden_share = moment.exploring * strengths.hidden_share if architecture.hides_inputs else None
    means, gates, outputs = explore(networks, batch, key, moment, tuning, hidden_share)
    shares = batch.values.by_row(batch.shares)
    total = architecture.loss.average(outputs, batch.target, batch.shares)
    total += moment.price * sparsity_penalty(means, moment.noise_scale, shares)
    total += strengths.edge * certainty_penalty(means, shares)
    if tuning.anchor is not None:
        total += strengths.anchoring * ((networks.prediction[0].weights - tuning.anchor) ** 2).sum()
    if architecture.affinity is not None:
        noisy, settled = (
            batch.values.scatter(part, architecture.n_features)
            for part in (gates, shut_missing(settle_gates(means), batch.shut))
        )
        related = (batch_affinity(batch, strengths.bandwidth, architecture), batch.shares, batch.n_rows)
        total += moment.relating * strengths.stability * stability_penalty(noisy, *related)
        total += moment.relating * strengths.diversity * diversity_penalty(noisy, settled, *related)
    is_open = (means > -0.5).astype(means.dtype)
    return total, (is_open * (shares if batch.shut is None else shares * (1 - batch.shut))).sum()


def explore(
    networks: Networks, batch: Batch, key: Array, moment: Moment, tuning: Tuning, hidden_share: Array | None
) -> Explored:
    """Sampled gates and what the predictor makes of them.

    A share of the rows sees the gates of another row, to which no gradient flows, so that the predictor cannot
    read the answer off the gates. Some rows see another row's values where gates are shut: this hides the zeros
    that would reveal which gates are shut.
    """
    noise_key, exchange_key, other_key, hiding_key = split_key(key, 4)
    partner_key, row_key = split_key(exchange_key, 2)
    values, share = batch.values, moment.exchange

    def sample(means: Array, noise_key: Array) -> Array:
        noise = normal(noise_key, means.shape)
        return shut_missing(sample_gates(means, moment.exploring * noise, moment.noise_scale), batch.shut)

    context = batch.context if hidden_share is None else hide_inputs(batch.context, hiding_key, hidden_share)
    means = gate_means(networks, context, values)
    gates = sample(means, noise_key)
    foreign = values.foreign(
        gates,
        draw_partners(partner_key, batch),
        lambda partners: sample(gate_means(networks, context, values, partners), other_key),
    )
    seen = exchange_gates(gates, shut_missing(foreign, batch.shut), batch, row_key, share)
    gated = values.open(seen, tuning.owners)
    filled = fill_shut(spread_gates(seen, tuning.owners), batch, other_key, FILL * share)
    return Explored(means, gates, predict_outputs(networks, gated._replace(values=gated.values + filled)))


def hide_inputs(context: AnyRows, key: Array, share: Array) -> AnyRows:
    """What gates look at, with a share of it hidden and the rest enlarged, so that sums stay what they are."""
    seen = uniform(key, context.values.shape) >= share
    return context._replace(values=context.values * seen / (1 - share))


def exchange_gates(gates: Array, foreign: Array, batch: Batch, key: Array, share: Array) -> Array:
    """The gates, those of a share of the rows replaced by foreign ones, to which no gradient flows."""
    import jax

    chosen = (uniform(key, batch.shares.shape) < share).astype(gates.dtype)
    is_foreign = batch.values.by_row(chosen) > 0
    return gates.__array_namespace__().where(is_foreign, jax.lax.stop_gradient(foreign), gates)


def fill_shut(gates: Array, batch: Batch, key: Array, share: Array) -> Array:
    """What to add to the gated values: for a share of the rows, another row's values where gates are shut."""
    partner_key, row_key = split_key(key, 2)
    chosen = uniform(row_key, batch.shares.shape) < share
    return batch.values.fill(gates, draw_partners(partner_key, batch), chosen)


def draw_partners(key: Array, batch: Batch) -> Array:
    """For every row another one: all rows moved on by one random number of places, padding left out."""
    xp = batch.target.__array_namespace__()
    shift = 1 + xp.astype(uniform(key, ()) * (batch.n_rows - 1), xp.int32)
    return (xp.arange(len(batch.target)) + shift) % batch.n_rows


def batch_affinity(batch: Batch, bandwidth: Array, architecture: Architecture) -> Array:
    """How related the rows of a batch are, pair by pair."""
    if architecture.affinity == "rbf":
        return rbf_affinity(batch.values.scatter(batch.values.values, architecture.n_inputs), bandwidth)
    if architecture.affinity == "labels":
        return label_affinity(batch.target)
    return batch.affinity

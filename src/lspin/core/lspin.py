"""How our own method is trained: three phases, two learning rates, and what of the objective is on when."""

from dataclasses import dataclass
from math import pi

from lspin.core.arrays import Array
from lspin.core.model import (
    Architecture,
    Moment,
    Networks,
    Strengths,
    Tuning,
    objective,
    predict_outputs,
    settled_gates,
)
from lspin.core.networks import Layer, Layers
from lspin.core.rows import Batch

# The schedule, in parts of the whole run.
GATES_SETTLE = 0.8  # from then on gates are fixed and noiseless, and the predictor alone learns
# Of the time in which gates learn, the paper's two thirds: until then stability and diversity are off,
RELATIONS_START = 2 / 3 * GATES_SETTLE
RELATIONS_RISE = 0.05  # and then they rise

DECAY_UNIT = 5e-3  # what a decay or a shrinkage of 1 takes away in the first step, whatever the learning rate


@dataclass(frozen=True)
class LocallySparse:
    """A gating and a prediction network, trained together."""

    architecture: Architecture

    @property
    def room(self) -> int | None:
        """Places for the stored entries of a batch."""
        return self.architecture.n_entries

    @property
    def settles(self) -> float:
        """When gates are fixed."""
        return GATES_SETTLE

    def objective(
        self, networks: Networks, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """Loss and penalties with sampled gates, and the number of open gates of a row."""
        moment = at_progress(progress, tuning.strengths)
        return objective(networks, batch, key, moment, tuning, self.architecture)

    def update(self, networks: Networks, directions: Networks, progress: Array, tuning: Tuning) -> Networks:
        """One step of both networks, along a cosine; the gating network only while its phase lasts."""
        strengths = tuning.strengths
        xp = progress.__array_namespace__()
        pace = rate_factor(progress, strengths.settled_rate)
        learns = (progress >= strengths.head_start) & (progress < GATES_SETTLE)
        gate_pace = xp.where(learns, strengths.gate_rate * pace, 0.0)
        prediction = take_direction(
            networks.prediction, directions.prediction, strengths.learning_rate * pace,
            decay=DECAY_UNIT * pace * strengths.weight_decay,
        )  # fmt: skip
        gating = take_direction(
            networks.gating, directions.gating, strengths.learning_rate * gate_pace,
            decay=DECAY_UNIT * gate_pace * strengths.gate_decay * (progress < strengths.gate_decay_until),
        )  # fmt: skip
        gating = shrink_inputs(gating, DECAY_UNIT * gate_pace * strengths.gate_shrink)
        own = networks.own
        if own is not None:
            own = own - strengths.learning_rate * gate_pace * directions.own
        return Networks(gating, prediction, own)

    def judge(self, networks: Networks, batch: Batch, tuning: Tuning) -> Array:
        """The loss of the settled model."""
        gates = settled_gates(networks, batch.context, batch.values, batch.shut)
        outputs = predict_outputs(networks, batch.values.open(gates, tuning.owners))
        return self.architecture.loss.average(outputs, batch.target, batch.shares)

    def price(self, tuning: Tuning) -> Array:
        """The sparsity."""
        return tuning.strengths.sparsity


def at_progress(progress: Array, strengths: Strengths) -> Moment:
    """What of the objective is on at a point of the schedule in [0, 1)."""
    xp = progress.__array_namespace__()
    exploring = xp.astype(progress < GATES_SETTLE, xp.float32)
    allowed = price_level(progress / strengths.last_reached, strengths.first_price, strengths.last_price)
    return Moment(
        noise_scale=strengths.noise_scale * (1 - (1 - strengths.final_noise) * progress),
        exploring=exploring,
        relating=xp.clip((progress - RELATIONS_START) / RELATIONS_RISE, 0.0, 1.0),
        price=xp.minimum(strengths.sparsity * risen_part(progress, strengths.price_rise), allowed),
        exchange=exploring * strengths.exchange * risen_part(progress, strengths.exchange_rise),
    )


def risen_part(progress: Array, until: Array | float) -> Array:
    """A part that rises evenly from 0 to 1 until a point of the schedule; 1 where that is its start."""
    xp = progress.__array_namespace__()
    return xp.where(progress < until, progress / xp.maximum(until, 1e-9), 1.0)


def price_level(part: Array, first: Array | float, last: Array | float) -> Array:
    """A price that rises from the first to the last by equal factors: what it is after a part of the way."""
    xp = part.__array_namespace__()
    return first * (last / first) ** xp.minimum(part, 1.0)


def rate_factor(progress: Array, settled_rate: Array | float) -> Array:
    """A cosine from 1 towards 0 over the whole run, and another one over its last phase."""
    xp = progress.__array_namespace__()
    last = (progress - GATES_SETTLE) / (1 - GATES_SETTLE)
    explore, settle = (0.5 * (1 + xp.cos(pi * part)) for part in (progress, last))
    return xp.where(progress < GATES_SETTLE, explore, settled_rate * settle)


def take_direction(layers: Layers, directions: Layers, rate: Array, *, decay: Array) -> Layers:
    """Go one step, and let the weights, not the biases, decay by a part of themselves."""
    return tuple(
        Layer(layer.weights * (1 - decay) - rate * step.weights, layer.bias - rate * step.bias)
        for layer, step in zip(layers, directions, strict=True)
    )


def shrink_inputs(layers: Layers, amount: Array) -> Layers:
    """Draw the weights of each input of a network together, those it hardly uses to exactly 0."""
    first = layers[0].weights
    xp = first.__array_namespace__()
    norms = xp.sqrt((first * first).sum(axis=1, keepdims=True))
    kept = xp.maximum(1 - amount / xp.maximum(norms, 1e-9), 0.0)
    return (Layer(first * kept, layers[0].bias), *layers[1:])

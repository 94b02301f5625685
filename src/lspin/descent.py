"""Steps of Adam over batches, for any objective: the compiled loop that the rivals share.

What fixes a program is its method, a frozen dataclass, and the padded shapes; what tunes it is traced.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from lspin.fitting import pad
from lspin.model import Batch
from lspin.noise import Array, split_key
from lspin.preparation import Examples, bucket_size
from lspin.training import LARGEST, TrainingRows, forget_programs, shuffle_rows, take_batch

N_PARTS = 20  # of a run, between which it may be interrupted
HISTORY_SIZE = 4096  # one size, so that runs of other lengths share a program


class Method(Protocol):
    """A way of learning, hashable by what fixes its program."""

    def objective(self, weights: Any, batch: Batch, key: Array, progress: Array, strengths: Any) -> Array:
        """What is minimised: a number for a batch, ``progress`` in [0, 1) through the run."""
        ...


class Pace(NamedTuple):
    """How far and how fast to go."""

    learning_rate: float  # of Adam, at the start of a cosine that ends at 0
    weight_decay: float  # part of every weight, not of biases, that a step of rate 1 takes away
    max_epochs: int
    batch_size: int


class Descended(NamedTuple):
    """What a run leaves."""

    weights: Any  # in NumPy double precision
    losses: np.ndarray  # (n_epochs,)
    interrupted: bool


class State(NamedTuple):
    """All that changes on the way."""

    weights: Any
    moments: optax.OptState
    key: Array
    epoch: Array
    losses: Array


def descend(method: Method, start: Any, examples: Examples, pace: Pace, strengths: Any, seed: int) -> Descended:
    """Minimise the objective of a method; an interrupt from the keyboard keeps what there is."""
    forget_programs(advance)
    rows = place_examples(examples)
    batch_size = min(pace.batch_size, len(rows.target))
    numbers = tuple(np.float32(min(number, LARGEST)) for number in (pace.learning_rate, pace.weight_decay))
    strengths = jax.tree.map(lambda number: np.float32(min(number, LARGEST)), strengths)
    weights = jax.tree.map(jnp.asarray, start)
    size = max(HISTORY_SIZE, bucket_size(pace.max_epochs))
    state = State(weights, optax.scale_by_adam().init(weights), jnp.uint32(seed), jnp.int32(0), jnp.zeros(size))
    interrupted = False
    try:
        for until in np.unique(np.linspace(0, pace.max_epochs, N_PARTS + 1).astype(np.int32))[1:]:
            state = advance(
                state, rows, strengths, *numbers, np.int32(pace.max_epochs), until,
                method=method, batch_size=batch_size,
            )  # fmt: skip
            jax.block_until_ready(state)
    except KeyboardInterrupt:
        interrupted = True
    losses = np.asarray(state.losses[: int(state.epoch)], np.float64)
    finished = jax.tree.map(lambda part: np.asarray(part, np.float64), state.weights)
    _refuse_divergence(finished, losses, pace.learning_rate)
    return Descended(finished, losses, interrupted)


def place_examples(examples: Examples) -> TrainingRows:
    """The rows in single precision, padded to a bucket size."""
    padded = bucket_size(len(examples.target))
    return TrainingRows(
        values=pad(examples.inputs, padded),
        context=None,
        shut=None if examples.shut is None else pad(examples.shut, padded),
        target=pad(examples.target, padded),
        weight=pad(examples.weight, padded),
        affinity=None,
        n_rows=np.int32(len(examples.target)),
    )


@partial(jax.jit, static_argnames=("method", "batch_size"))
def advance(
    state: State,
    rows: TrainingRows,
    strengths: Any,
    learning_rate: Array,
    weight_decay: Array,
    max_epochs: Array,
    until: Array,
    *,
    method: Method,
    batch_size: int,
) -> State:
    """Go on until so many epochs are done."""
    n_batches = jnp.maximum(rows.n_rows // batch_size, 1)

    def run_epoch(state: State) -> State:
        key, order_key, step_key = split_key(state.key, 3)
        order = shuffle_rows(order_key, rows)

        def take_step(step: Array, carried: tuple) -> tuple:
            weights, moments, total = carried
            index = jax.lax.dynamic_slice(order, (step * batch_size,), (batch_size,))
            progress = (state.epoch + step / n_batches) / max_epochs
            rate = learning_rate * 0.5 * (1 + jnp.cos(jnp.pi * progress))
            loss, slopes = jax.value_and_grad(method.objective)(
                weights, take_batch(rows, index, None), step_key + step.astype(jnp.uint32), progress, strengths
            )
            directions, moments = optax.scale_by_adam().update(slopes, moments)
            weights = jax.tree.map(_stepper(rate, rate * weight_decay), weights, directions)
            return weights, moments, total + loss

        start = (state.weights, state.moments, jnp.float32(0.0))
        weights, moments, total = jax.lax.fori_loop(0, n_batches, take_step, start)
        losses = state.losses.at[state.epoch].set(total / n_batches)
        return State(weights, moments, key, state.epoch + 1, losses)

    return jax.lax.while_loop(lambda state: state.epoch < until, run_epoch, state)


def _stepper(rate: Array, decay: Array) -> Callable[[Array, Array], Array]:
    """One step of one array; matrices decay, vectors do not."""
    return lambda part, direction: part * (1 - decay * (part.ndim == 2)) - rate * direction


def _refuse_divergence(weights: Any, losses: np.ndarray, learning_rate: float) -> None:
    lost = np.flatnonzero(~np.isfinite(losses))
    if len(lost) or not all(np.isfinite(part).all() for part in jax.tree.leaves(weights)):
        epoch = lost[0] + 1 if len(lost) else len(losses)
        raise FloatingPointError(
            f"the training loss stopped being finite in epoch {epoch}; try a smaller learning_rate "
            f"(it was {learning_rate:g})"
        )

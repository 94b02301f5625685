"""Batches, epochs, early stopping: the whole training as one compiled loop.

What fixes the program is static (:class:`~lspin.model.Architecture`, the padded shapes, the batch size); what
tunes it is traced, so a path of penalties, all folds of a table and all seeds share one compilation.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import platformdirs

from lspin.entries import Entries
from lspin.losses import average_loss
from lspin.model import (
    Architecture,
    Batch,
    Moment,
    Networks,
    Strengths,
    gate_values,
    objective,
    predict_outputs,
    settled_gates,
)
from lspin.networks import Layer, Layers
from lspin.noise import Array, random_bits, split_key

# The schedule, in parts of the whole run.
GATES_START = 0.1  # until then the predictor learns alone
RELATIONS_START = 0.4  # until then stability and diversity are off
GATES_SETTLE = 0.8  # from then on gates are fixed and noiseless, and the predictor alone learns

SETTLED_RATE = 0.3  # of the learning rate, at the start of the last phase
DECAY_UNIT = 5e-3  # what a decay or a shrinkage of 1 takes away in the first step, whatever the learning rate
LARGEST = float(np.finfo(np.float32).max)
MOST_PROGRAMS = 75  # kept in memory: each takes some 350 memory maps, of which Linux allows a process 65,530


def prepare_compiler() -> None:
    """Give the compiled programs one thread and a place on disk, unless JAX was set up before.

    Fits run side by side instead: several threads for one small network cost more than they gain. The
    thread pool is made with the first device, and its size is read from this variable then.
    """
    threads = os.environ.get("NPROC")
    os.environ["NPROC"] = "1"
    jax.local_devices(backend="cpu")
    os.environ.pop("NPROC")
    if threads is not None:
        os.environ["NPROC"] = threads
    if jax.config.values["jax_compilation_cache_dir"] is None:
        jax.config.update("jax_compilation_cache_dir", str(platformdirs.user_cache_path("lspin") / "compiled"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


prepare_compiler()


class StoredEntries(NamedTuple):
    """A sparse table: all its entries row by row, padded, and where each row's begin."""

    starts: Array  # (n + 1,)
    columns: Array  # (n_entries,)
    values: Array  # (n_entries,)


def forget_programs(function: Any) -> None:
    """Drop the programs of a compiled function once there are many: a process out of memory maps is killed."""
    if function._cache_size() >= MOST_PROGRAMS:
        function.clear_cache()


class TrainingRows(NamedTuple):
    """Rows on the device, padded to a bucket size; padding has weight 0 and comes last."""

    values: Array | StoredEntries  # (n, n_inputs), float32
    context: Array | StoredEntries | None  # (n, n_context) where that is not the values
    shut: Array | None
    target: Array
    weight: Array  # mean 1 over the rows that are no padding
    affinity: Array | None
    n_rows: Array


class Schedule(NamedTuple):
    """How long training may last."""

    max_epochs: Array
    patience: Array  # epochs without a better validation loss before the next phase, or the end


class Run(NamedTuple):
    """All that changes while a model trains."""

    networks: Networks
    moments: optax.OptState
    key: Array
    epoch: Array  # epochs done
    clock: Array  # epochs of the schedule done: early stopping skips some
    best: Networks
    best_loss: Array
    epochs_since_best: Array
    history: Array  # (max_epochs, 3): loss, validation loss, open gates


class Trained(NamedTuple):
    """What training leaves: weights in NumPy and how it went."""

    networks: Networks
    history: np.ndarray  # (n_epochs, 3): loss, validation loss, open gates
    interrupted: bool


def train(
    networks: Networks,
    rows: TrainingRows,
    valid: TrainingRows,
    owners: np.ndarray | None,
    anchor: np.ndarray | None,
    *,
    architecture: Architecture,
    strengths: Strengths,
    max_epochs: int,
    patience: float,
    batch_size: int,
    history_size: int,
    seed: int,
    report: Callable[[float, float, float], None] | None = None,
) -> Trained:
    """Train the networks; an interrupt from the keyboard ends training early and keeps what there is.

    ``report`` is called now and then with the part of the run that is done, the loss and the number of
    open gates.
    """
    forget_programs(advance)
    schedule = Schedule(np.int32(max_epochs), np.float32(patience))
    strengths = Strengths(*np.clip(strengths, -LARGEST, LARGEST).astype(np.float32))
    run = start_run(networks, np.uint32(seed), history_size)
    interrupted = False
    try:
        for until in np.unique(np.linspace(1, max_epochs, 21).astype(np.int32)):
            run = advance(
                run, rows, valid, owners, anchor, strengths, schedule, until,
                architecture=architecture, batch_size=batch_size,
            )  # fmt: skip
            done = int(run.epoch)  # waits for the program
            if report is not None:
                loss, _, n_open = np.asarray(run.history[done - 1])
                report(int(run.clock) / max_epochs, float(loss), float(n_open))
            if done < until:
                break
    except KeyboardInterrupt:
        interrupted = True
    return Trained(
        jax.tree.map(np.asarray, run.best), np.asarray(run.history[: int(run.epoch)], np.float64), interrupted
    )


def start_run(networks: Networks, key: np.uint32, history_size: int) -> Run:
    """A run before its first epoch."""
    run = Run(
        networks=networks,
        moments=optax.scale_by_adam().init(networks),
        key=key,
        epoch=np.int32(0),
        clock=np.int32(0),
        best=networks,
        best_loss=np.float32(np.inf),
        epochs_since_best=np.int32(0),
        history=np.zeros((history_size, 3), np.float32),
    )
    return jax.tree.map(jnp.asarray, run)


@partial(jax.jit, static_argnames=("architecture", "batch_size"))
def advance(
    run: Run,
    rows: TrainingRows,
    valid: TrainingRows,
    owners: Array | None,
    anchor: Array | None,
    strengths: Strengths,
    schedule: Schedule,
    until: Array,
    *,
    architecture: Architecture,
    batch_size: int,
) -> Run:
    """Train until so many epochs are done, the schedule has ended or the validation loss no longer falls."""

    def goes_on(run: Run) -> Array:
        stale = gates_have_settled(run.clock, schedule) & (run.epochs_since_best >= schedule.patience)
        return (run.epoch < until) & (run.clock < schedule.max_epochs) & ~stale

    def run_epoch(run: Run) -> Run:
        key, order_key, step_key = split_key(run.key, 3)
        order = shuffle_rows(order_key, rows)
        n_batches = jnp.maximum(rows.n_rows // batch_size, 1)

        def take_step(step: Array, state: tuple) -> tuple:
            networks, moments, totals = state
            index = jax.lax.dynamic_slice(order, (step * batch_size,), (batch_size,))
            progress = (run.clock + step / n_batches) / schedule.max_epochs
            batch = take_batch(rows, index, architecture.n_entries)
            moment = at_progress(progress, strengths)
            (loss, n_open), slopes = jax.value_and_grad(objective, has_aux=True)(
                networks,
                batch,
                owners,
                anchor,
                step_key + step.astype(jnp.uint32),
                moment,
                strengths,
                architecture,
            )
            networks, moments = update(networks, slopes, moments, progress, strengths)
            return networks, moments, totals + jnp.stack([loss, n_open])

        networks, moments, totals = jax.lax.fori_loop(
            0, n_batches, take_step, (run.networks, run.moments, jnp.zeros(2))
        )
        loss, n_open = totals / n_batches
        valid_loss = validation_loss(networks, valid, owners, architecture, batch_size)
        run = run._replace(networks=networks, moments=moments, key=key, epoch=run.epoch + 1, clock=run.clock + 1)
        run = run._replace(history=run.history.at[run.epoch - 1].set(jnp.stack([loss, valid_loss, n_open])))
        return keep_best(run, valid_loss + strengths.sparsity * n_open, schedule)

    return jax.lax.while_loop(goes_on, run_epoch, run)


def shuffle_rows(key: Array, rows: TrainingRows) -> Array:
    """A random order of the rows, padding last."""
    n_padded = rows.target.shape[0]
    draws = random_bits(key, n_padded) >> 1
    return jnp.argsort(jnp.where(jnp.arange(n_padded) < rows.n_rows, draws, jnp.uint32(2**32 - 1)))


def take_batch(rows: TrainingRows, index: Array, n_entries: int | None) -> Batch:
    """The rows of a batch; their shares add up to 1 on average over the batches of an epoch."""
    values, context = (take_values(part, index, n_entries) for part in (rows.values, rows.context))
    shut = None if rows.shut is None else rows.shut[index]
    n_rows = jnp.minimum(rows.n_rows, index.shape[0])
    return Batch(
        values=values,
        context=whole_context(values, shut) if context is None else context,
        shut=shut,
        target=rows.target[index],
        shares=rows.weight[index] / n_rows,
        affinity=None if rows.affinity is None else rows.affinity[index[:, None], index[None, :]],
        n_rows=n_rows,
    )


def take_values(
    values: Array | StoredEntries | None, index: Array, n_entries: int | None
) -> Array | Entries | None:
    """Some rows; of a sparse table their entries, in as many places as the fullest batch needs."""
    if values is None:
        return None
    if not isinstance(values, StoredEntries):
        return values[index]
    assert n_entries is not None
    counts = values.starts[index + 1] - values.starts[index]
    rows = jnp.repeat(jnp.arange(index.shape[0]), counts, total_repeat_length=n_entries)
    ends = jnp.cumsum(counts)
    place = jnp.arange(n_entries)
    present = (place < ends[-1]).astype(jnp.float32)
    entry = jnp.where(place < ends[-1], values.starts[index][rows] + place - (ends - counts)[rows], 0)
    return Entries(rows, values.columns[entry], values.values[entry] * present, present, counts)


def whole_context(values: Array, shut: Array | None) -> Array:
    """What the gating network sees when nothing was condensed."""
    return values if shut is None else jnp.concatenate([values, shut], axis=1)


def at_progress(progress: Array, strengths: Strengths) -> Moment:
    """What of the objective is on at a point of the schedule in [0, 1)."""
    rise = strengths.price_rise
    return Moment(
        noise_scale=strengths.noise_scale * (1 - (1 - strengths.final_noise) * progress),
        exploring=(progress < GATES_SETTLE).astype(jnp.float32),
        relating=(progress >= RELATIONS_START).astype(jnp.float32),
        pricing=jnp.where(progress < rise, progress / jnp.maximum(rise, 1e-9), 1.0),
    )


def gates_have_settled(clock: Array, schedule: Schedule) -> Array:
    """Whether an epoch of the schedule belongs to the last phase."""
    return clock >= GATES_SETTLE * schedule.max_epochs


def update(
    networks: Networks, slopes: Networks, moments: optax.OptState, progress: Array, strengths: Strengths
) -> tuple[Networks, optax.OptState]:
    """One step of Adam on both networks, along a cosine; the gating network only while its phase lasts."""
    pace = rate_factor(progress)
    gate_pace = jnp.where((progress >= GATES_START) & (progress < GATES_SETTLE), strengths.gate_rate * pace, 0.0)
    directions, moments = optax.scale_by_adam().update(slopes, moments)
    prediction = take_direction(
        networks.prediction, directions.prediction, strengths.learning_rate * pace,
        decay=DECAY_UNIT * pace * strengths.weight_decay,
    )  # fmt: skip
    gating = take_direction(
        networks.gating, directions.gating, strengths.learning_rate * gate_pace,
        decay=DECAY_UNIT * gate_pace * strengths.gate_decay * (progress < strengths.gate_decay_until),
    )  # fmt: skip
    gating = shrink_inputs(gating, DECAY_UNIT * gate_pace * strengths.gate_shrink)
    own = None if networks.own is None else networks.own - strengths.learning_rate * gate_pace * directions.own
    return Networks(gating, prediction, own), moments


def rate_factor(progress: Array) -> Array:
    """A cosine from 1 towards 0 over the whole run, and another, lower one over its last phase."""
    last = (progress - GATES_SETTLE) / (1 - GATES_SETTLE)
    explore, settle = (0.5 * (1 + jnp.cos(jnp.pi * part)) for part in (progress, last))
    return jnp.where(progress < GATES_SETTLE, explore, SETTLED_RATE * settle)


def take_direction(layers: Layers, directions: Layers, rate: Array, *, decay: Array) -> Layers:
    """Go one step, and let the weights, not the biases, decay by a part of themselves."""
    return tuple(
        Layer(layer.weights * (1 - decay) - rate * step.weights, layer.bias - rate * step.bias)
        for layer, step in zip(layers, directions, strict=True)
    )


def shrink_inputs(layers: Layers, amount: Array) -> Layers:
    """Draw the weights of each input of a network together, those it hardly uses to exactly 0."""
    first = layers[0].weights
    norms = jnp.linalg.norm(first, axis=1, keepdims=True)
    kept = jnp.maximum(1 - amount / jnp.maximum(norms, 1e-9), 0.0)
    return (Layer(first * kept, layers[0].bias), *layers[1:])


def validation_loss(
    networks: Networks, valid: TrainingRows, owners: Array | None, architecture: Architecture, batch_size: int
) -> Array:
    """Loss of the settled model, block by block; not a number without validation rows."""

    def add_block(block: Array, total: Array) -> Array:
        index = block * batch_size + jnp.arange(batch_size)
        batch = take_batch(valid, index, architecture.n_entries)
        gates = settled_gates(networks, batch.context, batch.values, batch.shut)
        outputs = predict_outputs(networks, gate_values(gates, batch.values, owners))
        weight = valid.weight[index]
        share = weight / jnp.maximum(weight.sum(), 1e-9)
        return total + weight.sum() * average_loss(architecture.loss, outputs, batch.target, share)

    n_blocks = valid.target.shape[0] // batch_size
    return jax.lax.fori_loop(0, n_blocks, add_block, jnp.float32(0.0)) / valid.weight.sum()


def keep_best(run: Run, loss: Array, schedule: Schedule) -> Run:
    """Keep the best model of the last phase, and move on where the loss has stopped falling.

    With endless patience the newest model is the best. Before the gates settle the model is still changing
    its mind: then the newest is kept, and patience that runs out leads to the last phase, not to the end.
    """
    settled = gates_have_settled(run.clock - 1, schedule)
    improved = (loss < run.best_loss) | jnp.isinf(schedule.patience)
    best = jax.tree.map(lambda new, old: jnp.where(improved | ~settled, new, old), run.networks, run.best)
    since = jnp.where(improved, 0, run.epochs_since_best + 1)
    stale = ~settled & (since >= schedule.patience)
    clock = jnp.where(stale, jnp.ceil(GATES_SETTLE * schedule.max_epochs).astype(jnp.int32), run.clock)
    settles_now = ~settled & gates_have_settled(clock, schedule)
    return run._replace(
        best=best,
        clock=clock,
        best_loss=jnp.where(settles_now, jnp.inf, jnp.where(improved, loss, run.best_loss)),
        epochs_since_best=jnp.where(settles_now, 0, since),
    )

"""Batches, epochs, early stopping: the whole training of any method as one compiled loop.

What fixes the program is static (the method, the padded shapes, the batch size); what tunes it is traced, so a
path of penalties, all folds of a table and all seeds share one compilation.
"""

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
import platformdirs

from lspin.core.arrays import Array, bucket_size
from lspin.core.compiled import keep_programs
from lspin.core.interrupts import Interrupt, call_apart, deferring
from lspin.core.noise import random_bits, split_key
from lspin.core.rows import AnyRows, AnyTable, Batch, Dense

LARGEST = float(np.finfo(np.float32).max)
MOST_PROGRAMS = 12  # kept in memory: each takes some 30 MB and 350 memory maps, of which Linux allows 65,530
HISTORY_SIZE = 2048  # one size, so that runs of other lengths share a program
N_PARTS = 20  # of a run, after each of which weights may be kept
SECONDS_AT_ONCE = 0.2  # of the compiled loop, which cannot be interrupted
FIRST_STEPS = 100  # of the loop at once, before it is known how long a step takes
MOST_STEPS = 2**30

Report = Callable[[float, float, float], None]  # part of the run that is done, loss, open gates


class Method(Protocol):
    """A way of learning as pure functions; hashable, because it fixes the compiled program."""

    @property
    def room(self) -> int | None:
        """Places for the stored entries of a batch; ``None`` for dense rows."""
        ...

    @property
    def settles(self) -> float:
        """Part of the run after which the best epoch is kept, and patience ends the run."""
        ...

    def objective(
        self, weights: Any, batch: Batch, key: Array, progress: Array, tuning: Any
    ) -> tuple[Array, Array]:
        """What is minimised, for ``progress`` in [0, 1); and how many features a row uses."""
        ...

    def update(self, weights: Any, directions: Any, progress: Array, tuning: Any) -> Any:
        """Weights after a step along Adam's directions."""
        ...

    def judge(self, weights: Any, batch: Batch, tuning: Any) -> Array:
        """The loss of the model as it would be used."""
        ...

    def price(self, tuning: Any) -> Array | float:
        """What a feature costs, where the best epoch is chosen."""
        ...


class TrainingRows(NamedTuple):
    """Rows on the device, padded to a bucket size; padding has weight 0 and comes last."""

    values: AnyTable  # (n, n_inputs), float32
    context: AnyTable | None  # (n, n_context) where that is not the values
    shut: Array | None
    target: Array
    weight: Array  # mean 1 over the rows that are no padding
    affinity: Array | None
    n_rows: Array


class Limits(NamedTuple):
    """How long training may last."""

    max_epochs: Array
    patience: Array  # epochs without a better validation loss before the next phase, or the end
    most_batches: Array  # of an epoch: the rows of a large table are gone through in several


class Run(NamedTuple):
    """All that changes while a model trains."""

    weights: Any
    moments: optax.OptState
    key: Array
    epoch: Array  # epochs done
    clock: Array  # epochs of the schedule done: early stopping skips some
    best: Any
    best_loss: Array
    epochs_since_best: Array
    history: Array  # (history_size, 3): loss, validation loss, open gates
    step: Array  # steps of the epoch under way that are done
    totals: Array  # over these, of loss and open gates
    order: Array  # (n_padded,), in which rows are gone through


class Pace:
    """How many steps the compiled loop takes at once: as many as fit into a moment."""

    def __init__(self) -> None:
        self.n_steps = FIRST_STEPS

    def learn(self, seconds: float) -> None:
        """Take as many as would have fitted, at most eight times as many as before."""
        wanted = self.n_steps * SECONDS_AT_ONCE / max(seconds, 1e-6)
        self.n_steps = int(np.clip(wanted, 1, min(8 * self.n_steps, MOST_STEPS)))


class Trained(NamedTuple):
    """What training leaves: weights in NumPy, and how it went."""

    weights: Any
    history: np.ndarray  # (n_epochs, 3)
    interrupted: bool
    stages: list[tuple[float, Any]]  # part of the schedule that was done and weights then, where they were kept


@cache
def prepare_compiler() -> None:
    """Give the compiled programs one thread and a place on disk, unless JAX was set up before.

    Fits run in parallel instead: several threads for one small network cost more than they gain. The thread pool
    is made with the first device, and its size is read from this variable then.
    """
    threads = os.environ.get("NPROC")
    os.environ["NPROC"] = "1"
    jax.local_devices(backend="cpu")
    os.environ.pop("NPROC")
    if threads is not None:
        os.environ["NPROC"] = threads
    if jax.config.values["jax_compilation_cache_dir"] is None:
        keep_programs(platformdirs.user_cache_path("lspin") / "compiled")


def train(
    method: Method,
    start: Any,
    rows: TrainingRows,
    valid: TrainingRows,
    tuning: Any,
    *,
    max_epochs: int,
    patience: float,
    batch_size: int,
    seed: int,
    report: Report | None = None,
    keeps_stages: bool = False,
    begin: float = 0.0,
    end: float = 1.0,
    most_batches: int = MOST_STEPS,
) -> Trained:
    """Train a method; an interrupt from the keyboard ends training early and keeps what there is.

    Parameters
    ----------
    method, start
        What is learned, and the weights it starts from.
    rows, valid
        Rows to learn from, and rows to stop early by, padded to a multiple of the batch size; these may be none.
    tuning
        Numbers and arrays that the method is given at every step.
    max_epochs, patience
        See :class:`Limits`.
    batch_size
        At most the number of padded rows.
    seed
        Of batches and noise.
    report
        Called now and then.
    keeps_stages
        Whether to keep the weights now and then.
    begin, end
        The part of the schedule that is gone through.
    most_batches
        Of an epoch: a table of more is gone through in several epochs, in each of which another part comes.

    """
    prepare_compiler()
    forget_programs(advance)
    limits = Limits(np.int32(max_epochs), np.float32(patience), np.int32(most_batches))
    tuning = jax.tree.map(lambda part: np.clip(part, -LARGEST, LARGEST).astype(_precision(part)), tuning)
    first, last = (int(np.ceil(part * max_epochs)) for part in (begin, end))
    n_padded, history_size = len(rows.target), max(HISTORY_SIZE, bucket_size(max_epochs))
    run = start_run(start, np.uint32(seed), n_padded, history_size, first)
    fixed = {"rows": rows, "valid": valid, "tuning": tuning, "limits": limits}
    loop = partial(advance, **fixed, method=method, batch_size=batch_size)
    stages: list[tuple[float, Any]] = []
    with deferring() as interrupt:
        for moment, until in go_through(run, loop, last - first, interrupt):
            run, done, part = moment, int(moment.epoch), int(moment.clock) / max_epochs
            if report is not None and done:
                loss, _, n_open = np.asarray(run.history[done - 1])
                report(part, float(loss), float(n_open))
            if keeps_stages and until is not None:
                stages.append((part, jax.tree.map(np.asarray, run.weights)))
    history = np.asarray(run.history[: int(run.epoch)], np.float64)
    return Trained(jax.tree.map(np.asarray, run.best), history, interrupt.asked, stages)


def go_through(
    run: Run, loop: Callable[..., tuple[Run, Array]], n_epochs: int, interrupt: Interrupt
) -> Iterator[tuple[Run, int | None]]:
    """The run moment by moment, with the epoch that a part of it was to reach where it has ended."""
    pace = Pace()
    if interrupt.asked:
        return
    try:
        # The first call may have to compile, which takes seconds.
        device = jax.config.jax_default_device  # type: ignore[attr-defined]
        call_apart(partial(compile_loop, run, loop, device), interrupt)
        for until in np.unique(np.linspace(1, n_epochs, N_PARTS + 1).astype(np.int32)):
            has_ended = False
            while not (has_ended or interrupt.asked):
                begun = time.monotonic()
                run, ended = loop(run, until=until, n_steps=np.int32(pace.n_steps))
                has_ended = bool(ended)  # waits for the program
                pace.learn(time.monotonic() - begun)
                yield run, until if has_ended else None
            if interrupt.asked or int(run.epoch) < until:
                return
    except KeyboardInterrupt:
        interrupt.asked = True


def compile_loop(run: Run, loop: Callable[..., tuple[Run, Array]], device: Any) -> None:
    """Have the program made that goes on with a run, on a device that the user chose in another thread."""
    n_programs = count_programs(advance)
    with jax.default_device(device):
        loop(run, until=np.int32(0), n_steps=np.int32(0))
    if count_programs(advance) != n_programs:
        return_memory()  # of the compiler: up to 200 MB for a program of 40


def count_programs(function: Any) -> int:
    """Programs of a compiled function that are in memory."""
    return int(function._cache_size())


def forget_programs(function: Any) -> None:
    """Drop the programs of a compiled function once there are many, and give their memory back.

    What was traced and lowered is kept in other caches of JAX, so all of them are cleared.
    """
    if count_programs(function) >= MOST_PROGRAMS:
        jax.clear_caches()
        return_memory()


def return_memory() -> None:
    """Give memory that is no longer used back to the system, where the C library keeps it (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _precision(part: Any) -> type:
    return np.int32 if np.asarray(part).dtype.kind in "iu" else np.float32


def start_run(weights: Any, key: np.uint32, n_padded: int, history_size: int, clock: int = 0) -> Run:
    """A run before its first epoch, at some epoch of its schedule."""
    run = Run(
        weights=weights,
        moments=optax.scale_by_adam().init(weights),
        key=key,
        epoch=np.int32(0),
        clock=np.int32(clock),
        best=weights,
        best_loss=np.float32(np.inf),
        epochs_since_best=np.int32(0),
        history=np.zeros((history_size, 3), np.float32),
        step=np.int32(0),
        totals=np.zeros(2, np.float32),
        order=np.zeros(n_padded, np.int32),
    )
    return jax.tree.map(jnp.asarray, run)


@partial(jax.jit, static_argnames=("method", "batch_size"))
def advance(
    run: Run,
    rows: TrainingRows,
    valid: TrainingRows,
    tuning: Any,
    limits: Limits,
    until: Array,
    n_steps: Array,
    *,
    method: Method,
    batch_size: int,
) -> tuple[Run, Array]:
    """Train until so many epochs are done, the schedule has ended or the validation loss no longer falls.

    It goes no further than so many steps, and says whether it has ended. Where it pauses changes no number.
    """
    n_all = jnp.maximum(rows.n_rows // batch_size, 1)
    n_parts = -(-n_all // limits.most_batches)  # of the table, each of which is an epoch
    n_batches = n_all // n_parts

    def has_ended(run: Run) -> Array:
        stale = has_settled(run.clock, method, limits) & (run.epochs_since_best >= limits.patience)
        return (run.epoch >= until) | (run.clock >= limits.max_epochs) | stale

    def run_epoch(state: tuple[Run, Array]) -> tuple[Run, Array]:
        run, left = state
        _, order_key, step_key = split_key(run.key, 3)
        part = run.epoch % n_parts
        # A pause within an epoch keeps the order: to sort a million rows takes longer than hundreds of steps.
        order = jax.lax.cond(
            (run.step == 0) & (part == 0), lambda: shuffle_rows(order_key, rows), lambda: run.order
        )

        def take_step(step: Array, state: tuple) -> tuple:
            weights, moments, totals = state
            index = jax.lax.dynamic_slice(order, ((part * n_batches + step) * batch_size,), (batch_size,))
            progress = (run.clock + step / n_batches) / limits.max_epochs
            batch = take_batch(rows, index, method.room)
            (loss, n_open), slopes = jax.value_and_grad(method.objective, has_aux=True)(
                weights, batch, step_key + step.astype(jnp.uint32), progress, tuning
            )
            directions, moments = optax.scale_by_adam().update(slopes, moments)
            weights = method.update(weights, directions, progress, tuning)
            return weights, moments, totals + jnp.stack([loss, n_open])

        last = jnp.minimum(run.step + left, n_batches)
        start = (run.weights, run.moments, run.totals)
        weights, moments, totals = jax.lax.fori_loop(run.step, last, take_step, start)
        left = left - (last - run.step)
        run = run._replace(weights=weights, moments=moments, totals=totals, step=last, order=order)
        return jax.lax.cond(last == n_batches, end_epoch, lambda run: run, run), left

    def end_epoch(run: Run) -> Run:
        loss, n_open = run.totals / n_batches
        valid_loss = validation_loss(method, run.weights, valid, tuning, batch_size)
        run = run._replace(
            key=split_key(run.key, 3)[0],
            epoch=run.epoch + 1,
            clock=run.clock + 1,
            step=jnp.zeros_like(run.step),
            totals=jnp.zeros_like(run.totals),
            history=run.history.at[run.epoch].set(jnp.stack([loss, valid_loss, n_open])),
        )
        return keep_best(run, valid_loss + method.price(tuning) * n_open, method, limits)

    start = (run, n_steps)
    run, _ = jax.lax.while_loop(lambda state: (state[1] > 0) & ~has_ended(state[0]), run_epoch, start)
    return run, has_ended(run)


def shuffle_rows(key: Array, rows: TrainingRows) -> Array:
    """A random order of the rows, padding last."""
    n_padded = rows.target.shape[0]
    draws = random_bits(key, n_padded) >> 1
    order = jnp.argsort(jnp.where(jnp.arange(n_padded) < rows.n_rows, draws, jnp.uint32(2**32 - 1)))
    return order.astype(jnp.int32)


def take_batch(rows: TrainingRows, index: Array, room: int | None) -> Batch:
    """The rows of a batch; their shares add up to 1 on average over the batches of an epoch."""
    values = rows.values.take(index, room)
    shut = None if rows.shut is None else rows.shut[index]
    n_rows = jnp.minimum(rows.n_rows, index.shape[0])
    return Batch(
        values=values,
        context=whole_context(values, shut) if rows.context is None else rows.context.take(index, room),
        shut=shut,
        target=rows.target[index],
        shares=rows.weight[index] / n_rows,
        affinity=None if rows.affinity is None else rows.affinity[index[:, None], index[None, :]],
        n_rows=n_rows,
    )


def whole_context(values: AnyRows, shut: Array | None) -> AnyRows:
    """What gates look at when nothing was condensed: the values, and which are missing."""
    return values if shut is None else Dense(jnp.concatenate([values.values, shut], axis=1))


def validation_loss(method: Method, weights: Any, valid: TrainingRows, tuning: Any, batch_size: int) -> Array:
    """Loss of the model as it would be used, block by block; not a number without validation rows."""

    def add_block(block: Array, total: Array) -> Array:
        index = block * batch_size + jnp.arange(batch_size)
        weight = valid.weight[index]
        batch = take_batch(valid, index, method.room)
        batch = batch._replace(shares=weight / jnp.maximum(weight.sum(), 1e-9))
        return total + weight.sum() * method.judge(weights, batch, tuning)

    n_blocks = (valid.n_rows + batch_size - 1) // batch_size
    return jax.lax.fori_loop(0, n_blocks, add_block, jnp.float32(0.0)) / valid.weight.sum()


def has_settled(clock: Array, method: Method, limits: Limits) -> Array:
    """Whether an epoch of the schedule belongs to the last phase."""
    return clock >= method.settles * limits.max_epochs


def keep_best(run: Run, loss: Array, method: Method, limits: Limits) -> Run:
    """Keep the best model of the last phase, and move on where the loss has stopped falling.

    With endless patience the newest model is the best. Before the last phase the model is still changing its
    mind: then the newest is kept, and patience that runs out leads to the last phase, not to the end.
    """
    settled = has_settled(run.clock - 1, method, limits)
    improved = (loss < run.best_loss) | jnp.isinf(limits.patience)
    best = jax.tree.map(lambda new, old: jnp.where(improved | ~settled, new, old), run.weights, run.best)
    since = jnp.where(improved, 0, run.epochs_since_best + 1)
    stale = ~settled & (since >= limits.patience)
    clock = jnp.where(stale, jnp.ceil(method.settles * limits.max_epochs).astype(jnp.int32), run.clock)
    settles_now = ~settled & has_settled(clock, method, limits)
    return run._replace(
        best=best,
        clock=clock,
        best_loss=jnp.where(settles_now, jnp.inf, jnp.where(improved, loss, run.best_loss)),
        epochs_since_best=jnp.where(settles_now, 0, since),
    )


class DivergenceError(FloatingPointError, ValueError):
    """Training ended in numbers that are none; the settings or the table are to blame."""


def refuse_divergence(trained: Trained, advice: str) -> None:
    """Raise an error if the loss or a weight stopped being a number; ``advice`` says what to change."""
    lost = np.flatnonzero(~np.isfinite(trained.history[:, 0]))
    if len(lost) or not all(np.isfinite(part).all() for part in jax.tree.leaves(trained.weights)):
        epoch = lost[0] + 1 if len(lost) else len(trained.history)
        raise DivergenceError(f"the training loss stopped being finite in epoch {epoch}; {advice}")

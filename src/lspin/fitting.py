"""One fit: rows of a table in, a trained model out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.inference import Member
from lspin.model import Architecture, Networks, Start, Strengths, init_networks, list_weights
from lspin.networks import Layer
from lspin.penalties import squared_distances
from lspin.preparation import Anchor, Prepared, Problem, bucket_size, gated_inputs, look, prepare
from lspin.recipes import count_epochs
from lspin.tables import (
    Rows,
    context_blocks,
    learn_encoding,
    missing_flags,
    take_rows,
    take_table,
)

if TYPE_CHECKING:
    from lspin.training import StoredEntries, Trained, TrainingRows

Report = Callable[[float, float, float], None]  # part of the fit that is done, loss, open gates

SHUT = -1.0  # bias of a gate that never opens
HISTORY_SIZE = 2048  # one size, so that folds with other numbers of epochs share a program
HISTORY = ("loss", "validation_loss", "n_open")  # what is kept of every epoch


class Task(NamedTuple):
    """One fit of a problem."""

    which: np.ndarray  # places of the training rows among the problem's rows
    weight: np.ndarray  # their weights
    valid: Rows | None
    sparsity: float
    weight_decay: float
    seed: int
    prepared: Prepared | None = None  # what is known of the training rows, where several fits share them


class Fit(NamedTuple):
    """A trained model and how its training went."""

    member: Member
    history: np.ndarray  # (n_epochs, 3), columns as in HISTORY
    interrupted: bool


def training_rows(problem: Problem, task: Task) -> Rows:
    """The rows of a task."""
    which = task.which
    return Rows(take_table(problem.rows.table, which), problem.rows.target[which], task.weight, which)


def prepare_rows(problem: Problem, rows: Rows) -> Prepared:
    """What a fit has to know of its rows, the same for every price, weight decay and seed."""
    return prepare(problem, rows, learn_encoding(rows, problem.levels, problem.n_columns, problem.features))


def prepare_task(problem: Problem, task: Task) -> Task:
    """The task with its rows prepared, for other tasks to be made from."""
    return task._replace(prepared=prepare_rows(problem, training_rows(problem, task)))


def fit_task(problem: Problem, task: Task, report: Report | None = None) -> Fit:
    """Train one model."""
    from lspin import training

    n_rows = len(task.which)
    rows = training_rows(problem, task)
    prepared = prepare_rows(problem, rows) if task.prepared is None else task.prepared
    encoding, view, anchor = prepared.encoding, prepared.view, prepared.anchor
    # Every fit is padded to the size of the whole table, so that all folds and the last fit share a program.
    padded = bucket_size(len(problem.rows.target))
    batch_size = min(problem.batch_size, padded)
    valid = take_rows(rows, np.arange(0)) if task.valid is None else task.valid
    room = measure_room([problem.rows, valid], prepared, batch_size) if encoding.zero_is_absent else None
    architecture = Architecture(
        n_features=len(prepared.features),
        n_inputs=len(prepared.inputs),
        n_context=encoding.n_context if view is None else view.directions.shape[1],
        n_outputs=problem.n_outputs,
        gating_layers=problem.recipe.gating_layers,
        prediction_layers=problem.prediction_layers,
        loss=problem.loss,
        affinity=problem.affinity,
        n_entries=None if room is None else room.n_batch,
    )
    recipe = problem.recipe
    max_epochs = problem.max_epochs or count_epochs(recipe, max(n_rows // batch_size, 1))
    padded_valid = -(-bucket_size(max(problem.n_valid, 1)) // batch_size) * batch_size
    # Shrinkage picks the columns a hidden gating layer sees: linear gates and condensed rows have none to pick.
    shrinks = bool(recipe.gating_layers) and view is None
    rng = np.random.default_rng(task.seed)
    trained = training.train(
        start_networks(rng, architecture, recipe.start, anchor),
        place_rows(rows, prepared, padded, room, problem.affinity_matrix, trains=True),
        place_rows(valid, prepared, padded_valid, room, None, trains=False),
        prepared.owners,
        None if anchor is None else anchor.weights.astype(np.float32),
        architecture=architecture,
        strengths=Strengths(
            sparsity=task.sparsity,
            noise_scale=recipe.noise_scale,
            final_noise=recipe.final_noise,
            learning_rate=recipe.learning_rate,
            gate_rate=recipe.gate_rate,
            weight_decay=task.weight_decay,
            gate_decay=recipe.gate_decay
            + recipe.gate_decay_by_price * task.sparsity
            + recipe.gate_decay_by_decay * task.weight_decay,
            gate_decay_until=recipe.gate_decay_until,
            gate_shrink=recipe.gate_shrink + recipe.gate_shrink_by_price * task.sparsity if shrinks else 0.0,
            exchange=recipe.exchange,
            stability=problem.stability,
            diversity=problem.diversity,
            bandwidth=median_distance(rows, prepared) if problem.affinity == "rbf" else 1.0,
            anchoring=recipe.anchoring,
            price_rise=recipe.price_rise,
        ),
        max_epochs=max_epochs,
        patience=problem.patience if task.valid is not None else np.inf,
        batch_size=batch_size,
        history_size=max(HISTORY_SIZE, bucket_size(max_epochs)),
        seed=int(rng.integers(2**32)),
        report=report,
    )
    refuse_divergence(trained, recipe.learning_rate)
    return Fit(Member(encoding, finish_networks(trained.networks, prepared)), trained.history, trained.interrupted)


def start_networks(
    rng: np.random.Generator, architecture: Architecture, start: Start, anchor: Anchor | None
) -> Networks:
    """Random weights, the predictor's replaced by an anchor where there is one."""
    networks = init_networks(rng, architecture, start)
    if anchor is None:
        return networks
    layer = Layer(anchor.weights.astype(np.float32), anchor.intercept.astype(np.float32))
    return networks._replace(prediction=(layer,))


class Room(NamedTuple):
    """Places that a compiled program has for the entries of a sparse table."""

    n_table: int
    n_batch: int


def measure_room(tables: list[Rows], prepared: Prepared, batch_size: int) -> Room:
    """Room for the entries of the gated inputs and flags of any of the tables, and of any batch of theirs."""
    kept = prepared.encoding.features[prepared.inputs]  # a sparse table has one input a column
    most_table = most_batch = 0
    for values, missing, _ in (rows.table for rows in tables):
        stored = values if len(kept) == values.shape[1] else values[:, kept]
        counts = np.diff(stored.indptr) + (0 if missing is None else np.diff(missing.indptr))
        most_table = max(most_table, int(counts.sum()))
        most_batch = max(most_batch, int(np.sort(counts)[-batch_size:].sum()))
    return Room(bucket_size(most_table), bucket_size(most_batch))


def place_rows(
    rows: Rows,
    prepared: Prepared,
    padded: int,
    room: Room | None,
    affinity: np.ndarray | None,
    *,
    trains: bool,
) -> "TrainingRows":
    """Rows as training takes them: encoded, in single precision, padded to a bucket size."""
    from lspin.training import TrainingRows

    encoding, view = prepared.encoding, prepared.view
    values: np.ndarray | StoredEntries
    context: np.ndarray | StoredEntries | None = None
    shut = None
    if room is not None:
        values = store_entries(gated_inputs(rows, prepared), padded, room.n_table)
        if view is None and encoding.sees_missing:
            (seen,) = context_blocks(rows.table, encoding)
            context = store_entries(seen, padded, room.n_table)
    else:
        values = pad(gated_inputs(rows, prepared), padded)
        if encoding.sees_missing:
            flags = missing_flags(rows.table, encoding)
            flags = np.zeros((len(rows.target), encoding.n_features)) if flags is None else flags
            shut = pad(flags[:, prepared.features], padded)
    if view is not None:
        context = pad(view.training if trains else look(view, rows, encoding), padded)
    return TrainingRows(
        values=values,
        context=context,
        shut=shut,
        target=pad(rows.target, padded),
        weight=pad(rows.weight / rows.weight.mean(), padded) if len(rows.weight) else pad(rows.weight, padded),
        affinity=None if affinity is None else pad(affinity[np.ix_(rows.source, rows.source)], padded, padded),
        n_rows=np.int32(len(rows.target)),
    )


def store_entries(matrix: sp.csr_array, padded: int, n_stored: int) -> "StoredEntries":
    """The entries of a sparse table, padded to the number of those of the whole problem."""
    from lspin.training import StoredEntries

    starts = np.full(padded + 1, len(matrix.data), np.int32)
    starts[: len(matrix.indptr)] = matrix.indptr
    columns, values = np.zeros(n_stored, np.int32), np.zeros(n_stored, np.float32)
    columns[: len(matrix.data)], values[: len(matrix.data)] = matrix.indices, matrix.data
    return StoredEntries(starts, columns, values)


def pad(array: np.ndarray, n_rows: int, n_columns: int | None = None) -> np.ndarray:
    """The array in single precision with zeros behind its rows and, if asked for, its columns."""
    shape = (n_rows, *array.shape[1:]) if n_columns is None else (n_rows, n_columns)
    padded = np.zeros(shape, np.float32)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded


def median_distance(rows: Rows, prepared: Prepared, n_most: int = 500) -> float:
    """Median distance of two rows, the usual bandwidth of an RBF affinity; taken over the first rows."""
    inputs = gated_inputs(take_rows(rows, np.arange(min(n_most, len(rows.target)))), prepared)
    inputs = inputs.toarray() if sp.issparse(inputs) else inputs
    distances = np.sqrt(squared_distances(inputs)[np.triu_indices(len(inputs), k=1)])
    return float(np.median(distances)) if len(distances) and np.median(distances) > 0 else 1.0


def finish_networks(networks: Networks, prepared: Prepared) -> Networks:
    """Weights in double precision, for all features and acting on the inputs themselves."""
    gating, prediction = (
        tuple(Layer(*(np.asarray(part, np.float64) for part in layer)) for layer in layers)
        for layers in (networks.gating, networks.prediction)
    )
    own = None if networks.own is None else np.asarray(networks.own, np.float64)
    view = prepared.view
    if view is not None:
        first = gating[0]
        gating = (
            Layer(view.directions @ first.weights, first.bias - view.origin @ first.weights),
            *gating[1:],
        )
    if len(prepared.features) < prepared.encoding.n_features:
        return unscreen(Networks(gating, prediction, own), prepared)
    return Networks(gating, prediction, own)


def unscreen(networks: Networks, prepared: Prepared) -> Networks:
    """The same networks for all features: those without a gate have one that is always shut."""
    gating, prediction, own = networks
    n_features, n_inputs = prepared.encoding.n_features, len(prepared.encoding.owners)
    last = Layer(np.zeros((len(gating[-1].weights), n_features)), np.full(n_features, SHUT))
    last.weights[:, prepared.features], last.bias[prepared.features] = gating[-1]
    first = Layer(np.zeros((n_inputs, prediction[0].weights.shape[1])), prediction[0].bias)
    first.weights[prepared.inputs] = prediction[0].weights
    if own is not None:
        own, screened = np.zeros(n_features), own
        own[prepared.features] = screened
    return Networks((*gating[:-1], last), (first, *prediction[1:]), own)


def refuse_divergence(trained: "Trained", learning_rate: float) -> None:
    """Raise an error if the loss or a weight stopped being a number."""
    lost = np.flatnonzero(~np.isfinite(trained.history[:, 0]))
    if len(lost) or not all(np.isfinite(part).all() for part in list_weights(trained.networks)):
        epoch = lost[0] + 1 if len(lost) else len(trained.history)
        raise FloatingPointError(
            f"the training loss stopped being finite in epoch {epoch}; try a smaller learning_rate "
            f"(it was {learning_rate:g}), and check that sparsity and noise_scale are of ordinary size"
        )

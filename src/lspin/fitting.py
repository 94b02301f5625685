"""One fit: rows of a table in, a trained model out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.inference import Member
from lspin.model import Architecture, Networks, Strengths, init_networks
from lspin.networks import Layer
from lspin.penalties import squared_distances
from lspin.tables import (
    Encoding,
    Levels,
    Rows,
    encode,
    gating_context,
    learn_encoding,
    scale_sparse,
    take_rows,
    take_table,
)

if TYPE_CHECKING:
    from lspin.training import Trained, TrainingRows

Report = Callable[[float, float, float], None]  # part of the fit that is done, loss, open gates

FEWEST_EPOCHS = 10
MOST_EPOCHS = 250  # as long as that leaves a recipe its fewest steps
LINEAR_GATES_BELOW = 200  # rows: with fewer, the gates of a linear predictor are linear too
GATE_DECAY = 0.3  # of the prediction network's decay, for the gating network
HISTORY_SIZE = 2048  # one size, so that folds with other numbers of epochs share a program
HISTORY = ("loss", "validation_loss", "n_open")  # what is kept of every epoch


class Recipe(NamedTuple):
    """What works for a kind of predictor; docs/method.md says how it was found."""

    gating_layers: tuple[int, ...]
    steps: int  # where the number of epochs is left open
    fewest_steps: int  # the same, for a table of few batches
    noise_scale: float
    final_noise: float
    learning_rate: float
    gate_rate: float
    gate_decay: float
    gate_decay_by_price: float
    gate_decay_until: float
    gate_shrink: float
    gate_shrink_by_price: float
    exchange: float
    gate_spread: float
    prediction_spread: float
    prices: tuple[float, ...]  # sparsities of the path, as parts of the loss without any feature
    first_prices: tuple[float, ...]  # those at which the weight decay is chosen


NONLINEAR = Recipe(
    gating_layers=(100, 100),
    steps=2000,
    fewest_steps=600,
    noise_scale=1.0,
    final_noise=0.8,
    learning_rate=5e-3,
    gate_rate=1.0,
    gate_decay=1.0,
    gate_decay_by_price=0.0,
    gate_decay_until=0.5,
    gate_shrink=1.0,
    gate_shrink_by_price=0.0,
    exchange=0.5,
    gate_spread=0.4,
    prediction_spread=1.0,
    prices=(0.1, 0.045, 0.029, 0.02, 0.01, 0.0055, 0.003),
    first_prices=(0.029, 0.01),
)
LINEAR_GATES = NONLINEAR._replace(gating_layers=(), gate_rate=3.0, gate_decay=0.0)
LINEAR = Recipe(
    gating_layers=(64,),
    steps=2000,
    fewest_steps=2000,
    noise_scale=0.45,
    final_noise=1.0,
    learning_rate=0.04,
    gate_rate=1.0,
    gate_decay=1.6,
    gate_decay_by_price=320.0,
    gate_decay_until=1.0,
    gate_shrink=1.6,
    gate_shrink_by_price=320.0,
    exchange=0.0,
    gate_spread=1.0,
    prediction_spread=0.3,
    prices=NONLINEAR.prices,
    first_prices=NONLINEAR.first_prices,
)
LINEAR_SMALL = LINEAR._replace(
    gating_layers=(), noise_scale=0.3, prices=(0.1, 0.03, 0.01, 0.003, 0.001), first_prices=(0.01, 0.001)
)


def recipe_for(prediction_layers: tuple[int, ...], gating_layers: tuple[int, ...] | None, n_rows: int) -> Recipe:
    """The recipe for a predictor, for hidden gating layers if the user names them, and for a table."""
    if prediction_layers:
        return LINEAR_GATES if gating_layers == () else NONLINEAR
    return LINEAR if n_rows >= LINEAR_GATES_BELOW else LINEAR_SMALL


@dataclass(frozen=True)
class Problem:
    """All that the fits of one table have in common."""

    rows: Rows
    levels: Levels
    n_columns: int
    features: np.ndarray  # positions of the columns that vary
    loss: str
    n_outputs: int
    prediction_layers: tuple[int, ...]
    affinity: str | None
    affinity_matrix: np.ndarray | None  # (n, n), over the rows
    stability: float
    diversity: float
    recipe: Recipe
    weight_decay: float | None  # None: to be chosen
    max_epochs: int | None
    batch_size: int
    patience: float
    n_valid: int = 0  # the most rows any of the fits is judged by


class Task(NamedTuple):
    """One fit of a problem."""

    which: np.ndarray  # places of the training rows among the problem's rows
    weight: np.ndarray  # their weights
    valid: Rows | None
    sparsity: float
    weight_decay: float
    seed: int


class Fit(NamedTuple):
    """A trained model and how its training went."""

    member: Member
    history: np.ndarray  # (n_epochs, 3), columns as in HISTORY
    interrupted: bool


def fit_task(problem: Problem, task: Task, report: Report | None = None) -> Fit:
    """Train one model."""
    from lspin import training

    n_rows = len(task.which)
    rows = Rows(
        take_table(problem.rows.table, task.which), problem.rows.target[task.which], task.weight, task.which
    )
    encoding = learn_encoding(rows, problem.levels, problem.n_columns, problem.features)
    basis = condensing_basis(rows, encoding)
    # Every fit is padded to the size of the whole table, so that all folds and the last fit share a program.
    padded = training.bucket_size(len(problem.rows.target))
    architecture = Architecture(
        n_features=encoding.n_features,
        n_inputs=len(encoding.owners),
        n_context=encoding.n_context if basis is None else padded,
        n_outputs=problem.n_outputs,
        gating_layers=problem.recipe.gating_layers,
        prediction_layers=problem.prediction_layers,
        loss=problem.loss,
        affinity=problem.affinity,
    )
    batch_size = min(problem.batch_size, padded)
    recipe = problem.recipe
    max_epochs = problem.max_epochs or count_epochs(recipe, max(n_rows // batch_size, 1))
    valid = take_rows(rows, np.arange(0)) if task.valid is None else task.valid
    padded_valid = -(-training.bucket_size(max(problem.n_valid, 1)) // batch_size) * batch_size
    # Shrinkage picks the columns a hidden gating layer sees: linear gates and condensed rows have none to pick.
    shrinks = bool(recipe.gating_layers) and basis is None
    rng = np.random.default_rng(task.seed)
    trained = training.train(
        init_networks(rng, architecture, recipe.gate_spread, recipe.prediction_spread),
        place_rows(rows, encoding, basis, architecture, padded, problem.affinity_matrix),
        place_rows(valid, encoding, basis, architecture, padded_valid, None),
        encoding.shared_owners,
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
            + GATE_DECAY * task.weight_decay,
            gate_decay_until=recipe.gate_decay_until,
            gate_shrink=recipe.gate_shrink + recipe.gate_shrink_by_price * task.sparsity if shrinks else 0.0,
            exchange=recipe.exchange,
            stability=problem.stability,
            diversity=problem.diversity,
            bandwidth=median_distance(rows, encoding) if problem.affinity == "rbf" else 1.0,
        ),
        max_epochs=max_epochs,
        patience=problem.patience if task.valid is not None else np.inf,
        batch_size=batch_size,
        history_size=max(HISTORY_SIZE, training.bucket_size(max_epochs)),
        seed=int(rng.integers(2**32)),
        report=report,
    )
    refuse_divergence(trained, recipe.learning_rate)
    return Fit(Member(encoding, finish_networks(trained.networks, basis)), trained.history, trained.interrupted)


def count_epochs(recipe: Recipe, n_batches: int) -> int:
    """Epochs of a fit where the user leaves them open: few for a large table, many for a small one."""
    steps = np.clip(MOST_EPOCHS * n_batches, recipe.fewest_steps, recipe.steps)
    return max(FEWEST_EPOCHS, -(-int(steps) // n_batches))


def condensing_basis(rows: Rows, encoding: Encoding) -> np.ndarray | None:
    """A basis of what the rows span, for a gating network that has more inputs than there are rows.

    Notes
    -----
    Weights outside the span of the rows change nothing in training, so the first layer is trained in the
    coordinates of that span and folded back afterwards: ``n x n`` work instead of ``n x n_context``.

    """
    if len(rows.target) >= encoding.n_context or sp.issparse(rows.table.values):
        return None
    inputs, missing = encode(rows.table, encoding)
    context = gating_context(inputs, missing, encoding)
    strengths, vectors = np.linalg.eigh(context @ context.T)
    used = strengths > 1e-10 * max(strengths[-1], 1e-300)
    basis = context.T @ (vectors[:, used] / np.sqrt(strengths[used]))
    # One common scale, at which a coordinate of the training rows is of size 1 on average.
    return basis * np.sqrt(used.sum() * len(context) / strengths[used].sum())


def place_rows(
    rows: Rows,
    encoding: Encoding,
    basis: np.ndarray | None,
    architecture: Architecture,
    padded: int,
    affinity: np.ndarray | None,
) -> "TrainingRows":
    """Rows as training takes them: encoded, in single precision, padded to a bucket size."""
    from lspin.training import TrainingRows

    context = shut = None
    if sp.issparse(rows.table.values):
        values, missing = store_entries(scale_sparse(rows.table.values, encoding), padded), rows.table.missing
        missing = None if missing is None else missing[:, encoding.features]
    else:
        inputs, missing = encode(rows.table, encoding)
        values = pad(inputs, padded)
        if basis is not None:
            coordinates = gating_context(inputs, missing, encoding) @ basis
            context = pad(coordinates, padded, architecture.n_context)
    if encoding.sees_missing:
        flags = np.zeros((len(rows.target), encoding.n_features)) if missing is None else missing
        shut = pad(flags, padded)
    return TrainingRows(
        values=values,
        context=context,
        shut=shut,
        target=pad(rows.target, padded),
        weight=pad(rows.weight / rows.weight.mean(), padded) if len(rows.weight) else pad(rows.weight, padded),
        affinity=None if affinity is None else pad(affinity[np.ix_(rows.source, rows.source)], padded, padded),
        n_rows=np.int32(len(rows.target)),
    )


def store_entries(matrix: sp.csr_array, padded: int) -> Any:
    """The entries of a sparse table, the same number of places for each row."""
    from lspin.training import StoredEntries, bucket_size

    counts = np.diff(matrix.indptr)
    width = bucket_size(int(max(counts.max(initial=0), 1)))
    row_of = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(matrix.data)) - matrix.indptr[row_of]
    columns, values = np.zeros((padded, width), np.int32), np.zeros((padded, width), np.float32)
    columns[row_of, place], values[row_of, place] = matrix.indices, matrix.data
    return StoredEntries(columns, values)


def pad(array: np.ndarray, n_rows: int, n_columns: int | None = None) -> np.ndarray:
    """The array in single precision with zeros behind its rows and, if asked for, its columns."""
    shape = (n_rows, *array.shape[1:]) if n_columns is None else (n_rows, n_columns)
    padded = np.zeros(shape, np.float32)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded


def median_distance(rows: Rows, encoding: Encoding, n_most: int = 500) -> float:
    """Median distance of two rows, the usual bandwidth of an RBF affinity; taken over the first rows."""
    inputs, _ = encode(take_table(rows.table, np.arange(min(n_most, len(rows.target)))), encoding)
    distances = np.sqrt(squared_distances(inputs)[np.triu_indices(len(inputs), k=1)])
    return float(np.median(distances)) if len(distances) and np.median(distances) > 0 else 1.0


def finish_networks(networks: Networks, basis: np.ndarray | None) -> Networks:
    """Weights in double precision, the first gating layer acting on the inputs themselves."""
    gating, prediction = (
        tuple(Layer(*(np.asarray(part, np.float64) for part in layer)) for layer in layers) for layers in networks
    )
    if basis is not None:
        first = gating[0]
        gating = (Layer(basis @ first.weights[: basis.shape[1]], first.bias), *gating[1:])
    return Networks(gating, prediction)


def refuse_divergence(trained: "Trained", learning_rate: float) -> None:
    """Raise an error if the loss or a weight stopped being a number."""
    lost = np.flatnonzero(~np.isfinite(trained.history[:, 0]))
    weights = [part for layers in trained.networks for layer in layers for part in layer]
    if len(lost) or not all(np.isfinite(part).all() for part in weights):
        epoch = lost[0] + 1 if len(lost) else len(trained.history)
        raise FloatingPointError(
            f"the training loss stopped being finite in epoch {epoch}; try a smaller learning_rate "
            f"(it was {learning_rate:g}), and check that sparsity and noise_scale are of ordinary size"
        )

"""One fit: rows of a table in, a trained model out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lspin.core.arrays import bucket_size, pad
from lspin.core.interrupts import import_apart
from lspin.core.lspin import GATES_SETTLE, LocallySparse
from lspin.core.model import ANY_PRICE, Architecture, Networks, Start, Strengths, Tuning, init_networks
from lspin.core.networks import Layer
from lspin.core.penalties import squared_distances
from lspin.core.rows import AnyTable, Dense, place_dense, place_entries
from lspin.fitting.components import Component
from lspin.fitting.groups import Panel, Setting, make_member
from lspin.fitting.linear import refit_predictor
from lspin.fitting.prediction import Member, find_opened, predict_counted
from lspin.fitting.preparation import Anchor, Prepared, Problem, gated_inputs, look, prepare
from lspin.fitting.recipe import MOST_BATCHES, count_epochs
from lspin.tables.encoding import Encoding, context_blocks, missing_flags, relearn_encoding
from lspin.tables.grid import Rows, take_grid, take_rows

if TYPE_CHECKING:
    from lspin.core.training import Trained, TrainingRows

Report = Callable[[float, float, float], None]  # part of the fit that is done, loss, open gates

GOING_ON = 0.4  # part of the schedule at which training goes on from given weights
SETTLING_STEPS = 60  # after which the predictor behind the fixed gates of a level is judged
PLACED_ROWS = 4096  # of a dense table that are in double precision at one time
SMALL_PART = 3  # times the rows of a fit that the whole table has at least, for the fit to be padded less
SHUT = -1.0  # bias of a gate that never opens
HISTORY = ("loss", "validation_loss", "n_open")  # what training keeps of every epoch


class Job(NamedTuple):
    """One fit of a problem."""

    which: np.ndarray  # places of the training rows among the problem's rows
    weight: np.ndarray  # their weights
    valid: Rows | None
    sparsity: float
    weight_decay: float
    seed: int
    prepared: Prepared | None = None  # what is known of the training rows, where several fits share them
    start: Networks | None = None  # weights to go on from, in training's own form
    setting: Setting | None = None  # of a model of groups, which needs no training
    panel: Panel | None = None  # of the training rows, where it is another than the problem's
    judged: Rows | None = None  # rows in which the groups were found when they were judged, of a large table


class Fit(NamedTuple):
    """A trained model and how its training went."""

    member: Member
    history: np.ndarray  # (n_epochs, 3), columns as in HISTORY
    components: tuple[Component, ...] = ()  # that divided the rows of a model of groups


class UnfinishedError(KeyboardInterrupt):
    """Training was interrupted; the model is as it was by then."""

    def __init__(self, fit: Fit, sparsity: float, weight_decay: float, max_epochs: int) -> None:
        super().__init__(fit, sparsity, weight_decay, max_epochs)
        self.fit, self.sparsity, self.weight_decay, self.max_epochs = fit, sparsity, weight_decay, max_epochs


def training_rows(problem: Problem, job: Job) -> Rows:
    """The rows of a job."""
    which = job.which
    return Rows(take_grid(problem.rows.grid, which), problem.rows.target[which], job.weight, which)


def prepare_rows(problem: Problem, job: Job, rows: Rows) -> Prepared:
    """What a fit has to know of its rows, the same for every price, weight decay and seed."""
    return prepare(problem, rows, learn_row_encoding(problem, job, rows))


def learn_row_encoding(problem: Problem, job: Job, rows: Rows) -> Encoding:
    """The encoding of the whole table, or one learned from these rows if they are others."""
    known = problem.encoding if job.panel is None else job.panel.encoding
    return known if np.array_equal(rows.weight, problem.rows.weight) else relearn_encoding(rows, known)


def prepare_job(problem: Problem, job: Job) -> Job:
    """The job with its rows prepared, for other tasks to be made from."""
    return job._replace(prepared=prepare_rows(problem, job, training_rows(problem, job)))


def fit_job(problem: Problem, job: Job, report: Report | None = None) -> Fit:
    """Make one model."""
    rows = training_rows(problem, job)
    return train_networks(problem, job, rows, report) if job.setting is None else fit_groups(problem, job, rows)


def fit_groups(problem: Problem, job: Job, rows: Rows) -> Fit:
    """A model of groups as it was chosen; of one group, where these rows cannot be divided that way.

    Of a large table, groups and columns are those that were judged, and the rows tell the weights. Found anew in
    all rows, the groups may be others: a rule names the column that divides the rows best, and two may be as good.
    """
    assert job.setting is not None
    with threadpool_limits(1):  # several threads for small matrices cost more than they gain
        divided = rows if job.judged is None else job.judged
        encoding = learn_row_encoding(problem, job, divided)
        labels = None if job.panel is None else job.panel.labels
        member, components = make_member(divided, encoding, problem.kind, job.setting, labels)
        if job.judged is not None:
            member = refit_predictor(member, rows, problem.kind.loss, job.setting.penalty)
    outputs, n_open = predict_counted([member], rows.grid)
    loss = problem.kind.loss.average(outputs, rows.target, rows.weight / rows.weight.sum())
    history = np.array([[loss, np.nan, np.average(n_open, weights=rows.weight)]])
    return Fit(member, history, components)


def fit_constant(problem: Problem) -> Fit:
    """A model whose gates are all shut."""
    rows, encoding = problem.rows, problem.encoding
    shut = Layer(np.zeros((encoding.n_context, encoding.n_features)), np.full(encoding.n_features, SHUT))
    level = Layer(np.zeros((len(encoding.owners), problem.kind.n_outputs)), problem.kind.constant(rows))
    outputs = np.tile(level.bias, (len(rows.target), 1))
    loss = problem.kind.loss.average(outputs, rows.target, rows.weight / rows.weight.sum())
    return Fit(Member(encoding, Networks((shut,), (level,), None)), np.array([[loss, np.nan, 0.0]]))


def train_networks(problem: Problem, job: Job, rows: Rows, report: Report | None) -> Fit:
    """Train both networks from a random start, or go on from given weights."""
    prepared, trained = _train(problem, job, rows, report, begin=0.0 if job.start is None else GOING_ON)
    return Fit(finish_member(trained.weights, prepared, rows), trained.history)


class Stage(NamedTuple):
    """A model on the way of a run whose price rises."""

    progress: float  # part of the schedule that was done
    weights: Networks  # in training's own form
    fit: Fit


def train_stages(problem: Problem, job: Job, report: Report | None) -> list[Stage]:
    """Train both networks until gates would be fixed, and keep what they are on the way."""
    rows = training_rows(problem, job)
    prepared, trained = _train(problem, job, rows, report, keeps_stages=True, end=GATES_SETTLE)
    return [
        Stage(done, weights, Fit(finish_member(weights, prepared, rows), trained.history))
        for done, weights in trained.stages
    ]


def settle_networks(problem: Problem, job: Job) -> Fit:
    """The gates that a job starts from, fixed, and the predictor behind them after a short last phase."""
    rows = training_rows(problem, job)
    prepared, trained = _train(problem, job, rows, None, begin=GATES_SETTLE, n_steps=SETTLING_STEPS)
    return Fit(finish_member(trained.weights, prepared, rows), trained.history)


def _train(
    problem: Problem,
    job: Job,
    rows: Rows,
    report: Report | None,
    *,
    keeps_stages: bool = False,
    begin: float = 0.0,
    end: float = 1.0,
    n_steps: int | None = None,
) -> "tuple[Prepared, Trained]":
    """Go through a part of the schedule, of given length if ``n_steps`` says so."""
    import_apart("lspin.core.training")
    from lspin.core.training import refuse_divergence, train

    prepared = prepare_rows(problem, job, rows) if job.prepared is None else job.prepared
    # Fits are padded to the size of the whole table, so that all folds and the last fit share a program; a fit of
    # a small part of the rows has one of its own.
    is_part = len(rows.target) * SMALL_PART < problem.n_rows
    padded = bucket_size(len(rows.target) if is_part else problem.n_rows)
    batch_size = min(problem.batch_size, padded)
    valid = take_rows(rows, np.arange(0)) if job.valid is None else job.valid
    padded_valid = -(-bucket_size(max(problem.n_valid, len(valid.target), 1)) // batch_size) * batch_size
    room = measure_room([problem.rows, valid], prepared, batch_size) if prepared.encoding.zero_is_absent else None
    architecture = design(problem, prepared, room)
    rng = np.random.default_rng(job.seed)
    start = start_networks(rng, architecture, problem.recipe.start, prepared.anchor)
    n_batches = max(len(rows.target) // batch_size, 1)
    most_batches = n_batches if problem.max_epochs else min(n_batches, MOST_BATCHES)
    max_epochs = problem.max_epochs or count_epochs(problem.recipe, most_batches)
    if n_steps is not None:
        max_epochs = min(max_epochs, int(np.ceil(n_steps / (most_batches * (end - begin)))))
    trained = train(
        LocallySparse(architecture),
        start if job.start is None else job.start,
        place_rows(rows, prepared, padded, room, problem.affinity_matrix, trains=True),
        place_rows(valid, prepared, padded_valid, room, None, trains=False),
        tune(problem, job, rows, prepared),
        max_epochs=max_epochs,
        patience=problem.patience if job.valid is not None else np.inf,
        batch_size=batch_size,
        seed=int(rng.integers(2**32)),
        report=report,
        keeps_stages=keeps_stages,
        begin=begin,
        end=end,
        most_batches=most_batches,
    )
    refuse_divergence(
        trained,
        f"try a smaller learning_rate (it was {problem.recipe.learning_rate:g}), and check that sparsity and "
        "noise_scale are of ordinary size",
    )
    if trained.interrupted:
        if not len(trained.history):
            raise KeyboardInterrupt
        fit = Fit(finish_member(trained.weights, prepared, rows), trained.history)
        raise UnfinishedError(fit, job.sparsity, job.weight_decay, max_epochs)
    return prepared, trained


def design(problem: Problem, prepared: Prepared, room: "Room | None") -> Architecture:
    """What fixes the compiled program of a fit."""
    view = prepared.view
    return Architecture(
        n_features=len(prepared.features),
        n_inputs=len(prepared.inputs),
        n_context=prepared.encoding.n_context if view is None else view.directions.shape[1],
        n_outputs=problem.kind.n_outputs,
        gating_layers=problem.recipe.gating_layers,
        prediction_layers=problem.prediction_layers,
        loss=problem.kind.loss,
        affinity=problem.affinity,
        n_entries=None if room is None else room.n_batch,
        hides_inputs=problem.recipe.hidden_share > 0,
    )


def tune(problem: Problem, job: Job, rows: Rows, prepared: Prepared) -> Tuning:
    """What the compiled program of a fit is given."""
    recipe, anchor = problem.recipe, prepared.anchor
    first_price, last_price = price_range(problem) if job.start is None else (ANY_PRICE, ANY_PRICE)
    is_path = job.sparsity == last_price
    # Shrinkage picks the columns a hidden gating layer sees: linear gates and condensed rows have none to pick.
    shrinks = bool(recipe.gating_layers) and prepared.view is None
    strengths = Strengths(
        sparsity=job.sparsity if job.start is None else recipe.lag * job.sparsity,
        noise_scale=recipe.noise_scale,
        final_noise=recipe.final_noise,
        learning_rate=recipe.learning_rate,
        gate_rate=recipe.gate_rate,
        weight_decay=job.weight_decay,
        gate_decay=recipe.gate_decay
        + recipe.gate_decay_by_price * job.sparsity
        + recipe.gate_decay_by_decay * job.weight_decay,
        gate_decay_until=recipe.gate_decay_until,
        gate_shrink=recipe.gate_shrink + recipe.gate_shrink_by_price * job.sparsity if shrinks else 0.0,
        exchange=recipe.exchange,
        stability=problem.stability,
        diversity=problem.diversity,
        bandwidth=median_distance(rows, prepared) if problem.affinity == "rbf" else 1.0,
        anchoring=recipe.anchoring,
        price_rise=recipe.price_rise,
        first_price=first_price,
        last_price=max(last_price, job.sparsity),
        last_reached=GATES_SETTLE if is_path else recipe.price_reached,
        exchange_rise=recipe.exchange_rise,
        edge=recipe.edge,
        hidden_share=recipe.hidden_share,
        head_start=recipe.head_start,
        settled_rate=recipe.settled_rate,
    )
    return Tuning(strengths, prepared.owners, None if anchor is None else anchor.weights)


def price_range(problem: Problem) -> tuple[float, float]:
    """Between which prices a run is a path; beyond any price where it is none."""
    if problem.recipe.path is None:
        return ANY_PRICE, ANY_PRICE
    first, last = (part * problem.highest_price for part in problem.recipe.path)
    return first, last


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
    # A sparse table has one input a column; what gates look at may have no gate.
    seen = np.arange(0) if prepared.encoding.context is None else prepared.encoding.context
    kept = prepared.encoding.features[np.union1d(prepared.inputs, seen)]
    most_table = most_batch = 0
    for values, missing, _ in (rows.grid for rows in tables):
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
    from lspin.core.training import TrainingRows

    encoding, view = prepared.encoding, prepared.view
    values: AnyTable
    context: AnyTable | None = None
    shut = None
    if room is not None:
        values = place_entries(gated_inputs(rows, prepared), padded, room.n_table)
        if view is None and (encoding.sees_missing or encoding.context is not None):
            (seen,) = context_blocks(rows.grid, encoding)
            context = place_entries(seen, padded, room.n_table)
    else:
        values = Dense(place_inputs(rows, prepared, padded))
        if encoding.sees_missing:
            flags = missing_flags(rows.grid, encoding)
            flags = np.zeros((len(rows.target), encoding.n_features)) if flags is None else flags
            shut = pad(flags[:, prepared.features], padded)
        if encoding.context is not None:
            context = place_dense(np.hstack(list(context_blocks(rows.grid, encoding))), padded)
    if view is not None:
        context = place_dense(view.training if trains else look(view, rows, encoding), padded)
    return TrainingRows(
        values=values,
        context=context,
        shut=shut,
        target=pad(rows.target, padded),
        weight=pad(rows.weight / rows.weight.mean(), padded) if len(rows.weight) else pad(rows.weight, padded),
        affinity=None if affinity is None else pad(affinity[np.ix_(rows.source, rows.source)], padded, padded),
        n_rows=np.int32(len(rows.target)),
    )


def place_inputs(rows: Rows, prepared: Prepared, padded: int) -> np.ndarray:
    """The gated inputs in single precision, padded; some rows at a time are in double precision."""
    placed = np.zeros((padded, len(prepared.inputs)), np.float32)
    for start in range(0, len(rows.target), PLACED_ROWS):
        which = np.arange(start, min(start + PLACED_ROWS, len(rows.target)))
        placed[which] = gated_inputs(take_rows(rows, which), prepared)
    return placed


def median_distance(rows: Rows, prepared: Prepared, n_most: int = 500) -> float:
    """Median distance of two rows, the usual bandwidth of an RBF affinity; taken over the first rows."""
    inputs = gated_inputs(take_rows(rows, np.arange(min(n_most, len(rows.target)))), prepared)
    inputs = inputs.toarray() if sp.issparse(inputs) else inputs
    distances = np.sqrt(squared_distances(inputs)[np.triu_indices(len(inputs), k=1)])
    return float(np.median(distances)) if len(distances) and np.median(distances) > 0 else 1.0


def finish_member(networks: Networks, prepared: Prepared, rows: Rows) -> Member:
    """The model that training leaves.

    Where gates look at a context, a gate that no training row opens never opens, so that a new row needs no value
    behind it.
    """
    member = Member(prepared.encoding, finish_networks(networks, prepared))
    return member if prepared.encoding.context is None else shut_unused(member, rows)


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


def shut_unused(member: Member, rows: Rows) -> Member:
    """The same model, with gates that none of these rows opens shut for all."""
    encoding, networks = member
    gating, prediction, own = networks[:3]
    features = find_opened(member, rows.grid)
    kept, kept_inputs = (np.isin(places, features) for places in (np.arange(encoding.n_features), encoding.owners))
    last = Layer(gating[-1].weights * kept, np.where(kept, gating[-1].bias, SHUT))
    first = Layer(prediction[0].weights * kept_inputs[:, None], prediction[0].bias)
    own = None if own is None else own * kept
    changed = networks._replace(gating=(*gating[:-1], last), prediction=(first, *prediction[1:]), own=own)
    return Member(encoding, changed)


def unscreen(networks: Networks, prepared: Prepared) -> Networks:
    """The same networks for all features: those without a gate have one that is always shut."""
    gating, prediction, own = networks[:3]
    n_features, n_inputs = prepared.encoding.n_features, len(prepared.encoding.owners)
    last = Layer(np.zeros((len(gating[-1].weights), n_features)), np.full(n_features, SHUT))
    last.weights[:, prepared.features], last.bias[prepared.features] = gating[-1]
    first = Layer(np.zeros((n_inputs, prediction[0].weights.shape[1])), prediction[0].bias)
    first.weights[prepared.inputs] = prediction[0].weights
    if own is not None:
        own, screened = np.zeros(n_features), own
        own[prepared.features] = screened
    return Networks((*gating[:-1], last), (first, *prediction[1:]), own)

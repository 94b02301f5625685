"""The whole path in one run: the price rises while both networks learn, and models on the way are judged."""

import numpy as np

from lspin.core.arrays import Array
from lspin.core.lspin import GATES_SETTLE, price_factor
from lspin.core.model import settled_gates
from lspin.core.networks import Layer
from lspin.core.rows import Dense
from lspin.fitting.fit import Fit, Job, Stage, prepare_job, train_stages, training_rows
from lspin.fitting.linear import fit_linear
from lspin.fitting.path import Choice, Split, Tried, fallback_decay, judge, judge_closed
from lspin.fitting.prediction import Member
from lspin.fitting.problem import Problem
from lspin.fitting.progress import Progress
from lspin.tables.encoding import encode, gating_context
from lspin.tables.grid import Rows

FIRST_JUDGED = 0.3  # part of the schedule before which gates are mostly open
PENALTY = 1e-4  # of the predictor's weights, once the gates of a level are fixed


def choose_rising(problem: Problem, splits: list[Split], *, seed: int, progress: Progress) -> Choice:
    """Train once on each split, judge every level on the held-out rows and choose the one that costs least."""
    closed = judge_closed(problem, splits)
    decay = fallback_decay(problem)
    highest = problem.recipe.prices[0] * closed.candidate.sparsity
    runs: list[list[Stage]] = []
    for split in splits:
        job = Job(split.train, split.weight, split.valid, highest, decay, seed)
        runs.append(settle_levels(problem, prepare_job(problem, job), progress))
        progress.finish_fit()
    levels = [judge_stage(problem, splits, stages, highest) for stages in zip(*runs, strict=False)]
    tried = sorted([closed, *levels], key=lambda level: -level.candidate.sparsity)
    best = min(tried, key=lambda level: level.cost)
    interrupted = any(stage.fit.interrupted for stages in runs for stage in stages)
    path = [level.candidate for level in tried]
    return Choice(best.candidate.sparsity, decay, path, best.fits, interrupted)


def settle_levels(problem: Problem, job: Job, progress: Progress) -> list[Stage]:
    """The models of a run that are judged, each with the best predictor behind its gates."""
    stages = train_stages(problem, job, progress.report)
    rows = training_rows(problem, job)
    judged = [stage for stage in stages if FIRST_JUDGED <= stage.progress <= GATES_SETTLE + 1e-9]
    return [stage._replace(fit=settle_predictor(problem, stage.fit, rows)) for stage in judged]


def settle_predictor(problem: Problem, fit: Fit, rows: Rows) -> Fit:
    """The same gates with the best linear predictor behind them."""
    loss, member = problem.kind.loss, fit.member
    first, *rest = member.networks.prediction
    if rest:
        return fit
    gated = gate_rows(member, rows)
    used = np.flatnonzero(gated.any(axis=0))
    start = Layer(first.weights[used], first.bias)
    found = fit_linear(gated[:, used], rows.target, rows.weight, loss=loss, start=start, penalty=PENALTY)
    weights = first.weights.copy()
    weights[used] = found.weights
    networks = member.networks._replace(prediction=(Layer(weights, found.bias),))
    return fit._replace(member=Member(member.encoding, networks))


def gate_rows(member: Member, rows: Rows) -> Array:
    """The inputs of rows times their gates, shape ``(n, n_inputs)``."""
    inputs, missing = encode(rows.grid, member.encoding)
    context = Dense(gating_context(inputs, missing, member.encoding))
    gates = settled_gates(member.networks, context, Dense(inputs), missing)
    return Dense(inputs).open(gates, member.encoding.shared_owners).values


def judge_stage(problem: Problem, splits: list[Split], stages: tuple[Stage, ...], highest: float) -> Tried:
    """One level of the path on the held-out rows of all splits."""
    price = highest * float(price_factor(np.float64(stages[0].progress), problem.recipe.price_start))
    fits = [stage.fit for stage in stages]
    job = Job(np.arange(0), np.zeros(0), None, price, fallback_decay(problem), 0)
    candidate = judge(job, fits, splits, problem.kind)
    return Tried(candidate, fits, candidate.cost(problem.recipe))

"""The whole path in one run: the price rises while both networks learn, and models on the way are judged."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lspin.core.lspin import GATES_SETTLE, price_level
from lspin.core.model import Networks
from lspin.fitting.fit import (
    Fit,
    Job,
    Report,
    Stage,
    prepare_job,
    price_range,
    settle_networks,
    train_stages,
    training_rows,
)
from lspin.fitting.judging import excess, row_losses
from lspin.fitting.linear import refit_predictor
from lspin.fitting.path import (
    ONE_ERROR,
    Candidate,
    Choice,
    Ledger,
    Split,
    beats_constant,
    judge,
    make_job,
    predict_constant,
    predict_held_out,
    run_jobs,
    take_whole,
)
from lspin.fitting.prediction import Counted
from lspin.fitting.problem import Problem
from lspin.fitting.progress import Progress
from lspin.fitting.recipe import list_runs
from lspin.fitting.running import run_tasks
from lspin.tables.grid import Rows

FIRST_JUDGED = 0.2  # part of the schedule before which gates have hardly learned
EVERY = 2  # of the parts of a run, a model is judged
PENALTY = 1e-4  # of a linear predictor's weights, once the gates of a level are fixed


class Rung(NamedTuple):
    """A level of a path on the held-out rows."""

    candidate: Candidate
    fits: list[Fit]  # of all splits, with settled predictors
    losses: np.ndarray  # of every held-out row
    problem: Problem  # with the recipe of its run
    starts: list[Networks]  # weights of each split, to go on from; none for a constant


def choose_rising(
    problem: Problem,
    splits: list[Split],
    *,
    seeds: list[int],
    n_jobs: int | None,
    progress: Progress,
    ledger: Ledger,
    bar: float = np.inf,
) -> Choice:
    """Train a few times on each split, judge every level of every run on the held-out rows, and choose one.

    No further run is made once none of the levels has a held-out loss below the ``bar``.
    """
    runs = [(posed, seed) for posed in list_problems(problem) for seed in seeds]
    found = Levels(splits)
    ledger.choose = lambda: choose_found(problem, found) if found.rungs else None
    for batch in [runs] if bar == np.inf else [[run] for run in runs]:
        try_runs(batch, splits, n_jobs, progress, found)
        if min(rung.candidate.validation_loss for rung in found.rungs) > bar:
            break
    return finish_level(problem, splits, choose_found(problem, found), seeds[0], n_jobs, progress)


class Levels:
    """Levels of the runs so far, and the splits they are judged by."""

    def __init__(self, splits: list[Split]) -> None:
        self.splits = splits
        self.rungs: list[Rung] = []


def choose_found(problem: Problem, found: Levels) -> Choice:
    """The best of some levels, or the constant."""
    closed = judge_constant(problem, found.splits)
    best = choose_rung(problem, found.splits, closed, found.rungs)
    path = sorted([closed, *found.rungs], key=lambda rung: -rung.candidate.sparsity)
    return Choice(
        best.candidate.sparsity,
        best.candidate.weight_decay,
        [rung.candidate for rung in path],
        best.fits,
        starts=best.starts,
        problem=best.problem,
        panel=found.splits[0].panel,
    )


def finish_level(
    problem: Problem, splits: list[Split], choice: Choice, seed: int, n_jobs: int | None, progress: Progress
) -> Choice:
    """The choice with the models of its level after training went on from them, and how these do.

    A level is a draft, and what it is compared with, a model of groups, is complete.
    """
    if not choice.starts:
        return choice
    posed = choice.problem or problem
    jobs = [
        make_job(split, choice.sparsity, choice.weight_decay, seed)._replace(start=start)
        for split, start in zip(splits, choice.starts, strict=True)
    ]
    done: dict[int, Fit] = {}
    run_jobs(posed, jobs, n_jobs, progress, done)
    fits = [done[place] for place in sorted(done)]
    said = predict_held_out(fits, splits)
    finished = judge(choice.sparsity, choice.weight_decay, said, splits, problem.kind)
    path = [finished if row is choice.candidate else row for row in choice.path]
    return choice._replace(fits=fits, path=path)


def try_runs(
    runs: list[tuple[Problem, int]],
    splits: list[Split],
    n_jobs: int | None,
    progress: Progress,
    found: Levels,
) -> None:
    """Add all levels of some runs to those that were found, also if there is an interrupt.

    An interrupt may leave but some splits of a first run; what is whole is then judged by these.
    """
    jobs = [(problem, draft_job(problem, split, seed)) for problem, seed in runs for split in splits]
    done: dict[int, list[Stage]] = {}
    try:
        run_tasks(walk_path, jobs, n_jobs=n_jobs, progress=progress, done=done)
    finally:
        walked = take_whole(done, len(jobs), len(splits))
        if not any(walked) and not found.rungs:
            places = [place for place in range(len(splits)) if place in done]
            found.splits, walked[0] = [splits[place] for place in places], [done[place] for place in places]
        found.rungs += [
            judge_rung(problem, found.splits, stages)
            for (problem, _), paths in zip(runs, walked, strict=True)
            if paths
            for stages in zip(*paths, strict=False)
        ]


def list_problems(problem: Problem) -> list[Problem]:
    """The problem with the recipe of each run that competes."""
    decays = problem.recipe.decays if problem.weight_decay is None else (problem.weight_decay,)
    return [replace(problem, recipe=recipe) for recipe in list_runs(problem.recipe, decays)]


def draft_job(problem: Problem, split: Split, seed: int) -> Job:
    """One run of a split, up to the last price of the path."""
    _, last = price_range(problem)
    return make_job(split, last, problem.recipe.usual_decay, seed)


def walk_path(problem: Problem, job: Job, report: Report | None = None) -> list[Stage]:
    """The models of a run that are judged, each with a predictor that has settled behind its gates."""
    job = prepare_job(problem, job)
    stages = train_stages(problem, job, report)[::-1]
    judged = [stage for stage in stages[::EVERY] if stage.progress >= FIRST_JUDGED - 1e-9] or stages[:1]
    return [stage._replace(fit=settle_stage(problem, job, stage)) for stage in judged[::-1]]


def settle_stage(problem: Problem, job: Job, stage: Stage) -> Fit:
    """The model of a stage as it is judged."""
    if problem.prediction_layers:
        return settle_networks(problem, job._replace(start=stage.weights))
    return settle_predictor(problem, stage.fit, training_rows(problem, job))


def settle_predictor(problem: Problem, fit: Fit, rows: Rows) -> Fit:
    """The same gates with the best linear predictor behind them."""
    return fit._replace(member=refit_predictor(fit.member, rows, problem.kind.loss, PENALTY))


# Judging -----------------------------------------------------------------------------------------------------


def judge_rung(problem: Problem, splits: list[Split], stages: tuple[Stage, ...]) -> Rung:
    """One level of a run on the held-out rows of all splits."""
    price = float(price_level(np.float64(stages[0].progress / GATES_SETTLE), *price_range(problem)))
    fits = [stage.fit for stage in stages]
    said = predict_held_out(fits, splits)
    candidate = judge(price, problem.recipe.usual_decay, said, splits, problem.kind)
    return Rung(candidate, fits, list_losses(problem, said, splits), problem, [stage.weights for stage in stages])


def judge_constant(problem: Problem, splits: list[Split]) -> Rung:
    """The sparse end of every path."""
    said = predict_constant(problem, splits)
    price = problem.highest_price
    candidate = judge(price, problem.recipe.usual_decay, said, splits, problem.kind)
    return Rung(candidate, [], list_losses(problem, said, splits), problem, [])


def list_losses(problem: Problem, said: list[Counted], splits: list[Split]) -> np.ndarray:
    """Loss of every held-out row, split by split."""
    return row_losses(problem.kind, [one.outputs for one in said], [split.valid for split in splits])


def choose_rung(problem: Problem, splits: list[Split], closed: Rung, rungs: list[Rung]) -> Rung:
    """The level with the fewest features of those that are nearly as good as the best.

    A constant is no choice where a model is right more often than it by two standard errors.
    """
    target = np.concatenate([split.valid.target for split in splits])
    weight = np.concatenate([split.valid.weight for split in splits])
    beaten = any(beats_constant(rung.candidate, closed.candidate, target, problem.kind) for rung in rungs)
    allowed = rungs if beaten else [closed, *rungs]
    lowest = min(allowed, key=lambda rung: rung.candidate.validation_loss, default=closed)
    gain = max(closed.candidate.validation_loss - lowest.candidate.validation_loss, 0.0)
    dearest = lowest.candidate.validation_loss + problem.tolerance * gain
    close = [
        rung
        for rung in allowed
        if rung.candidate.validation_loss <= dearest and excess(rung.losses, lowest.losses, weight) <= ONE_ERROR
    ]
    return min(close, key=lambda rung: rung.candidate.mean_features, default=closed)

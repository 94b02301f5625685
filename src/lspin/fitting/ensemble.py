"""From a problem to fitted members: choose the sparsity as asked, then train every member with it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lspin.fitting.fit import Fit, Job, prepare_job
from lspin.fitting.path import (
    N_WAVES,
    WAVE,
    Candidate,
    Choice,
    Split,
    choose_price,
    fallback_decay,
    find_price,
    run_jobs,
    split_rows,
)
from lspin.fitting.problem import Problem
from lspin.fitting.progress import Progress
from lspin.tables.grid import Rows


class FitInterruptedWarning(ConvergenceWarning):
    """A fit was interrupted from the keyboard; what was learned by then is kept."""


class Plan(NamedTuple):
    """What the user asks for."""

    sparsity: float | None  # None: to be chosen
    n_features: int | None
    validation_fraction: float
    n_restarts: int  # starts tried for each sparsity, where rows to judge by are given
    n_members: int
    bootstrap: bool
    n_jobs: int | None
    shows_progress: bool


class Solution(NamedTuple):
    """Fitted members and how the sparsity was chosen."""

    sparsity: float
    weight_decay: float
    path: list[Candidate]
    fits: list[Fit]
    n_starts: int  # tried for each sparsity
    interrupted: bool


def solve(problem: Problem, valid: Rows | None, plan: Plan, rng: np.random.RandomState) -> Solution:
    """Fit as planned; ``valid`` are rows the user gave to judge by.

    Interrupted from the keyboard, it returns the members there are by then.
    """
    n_seeds = max(plan.n_members, plan.n_restarts)
    split_seed, *seeds = (int(seed) for seed in rng.randint(2**31 - 1, size=1 + n_seeds))
    splits = _splits(problem, valid, plan, split_seed)
    problem = replace(problem, n_valid=max((len(split.valid.target) for split in splits), default=0))
    starts = seeds[: plan.n_restarts if valid is not None else 1]
    n_settings = len(problem.recipe.prices) + len(problem.recipe.first_prices) + 1
    n_tried = n_settings * len(splits) * len(starts)
    with Progress(_count_fits(plan, n_tried), shown=plan.shows_progress) as progress:
        choice = _choose(problem, splits, plan, starts, progress)
        ready = choice.fits[:1] if _may_serve(plan, choice, valid) else []
        if choice.interrupted:
            return Solution(choice.sparsity, choice.weight_decay, choice.path, ready, len(starts), True)
        jobs = [_member_job(problem, splits, valid, plan, choice, seed) for seed in seeds[: plan.n_members]]
        jobs = _share(problem, jobs[len(ready) :], plan)
        fits, interrupted = run_jobs(problem, jobs, plan.n_jobs, progress)
    return Solution(choice.sparsity, choice.weight_decay, choice.path, ready + fits, len(starts), interrupted)


def _share(problem: Problem, jobs: list[Job], plan: Plan) -> list[Job]:
    """Members of the same rows share what is known of them."""
    if plan.bootstrap or len(jobs) < 2:
        return jobs
    prepared = prepare_job(problem, jobs[0]).prepared
    return [job._replace(prepared=prepared) for job in jobs]


def _splits(problem: Problem, valid: Rows | None, plan: Plan, seed: int) -> list[Split]:
    if valid is not None:
        return [Split(np.arange(problem.n_rows), valid)]
    return split_rows(problem.rows, problem.kind, plan.validation_fraction, np.random.default_rng(seed))


def _count_fits(plan: Plan, n_tried: int) -> int:
    if plan.n_features is not None:
        return WAVE * N_WAVES + plan.n_members - 1
    return plan.n_members + (n_tried if plan.sparsity is None else 0)


def _choose(problem: Problem, splits: list[Split], plan: Plan, seeds: list[int], progress: Progress) -> Choice:
    decay = fallback_decay(problem)
    if plan.n_features is not None:
        everything = np.arange(problem.n_rows)
        job = Job(everything, problem.rows.weight, None, 0.0, decay, seeds[0])
        return find_price(problem, plan.n_features, job, n_jobs=plan.n_jobs, progress=progress)
    if plan.sparsity is not None:
        return Choice(plan.sparsity, decay, [], [], False)
    return choose_price(problem, splits, seeds=seeds, n_jobs=plan.n_jobs, progress=progress)


def _may_serve(plan: Plan, choice: Choice, valid: Rows | None) -> bool:
    """Whether a model of the search is a member as it is: it saw all the rows, or there is no time left."""
    saw_all_rows = plan.n_features is not None or valid is not None
    return choice.interrupted or (saw_all_rows and not plan.bootstrap)


def _member_job(
    problem: Problem, splits: list[Split], valid: Rows | None, plan: Plan, choice: Choice, seed: int
) -> Job:
    which = np.arange(problem.n_rows)
    if valid is None and np.isfinite(problem.patience) and splits:
        which, valid = splits[0]
    weight = problem.rows.weight[which]
    if plan.bootstrap:
        total = max(round(weight.sum()), 1)
        counts = np.random.default_rng(seed).multinomial(total, weight / weight.sum())
        which, weight = which[counts > 0], counts[counts > 0].astype(np.float64)
    return Job(which, weight, valid, choice.sparsity, choice.weight_decay, seed)

"""What a fit that is cut short leaves: the best of what is finished, and a sentence about it."""

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from lspin.fitting.contest import MOST_ROWS, settle
from lspin.fitting.fit import Fit, Job, UnfinishedError, fit_constant, fit_job
from lspin.fitting.levels import Contender, Level
from lspin.fitting.path import Choice, Ledger, Split
from lspin.fitting.problem import Problem

NOTHING = "interrupted before any model was finished: nothing is kept"


class Kept(NamedTuple):
    """A choice, its models, and which they are and how they were judged."""

    choice: Choice
    fits: list[Fit]
    remark: str


def keep_finished(
    problem: Problem,
    splits: list[Split],
    contender: Contender | None,
    ledger: Ledger,
    make_job: Callable[[Choice], Job],
    n_members: int,
    error: BaseException,
) -> Kept:
    """The finished members; else the best finished model of the search; else the one that was being trained."""
    members = ledger.list_members()
    if ledger.choice is not None and members:
        return Kept(ledger.choice, members, f"kept {len(members)} of {n_members} members, those that are finished")
    choice = ledger.choice or choose_finished(problem, splits, contender, ledger.choose())
    if choice is not None and (choice.setting is not None or choice.path):
        return keep_choice(problem, splits, choice, make_job)
    if isinstance(error, UnfinishedError):
        choice = Choice(error.sparsity, error.weight_decay, [], [])
        done = f"{len(error.fit.history)} of {error.max_epochs} epochs"
        remark = f"no fit is finished, kept the one under way after {done}, not judged on held-out rows"
        return Kept(choice, [error.fit], remark)
    raise error


def contend_with_finished(problem: Problem, levels: list[Level], n_features: int | None) -> Contender | None:
    """The best model of groups of those that are judged already, if any of them has a feature."""
    return Contender(problem, levels, n_features) if any(level.n_terms for level in levels) else None


@contextlib.contextmanager
def telling_what_is_kept() -> Iterator[None]:
    """Within, an interrupt that leaves no model says so."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(NOTHING) from None


def choose_finished(
    problem: Problem, splits: list[Split], contender: Contender | None, found: Choice | None
) -> Choice | None:
    """The best of the networks that are finished, or the model of groups unless they are clearly better."""
    if contender is None:
        return found
    is_judged = found is not None and np.isfinite(found.candidate.validation_loss)
    return settle(problem, found, contender, splits) if found is not None and is_judged else contender.choice()


def keep_choice(problem: Problem, splits: list[Split], choice: Choice, make_job: Callable[[Choice], Job]) -> Kept:
    """The model that a choice was made by, or one like it that takes little time."""
    score = choice.candidate.validation_score
    judged = f"{problem.kind.score_name} {score:.3f} on held-out rows"
    if choice.setting is not None:
        fits = [fit_job(problem, thin(make_job(choice)))]
        return Kept(choice, fits, f"kept the best model of groups so far, {judged}")
    if not choice.fits:
        return Kept(choice, [fit_constant(problem)], f"kept a constant, better than what was tried: {judged}")
    choice = choice._replace(spread=1.0)  # what is said of models of the search is of these as they are
    if not np.isfinite(score):
        remark = f"kept the finished model with the nearest number of features, {choice.candidate.n_features:g}"
        return Kept(choice, choice.fits, f"{remark}, not judged on held-out rows")
    part = f"trained on {len(splits[0].train):,} of {problem.n_rows:,} rows"
    means = f" (mean of {len(choice.fits)} folds, this model is of the first)" if len(choice.fits) > 1 else ""
    return Kept(choice, choice.fits[:1], f"kept the best finished model of the search, {part}, {judged}{means}")


def thin(job: Job) -> Job:
    """The job of a model of groups with as many rows as such models are judged with."""
    step = -(-len(job.which) // MOST_ROWS)
    panel = job.panel
    if panel is not None and panel.labels is not None:
        panel = panel._replace(labels=panel.labels[::step])
    return job._replace(which=job.which[::step], weight=job.weight[::step], panel=panel)

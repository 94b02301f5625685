"""From a problem to fitted members: choose the sparsity as asked, then train every member with it."""

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lspin.core.interrupts import take_note
from lspin.fitting.attempts import Attempt, plan_attempt
from lspin.fitting.calibration import calibrate, spread_member
from lspin.fitting.contest import (
    FEWEST_JUDGED,
    MOST_ROWS,
    N_SMALL_FOLDS,
    find_contender,
    settle,
    take_training,
)
from lspin.fitting.fit import Fit, Job, prepare_job
from lspin.fitting.groups import Panel
from lspin.fitting.judging import Standing
from lspin.fitting.keeping import contend_with_finished, keep_finished
from lspin.fitting.levels import Contender, Level
from lspin.fitting.panels import Panels, PanelSize, find_panels
from lspin.fitting.path import (
    N_WAVES,
    WAVE,
    Candidate,
    Choice,
    Ledger,
    Split,
    choose_price,
    fallback_decay,
    find_price,
    make_job,
    run_jobs,
    sample_rows,
    split_rows,
)
from lspin.fitting.problem import Problem
from lspin.fitting.progress import Progress
from lspin.fitting.rising import choose_rising, list_problems
from lspin.fitting.running import LostWorkerError
from lspin.tables.encoding import relearn_encoding
from lspin.tables.grid import Rows, join_rows, take_rows

GROUPS, NETWORKS = "groups", "networks"  # where a model may start
MOST_CHOSEN_ON = 50_000  # rows of a large table that a choice is made on; the chosen model is fitted on all
N_PANEL_FOLDS = 7  # of a small table, where panels of several sizes are judged on each


class FitInterruptedWarning(ConvergenceWarning):
    """A fit was interrupted from the keyboard; what was learned by then is kept."""


@contextlib.contextmanager
def wanting_whole_fits() -> Iterator[None]:
    """Within, a fit that is cut short raises KeyboardInterrupt: what it is a part of would judge another model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


def say_cut(error: BaseException, kept: str) -> str:
    """A sentence of what ended a fit, or several, before their time, and what is kept."""
    return f"{error if isinstance(error, LostWorkerError) else 'interrupted'}: {kept}"


def warn_of_cut(error: BaseException, kept: str) -> None:
    """Warn the one who called for several fits that they were cut short."""
    take_note()
    warnings.warn(say_cut(error, kept), FitInterruptedWarning, stacklevel=3)


class Plan(NamedTuple):
    """What the user asks for."""

    starts: tuple[str, ...]  # GROUPS, NETWORKS or both: those that compete
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
    start: str  # "networks" or "groups"
    contest: tuple[Standing, ...]  # what was judged on held-out rows
    panel_path: list[PanelSize]
    remark: str | None = None  # which model was kept and how it was judged, where the fit was cut short

    @classmethod
    def of(cls, choice: Choice, fits: list[Fit], n_starts: int, panels: Panels | None) -> Self:
        """The solution that follows from a choice."""
        start = NETWORKS if choice.setting is None else GROUPS
        sizes = [] if panels is None else panels.list_path(choice.candidate if start == NETWORKS else None)
        settings = choice.sparsity, choice.weight_decay, choice.path
        return cls(*settings, fits, n_starts, start, choice.contest, sizes)


def draw_seed(rng: np.random.RandomState) -> int:
    """A seed."""
    return int(rng.randint(2**31 - 1))


def limit_columns(
    problem: Problem,
    valid: Rows | None,
    most: int,
    *,
    n_features: int | None,
    fraction: float,
    seed: int,
    with_networks: bool,
    shown: bool = False,
) -> Panels:
    """The columns that all models of a cohort may use; the seed is that of the splits by which they are judged."""
    splits = list_splits(problem, valid, fraction, seed, fewest=FEWEST_JUDGED, n_small_folds=N_PANEL_FOLDS)
    for_networks = list_splits(problem, valid, fraction, seed) if with_networks else []
    return find_panels(problem, splits, most, n_features, for_networks, shown=shown)


def solve(
    problem: Problem,
    valid: Rows | None,
    plan: Plan,
    rng: np.random.RandomState,
    *,
    split_seed: int,
    panels: Panels | None = None,
) -> Solution:
    """Fit as planned; ``valid`` are rows the user gave to judge by, and a panel has the columns that may be used.

    Interrupted from the keyboard, or left by its workers, it returns the best of what is finished by then.
    """
    seeds = [draw_seed(rng) for _ in range(max(plan.n_members, plan.n_restarts))]
    splits = list_splits(problem, valid, plan.validation_fraction, split_seed)
    levels: list[Level] = []
    cut = None if panels is None else panels.cut
    try:
        contender = _find_contender(problem, valid, plan, split_seed, panels, levels)
    except KeyboardInterrupt as error:
        take_note()
        contender, cut = contend_with_finished(problem, levels, plan.n_features), error
    if panels is not None and cut is None and NETWORKS in plan.starts:
        splits = panels.splits
    problem = replace(problem, n_valid=max((len(split.valid.target) for split in splits), default=0))
    tried = seeds[: plan.n_restarts if valid is not None else 1]
    n_tried = _count_tried(problem, len(splits), len(tried))
    ledger = Ledger()

    def plan_job(choice: Choice, seed: int = seeds[0]) -> Job:
        job = _member_job(problem, splits, valid, plan, choice, seed)
        return _give_panel(problem, choice, panels, job)

    try:
        if cut is not None:
            raise cut
        with Progress(_count_fits(plan, n_tried), shown=plan.shows_progress) as progress:
            choice = ledger.choice = _choose(problem, splits, plan, tried, progress, contender, ledger)
            problem = choice.problem or problem
            if _may_serve(problem, splits, plan, choice):
                ledger.members[-1] = choice.fits[0]
            jobs = [plan_job(choice, seed) for seed in seeds[len(ledger.members) : plan.n_members]]
            run_jobs(problem, _share(problem, jobs, plan), plan.n_jobs, progress, ledger.members)
        return Solution.of(choice, spread_fits(problem, ledger.list_members(), choice), len(tried), panels)
    except (KeyboardInterrupt, LostWorkerError) as error:
        take_note()
        kept = keep_finished(problem, splits, contender, ledger, plan_job, plan.n_members, error)
        solution = Solution.of(kept.choice, spread_fits(problem, kept.fits, kept.choice), len(tried), panels)
        return solution._replace(remark=say_cut(error, kept.remark))


def spread_fits(problem: Problem, fits: list[Fit], choice: Choice) -> list[Fit]:
    """The models with their outputs as spread as held-out rows said."""
    return [fit._replace(member=spread_member(problem, fit.member, choice.spread)) for fit in fits]


def _give_panel(problem: Problem, choice: Choice, panels: Panels | None, job: Job) -> Job:
    """The job with its panel: that of all rows, or of the split whose networks were chosen."""
    if panels is not None and job.setting is not None:
        encoding, labels = panels.for_groups
        return job._replace(panel=Panel(encoding, None if labels is None else labels[job.which]), judged=None)
    # A problem with a panel that was asked for has the columns of all rows; they may differ from those of a split.
    if choice.panel is None or (panels is not None and job.start is None):
        return job
    return job._replace(panel=Panel(relearn_encoding(problem.rows, choice.panel.encoding), labels=None))


def _share(problem: Problem, jobs: list[Job], plan: Plan) -> list[Job]:
    """Members of the same rows share what is known of them."""
    if plan.bootstrap or len(jobs) < 2 or jobs[0].setting is not None:
        return jobs
    prepared = prepare_job(problem, jobs[0]).prepared
    return [job._replace(prepared=prepared) for job in jobs]


def list_splits(problem: Problem, valid: Rows | None, fraction: float, seed: int, **more: int) -> list[Split]:
    """Rows to learn from and to judge by: some are held out, unless the user gave as many to judge by.

    If the user's rows are fewer, they judge together with rows that are held out. Of a large table, these are some
    of its rows.
    """
    sample = sample_rows(problem.rows, problem.kind, MOST_CHOSEN_ON)
    rows = problem.rows if len(sample) == problem.n_rows else take_rows(problem.rows, sample)
    whole = Split(sample, rows.weight, valid) if valid is not None else None
    if whole is not None and whole.valid.weight.sum() >= fraction * whole.weight.sum():
        return [whole]
    splits = split_rows(rows, problem.kind, fraction, np.random.default_rng(seed), **more)
    splits = [split._replace(train=sample[split.train]) for split in splits]
    if whole is None:
        return splits
    if not splits:
        return [whole]
    first, *others = splits
    return [first._replace(valid=join_rows(first.valid, whole.valid)), *others]


def _find_contender(
    problem: Problem, valid: Rows | None, plan: Plan, seed: int, panels: Panels | None, levels: list[Level]
) -> Contender | None:
    """The best model of groups, where such models compete and the sparsity is to be chosen.

    What is judged on the way is added to the ``levels``.
    """
    if GROUPS not in plan.starts or plan.sparsity is not None:
        return None
    if panels is None:
        fraction = plan.validation_fraction
        splits = list_splits(problem, valid, fraction, seed, fewest=FEWEST_JUDGED, n_small_folds=N_SMALL_FOLDS)
        contender = find_contender(problem, splits, plan.n_features, levels, shown=plan.shows_progress)
    else:
        contender = panels.contender
    if contender is None and NETWORKS not in plan.starts:
        raise ValueError(
            f"start='groups' is judged on held-out rows, and of the {problem.n_rows} distinct rows none can be "
            "held out, for each has a class of its own: give more rows or an eval_set"
        )
    return contender


def _count_tried(problem: Problem, n_splits: int, n_seeds: int) -> int:
    """Fits that the search may take."""
    if problem.recipe.path is not None:
        return (len(list_problems(problem)) * n_seeds + 1) * n_splits  # the chosen level is finished in each
    n_settings = len(problem.recipe.prices) + len(problem.recipe.first_prices) + 1
    return n_settings * n_splits * n_seeds


def _count_fits(plan: Plan, n_tried: int) -> int:
    if plan.n_features is not None:
        return WAVE * N_WAVES + plan.n_members - 1
    return plan.n_members + (n_tried if plan.sparsity is None else 0)


def _choose(
    problem: Problem,
    splits: list[Split],
    plan: Plan,
    seeds: list[int],
    progress: Progress,
    contender: Contender | None,
    ledger: Ledger,
) -> Choice:
    decay = fallback_decay(problem)
    if plan.n_features is not None:
        return _match_features(problem, splits, plan, seeds[0], progress, contender, ledger)
    if plan.sparsity is not None:
        return Choice(plan.sparsity, decay, [], [])
    attempt = Attempt(problem, splits, np.inf if contender is None else -np.inf)
    if contender is not None and NETWORKS in plan.starts:
        attempt = plan_attempt(problem, contender, splits)
    if contender is not None and attempt.bar == -np.inf:
        return contender.choice()
    posed, splits, bar = attempt
    search = choose_rising if posed.recipe.path is not None and splits else choose_price
    choice = search(posed, splits, seeds=seeds, n_jobs=plan.n_jobs, progress=progress, ledger=ledger, bar=bar)
    return calibrate(posed, choice, splits) if contender is None else settle(posed, choice, contender, splits)


def _match_features(
    problem: Problem,
    splits: list[Split],
    plan: Plan,
    seed: int,
    progress: Progress,
    contender: Contender | None,
    ledger: Ledger,
) -> Choice:
    """The price of a wanted number of features, or the model of groups with so many if that is as good."""
    assert plan.n_features is not None
    if contender is not None and (
        NETWORKS not in plan.starts or plan_attempt(problem, contender, splits).bar == -np.inf
    ):
        return contender.choice()
    sample = sample_rows(problem.rows, problem.kind, MOST_CHOSEN_ON)
    job = Job(sample, problem.rows.weight[sample], None, 0.0, fallback_decay(problem), seed)
    found = find_price(problem, plan.n_features, job, n_jobs=plan.n_jobs, progress=progress, ledger=ledger)
    if contender is None:
        return found
    jobs = [make_job(split, found.sparsity, job.weight_decay, seed) for split in splits]
    done: dict[int, Fit] = {}
    run_jobs(problem, jobs, plan.n_jobs, progress, done)
    judged = settle(problem, found._replace(fits=[done[place] for place in sorted(done)]), contender, splits)
    return found._replace(contest=judged.contest) if judged.setting is None else judged


def _may_serve(problem: Problem, splits: list[Split], plan: Plan, choice: Choice) -> bool:
    """Whether a model of the search is a member as it is, since it saw all the rows."""
    # A level of a rising price is a draft, from which training goes on.
    is_final = choice.setting is None and not choice.starts and bool(choice.fits)
    nothing_held_out = len(splits) == 1 and splits[0].weight.sum() == problem.rows.weight.sum()
    saw_all_rows = problem.n_rows <= MOST_CHOSEN_ON and (plan.n_features is not None or nothing_held_out)
    return is_final and saw_all_rows and not plan.bootstrap


def goes_on(plan: Plan) -> bool:
    """Whether training goes on from what the search found: for a single model, since members are to differ."""
    return plan.n_members == 1


def _hold_out_once(problem: Problem, plan: Plan, seed: int) -> Split:
    """Rows of a large table to learn from, and rows that tell when to stop."""
    rng = np.random.default_rng(seed)
    return split_rows(problem.rows, problem.kind, plan.validation_fraction, rng)[0]


def _member_job(
    problem: Problem, splits: list[Split], valid: Rows | None, plan: Plan, choice: Choice, seed: int
) -> Job:
    which, weight = np.arange(problem.n_rows), problem.rows.weight
    # Rows held out from a last fit tell when to stop training; a model of groups is not trained.
    if valid is None and np.isfinite(problem.patience) and splits and choice.setting is None:
        stopping = splits[0] if problem.n_rows <= MOST_CHOSEN_ON else _hold_out_once(problem, plan, seed)
        which, weight, valid, _ = stopping
    if plan.bootstrap:
        total = max(round(weight.sum()), 1)
        counts = np.random.default_rng(seed).multinomial(total, weight / weight.sum())
        which, weight = which[counts > 0], counts[counts > 0].astype(np.float64)
    start = choice.starts[0] if choice.starts and goes_on(plan) else None
    is_large = choice.setting is not None and problem.n_rows > MOST_ROWS and not plan.bootstrap
    judged = take_training(problem, splits[0])[0] if is_large else None
    settings = choice.sparsity, choice.weight_decay, seed
    return Job(which, weight, valid, *settings, setting=choice.setting, start=start, judged=judged)

"""Choosing the sparsity: a path of prices judged on held-out rows, or the price of a wanted number of features."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from lspin.core.model import Networks
from lspin.fitting.fit import Fit, Job, fit_job, prepare_job
from lspin.fitting.groups import Panel, Setting
from lspin.fitting.judging import Standing, excess, row_losses, standard_error
from lspin.fitting.prediction import Counted, predict_counted
from lspin.fitting.problem import Problem
from lspin.fitting.progress import Progress
from lspin.fitting.recipe import Recipe
from lspin.fitting.running import run_tasks
from lspin.tables.grid import Rows, take_grid, take_rows
from lspin.tables.merging import find_shared
from lspin.targets.kind import Kind

SMALL_TABLE = 200  # rows: up to here every row is held out once
N_FOLDS = 5
MOST_COPIES = 2**31  # of a row: larger weights count something else
N_JUDGED = 2  # best starts whose mean decides about a price: one lucky start is no reason to choose it
TOO_MANY = 1e3  # cost of a feature beyond those a recipe allows the median row
ONE_ERROR = 1.0  # standard error of the loss within which fewer features are preferred,
ALL_GAIN = 1.0  # where the tolerance is all there is to gain; below, the cost of features decides
FALLBACK_PRICE = 0.01  # where a table has too few rows to hold any out
T = TypeVar("T")
WAVE = 3  # prices tried at once while searching for a number of features
N_WAVES = 4


class Candidate(NamedTuple):
    """One sparsity of the path: means over the held-out rows."""

    sparsity: float
    weight_decay: float
    validation_loss: float
    validation_score: float
    n_features: float  # median over the held-out rows
    mean_features: float
    loss_error: float = float("nan")  # standard error of the loss

    def cost(self, recipe: Recipe) -> float:
        """What the choice minimises: too many features are worse than any loss."""
        excess = max(self.n_features - recipe.most_features, 0.0)
        return self.validation_loss + recipe.feature_price * self.mean_features + TOO_MANY * excess


class Tried(NamedTuple):
    """A candidate at its best start, the models of that start, one for each split, and what decides about it."""

    candidate: Candidate
    fits: list[Fit]
    cost: float


class Choice(NamedTuple):
    """What the search found."""

    sparsity: float
    weight_decay: float
    path: list[Candidate]
    fits: list[Fit]  # models with the chosen settings
    setting: Setting | None = None  # of a model of groups, where that was chosen
    contest: tuple[Standing, ...] = ()  # what it was chosen from, where groups and networks compete
    starts: Sequence[Networks] = ()  # weights of each split to go on from, if a level of a rising price was chosen
    problem: Problem | None = None  # as the chosen run poses it, where several compete
    panel: Panel | None = None  # that the networks of the first split are restricted to
    spread: float = 1.0  # by which the outputs of its models are multiplied, as seen from a constant

    @property
    def candidate(self) -> Candidate:
        """The chosen row of the path, or what is known of it where there is none."""
        unknown = Candidate(self.sparsity, self.weight_decay, *4 * [float("nan")])
        return next((row for row in self.path if row[:2] == unknown[:2]), unknown)


class Ledger:
    """What a search has finished by now, so that an interrupt loses none of it."""

    def __init__(self) -> None:
        self.choose: Callable[[], Choice | None] = lambda: None  # the best of what is finished, if there is any
        self.choice: Choice | None = None  # once the search has ended
        self.members: dict[int, Fit] = {}  # of the model itself, by their place; -1: one that the search made

    def list_members(self) -> list[Fit]:
        """Finished members in their order."""
        return [self.members[place] for place in sorted(self.members)]


def fallback_decay(problem: Problem) -> float:
    """The weight decay as asked for, or one for where it cannot be chosen."""
    return problem.recipe.usual_decay if problem.weight_decay is None else problem.weight_decay


class Split(NamedTuple):
    """Rows to train on, as places among the problem's rows, their weights, and rows to judge by."""

    train: np.ndarray
    weight: np.ndarray
    valid: Rows
    panel: Panel | None = None  # of the rows to train on, where it is found in each split


def sample_rows(rows: Rows, kind: Kind, most: int) -> np.ndarray:
    """Places of the rows that a choice is made on: all, or so many of a large table, evenly from each stratum.

    Rows stand in an order that tells nothing about them, so the first ones of a stratum are a random sample of it.
    """
    n_rows = len(rows.target)
    if n_rows <= most:
        return np.arange(n_rows)
    strata = kind.strata(rows.target)
    parts = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    return np.sort(np.concatenate([part[: -(-len(part) * most // n_rows)] for part in parts]))


def split_rows(
    rows: Rows,
    kind: Kind,
    fraction: float,
    rng: np.random.Generator,
    *,
    fewest: int = 0,
    n_small_folds: int = N_FOLDS,
) -> list[Split]:
    """Hold out a part of the rows once, or every row once where the table is small, in ``n_small_folds`` parts.

    Classes and events keep their shares. A class with one row only is never held out. Further parts are held out
    until they have the ``fewest`` rows together.

    Notes
    -----
    Equal rows are one row with a weight. Where other rows have the same columns and another target, its copies are
    dealt out one by one: held out together, they would leave the others alone to say what such rows are like.

    """
    copies = count_copies(rows)
    n_rows = int(copies.sum())
    cross_validated = n_rows <= SMALL_TABLE
    n_folds = min(n_small_folds if cross_validated else max(round(1 / fraction), 2), max(n_rows // 2, 2))
    strata = kind.strata(rows.target)
    held = np.zeros((n_folds, len(copies)), int)
    dealt = 0
    for stratum in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        total = int(copies[members].sum())
        if total > 1:
            ends = dealt + np.cumsum(copies[members])
            held[:, members] = deal(ends - copies[members], ends, n_folds)
            dealt += total
    n_held = n_folds if cross_validated else min(max(-(-fewest * n_folds // n_rows), 1), n_folds)
    splits = [_hold_out(rows, copies, part) for part in held[:n_held]]
    return [split for split in splits if len(split.train) and len(split.valid.target)]


def count_copies(rows: Rows) -> np.ndarray:
    """Into how many copies a row may be dealt: 1, or its weight if other rows have the same columns."""
    copies = np.ones(len(rows.weight), int)
    is_whole = (rows.weight == np.round(rows.weight)) & (rows.weight < MOST_COPIES)
    if (rows.weight > 1).any() and is_whole.all():
        shared = find_shared(rows.grid)
        copies[shared] = rows.weight[shared]
    return copies


def deal(starts: np.ndarray, ends: np.ndarray, n_folds: int) -> np.ndarray:
    """How many of the numbers from a start to before an end fall to each fold, if they fall to them in turn."""
    before = -np.arange(n_folds)[:, None] - 1
    return (ends + before) // n_folds - (starts + before) // n_folds


def _hold_out(rows: Rows, copies: np.ndarray, held: np.ndarray) -> Split:
    share = held / np.maximum(copies, 1)
    train, valid = np.flatnonzero(held < copies), np.flatnonzero(held)
    judged = take_rows(rows, valid)
    weight = rows.weight[train] * (1 - share[train])
    return Split(train, weight, judged._replace(weight=judged.weight * share[valid]))


def choose_price(
    problem: Problem,
    splits: list[Split],
    *,
    seeds: list[int],
    n_jobs: int | None,
    progress: Progress,
    ledger: Ledger,
    bar: float = np.inf,
) -> Choice:
    """Try a path of prices on every split and choose the one that costs least on the held-out rows.

    Notes
    -----
    The path starts at the loss of a constant prediction: opening a gate costs the price, so at that price no
    feature can pay for itself. That model is known without a fit. The weight decay is chosen first, at two
    prices, and looked at again at the chosen one. From the better of these two the path is walked for as long as
    the cost falls. With several seeds all its prices are tried, a price is judged by the mean of its two best
    starts, and the best start of the chosen one is kept. The search ends as soon as no model that was tried has a
    held-out loss below the ``bar``.

    """
    if not splits:
        return Choice(FALLBACK_PRICE, fallback_decay(problem), [], [])
    closed = judge_closed(problem, splits)
    drafts = [prepare_job(problem, make_job(split, 0.0, 0.0, 0)) for split in splits]
    tried: list[Tried] = []
    ledger.choose = lambda: choose_tried(problem, splits, closed, tried) if tried else None
    for settings in _stages(problem, closed.candidate.sparsity, tried, walks=len(seeds) == 1):
        try_settings(problem, splits, drafts, settings, seeds, n_jobs, progress, tried)
        if min(t.candidate.validation_loss for t in tried) > bar:
            break
    return choose_tried(problem, splits, closed, tried)


def choose_tried(problem: Problem, splits: list[Split], closed: Tried, tried: list[Tried]) -> Choice:
    """The best of what was tried, or the constant."""
    # Ties go to the sparser model.
    tried = sorted([closed, *tried], key=lambda t: -t.candidate.sparsity)
    target = np.concatenate([split.valid.target for split in splits])
    beaten = any(beats_constant(t.candidate, closed.candidate, target, problem.kind) for t in tried)
    allowed = [t for t in tried if t.fits or not beaten]
    best = min(allowed, key=lambda t: t.cost, default=closed)
    if problem.tolerance >= ALL_GAIN:
        best = find_sparsest(problem, splits, [t for t in allowed if t.fits]) or best
    return Choice(
        best.candidate.sparsity,
        best.candidate.weight_decay,
        [t.candidate for t in tried],
        best.fits,
    )


def make_job(split: Split, sparsity: float, weight_decay: float, seed: int) -> Job:
    """A fit of the training rows of a split."""
    return Job(split.train, split.weight, split.valid, sparsity, weight_decay, seed, panel=split.panel)


def find_sparsest(problem: Problem, splits: list[Split], tried: list[Tried]) -> Tried | None:
    """The model with the fewest features of those whose held-out loss is within a standard error of the lowest."""
    if not tried:
        return None
    valid = [split.valid for split in splits]
    weight = np.concatenate([rows.weight for rows in valid])
    losses = [
        row_losses(problem.kind, [predict_counted([f.member], r.grid).outputs for f, r in pairs], valid)
        for pairs in (list(zip(t.fits, valid, strict=True)) for t in tried)
    ]
    lowest = min(losses, key=lambda one: np.average(one, weights=weight))
    close = [t for t, one in zip(tried, losses, strict=True) if excess(one, lowest, weight) <= ONE_ERROR]
    return min(close, key=lambda t: t.candidate.mean_features)


def beats_constant(candidate: Candidate, constant: Candidate, target: np.ndarray, kind: Kind) -> bool:
    """Whether a model's score is above a constant's by two standard errors.

    An overconfident model can be right more often and still have a higher loss, for its few mistakes.
    """
    chance = constant.validation_score
    return bool(candidate.validation_score > chance + 2 * kind.standard_error(chance, target))


def _stages(
    problem: Problem, highest: float, tried: list[Tried], *, walks: bool
) -> Iterator[list[tuple[float, float]]]:
    """Prices and decays to try next, given all that was tried by then."""

    def best() -> Candidate:
        return min(tried, key=lambda t: t.cost).candidate

    decays = problem.recipe.decays if problem.weight_decay is None else (problem.weight_decay,)
    prices = [price * highest for price in problem.recipe.prices]
    for price in reversed(problem.recipe.first_prices):
        yield [(price * highest, decay) for decay in decays]
    decay = best().weight_decay
    while missing := next_prices(prices, {t.candidate.sparsity for t in tried}, best().sparsity, walks=walks):
        yield [(price, decay) for price in missing]
    price = best().sparsity
    done = {(t.candidate.sparsity, t.candidate.weight_decay) for t in tried}
    yield [(price, decay) for decay in decays if (price, decay) not in done]


def next_prices(prices: list[float], done: set[float], best: float, *, walks: bool) -> list[float]:
    """Prices of the path that are missing: all of them, or on a walk the neighbours of the best so far."""
    place = prices.index(best)
    looked_at = prices[max(place - 1, 0) : place + 2] if walks else prices
    return [price for price in looked_at if price not in done]


def try_settings(
    problem: Problem,
    splits: list[Split],
    drafts: list[Job],
    settings: list[tuple[float, float]],
    seeds: list[int],
    n_jobs: int | None,
    progress: Progress,
    tried: list[Tried],
) -> None:
    """Fit every pair of price and weight decay on every split, which has a draft of a job, from every seed.

    What comes of them is added to ``tried``, and an interrupt leaves there what is finished.
    """
    jobs = [
        draft._replace(sparsity=price, weight_decay=decay, seed=seed)
        for price, decay in settings
        for seed in seeds
        for draft in drafts
    ]
    done: dict[int, Fit] = {}
    try:
        run_jobs(problem, jobs, n_jobs, progress, done)
    finally:
        starts: dict[tuple[float, float], list[tuple[Candidate, list[Fit]]]] = {}
        for job, made in zip(jobs[:: len(splits)], take_whole(done, len(jobs), len(splits)), strict=True):
            if made:
                said = predict_held_out(made, splits)
                candidate = judge(job.sparsity, job.weight_decay, said, splits, problem.kind)
                starts.setdefault((job.sparsity, job.weight_decay), []).append((candidate, made))
        tried += [keep_best(group, problem.recipe) for group in starts.values()]


def take_whole(done: dict[int, T], number: int, size: int) -> list[list[T]]:
    """Results by groups of some size, in their order; an empty list for a group that is not whole."""
    groups = [range(first, first + size) for first in range(0, number, size)]
    return [[done[place] for place in group] if done.keys() >= set(group) else [] for group in groups]


def keep_best(starts: list[tuple[Candidate, list[Fit]]], recipe: Recipe) -> Tried:
    """The best start of a setting, with the mean cost of the best few."""
    starts = sorted(starts, key=lambda start: start[0].cost(recipe))
    return Tried(*starts[0], float(np.mean([candidate.cost(recipe) for candidate, _ in starts[:N_JUDGED]])))


def predict_held_out(fits: list[Fit], splits: list[Split]) -> list[Counted]:
    """What each model says of the rows held out from it."""
    return [predict_counted([fit.member], split.valid.grid) for fit, split in zip(fits, splits, strict=True)]


def predict_constant(problem: Problem, splits: list[Split]) -> list[Counted]:
    """The same of a model with all gates shut."""
    outputs = problem.kind.constant(problem.rows)
    sizes = [len(split.valid.target) for split in splits]
    return [Counted(np.tile(outputs, (size, 1)), np.zeros(size, int)) for size in sizes]


def judge(price: float, decay: float, said: list[Counted], splits: list[Split], kind: Kind) -> Candidate:
    """How models of a setting do on the rows held out from each."""
    valid, outputs = [split.valid for split in splits], [one.outputs for one in said]
    weight = np.concatenate([rows.weight for rows in valid])
    n_open = np.concatenate([one.n_open for one in said])
    return Candidate(
        sparsity=price,
        weight_decay=decay,
        validation_loss=held_out_loss(outputs, valid, kind),
        validation_score=kind.score(outputs, valid),
        n_features=weighted_median(n_open, weight),
        mean_features=float(np.average(n_open, weights=weight)),
        loss_error=standard_error(row_losses(kind, outputs, valid), weight),
    )


def judge_closed(problem: Problem, splits: list[Split]) -> Tried:
    """The sparse end of the path: all gates shut, the same prediction for every row."""
    price, decay = problem.highest_price, fallback_decay(problem)
    closed = judge(price, decay, predict_constant(problem, splits), splits, problem.kind)
    return Tried(closed, [], closed.cost(problem.recipe))


def held_out_loss(outputs: list[np.ndarray], valid: list[Rows], kind: Kind) -> float:
    """The loss on the rows held out from each split; risk sets do not reach across splits."""
    totals = [rows.weight.sum() for rows in valid]
    losses = [
        kind.loss.average(part, rows.target, rows.weight / total) if total else 0.0
        for part, rows, total in zip(outputs, valid, totals, strict=True)
    ]
    return float(np.average(losses, weights=totals))


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The middle of the values when each is repeated by its weight; between two middle ones, their mean."""
    order = np.argsort(values, kind="stable")
    rank = np.cumsum(weight[order]) / weight.sum()
    lower = values[order[np.searchsorted(rank, 0.5 - 1e-12)]]
    upper = values[order[np.minimum(np.searchsorted(rank, 0.5 + 1e-12), len(order) - 1)]]
    return float(lower + upper) / 2


def find_price(
    problem: Problem, n_features: int, job: Job, *, n_jobs: int | None, progress: Progress, ledger: Ledger
) -> Choice:
    """Search for the price at which the median training row opens the wanted number of gates."""
    highest = problem.highest_price
    low, high = 1e-5 * highest, highest
    job = prepare_job(problem, job)
    path: list[Candidate] = []
    tried: list[Fit] = []
    ledger.choose = lambda: choose_nearest(path, tried, n_features) if path else None
    for wave in range(N_WAVES):
        prices = np.geomspace(high, low, WAVE + 2)[1:-1]
        jobs = [job._replace(sparsity=float(price)) for price in prices]
        done: dict[int, Fit] = {}
        try:
            run_jobs(problem, jobs, n_jobs, progress, done)
        finally:
            path += [_count(jobs[place], done[place], problem) for place in sorted(done)]
            tried += [done[place] for place in sorted(done)]
        nearest = min(abs(candidate.n_features - n_features) for candidate in path)
        if nearest == 0 or (wave > 0 and nearest <= 1):
            break
        # More features than wanted: the price must rise; fewer: it must fall.
        low = max([c.sparsity for c in path if c.n_features > n_features], default=low)
        high = min([c.sparsity for c in path if c.n_features < n_features and c.sparsity > low], default=high)
    return choose_nearest(path, tried, n_features)


def choose_nearest(path: list[Candidate], tried: list[Fit], n_features: int) -> Choice:
    """The price whose model has about the wanted number of features."""
    best = int(np.argmin([abs(candidate.n_features - n_features) for candidate in path]))
    return Choice(path[best].sparsity, path[best].weight_decay, path, [tried[best]])


def _count(job: Job, fit: Fit, problem: Problem) -> Candidate:
    n_open = predict_counted([fit.member], take_grid(problem.rows.grid, job.which)).n_open
    weight = job.weight
    middle, mean = weighted_median(n_open, weight), float(np.average(n_open, weights=weight))
    return Candidate(job.sparsity, job.weight_decay, float("nan"), float("nan"), middle, mean)


def run_jobs(
    problem: Problem, jobs: list[Job], n_jobs: int | None, progress: Progress, done: dict[int, Fit]
) -> None:
    """Put the fit of each job into ``done``, by its place, as soon as it is there."""
    tasks = [(problem, job) for job in jobs]
    run_tasks(fit_job, tasks, n_jobs=n_jobs, progress=progress, done=done)

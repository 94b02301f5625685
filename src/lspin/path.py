"""Choosing the sparsity: a path of prices judged on held-out rows, or the price of a wanted number of features."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from lspin.fitting import Fit, Task, fit_task, prepare_task
from lspin.inference import predict_outcome
from lspin.losses import COX, average_loss, complete_scores
from lspin.preparation import Problem, constant_outputs
from lspin.progress import Progress
from lspin.recipes import Recipe
from lspin.survival import harrell_concordance
from lspin.survival.targets import split_times
from lspin.tables import Rows, take_rows

SMALL_TABLE = 200  # rows: up to here every row is held out once
N_FOLDS = 5
N_JUDGED = 2  # best starts whose mean decides about a price: one lucky start is no reason to choose it
TOO_MANY = 1e3  # cost of a feature beyond those a recipe allows the median row
FALLBACK_PRICE = 0.01  # where a table has too few rows to hold any out
WAVE = 3  # prices tried at once while searching for a number of features
N_WAVES = 4
HIGHEST_HAZARD_PRICE = 0.5  # nats an event


class Candidate(NamedTuple):
    """One sparsity of the path: means over the held-out rows."""

    sparsity: float
    weight_decay: float
    validation_loss: float
    validation_score: float
    n_features: float  # median over the held-out rows
    mean_features: float

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
    interrupted: bool


def fallback_decay(problem: Problem) -> float:
    """The weight decay as asked for, or one for where it cannot be chosen."""
    return problem.recipe.usual_decay if problem.weight_decay is None else problem.weight_decay


def highest_price(rows: Rows, loss: str) -> float:
    """A price at which no feature pays for itself: the loss of the best prediction that is the same for all.

    Of a partial likelihood only differences count, and the best models of real cohorts gain less than this.
    """
    if loss in COX:
        return HIGHEST_HAZARD_PRICE
    n_outputs = 1 if loss == "squared_error" else int(rows.target.max()) + 1
    outputs = np.tile(constant_outputs(rows, loss, n_outputs), (len(rows.target), 1))
    return float(average_loss(loss, outputs, rows.target, rows.weight / rows.weight.sum()))


class Split(NamedTuple):
    """Rows to train on, as places among the problem's rows, and rows to judge by."""

    train: np.ndarray
    valid: Rows


def split_rows(rows: Rows, loss: str, fraction: float, rng: np.random.Generator) -> list[Split]:
    """Hold out a part of the rows once, or every row once where the table is small.

    Classes and events keep their shares. A class with one row only is never held out.
    """
    n_rows = len(rows.target)
    cross_validated = n_rows <= SMALL_TABLE
    n_folds = min(N_FOLDS if cross_validated else max(round(1 / fraction), 2), max(n_rows // 2, 2))
    classes = rows.target if loss == "cross_entropy" else np.zeros(n_rows)
    if loss in COX:
        classes = rows.target > 0
    fold = np.full(n_rows, -1)
    dealt = 0
    for label in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == label))
        if len(members) > 1:
            fold[members] = (dealt + np.arange(len(members))) % n_folds
            dealt += len(members)
    held_out = range(n_folds) if cross_validated else [0]
    splits = [Split(np.flatnonzero(fold != k), take_rows(rows, np.flatnonzero(fold == k))) for k in held_out]
    return [split for split in splits if len(split.train) and len(split.valid.target)]


def choose_price(
    problem: Problem, splits: list[Split], *, seeds: list[int], n_jobs: int | None, progress: Progress
) -> Choice:
    """Try a path of prices on every split and choose the one that costs least on the held-out rows.

    Notes
    -----
    The path starts at the loss of a constant prediction: opening a gate costs the price, so at that price no
    feature can pay for itself. That model is known without a fit. The weight decay is chosen first, at two
    prices, and looked at again at the chosen one. From the better of these two the path is walked for as long as
    the cost falls. With several seeds all its prices are tried, a price is judged by the mean of its two best
    starts, and the best start of the chosen one is kept.

    """
    if not splits:
        return Choice(FALLBACK_PRICE, fallback_decay(problem), [], [], False)
    closed = judge_closed(problem, splits)
    weight = problem.rows.weight
    drafts = [
        prepare_task(problem, Task(split.train, weight[split.train], split.valid, 0.0, 0.0, 0)) for split in splits
    ]
    tried: list[Tried] = []
    interrupted = False
    for settings in _stages(problem, closed.candidate.sparsity, tried, walks=len(seeds) == 1):
        found, interrupted = try_settings(problem, splits, drafts, settings, seeds, n_jobs, progress)
        tried += found
        if interrupted:
            break
    # Ties go to the sparser model.
    tried = sorted([closed, *tried], key=lambda t: -t.candidate.sparsity)
    n_judged = count_judged(splits, problem.loss)
    beaten = interrupted or any(is_right_more_often(t, closed, n_judged, problem.loss) for t in tried)
    best = min([t for t in tried if t.fits or not beaten], key=lambda t: t.cost, default=closed)
    return Choice(
        best.candidate.sparsity,
        best.candidate.weight_decay,
        [t.candidate for t in tried],
        best.fits,
        interrupted,
    )


def is_right_more_often(tried: Tried, closed: Tried, n_judged: int, loss: str) -> bool:
    """Whether a classifier or an order of risks is right more often than a constant by two standard errors.

    One that is too sure of itself can be so, and lose more than the constant for its few mistakes.
    """
    if loss == "squared_error":
        return False
    share = closed.candidate.validation_score
    margin = 2 * np.sqrt(share * (1 - share) / n_judged)
    return bool(tried.candidate.validation_score > share + margin)


def count_judged(splits: list[Split], loss: str) -> int:
    """Held-out rows that tell right from wrong: all of them, or those with an event; at least 1."""
    counts = [(split.valid.target > 0).sum() if loss in COX else len(split.valid.target) for split in splits]
    return max(int(sum(counts)), 1)


def _stages(
    problem: Problem, highest: float, tried: list[Tried], *, walks: bool
) -> Iterator[list[tuple[float, float]]]:
    """Prices and decays to try next, given all that was tried by then."""

    def best() -> Candidate:
        return min(tried, key=lambda t: t.cost).candidate

    decays = problem.recipe.decays if problem.weight_decay is None else (problem.weight_decay,)
    prices = [price * highest for price in problem.recipe.prices]
    yield [(price * highest, decay) for price in problem.recipe.first_prices for decay in decays]
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
    drafts: list[Task],
    settings: list[tuple[float, float]],
    seeds: list[int],
    n_jobs: int | None,
    progress: Progress,
) -> tuple[list[Tried], bool]:
    """Fit every pair of price and weight decay on every split, which has a draft of a task, from every seed."""
    tasks = [
        draft._replace(sparsity=price, weight_decay=decay, seed=seed)
        for price, decay in settings
        for seed in seeds
        for draft in drafts
    ]
    fits, interrupted = run_tasks(problem, tasks, n_jobs, progress)
    by_start = [fits[i : i + len(splits)] for i in range(0, len(fits) - len(splits) + 1, len(splits))]
    starts = [
        (judge(task, made, splits, problem.loss), made)
        for task, made in zip(tasks[:: len(splits)], by_start, strict=False)
    ]
    groups = [starts[i : i + len(seeds)] for i in range(0, len(starts), len(seeds))]
    return [keep_best(group, problem.recipe) for group in groups], interrupted


def keep_best(starts: list[tuple[Candidate, list[Fit]]], recipe: Recipe) -> Tried:
    """The best start of a setting, with the mean cost of the best few."""
    starts = sorted(starts, key=lambda start: start[0].cost(recipe))
    return Tried(*starts[0], float(np.mean([candidate.cost(recipe) for candidate, _ in starts[:N_JUDGED]])))


def judge(task: Task, fits: list[Fit], splits: list[Split], loss: str) -> Candidate:
    """How models with the settings of a task do on the rows held out from each."""
    outcomes = [predict_outcome([fit.member], split.valid.table) for fit, split in zip(fits, splits, strict=True)]
    outputs = [outcome.outputs for outcome in outcomes]
    n_open = np.concatenate([outcome.n_open for outcome in outcomes])
    return _candidate(task.sparsity, task.weight_decay, outputs, n_open, splits, loss)


def judge_closed(problem: Problem, splits: list[Split]) -> Tried:
    """The sparse end of the path: all gates shut, the same prediction for every row."""
    price, decay = highest_price(problem.rows, problem.loss), fallback_decay(problem)
    outputs = constant_outputs(problem.rows, problem.loss, problem.n_outputs)
    everywhere = [np.tile(outputs, (len(split.valid.target), 1)) for split in splits]
    n_open = np.zeros(sum(len(split.valid.target) for split in splits))
    closed = _candidate(price, decay, everywhere, n_open, splits, problem.loss)
    return Tried(closed, [], closed.cost(problem.recipe))


def _candidate(
    price: float, decay: float, outputs: list[np.ndarray], n_open: np.ndarray, splits: list[Split], loss: str
) -> Candidate:
    weight = np.concatenate([split.valid.weight for split in splits])
    return Candidate(
        sparsity=price,
        weight_decay=decay,
        validation_loss=held_out_loss(outputs, splits, loss),
        validation_score=held_out_score(outputs, splits, loss),
        n_features=weighted_median(n_open, weight),
        mean_features=float(np.average(n_open, weights=weight)),
    )


def held_out_loss(outputs: list[np.ndarray], splits: list[Split], loss: str) -> float:
    """The loss on the rows held out from each split; risk sets do not reach across splits."""
    valid = [split.valid for split in splits]
    totals = [rows.weight.sum() for rows in valid]
    losses = [
        average_loss(loss, part, rows.target, rows.weight / total) if total else 0.0
        for part, rows, total in zip(outputs, valid, totals, strict=True)
    ]
    return float(np.average(losses, weights=totals))


def held_out_score(outputs: list[np.ndarray], splits: list[Split], loss: str) -> float:
    """Accuracy, R², or Harrell's concordance; R² of fewer than two distinct targets is not a number."""
    valid = [split.valid for split in splits]
    weight = np.concatenate([rows.weight for rows in valid])
    if loss in COX:
        return _held_out_concordance(outputs, valid)
    target = np.concatenate([rows.target for rows in valid])
    if loss == "cross_entropy":
        decided = complete_scores(np.concatenate(outputs)).argmax(axis=1)
        return float(np.average(decided == target, weights=weight))
    variance = np.average((target - np.average(target, weights=weight)) ** 2, weights=weight)
    return float(1 - held_out_loss(outputs, splits, loss) / variance) if variance > 0 else float("nan")


def _held_out_concordance(outputs: list[np.ndarray], valid: list[Rows]) -> float:
    """The mean over splits; those in which no pair of rows can be compared do not count."""
    scores, weights = [], []
    for part, rows in zip(outputs, valid, strict=True):
        try:
            found = harrell_concordance(split_times(rows.target), risk=part[:, 0], weight=rows.weight)
        except ValueError:
            continue
        scores.append(found.c_index)
        weights.append(rows.weight.sum())
    return float(np.average(scores, weights=weights)) if scores else float("nan")


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The middle of the values when each is repeated by its weight; between two middle ones, their mean."""
    order = np.argsort(values, kind="stable")
    rank = np.cumsum(weight[order]) / weight.sum()
    lower = values[order[np.searchsorted(rank, 0.5 - 1e-12)]]
    upper = values[order[np.minimum(np.searchsorted(rank, 0.5 + 1e-12), len(order) - 1)]]
    return float(lower + upper) / 2


def find_price(problem: Problem, n_features: int, task: Task, *, n_jobs: int | None, progress: Progress) -> Choice:
    """Search for the price at which the median training row opens the wanted number of gates."""
    highest = highest_price(problem.rows, problem.loss)
    low, high = 1e-5 * highest, highest
    task = prepare_task(problem, task)
    path: list[Candidate] = []
    tried: list[Fit] = []
    interrupted = False
    for wave in range(N_WAVES):
        prices = np.geomspace(high, low, WAVE + 2)[1:-1]
        fits, interrupted = run_tasks(
            problem, [task._replace(sparsity=float(price)) for price in prices], n_jobs, progress
        )
        tried += fits
        path += [
            _count(float(price), task.weight_decay, fit, problem) for price, fit in zip(prices, fits, strict=False)
        ]
        if not path:
            return Choice(FALLBACK_PRICE, task.weight_decay, [], [], True)
        nearest = min(abs(candidate.n_features - n_features) for candidate in path)
        if interrupted or nearest == 0 or (wave > 0 and nearest <= 1):
            break
        # More features than wanted: the price must rise; fewer: it must fall.
        low = max([c.sparsity for c in path if c.n_features > n_features], default=low)
        high = min([c.sparsity for c in path if c.n_features < n_features and c.sparsity > low], default=high)
    best = int(np.argmin([abs(candidate.n_features - n_features) for candidate in path]))
    return Choice(path[best].sparsity, task.weight_decay, path, [tried[best]], interrupted)


def _count(price: float, decay: float, fit: Fit, problem: Problem) -> Candidate:
    n_open = predict_outcome([fit.member], problem.rows.table).n_open
    weight = problem.rows.weight
    middle, mean = weighted_median(n_open, weight), float(np.average(n_open, weights=weight))
    return Candidate(price, decay, float("nan"), float("nan"), middle, mean)


def run_tasks(
    problem: Problem, tasks: list[Task], n_jobs: int | None, progress: Progress
) -> tuple[list[Fit], bool]:
    """Fits in the order of the tasks, as many as were made before an interrupt, and whether there was one."""
    fits: list[Fit] = []
    try:
        for fit in _fits(problem, tasks, n_jobs, progress):
            fits.append(fit)
            progress.finish_fit()
            if fit.interrupted:
                return fits, True
    except KeyboardInterrupt:
        return fits, True
    return fits, False


def _fits(problem: Problem, tasks: list[Task], n_jobs: int | None, progress: Progress) -> Iterator[Fit]:
    if min(effective_n_jobs(n_jobs), len(tasks)) == 1:
        return (fit_task(problem, task, progress.report) for task in tasks)
    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(fit_task)(problem, task) for task in tasks)

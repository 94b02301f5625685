"""Choosing the sparsity: a path of prices judged on held-out rows, or the price of a wanted number of features."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from lspin.fitting import Fit, Problem, Task, fit_task
from lspin.inference import predict_member
from lspin.losses import LOSSES, complete_scores
from lspin.progress import Progress
from lspin.tables import Rows, take_rows

N_PRICES = 7
LOWEST_PRICE = 0.002  # as a part of the loss without any feature
SMALL_TABLE = 200  # rows: up to here every row is held out once
N_FOLDS = 5
PRICE_OF_A_FEATURE = 0.003  # what one more open gate must gain on held-out rows, by the rule that chooses
FALLBACK_PRICE = 0.01  # where a table has too few rows to hold any out
WAVE = 3  # prices tried at once while searching for a number of features
N_WAVES = 4


class Candidate(NamedTuple):
    """One sparsity of the path: means over the held-out rows."""

    sparsity: float
    validation_loss: float
    validation_score: float
    n_features: float  # median over the held-out rows

    @property
    def cost(self) -> float:
        """What the choice minimises."""
        return self.validation_loss + PRICE_OF_A_FEATURE * self.n_features


class Choice(NamedTuple):
    """What the search found."""

    sparsity: float
    path: list[Candidate]
    fits: list[Fit]  # models that may serve as they are, with the chosen sparsity
    interrupted: bool


def price_path(rows: Rows, loss: str) -> np.ndarray:
    """Prices from the one at which no feature can pay for itself, downwards in equal ratios.

    Notes
    -----
    A row with all gates shut costs at most the loss of a constant prediction. Opening one gate costs the
    price, so at a price as high as that loss the best model opens none.

    """
    highest = null_loss(rows, loss)
    return np.geomspace(highest, LOWEST_PRICE * highest, N_PRICES)


def null_loss(rows: Rows, loss: str) -> float:
    """Loss of the best prediction that is the same for all rows."""
    shares = rows.weight / rows.weight.sum()
    if loss == "squared_error":
        return float(shares @ (rows.target - shares @ rows.target) ** 2)
    frequencies = np.bincount(rows.target.astype(int), weights=shares)
    frequencies = frequencies[frequencies > 0]
    return float(-(frequencies * np.log(frequencies)).sum())


class Split(NamedTuple):
    """Rows to train on, as places among the problem's rows, and rows to judge by."""

    train: np.ndarray
    valid: Rows


def split_rows(rows: Rows, loss: str, fraction: float, rng: np.random.Generator) -> list[Split]:
    """Hold out a part of the rows once, or every row once where the table is small; classes keep their shares.

    A class with one row only is never held out.
    """
    n_rows = len(rows.target)
    cross_validated = n_rows <= SMALL_TABLE
    n_folds = min(N_FOLDS if cross_validated else max(round(1 / fraction), 2), max(n_rows // 2, 2))
    classes = rows.target if loss == "cross_entropy" else np.zeros(n_rows)
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
    problem: Problem, splits: list[Split], *, seed: int, n_jobs: int | None, progress: Progress
) -> Choice:
    """Try a path of prices on every split and choose the one that costs least on the held-out rows."""
    if not splits:
        return Choice(FALLBACK_PRICE, [], [], False)
    prices = price_path(problem.rows, problem.loss)
    tasks = [
        Task(split.train, problem.rows.weight[split.train], split.valid, float(price), seed)
        for price in prices
        for split in splits
    ]
    fits, interrupted = run_tasks(problem, tasks, n_jobs, progress)
    if len(fits) < len(splits):
        return Choice(tasks[0].sparsity, [], fits, interrupted)
    groups = [fits[start : start + len(splits)] for start in range(0, len(fits) - len(splits) + 1, len(splits))]
    path = [judge(float(price), group, splits, problem.loss) for price, group in zip(prices, groups, strict=False)]
    # Ties go to the sparser model, and the path starts at the sparse end.
    best = int(np.argmin([candidate.cost for candidate in path]))
    return Choice(path[best].sparsity, path, groups[best], interrupted)


def judge(price: float, fits: list[Fit], splits: list[Split], loss: str) -> Candidate:
    """How models of one price do on the rows held out from each."""
    predictions = [predict_member(fit.member, split.valid.table) for fit, split in zip(fits, splits, strict=True)]
    outputs, gates = (
        np.concatenate(parts) for parts in zip(*[(p.outputs, p.gates) for p in predictions], strict=True)
    )
    target = np.concatenate([split.valid.target for split in splits])
    weight = np.concatenate([split.valid.weight for split in splits])
    losses = LOSSES[loss](outputs, target)
    return Candidate(
        sparsity=price,
        validation_loss=float(np.average(losses, weights=weight)),
        validation_score=held_out_score(outputs, target, weight, losses, loss),
        n_features=weighted_median((gates > 0).sum(axis=1), weight),
    )


def held_out_score(
    outputs: np.ndarray, target: np.ndarray, weight: np.ndarray, losses: np.ndarray, loss: str
) -> float:
    """Accuracy of a classifier, R² of a regressor; R² of fewer than two distinct targets is not a number."""
    if loss == "cross_entropy":
        return float(np.average(complete_scores(outputs).argmax(axis=1) == target, weights=weight))
    variance = np.average((target - np.average(target, weights=weight)) ** 2, weights=weight)
    return float(1 - np.average(losses, weights=weight) / variance) if variance > 0 else float("nan")


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """The middle of the values when each is repeated by its weight; between two middle ones, their mean."""
    order = np.argsort(values, kind="stable")
    rank = np.cumsum(weight[order]) / weight.sum()
    lower = values[order[np.searchsorted(rank, 0.5 - 1e-12)]]
    upper = values[order[np.minimum(np.searchsorted(rank, 0.5 + 1e-12), len(order) - 1)]]
    return float(lower + upper) / 2


def find_price(problem: Problem, n_features: int, task: Task, *, n_jobs: int | None, progress: Progress) -> Choice:
    """Search for the price at which the median training row opens the wanted number of gates."""
    highest = null_loss(problem.rows, problem.loss)
    low, high = 1e-5 * highest, highest
    path: list[Candidate] = []
    tried: list[Fit] = []
    interrupted = False
    for _ in range(N_WAVES):
        prices = np.geomspace(high, low, WAVE + 2)[1:-1]
        fits, interrupted = run_tasks(
            problem, [task._replace(sparsity=float(price)) for price in prices], n_jobs, progress
        )
        tried += fits
        path += [_count(float(price), fit, problem) for price, fit in zip(prices, fits, strict=False)]
        if interrupted or any(candidate.n_features == n_features for candidate in path):
            break
        # More features than wanted: the price must rise; fewer: it must fall.
        low = max([c.sparsity for c in path if c.n_features > n_features], default=low)
        high = min([c.sparsity for c in path if c.n_features < n_features and c.sparsity > low], default=high)
    best = int(np.argmin([abs(candidate.n_features - n_features) for candidate in path]))
    return Choice(path[best].sparsity, path, [tried[best]], interrupted)


def _count(price: float, fit: Fit, problem: Problem) -> Candidate:
    gates = predict_member(fit.member, problem.rows.table).gates
    n_features = weighted_median((gates > 0).sum(axis=1), problem.rows.weight)
    return Candidate(price, float("nan"), float("nan"), n_features)


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

"""Which networks are worth a try beside the best model of groups, and which columns they look at."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lspin.fitting.contest import CLEARLY, take_training
from lspin.fitting.groups import Panel
from lspin.fitting.judging import excess
from lspin.fitting.levels import Contender
from lspin.fitting.path import SMALL_TABLE, Split, held_out_loss
from lspin.fitting.problem import Problem, has_many_columns
from lspin.fitting.trees import MOST_INPUTS, Ranking, keep_telling, look_at_most, rank_by_trees, tree_errors
from lspin.tables.encoding import use_features
from lspin.tables.grid import take_rows

HOPELESS = 1.0  # standard errors by which trees must be worse than groups for no network to be tried,
OUT_OF_REACH = 4.0  # and those beyond which the choice of columns for trees makes no difference
FAR_BEHIND = 0.1  # of what a model of groups gains: a network that is behind by more is not looked at further
ROOM = 2  # times the columns with which trees do best: weak ones may be among the next
FEWEST_COLUMNS = 8  # that are worth a choice
MUCH_LESS = 0.75  # of the error that trees have with all columns: as much as the columns that are kept may leave


class Attempt(NamedTuple):
    """Networks that may beat a model of groups."""

    problem: Problem  # as it is posed to them
    splits: list[Split]  # with the columns they look at, where these are not all
    bar: float  # held-out loss above which they have no prospect of winning; minus infinity: none is tried


def plan_attempt(problem: Problem, contender: Contender, splits: list[Split]) -> Attempt:
    """What may escape groups of linear rules, and which networks would find it.

    Boosted trees take a tenth of a second, and what networks learn beyond linear rules, trees learn in part. If
    trees are worse than the model of groups, with all columns and with those they do best with, no nonlinear
    network is tried. Else networks look at the columns that trees need. Trees are not asked of a few dozen rows,
    which they can hardly divide; the networks are linear then. Where a row tells little, as of a hazard, trees
    learn its noise and are not asked, and there is no bar.
    """
    if problem.kind.tells_little or not may_be_nonlinear(problem):
        return Attempt(problem, splits, find_linear_bar(problem, contender, splits))
    looking = [look(problem, split) for split in splits]
    behind = compare_trees(problem, contender, looking)
    is_narrow = any(split.panel is not None for split in splits)  # a panel was asked for
    has_choice = not is_narrow and problem.encoding.n_features >= FEWEST_COLUMNS and behind < OUT_OF_REACH
    rankings = [rank_columns(problem, split) for split in looking] if has_choice else []
    if behind >= HOPELESS and rankings:
        best = [narrow(problem, *pair, pair[1].best_size) for pair in zip(looking, rankings, strict=True)]
        behind = compare_trees(problem, contender, best)
    if behind >= HOPELESS and sees_enough(problem):
        bar = find_linear_bar(problem, contender, splits) if problem.is_wide else -np.inf
        return Attempt(problem, splits, bar)
    narrowed = narrow_splits(problem, looking, rankings)
    if problem.prediction_layers:
        bar = np.inf if behind <= -CLEARLY else near_bar(problem, contender, splits)
        return Attempt(problem, narrowed or splits, bar)
    if narrowed is not None and compare_trees(problem, contender, narrowed) <= -CLEARLY:
        return Attempt(pose_nonlinear(problem), narrowed, np.inf)
    return Attempt(problem, splits, find_linear_bar(problem, contender, splits))


def may_be_nonlinear(problem: Problem) -> bool:
    """Whether a predictor with hidden layers may serve: of all columns, or of the few that trees need."""
    few_are_enough = problem.on_few is not None and problem.n_rows > SMALL_TABLE
    return bool(problem.prediction_layers) or few_are_enough


def pose_nonlinear(problem: Problem) -> Problem:
    """The problem for a nonlinear predictor of few of its columns."""
    assert problem.on_few is not None
    layers, recipe = problem.on_few
    return replace(problem, is_wide=False, prediction_layers=layers, recipe=recipe, anchor=None)


def find_linear_bar(problem: Problem, contender: Contender, splits: list[Split]) -> float:
    """The bar of linear networks, and of those of hazards.

    Of a wide table, networks start from a ridge: none is tried if a sparse model is clearly better than one.
    """
    chosen, dense = contender.level, contender.dense
    if problem.is_wide:
        is_clear = excess(dense.losses, chosen.losses, chosen.weight) >= CLEARLY
        return -np.inf if is_clear else near_bar(problem, contender, splits)
    if problem.kind.tells_little or has_many_columns(problem.encoding):
        return np.inf
    return near_bar(problem, contender, splits)


def near_bar(problem: Problem, contender: Contender, splits: list[Split]) -> float:
    """A held-out loss that is little above that of the best model of groups."""
    valid = [split.valid for split in splits]
    places = contender.find(valid)
    reached = float(np.average(contender.level.losses[places], weights=contender.level.weight[places]))
    constant = [np.tile(problem.kind.constant(problem.rows), (len(rows.target), 1)) for rows in valid]
    return reached + FAR_BEHIND * max(held_out_loss(constant, valid, problem.kind) - reached, 0.0)


# What trees see ----------------------------------------------------------------------------------------------


def sees_enough(problem: Problem) -> bool:
    """Whether trees look at all columns, or at hundreds."""
    return look_at_most(problem.encoding, problem.kind) >= min(problem.encoding.n_features, MOST_INPUTS)


def look(problem: Problem, split: Split) -> Split:
    """The split with the columns that trees look at: all, or those of very many that tell something alone."""
    number = look_at_most(problem.encoding, problem.kind)
    if split.panel is not None or number == problem.encoding.n_features:
        return split
    rows, encoding = take_training(problem, split)
    kept = keep_telling(rows, encoding, problem.kind, number)
    if encoding.context is not None:
        kept = np.union1d(kept, encoding.context)
    return split._replace(panel=Panel(use_features(encoding, kept), labels=None))


def compare_trees(problem: Problem, contender: Contender, splits: list[Split]) -> float:
    """By how many standard errors boosted trees are worse than the model of groups on held-out rows."""
    chosen = contender.level
    errors = np.concatenate([ask_trees(problem, split) for split in splits])
    places = contender.find([split.valid for split in splits])
    return excess(errors, chosen.errors[places], chosen.weight[places])


def ask_trees(problem: Problem, split: Split) -> np.ndarray:
    """Squared errors of boosted trees on the held-out rows of a split."""
    rows = take_rows(problem.rows, split.train)._replace(weight=split.weight)
    encoding = problem.encoding if split.panel is None else split.panel.encoding
    return tree_errors(rows, split.valid, encoding, problem.kind)


def narrow_splits(problem: Problem, splits: list[Split], rankings: list[Ranking]) -> list[Split] | None:
    """Splits with the columns that trees need, found in the training rows of each; nothing if all are to stay."""
    if not rankings:
        return None
    size = ROOM * int(np.median([ranking.best_size for ranking in rankings]))
    if size >= len(rankings[0].order) or np.median([ranking.part_left for ranking in rankings]) > MUCH_LESS:
        return None
    return [narrow(problem, *pair, size) for pair in zip(splits, rankings, strict=True)]


def rank_columns(problem: Problem, split: Split) -> Ranking:
    """The columns of a split in the order in which trees need them."""
    rows, encoding = take_training(problem, split)
    return rank_by_trees(rows, encoding if split.panel is None else split.panel.encoding, problem.kind)


def narrow(problem: Problem, split: Split, ranking: Ranking, size: int) -> Split:
    """The split with so many of its columns, and those of a context."""
    encoding = take_training(problem, split)[1] if split.panel is None else split.panel.encoding
    kept = np.sort(ranking.order[:size])
    if encoding.context is not None:
        kept = np.union1d(kept, encoding.context)
    return split._replace(panel=Panel(use_features(encoding, kept), labels=None))

"""Which start serves a table: models of groups and networks are judged on the same held-out rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from lspin.core.interrupts import obey
from lspin.fitting.calibration import find_spread
from lspin.fitting.groups import (
    Basis,
    Found,
    Setting,
    average_ridges,
    build_member,
    count_many,
    find_basis,
    look_at,
    open_many,
    predict_mixture,
    rebuild_basis,
)
from lspin.fitting.judging import excess
from lspin.fitting.levels import AS_GOOD, LEADS, Contender, Level
from lspin.fitting.path import Choice, Split, predict_held_out
from lspin.fitting.problem import Problem
from lspin.fitting.progress import Progress
from lspin.structure.divisions import ALL, GIVEN, MEAN, RULES, RULES_OF_CONTEXT, WHOLE, Rule
from lspin.structure.screening import rank_related
from lspin.tables.encoding import Encoding, relearn_encoding
from lspin.tables.grid import Rows, take_rows

FEWEST_JUDGED = 800  # rows that decide between models of groups, as long as there are as many
N_SMALL_FOLDS = 10  # of a small table: with more rows to learn from, folds find as many columns as the whole
MOST_ROWS = 20_000  # that a model of groups is judged by; the chosen one learns from all
MOST_ENTRIES = 2_000_000  # of these rows, if there are more rows than columns
CLEARLY = 2.0  # standard errors by which groups must be better than none
N_FINALISTS = 3  # rules of which a few levels are judged
SKETCHED = (2, 4, 8, 16, 32)  # their numbers of terms
TIE = 1.0  # standard errors within which a model of groups is preferred to a network,
FAR_FEWER = 0.5  # unless that has at most this part of its features
PENALTIES = tuple(float(penalty) for penalty in np.geomspace(1e-3, 8, 11))
MANY_RIDGES = 1000  # rows up to which ridges of fewer columns are tried; beyond, all columns only


class Glance(NamedTuple):
    """Groups that a rule finds in a split, and squared errors of their mixture on its held-out rows."""

    found: Found
    errors: np.ndarray


class Search(NamedTuple):
    """What is looked for, and the levels that were judged on the way."""

    problem: Problem
    found: list[Level]
    n_features: int | None  # that the median row is to use, where a number is wanted
    shown: bool = False  # whether to say how far it is


class Trial(NamedTuple):
    """A way to divide the rows of a split, and the rows to judge by with the columns that are looked at."""

    basis: Basis
    valid: Rows


def find_contender(
    problem: Problem,
    splits: list[Split],
    n_features: int | None = None,
    found: list[Level] | None = None,
    *,
    shown: bool = False,
) -> Contender | None:
    """Judge models of groups on held-out rows; nothing where table or target do not suit them.

    What is judged is added to ``found``, so that an interrupt leaves it there; ``shown`` says how far it is.
    """
    if not splits or not suits_groups(problem):
        return None
    with threadpool_limits(1):  # several threads for small matrices cost more than they gain
        return judge_groups(Search(problem, [] if found is None else found, n_features, shown), splits)


def judge_groups(search: Search, splits: list[Split]) -> Contender:
    """The best rule and number of terms on held-out rows."""
    problem = search.problem
    glances, orders = find_glances(problem, splits, shown=search.shown)
    errors = {rule: np.concatenate([glance.errors for glance in made]) for rule, made in glances.items()}
    weight = np.concatenate([split.valid.weight for split in splits])
    n_groups = {rule: len(made[0].found.mixture.offsets) for rule, made in glances.items()}
    finalists = [WHOLE, *list_finalists(errors, weight, n_groups)]
    trials = {rule: make_trials(splits, glances[rule]) for rule in finalists}
    n_sketches = len(finalists) * len(SKETCHED)
    with Progress(n_sketches, shown=search.shown, unit="sketches of models judged") as progress:
        sketches = {rule: sketch(search, rule, trials[rule], progress).losses for rule in finalists}
    rules = dict.fromkeys([WHOLE, choose_rule(sketches, weight, n_groups)])
    n_steps = sum(len(list_counts(trials[rule])) - 1 + len(PENALTIES) for rule in rules)
    with Progress(n_steps, shown=search.shown, unit="sizes of models judged") as progress:
        levels = [level for rule in rules for level in walk(search, rule, trials[rule], progress)]
    if problem.is_wide:
        levels += judge_ridges(problem, splits, [glance.found for glance in glances[WHOLE]], orders)
    return Contender(problem, levels, search.n_features)


def suits_groups(problem: Problem) -> bool:
    """Whether models of groups can do a table: a dense one."""
    return not problem.rows.grid.is_sparse


def find_glances(
    problem: Problem, splits: list[Split], *, shown: bool = False
) -> tuple[dict[Rule, list[Glance]], list[np.ndarray]]:
    """For each rule, a quick look at its groups in every split; without rules that fail in one of them.

    And of every split the features, those most closely related to the target first.
    """
    rules = RULES if problem.encoding.context is None else RULES_OF_CONTEXT
    glances: dict[Rule, list[Glance]] = {rule: [] for rule in (WHOLE, *rules, GIVEN)}
    orders = []
    with Progress(len(splits), shown=shown, unit="splits searched for groups") as progress:
        for split in progress.follow(splits):
            # One split after the other: what is seen of the rows is as large as the table.
            made, order = glance_at(problem, split, list(glances))
            glances = {rule: [*glances[rule], glance] for rule, glance in made.items()}
            orders.append(order)
    return glances, orders


def glance_at(problem: Problem, split: Split, rules: list[Rule]) -> tuple[dict[Rule, Glance], np.ndarray]:
    """What some rules make of a split, and the order of its features."""
    labels = None if split.panel is None else split.panel.labels
    sight = look_at(*take_training(problem, split), problem.kind, labels)
    bases = ((rule, find_basis(sight, rule)) for rule in rules)
    made = {
        rule: Glance(basis.found, predict_mixture(basis, split.valid))
        for rule, basis in bases
        if basis is not None
    }
    return made, rank_related(sight.divisions.cloud)


def make_trials(splits: list[Split], glances: list[Glance]) -> list[Trial]:
    """What the models of a rule are made from and judged by in every split."""
    bases = [rebuild_basis(glance.found) for glance in glances]
    return [Trial(basis, basis.narrow(split.valid)) for basis, split in zip(bases, splits, strict=True)]


def take_training(problem: Problem, split: Split) -> tuple[Rows, Encoding]:
    """The training rows of a split, or as many as it takes to judge, and what is learned of their columns."""
    most = MOST_ROWS if problem.is_wide else min(MOST_ROWS, MOST_ENTRIES // len(problem.encoding.owners))
    step = -(-len(split.train) // most)
    rows = take_rows(problem.rows, split.train[::step])._replace(weight=split.weight[::step])
    return rows, relearn_encoding(rows, problem.encoding) if split.panel is None else split.panel.encoding


def list_finalists(errors: dict[Rule, np.ndarray], weight: np.ndarray, n_groups: dict[Rule, int]) -> list[Rule]:
    """Rules that divide clearly better than none by a quick look: of each number of groups the best, a few in all.

    The rule with the fewest groups is among them: more groups may have followed the target itself, which a sketch
    gains by, but gates cannot write.
    """
    clear = [rule for rule in errors if excess(errors[WHOLE], errors[rule], weight) >= CLEARLY]
    clear.sort(key=lambda rule: float(np.average(errors[rule], weights=weight)))
    best = {n_groups[rule]: rule for rule in reversed(clear)}
    ranked = [rule for rule in clear if rule in best.values()]
    return list(dict.fromkeys([*ranked[: N_FINALISTS - 1], *([best[min(best)]] if best else [])]))


def choose_rule(losses: dict[Rule, np.ndarray], weight: np.ndarray, n_groups: dict[Rule, int]) -> Rule:
    """The rule that predicts held-out rows best: clearly better than none, with few groups if as good."""

    def mean(rule: Rule) -> float:
        return float(np.average(losses[rule], weights=weight))

    best = min(losses, key=mean)
    if excess(losses[WHOLE], losses[best], weight) < CLEARLY:
        return WHOLE
    close = [rule for rule in losses if rule != WHOLE and excess(losses[rule], losses[best], weight) <= AS_GOOD]
    return min(close, key=lambda rule: (n_groups[rule], mean(rule)))


def list_counts(trials: list[Trial]) -> list[int]:
    """Numbers of terms of a rule's models."""
    return sorted({count for trial in trials for count in trial.basis.ladder})


def walk(search: Search, rule: Rule, trials: list[Trial], progress: Progress) -> list[Level]:
    """All levels of a rule's path: no term, few at penalties near the best for fewer, the most at any penalty."""
    *counts, most = list_counts(trials)
    levels: list[Level] = []
    first = 0
    for n_terms in progress.follow(counts):
        penalties = PENALTIES[first:] if n_terms else PENALTIES[:1]
        tried = raise_penalty(search, Setting(rule, n_terms), trials, penalties)
        levels += tried
        # More columns mostly want a stronger penalty, at times one that is a little weaker.
        first = max(PENALTIES.index(min(tried, key=lambda level: level.loss).setting.penalty) - 1, 0)
    settings = progress.follow(Setting(rule, most, penalty) for penalty in PENALTIES)
    return levels + [make_level(search, setting, trials) for setting in settings]


def sketch(search: Search, rule: Rule, trials: list[Trial], progress: Progress) -> Level:
    """The best of a few levels of a rule's path."""
    settings = progress.follow(Setting(rule, n_terms) for n_terms in SKETCHED)
    levels = [make_level(search, setting, trials) for setting in settings]
    return min(levels, key=lambda level: level.loss)


def raise_penalty(
    search: Search, setting: Setting, trials: list[Trial], penalties: Sequence[float]
) -> list[Level]:
    """A level at one penalty after the other, for as long as the loss falls."""
    levels: list[Level] = []
    for penalty in penalties:
        levels.append(make_level(search, setting._replace(penalty=penalty), trials))
        if len(levels) > 1 and levels[-1].loss >= levels[-2].loss:
            break
    return levels


def make_level(search: Search, setting: Setting, trials: list[Trial]) -> Level:
    """A setting on the held-out rows of all splits, added to those that were found.

    It is judged here and now, so that an interrupt, which has the best of them chosen, need not wait for that.
    """
    obey()
    members = [build_member(trial.basis, setting) for trial in trials]
    level = Level(search.problem, setting, members, [trial.valid for trial in trials])
    if search.n_features is None:
        level.judge()
    search.found.append(level)
    return level


def judge_ridges(
    problem: Problem, splits: list[Split], training: list[Found], orders: list[np.ndarray]
) -> list[Level]:
    """The dense end of a wide table's path: ridges of many columns, and the mean of them."""
    n_features, valid = len(problem.encoding.gated_features), [split.valid for split in splits]
    counts = count_many(n_features) if problem.n_rows <= MANY_RIDGES else [n_features]
    ridges = [
        [open_many(found.rows, found.whole, problem.kind, np.sort(order[:count])) for count in counts]
        for found, order in zip(training, orders, strict=True)
    ]
    levels = [
        Level(problem, Setting(ALL, count), list(members), valid)
        for count, members in zip(counts, zip(*ridges, strict=True), strict=True)
    ]
    means = [average_ridges(members) for members in ridges]
    return levels + ([Level(problem, Setting(MEAN, n_features), means, valid)] if len(counts) > 1 else [])


def settle(problem: Problem, choice: Choice, contender: Contender, splits: list[Split]) -> Choice:
    """The network's choice, or the model of groups where that is as good on the same held-out rows."""
    if len(choice.fits) < len(splits):  # a constant, or no time for a network
        return contender.choice()
    valid = [split.valid for split in splits]
    factor, theirs = find_spread(problem, [said.outputs for said in predict_held_out(choice.fits, splits)], valid)
    places = contender.find(valid)
    own, weight = contender.level.spread.losses[places], contender.level.weight[places]
    has_few = choice.candidate.mean_features <= FAR_FEWER * contender.level.mean_open
    if has_few and not contender.is_ridge:
        # For far fewer features a network may cost as much as a level of a path may.
        wins = np.average(theirs - own, weights=weight) <= problem.tolerance * contender.gain
    else:
        # Networks are the best of many too, and the mean of ridges is one: see `choose_ridge`.
        wins = excess(own, theirs, weight) > (LEADS if contender.is_ridge else TIE)
    judged = choice._replace(spread=factor) if wins else contender.choice()
    return judged._replace(contest=contender.stand(theirs, places, loses=bool(wins)))

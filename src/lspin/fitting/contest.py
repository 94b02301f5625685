"""Which start serves a table: models of groups and networks are judged on the same held-out rows."""

from functools import cached_property
from itertools import pairwise

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from lspin.fitting.groups import Basis, Setting, build_member, find_basis, predict_mixture, spread_out
from lspin.fitting.judging import excess, row_losses
from lspin.fitting.path import Candidate, Choice, Split, held_out_loss, weighted_median
from lspin.fitting.prediction import predict_counted
from lspin.fitting.problem import Problem, has_many_columns
from lspin.structure.divisions import WHOLE, Rule, list_rules
from lspin.structure.mixture import MOST_TERMS, order_terms
from lspin.tables.encoding import encode, learn_encoding
from lspin.tables.grid import take_rows

FEWEST_JUDGED = 400  # rows that decide between models of groups, as long as there are as many
MOST_ROWS = 20_000  # that a model of groups is judged by; the chosen one learns from all
CLEARLY = 2.0  # standard errors by which groups must be better than none
AS_GOOD = 1.0  # standard errors within which fewer groups are preferred
WORTH_IT = 2.5  # standard errors by which the best of all levels must be better than a constant,
WHOLE_WORTH = 1.0  # or a ridge of all columns, which was not picked by its success
TIE = 1.0  # standard errors within which a model of groups is preferred to a network
HOPELESS = 0.0  # standard errors by which trees must be worse than groups for no network to be tried
FAR_BEHIND = 0.03  # of what a model of groups gains: a network that is behind by more is not looked at further
PENALTIES = (1e-3, 6e-3, 4e-2)
FINE_STEPS = 10  # terms up to which every number of them is a level of the path
COARSE_STEP = 1.2
LEAST_PRICE = 1e-3  # of a level that gains nothing, as a part of the highest price


class Level:
    """A model of groups at one setting, judged on the held-out rows of all splits."""

    def __init__(self, problem: Problem, splits: list[Split], setting: Setting, bases: list[Basis]) -> None:
        self.setting = setting
        self._problem, self._valid = problem, [split.valid for split in splits]
        said = [
            predict_counted([build_member(basis, problem.kind, setting)], rows.grid)
            for basis, rows in zip(bases, self._valid, strict=True)
        ]
        self.outputs = [one.outputs for one in said]
        self.n_open = np.concatenate([one.n_open for one in said])
        self.weight = np.concatenate([rows.weight for rows in self._valid])

    @property
    def n_terms(self) -> int:
        """Columns, each in a group."""
        return self.setting.n_terms

    @cached_property
    def losses(self) -> np.ndarray:
        """Of every held-out row, split by split."""
        return row_losses(self._problem.kind, self.outputs, self._valid)

    @cached_property
    def loss(self) -> float:
        """Mean over the held-out rows."""
        return float(np.average(self.losses, weights=self.weight))

    @cached_property
    def mean_open(self) -> float:
        """Open gates of a held-out row."""
        return float(np.average(self.n_open, weights=self.weight))

    def candidate(self, price: float) -> Candidate:
        """The level as a row of the path."""
        return Candidate(
            sparsity=price,
            weight_decay=self.setting.penalty,
            validation_loss=self.loss,
            validation_score=self._problem.kind.score(self.outputs, self._valid),
            n_features=weighted_median(self.n_open, self.weight),
            mean_features=self.mean_open,
        )


class Contender:
    """The best model of groups, and its path."""

    def __init__(self, problem: Problem, levels: list[Level], errors: dict[Rule, np.ndarray]) -> None:
        lowest, constant = (
            min(levels, key=key) for key in (lambda level: level.loss, lambda level: level.n_terms)
        )
        close = [
            level for level in levels if excess(level.losses, lowest.losses, level.weight) <= problem.tolerance
        ]
        self.level = min(close, key=lambda level: (level.mean_open, level.loss))
        if not tells_something(levels, self.level, constant):
            self.level = constant
        self.errors = errors[self.level.setting.rule]
        shown = keep_best_penalty([level for level in levels if level.setting.rule == self.level.setting.rule])
        shown[self.level.setting.n_terms] = self.level
        ordered = sorted(shown.values(), key=lambda level: level.mean_open)
        prices = list_prices(ordered, problem.kind.highest_price(problem.rows))
        self.path = [level.candidate(price) for price, level in zip(prices, ordered, strict=True)]
        self.price = prices[ordered.index(self.level)]

    def loss_on(self, n_rows: int) -> float:
        """Mean loss on the first of the held-out rows, those that networks are judged by."""
        return float(np.average(self.level.losses[:n_rows], weights=self.level.weight[:n_rows]))

    def choice(self, *, interrupted: bool) -> Choice:
        """What the search found, if this is it."""
        setting = self.level.setting
        return Choice(self.price, setting.penalty, self.path, [], interrupted, setting)


def tells_something(levels: list[Level], chosen: Level, constant: Level) -> bool:
    """Whether any column is worth its gate: the best of many levels may be so by chance, a ridge of all is not."""
    ridge = max(levels, key=lambda level: (level.setting.rule == WHOLE, level.n_terms, level.setting.penalty))
    gains = (excess(constant.losses, level.losses, constant.weight) for level in (chosen, ridge))
    return any(gain >= least for gain, least in zip(gains, (WORTH_IT, WHOLE_WORTH), strict=True))


def find_contender(problem: Problem, splits: list[Split]) -> Contender | None:
    """Judge models of groups on held-out rows; nothing where table or target do not suit them."""
    if not splits or not suits_groups(problem):
        return None
    with threadpool_limits(1):  # several threads for small matrices cost more than they gain
        return judge_groups(problem, splits)


def judge_groups(problem: Problem, splits: list[Split]) -> Contender:
    """The best rule and number of terms on held-out rows."""
    bases_of = {rule: bases for rule in propose_rules(problem) if (bases := find_bases(problem, splits, rule))}
    errors = {rule: quick_errors(problem, splits, bases) for rule, bases in bases_of.items()}
    weight = np.concatenate([split.valid.weight for split in splits])
    rules = dict.fromkeys([WHOLE, choose_rule(errors, weight, {r: b[0].n_groups for r, b in bases_of.items()})])
    levels = [level for rule in rules for level in walk(problem, splits, rule, bases_of[rule])]
    return Contender(problem, levels, errors)


def suits_groups(problem: Problem) -> bool:
    """Whether models of groups can do a table: at least as many rows as columns, and not hundreds of these."""
    return not problem.is_wide and not has_many_columns(problem.encoding)


def propose_rules(problem: Problem) -> list[Rule]:
    """Rules that may divide the rows, and none at all."""
    cloud, _, _ = spread_out(problem.rows, problem.encoding, problem.kind)
    return [WHOLE, *list_rules(cloud)]


def find_bases(problem: Problem, splits: list[Split], rule: Rule) -> list[Basis]:
    """What models by a rule are made from, for each split; empty where the rule fails in one of them."""
    bases = []
    for split in splits:
        step = -(-len(split.train) // MOST_ROWS)
        rows, known = take_rows(problem.rows, split.train[::step]), problem.encoding
        encoding = learn_encoding(rows, known.levels, known.n_columns, known.features)
        basis = find_basis(rows, encoding, problem.kind, rule)
        if basis is None:
            return []
        bases.append(basis)
    return bases


def quick_errors(problem: Problem, splits: list[Split], bases: list[Basis]) -> np.ndarray:
    """Squared errors of the mixtures themselves on held-out rows, split by split."""
    return np.concatenate(
        [predict_mixture(basis, split.valid, problem.kind) for basis, split in zip(bases, splits, strict=True)]
    )


def choose_rule(errors: dict[Rule, np.ndarray], weight: np.ndarray, n_groups: dict[Rule, int]) -> Rule:
    """The rule that predicts held-out rows best: clearly better than none, with few groups if as good."""

    def mean(rule: Rule) -> float:
        return float(np.average(errors[rule], weights=weight))

    best = min(errors, key=mean)
    if excess(errors[WHOLE], errors[best], weight) < CLEARLY:
        return WHOLE
    close = [rule for rule in errors if rule != WHOLE and excess(errors[rule], errors[best], weight) <= AS_GOOD]
    return min(close, key=lambda rule: (n_groups[rule], mean(rule)))


def walk(problem: Problem, splits: list[Split], rule: Rule, bases: list[Basis]) -> list[Level]:
    """All levels of a rule's path, from no feature on."""
    return [
        Level(problem, splits, Setting(rule, n_terms, penalty), bases)
        for n_terms in list_counts(bases)
        for penalty in (PENALTIES if n_terms else PENALTIES[:1])
    ]


def list_counts(bases: list[Basis]) -> list[int]:
    """Numbers of terms that are tried: every small one, larger ones in steps, all, and what is clearly there."""
    most = max(len(basis.terms) for basis in bases)
    clear = {len(order_terms(basis.moments, MOST_TERMS, clear=True)) for basis in bases}
    coarse = {int(count) for count in FINE_STEPS * COARSE_STEP ** np.arange(1, 12)}
    return sorted(count for count in {*range(FINE_STEPS + 1), *clear, *coarse, most} if count <= most)


def keep_best_penalty(levels: list[Level]) -> dict[int, Level]:
    """By number of terms, the level with the lower loss."""
    best: dict[int, Level] = {}
    for level in sorted(levels, key=lambda level: level.loss):
        best.setdefault(level.setting.n_terms, level)
    return best


def list_prices(levels: list[Level], highest: float) -> list[float]:
    """For levels that open more and more, the price up to which what a level adds pays for itself; falling."""
    prices = [highest]
    for before, after in pairwise(levels):
        gain = (before.loss - after.loss) / max(after.mean_open - before.mean_open, 1e-3)
        prices.append(float(np.clip(gain, LEAST_PRICE * highest, 0.95 * prices[-1])))
    return prices


def calls_for_networks(problem: Problem, contender: Contender, splits: list[Split]) -> bool:
    """Whether something in a table may escape groups of linear rules: boosted trees are not clearly worse.

    Trees take a tenth of a second. What networks learn beyond linear rules, trees learn in part. Where a row tells
    little, as of a hazard, trees learn its noise, and networks are tried.
    """
    if problem.kind.tells_little:
        return True
    errors = np.concatenate([tree_errors(problem, split) for split in splits])
    weight = contender.level.weight[: len(errors)]
    return excess(errors, contender.errors[: len(errors)], weight) < HOPELESS


def tree_errors(problem: Problem, split: Split) -> np.ndarray:
    """Squared errors of boosted trees on the held-out rows of a split."""
    rows = take_rows(problem.rows, split.train)
    seen, new = (encode(part.grid, problem.encoding)[0] for part in (rows, split.valid))
    errors = np.zeros(len(new))
    with threadpool_limits(1):
        for output, truth in zip(
            problem.kind.regressand(rows).T, problem.kind.regressand(split.valid).T, strict=True
        ):
            trees = HistGradientBoostingRegressor(max_bins=63, early_stopping=False, random_state=0)
            errors += (trees.fit(seen, output).predict(new) - truth) ** 2
    return errors


def bar_for_networks(problem: Problem, contender: Contender, splits: list[Split]) -> float:
    """The held-out loss above which a network has no prospect of winning."""
    valid = [split.valid for split in splits]
    reached = contender.loss_on(sum(len(rows.target) for rows in valid))
    constant = [np.tile(problem.kind.constant(problem.rows), (len(rows.target), 1)) for rows in valid]
    return reached + FAR_BEHIND * max(held_out_loss(constant, valid, problem.kind) - reached, 0.0)


def settle(problem: Problem, choice: Choice, contender: Contender, splits: list[Split]) -> Choice:
    """The network's choice, or the model of groups where that is as good on the same held-out rows."""
    if not choice.fits:  # a constant, or no time for any network
        return contender.choice(interrupted=choice.interrupted)
    valid = [split.valid for split in splits]
    outputs = [
        predict_counted([fit.member], rows.grid).outputs for fit, rows in zip(choice.fits, valid, strict=True)
    ]
    theirs = row_losses(problem.kind, outputs, valid)
    own, weight = contender.level.losses[: len(theirs)], contender.level.weight[: len(theirs)]
    return contender.choice(interrupted=choice.interrupted) if excess(own, theirs, weight) <= TIE else choice

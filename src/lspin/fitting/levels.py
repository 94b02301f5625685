"""Models of groups at one setting after the other: how each does on held-out rows, and which one is chosen."""

from functools import cached_property
from itertools import pairwise

import numpy as np

from lspin.fitting.calibration import Spread, find_spread
from lspin.fitting.groups import RIDGES, Setting
from lspin.fitting.judging import Standing, excess, rank, relation, row_losses, standard_error
from lspin.fitting.path import ALL_GAIN, Candidate, Choice, weighted_median
from lspin.fitting.prediction import Member, predict_counted
from lspin.fitting.problem import Problem
from lspin.structure.divisions import MEAN, WHOLE
from lspin.tables.grid import Rows

AS_GOOD = 1.0  # standard errors within which fewer groups or features may be preferred
WORTH_IT = 2.5  # standard errors by which the chosen level or a ridge must be better than a constant
LEADS = 2.0  # standard errors by which a ridge of some columns must be better than the mean of several
RELATED = 2.33  # standard errors by which what a ridge of many columns says must go along with the truth
LEAST_PRICE = 1e-3  # of a level that gains nothing, as a part of the highest price

ONE_GROUP = (WHOLE, *RIDGES)
CONSTANT, UNDIVIDED, DIVIDED, TRAINED = "constant", "one group", "groups", "networks"  # models that compete


class Level:
    """A model of groups at one setting, judged on the held-out rows of all splits."""

    def __init__(self, problem: Problem, setting: Setting, members: list[Member], valid: list[Rows]) -> None:
        self.setting = setting
        self._problem, self._valid = problem, valid
        said = [predict_counted([member], rows.grid) for member, rows in zip(members, valid, strict=True)]
        self.outputs = [one.outputs for one in said]
        self.n_open = np.concatenate([one.n_open for one in said])
        self.weight = np.concatenate([rows.weight for rows in self._valid])
        self.source = np.concatenate([rows.source for rows in self._valid])

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
    def loss_error(self) -> float:
        """Standard error of that mean."""
        return standard_error(self.losses, self.weight)

    @cached_property
    def errors(self) -> np.ndarray:
        """Squared errors of every held-out row, as a regression of the target has them."""
        return ((np.concatenate(self._expected) - np.concatenate(self._truth)) ** 2).sum(axis=1)

    @cached_property
    def relation(self) -> float:
        """By how many standard errors what it says goes along with the truth."""
        return relation(self._expected, self._truth, self.weight)

    @property
    def _expected(self) -> list[np.ndarray]:
        return [self._problem.kind.expect(outputs) for outputs in self.outputs]

    @property
    def _truth(self) -> list[np.ndarray]:
        return [self._problem.kind.regressand(rows) for rows in self._valid]

    @cached_property
    def spread(self) -> Spread:
        """The factor that suits its outputs best, and the losses of every held-out row then."""
        return find_spread(self._problem, self.outputs, self._valid)

    @property
    def judged_losses(self) -> np.ndarray:
        """What it is chosen by: losses with that factor, but for hazards, of which few events tell no factor."""
        return self.losses if self._problem.kind.tells_little else self.spread.losses

    @cached_property
    def judged_loss(self) -> float:
        """Mean of these over the held-out rows."""
        return float(np.average(self.judged_losses, weights=self.weight))

    def judge(self) -> None:
        """Find what it is chosen by, which is kept."""
        _ = self.judged_loss

    @property
    def median_open(self) -> float:
        """Open gates of the median held-out row."""
        return weighted_median(self.n_open, self.weight)

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
            n_features=self.median_open,
            mean_features=self.mean_open,
            loss_error=self.loss_error,
        )


class Contender:
    """The best model of groups, and its path."""

    def __init__(self, problem: Problem, levels: list[Level], n_features: int | None) -> None:
        constant = min(levels, key=lambda level: level.n_terms)
        self.level = (
            choose_level(problem, levels, constant) if n_features is None else match_features(levels, n_features)
        )
        self.constant = constant
        self.gain = max(constant.loss - self.level.loss, 0.0)  # over a constant
        self.dense = max(levels, key=lambda level: (level.setting.rule in ONE_GROUP, level.n_terms))
        # It gives way only to what is better by more than chance, be that of few columns or a network.
        self.is_ridge = self.level.setting.rule in RIDGES and problem.tolerance < ALL_GAIN
        by_loss = sorted(levels, key=lambda level: level.loss)
        self.whole = next(level for level in by_loss if level.setting.rule in ONE_GROUP)
        self.divided = next((level for level in by_loss if level.setting.rule not in ONE_GROUP), None)
        rules = ONE_GROUP if self.level.setting.rule in ONE_GROUP else (self.level.setting.rule,)
        shown = keep_best_penalty([level for level in levels if level.setting.rule in rules])
        shown[self.level.setting.n_terms] = self.level
        ordered = sorted(shown.values(), key=lambda level: level.mean_open)
        prices = list_prices(ordered, problem.kind.highest_price(problem.rows))
        self.path = [level.candidate(price) for price, level in zip(prices, ordered, strict=True)]
        self.price = prices[ordered.index(self.level)]

    def find(self, valid: list[Rows]) -> np.ndarray:
        """Places of some held-out rows, those that networks are judged by, among all by which this was chosen."""
        order = np.argsort(self.level.source)
        source = np.concatenate([rows.source for rows in valid])
        return order[np.searchsorted(self.level.source, source, sorter=order)]

    def choice(self) -> Choice:
        """What the search found, if this is it."""
        setting = self.level.setting
        factor = self.level.spread.factor
        return Choice(self.price, setting.penalty, self.path, [], setting, self.stand(), spread=factor)

    @property
    def name(self) -> str:
        """What the model is called among those it was chosen from."""
        if self.level.n_terms == 0:
            return CONSTANT
        return UNDIVIDED if self.level.setting.rule in ONE_GROUP else DIVIDED

    def stand(
        self, networks: np.ndarray | None = None, places: np.ndarray | None = None, *, loses: bool = False
    ) -> tuple[Standing, ...]:
        """A constant, the best models with one group and with several, and networks, on the same held-out rows.

        ``networks`` are their losses on the rows at some ``places``, if they were tried, to which this may lose.
        """
        kept = slice(None) if places is None else places
        levels = {CONSTANT: self.constant, UNDIVIDED: self.whole, DIVIDED: self.divided, self.name: self.level}
        losses = {name: None if level is None else level.spread.losses[kept] for name, level in levels.items()}
        chosen = TRAINED if loses else self.name
        return tuple(rank({**losses, TRAINED: networks}, chosen, self.level.weight[kept]))


def choose_level(problem: Problem, levels: list[Level], constant: Level) -> Level:
    """The level with the fewest features of those that are nearly as good as the best, or the constant.

    Each is judged as it will be used, with its own factor of calibration: what a strong penalty takes from the
    size of the weights, the factor gives back.
    """
    eligible = levels if problem.tolerance >= ALL_GAIN else prefer_ridge(levels)
    lowest = min(eligible, key=lambda level: level.judged_loss)
    gain = max(constant.judged_loss - lowest.judged_loss, 0.0)
    close = [
        level
        for level in eligible
        if level.judged_loss <= lowest.judged_loss + problem.tolerance * gain
        and excess(level.judged_losses, lowest.judged_losses, level.weight) <= AS_GOOD
    ]
    best = min(close, key=lambda level: (level.mean_open, level.judged_loss))
    return best if tells_something(levels, best, constant) else constant


def match_features(levels: list[Level], n_features: int) -> Level:
    """The best of the levels whose median row opens the wanted number of gates, or the nearest to it."""
    nearest = min(abs(level.median_open - n_features) for level in levels)
    matching = [level for level in levels if abs(level.median_open - n_features) <= nearest]
    return min(matching, key=lambda level: level.loss)


def prefer_ridge(levels: list[Level]) -> list[Level]:
    """Of a wide table, a ridge of many columns, unless few columns are better by more than chance.

    The best of many selections of few columns is the best in part by luck, which a ridge has no need of.
    """
    ridges = [level for level in levels if level.setting.rule in RIDGES]
    if not ridges:
        return levels
    ridge, lowest = choose_ridge(ridges), min(levels, key=lambda level: level.loss)
    return levels if excess(ridge.losses, lowest.losses, ridge.weight) > AS_GOOD else [ridge]


def choose_ridge(ridges: list[Level]) -> Level:
    """The mean of all, unless one is clearly better: of several that are as good, one leads by luck."""
    best = min(ridges, key=lambda level: level.loss)
    mean = find_mean(ridges) or best
    return best if excess(mean.losses, best.losses, best.weight) > LEADS else mean


def find_mean(levels: list[Level]) -> Level | None:
    """The mean of several ridges, where it is among the levels."""
    return next((level for level in levels if level.setting.rule == MEAN), None)


def tells_something(levels: list[Level], chosen: Level, constant: Level) -> bool:
    """Whether any column is worth its gate: by the chosen level, or by a ridge of all columns.

    Where several ridges lead, their mean decides: it was not picked from many levels, so one test at the level of
    1 % is enough, and a loss says little of a few dozen rows: it also asks how far outputs should be spread. Else
    a ridge at the strongest penalty is asked too: it hardly learns the noise of its rows, so it sees many weak
    effects best.
    """
    if chosen.setting.rule in RIDGES:
        mean = find_mean(levels)
        if mean is not None:
            return mean.relation >= RELATED
        if chosen.relation >= RELATED:
            return True
    ridge = max(levels, key=lambda level: (level.setting.rule in ONE_GROUP, level.n_terms, level.setting.penalty))
    return any(excess(constant.losses, level.losses, constant.weight) >= WORTH_IT for level in (chosen, ridge))


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

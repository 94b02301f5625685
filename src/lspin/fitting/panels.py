"""Panels: the columns that a cohort may use in all, gates included, of several sizes, judged on held-out rows."""

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from lspin.core.interrupts import take_note
from lspin.fitting.attempts import ask_trees
from lspin.fitting.columns import RELATED, TREES, Orders, Source
from lspin.fitting.contest import (
    Glance,
    find_contender,
    find_glances,
    list_finalists,
    take_training,
)
from lspin.fitting.groups import Panel, find_basis, look_at, predict_mixture, rebuild_basis
from lspin.fitting.judging import excess
from lspin.fitting.keeping import contend_with_finished
from lspin.fitting.levels import AS_GOOD, Contender, Level
from lspin.fitting.path import Candidate, Split
from lspin.fitting.problem import Problem, has_many_columns, is_wide
from lspin.structure.divisions import WHOLE, Rule
from lspin.tables.encoding import Encoding, use_features
from lspin.tables.grid import Rows

FEWER = 2.0  # factor between two sizes that are tried
TELLING = (0.25, 0.5, 0.75)  # parts of a panel that may tell groups


class Sized(NamedTuple):
    """Panels of one size, one for each split, and the best model of groups on them."""

    size: int
    source: Source
    contender: Contender


class PanelSize(NamedTuple):
    """One row of the path of panels: means over the held-out rows."""

    n_panel: int
    start: str
    validation_loss: float
    loss_error: float  # standard error of the loss
    validation_score: float
    n_features: float  # median over the held-out rows
    mean_features: float
    chosen: bool = False


class Panels:
    """The columns that a cohort may use: networks get as many as are allowed, groups no more than they need.

    Networks, if they compete, are judged by splits of their own, and take the columns of one of some sources.
    """

    def __init__(
        self,
        problem: Problem,
        most: int,
        tried: list[Sized],
        sources: list[Source],
        splits: list[Split],
        cut: KeyboardInterrupt | None = None,
    ) -> None:
        self.cut = cut  # what ended the search before its time
        self._problem, self._most, self._tried = problem, most, tried
        self._sources, self._splits = sources, splits
        self._best = choose_size(tried, problem.tolerance) if tried else None

    @cached_property
    def for_networks(self) -> Panel:
        """The panel of all rows that networks may use; that of groups, where the search was cut short."""
        if self.cut is not None:
            return self.for_groups
        return self._find(self._problem.rows, self._problem.encoding, self._chosen[0], self._most)

    @property
    def splits(self) -> list[Split]:
        """The splits of networks, each with a panel that is found in its training rows."""
        return self._chosen[1]

    @cached_property
    def for_groups(self) -> Panel:
        """The panel of all rows that the chosen model of groups may use."""
        assert self._best is not None
        return self._find(self._problem.rows, self._problem.encoding, self._best.source, self._best.size)

    @property
    def contender(self) -> Contender | None:
        """The best model of groups; nothing where none could be judged."""
        return None if self._best is None else self._best.contender

    @cached_property
    def _chosen(self) -> tuple[Source, list[Split]]:
        """The source by whose columns boosted trees tell most of the held-out rows, and splits with its panels."""
        narrowed = [(source, [self._narrow(split, source) for split in self._splits]) for source in self._sources]
        return min(narrowed, key=lambda pair: self._error_of_trees(pair[1])) if len(narrowed) > 1 else narrowed[0]

    def _narrow(self, split: Split, source: Source) -> Split:
        rows, encoding = take_training(self._problem, split)
        return split._replace(panel=self._find(rows, encoding, source, self._most))

    def _error_of_trees(self, splits: list[Split]) -> float:
        errors = [ask_trees(self._problem, split) for split in splits]
        weight = [split.valid.weight for split in splits]
        return float(np.average(np.concatenate(errors), weights=np.concatenate(weight)))

    def _find(self, rows: Rows, encoding: Encoding, source: Source, size: int) -> Panel:
        with threadpool_limits(1):
            sight = look_at(rows, encoding, self._problem.kind)
            whole = find_basis(sight, WHOLE)
            assert whole is not None
            bases = {WHOLE: whole, source.rule: find_basis(sight, source.rule) or whole}
            return make_panel(encoding, Orders(bases, list_fixed(encoding)), source, size)

    def list_path(self, networks: Candidate | None) -> list[PanelSize]:
        """The best model of groups at every size, and the networks, if these were chosen."""
        path = []
        for one in self._tried:
            level = one.contender.level
            row = describe_size(one.size, "groups", level.candidate(0.0))
            path.append(row._replace(chosen=networks is None and one is self._best))
        if networks is not None:
            path.append(describe_size(self._most, "networks", networks)._replace(chosen=True))
        return sorted(path, key=lambda row: row.n_panel)


def describe_size(size: int, start: str, row: Candidate) -> PanelSize:
    """A model of panels of one size as a row of their path."""
    return PanelSize(
        n_panel=size,
        start=start,
        validation_loss=row.validation_loss,
        loss_error=row.loss_error,
        validation_score=row.validation_score,
        n_features=row.n_features,
        mean_features=row.mean_features,
    )


def find_panels(
    problem: Problem,
    splits: list[Split],
    most: int,
    n_features: int | None,
    for_networks: list[Split],
    *,
    shown: bool = False,
) -> Panels:
    """Panels of all sizes up to the most, judged on the held-out rows.

    Notes
    -----
    The columns of a panel are found in the training rows of each split, so that rows that judge it have no part
    in it. At every size a quick look prefers one source of columns; on these the models of groups compete as they
    do on whole tables. Networks are judged by splits of their own, none if they do not compete.

    """
    most = min(most, problem.encoding.n_features)
    if not splits:
        return Panels(problem, most, [], [Source(WHOLE)], [])
    with threadpool_limits(1):  # several threads for small matrices cost more than they gain
        glances, _ = find_glances(problem, splits, shown=shown)
        rules = find_rules(splits, glances)
        orders = collect_orders(problem, glances, rules)
        encodings = [take_training(problem, split)[1] for split in splits]
        n_fixed = len(list_fixed(problem.encoding))  # with a context, its columns tell the groups, and no others
        sizes = list_sizes(most, n_fixed)
        parts = () if n_fixed else TELLING
        sources = {size: list_sources(orders, rules, size - n_fixed, parts) for size in sizes}
        chosen = {size: choose_source(splits, orders, sources[size], size) for size in sizes}
        tried: list[Sized] = []
        for size, source in chosen.items():
            panels = [make_panel(*pair, source, size) for pair in zip(encodings, orders, strict=True)]
            narrow = [split._replace(panel=panel) for split, panel in zip(splits, panels, strict=True)]
            contender, cut = try_size(narrow_problem(problem, size), narrow, n_features, shown=shown)
            if contender is not None:
                tried.append(Sized(size, source, contender))
            if cut is not None and tried:
                return Panels(problem, most, tried, [source], [], cut)
            if cut is not None:
                raise cut
    nonlinear = [Source(WHOLE, by=TREES)] if for_networks and suits_trees(problem, most) else []
    return Panels(problem, most, tried, [chosen[most], *nonlinear], for_networks)


def try_size(
    problem: Problem, splits: list[Split], n_features: int | None, *, shown: bool
) -> tuple[Contender | None, KeyboardInterrupt | None]:
    """The best model of groups of some columns; of those judged by then, where an interrupt ends that."""
    found: list[Level] = []
    try:
        return find_contender(problem, splits, n_features, found, shown=shown), None
    except KeyboardInterrupt as error:
        take_note()
        return contend_with_finished(problem, found, n_features), error


def suits_trees(problem: Problem, most: int) -> bool:
    """Whether an order by boosted trees serves: with few rows for each column they learn noise."""
    is_narrow = not problem.is_wide and not has_many_columns(problem.encoding)
    return is_narrow and bool(problem.prediction_layers) and most < problem.encoding.n_features


def make_panel(encoding: Encoding, orders: Orders, source: Source, size: int) -> Panel:
    """The panel of some rows."""
    return Panel(use_features(encoding, orders.pick(source, size)), orders.label(source))


def list_fixed(encoding: Encoding) -> list[int]:
    """Features that every panel has: those of a context."""
    return [] if encoding.context is None else encoding.context.tolist()


def find_rules(splits: list[Split], glances: dict[Rule, list[Glance]]) -> list[Rule]:
    """Rules that divide the rows clearly better than none."""
    errors = {rule: np.concatenate([glance.errors for glance in made]) for rule, made in glances.items()}
    weight = np.concatenate([split.valid.weight for split in splits])
    n_groups = {rule: len(made[0].found.mixture.offsets) for rule, made in glances.items()}
    return list_finalists(errors, weight, n_groups)


def collect_orders(problem: Problem, glances: dict[Rule, list[Glance]], rules: list[Rule]) -> list[Orders]:
    """For each split, the orders of columns that rules give."""
    fixed = list_fixed(problem.encoding)
    by_split = zip(*(glances[rule] for rule in (WHOLE, *rules)), strict=True)
    found = [dict(zip((WHOLE, *rules), of_split, strict=True)) for of_split in by_split]
    return [Orders({rule: rebuild_basis(one.found) for rule, one in made.items()}, fixed) for made in found]


def list_sources(
    orders: list[Orders], rules: list[Rule], number: int, parts: tuple[float, ...] = TELLING
) -> list[Source]:
    """A model without groups, the columns one by one, and groups that some parts of so many columns may tell.

    How many these are is the same in all splits and for the last model: with more rows more columns may count
    clearly, which would leave none to tell the groups.
    """
    sources = [Source(WHOLE), Source(WHOLE, by=RELATED)]
    for rule in rules:
        left = number - int(np.median([order.count_clear(rule) for order in orders]))
        counts = [*(round(part * number) for part in parts), max(left, 1)] if parts else [0]
        sources += [Source(rule, n_telling) for n_telling in dict.fromkeys(counts)]
    return sources


def choose_source(splits: list[Split], orders: list[Orders], sources: list[Source], size: int) -> Source:
    """The source whose panels of a size tell most of the held-out rows, by a quick look."""
    weight = np.concatenate([split.valid.weight for split in splits])

    def error(source: Source) -> float:
        looks = [order.look(source, size) for order in orders]
        errors = [predict_mixture(basis, split.valid) for basis, split in zip(looks, splits, strict=True)]
        return float(np.average(np.concatenate(errors), weights=weight))

    return min(sources, key=error)


def list_sizes(most: int, n_fixed: int) -> list[int]:
    """Sizes that are tried, from the largest down, with a column at least beside those that every panel has."""
    sizes = [most]
    while (size := int(sizes[-1] / FEWER)) > n_fixed:
        sizes.append(size)
    return sizes


def narrow_problem(problem: Problem, size: int) -> Problem:
    """A problem of so many columns, as models of groups see it."""
    encoding = use_features(problem.encoding, np.arange(size))
    return replace(problem, encoding=encoding, is_wide=is_wide(problem.rows, encoding))


def choose_size(tried: list[Sized], tolerance: float) -> Sized:
    """The smallest panel of those that are nearly as good as the best."""
    best = min(tried, key=lambda one: one.contender.level.loss).contender
    dearest = best.level.loss + tolerance * best.gain

    def is_close(one: Sized) -> bool:
        level = one.contender.level
        return level.loss <= dearest and excess(level.losses, best.level.losses, level.weight) <= AS_GOOD

    return min(filter(is_close, tried), key=lambda one: one.size)

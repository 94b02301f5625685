"""Which columns are worth a place in a panel: those that count in groups of rows, and those that tell these."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lspin.fitting.groups import Basis, spread_out
from lspin.fitting.trees import rank_by_trees
from lspin.structure.divisions import WHOLE, Rule
from lspin.structure.mixture import MOST_TERMS, Mixture, Moments, order_terms, tell_apart
from lspin.structure.screening import rank_related
from lspin.tables.encoding import keep_features

# Orders of columns: by what each adds to models of groups, tells of the target on its own, or spares trees.
TERMS, RELATED, TREES = "terms", "related", "trees"


class Source(NamedTuple):
    """Where the columns of a panel come from."""

    rule: Rule  # by which rows are divided
    n_telling: int = 0  # columns that tell the groups, at most; the others count in them
    by: str = TERMS  # the order in which the others are taken


class Order:
    """The columns of rows that are divided by a rule, those first that are worth most."""

    def __init__(self, basis: Basis) -> None:
        self.basis = basis

    @cached_property
    def related(self) -> list[int]:
        """By what each tells of the target on its own."""
        return self.basis.kept[rank_related(self.basis.cloud)].tolist()

    @cached_property
    def needed_by_trees(self) -> list[int]:
        """By what boosted trees lose without each, whatever the rule it is part of."""
        return rank_by_trees(self.basis.rows, self.basis.whole, self.basis.kind).order

    @cached_property
    def telling(self) -> list[int]:
        """By what each adds to telling the groups; without those that add nothing."""
        cloud, mixture = self.basis.cloud, self.basis.mixture
        shares = mixture.responsibilities / cloud.weight[:, None]
        outputs = shares - np.average(shares, axis=0, weights=cloud.weight)
        moments = Moments(cloud.values, outputs, cloud.weight[:, None], cloud.seen)
        terms = order_terms(moments, MOST_TERMS, n_considered=len(self.basis.whole.owners), clear=True)
        return self._name(term.column for term in terms)

    @cached_property
    def clear(self) -> list[int]:
        """Columns that gain more in a group than columns of noise would."""
        return self._name(term.column for term in self.basis.order_clear_terms())

    @cached_property
    def rungs(self) -> list[list[int]]:
        """Columns of models with more and more terms."""
        n_inputs = len(self.basis.whole.owners)  # a ridge of all columns has them in no order
        ladder = self.basis.ladder.items()
        return [self._name(term.column for term in terms) for count, terms in ladder if count < n_inputs]

    def take(self, by: str, number: int) -> list[int]:
        """Columns in one of the orders, where so many are wanted."""
        if by == TERMS:
            return self.count(number)
        return self.related if by == RELATED else self.needed_by_trees

    def count(self, number: int) -> list[int]:
        """Columns that count in the groups: those of the largest model with so many at most, then the others."""
        fitting = [rung for rung in self.rungs if len(rung) <= number]
        return list(dict.fromkeys(column for rung in (fitting[-1], *self.rungs) for column in rung))

    def _name(self, inputs: Iterable[int]) -> list[int]:
        """Features of some inputs, by their places in the whole table."""
        owners = self.basis.encoding.owners
        return list(dict.fromkeys(int(self.basis.kept[owners[place]]) for place in inputs))


class Orders:
    """All orders of the columns of some rows, from which panels are picked."""

    def __init__(self, bases: dict[Rule, Basis], fixed: list[int]) -> None:
        self._orders = {rule: Order(basis) for rule, basis in bases.items()}
        self._fixed = fixed  # columns that every panel has

    def pick(self, source: Source, size: int) -> np.ndarray:
        """Places of the columns of a panel among all features, ascending."""
        order, number = self._orders[source.rule], size - len(self._fixed)
        telling = order.telling[: min(source.n_telling, number)]
        counting = order.take(source.by, number - len(telling))
        listed = dict.fromkeys([*self._fixed, *telling, *counting, *self._orders[WHOLE].related])
        return np.sort(list(listed)[:size])

    def count_clear(self, rule: Rule) -> int:
        """How many columns count in the groups of a rule by more than chance."""
        return len(self._orders[rule].clear)

    def label(self, source: Source) -> np.ndarray | None:
        """How the rows are divided by all columns, shape ``(n,)``; nothing where they are not."""
        basis = self._orders[source.rule].basis
        return basis.mixture.responsibilities.argmax(axis=1) if basis.n_groups > 1 else None

    def look(self, source: Source, size: int) -> Basis:
        """What a quick look at a panel takes: the same groups, told by the columns of the panel."""
        return use_panel(self._orders[source.rule].basis, self.pick(source, size))


def use_panel(basis: Basis, panel: np.ndarray) -> Basis:
    """The same groups of rows, told by columns of a panel and with models of these."""
    kept, shares = np.intersect1d(basis.kept, panel), basis.mixture.responsibilities
    points = spread_out(basis.rows, basis.whole, basis.kind, kept)
    return replace(
        basis,
        **points._asdict(),
        encoding=keep_features(basis.whole, kept),
        mixture=Mixture(*tell_apart(points.cloud, shares, len(basis.whole.owners)), shares),
        kept=kept,
    )

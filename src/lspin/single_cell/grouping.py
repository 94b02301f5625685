"""Which cells belong to which group, and which of them are held out."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.single_cell.annotations import read_annotations
from lspin.single_cell.expression import list_some

REST = "rest"
HELD_OUT = 0.2  # of the cells judge a model; of the others, as many choose its price
MOST_GROUPS = 0.5  # of the cells: a column with more different values is no grouping
MOST_NAMED = 12  # groups or columns in a message
MOST_TRAINED = 50_000  # cells: more make a fit longer, not better


class Groups(NamedTuple):
    """Groups of cells as asked for."""

    names: np.ndarray  # (n_groups,), all that are fitted, text
    codes: np.ndarray  # (n_cells,), -1 for a cell of none of them
    shown: list[int]  # those whose genes are ranked
    reference: int | None  # None: all others

    def others(self, group: int) -> np.ndarray:
        """Groups that a group is compared with."""
        everyone = np.arange(len(self.names))
        return everyone[everyone != group] if self.reference is None else np.array([self.reference])


def read_groups(obs: Any, groupby: str, groups: str | Iterable[str], reference: str) -> Groups:
    """The groups of a column of ``obs``, or an error that says what is wrong with them."""
    column = load_column(obs, groupby)
    labels = column.astype(str)
    sizes = labels.value_counts()
    names = np.array(sorted(sizes.index))
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = np.array([str(name) for name in column.dtype.categories if str(name) in sizes.index])
    wanted = read_wanted(groups, names)
    for name in [*wanted, *([] if reference == REST else [str(reference)])]:
        if name not in names:
            raise ValueError(f"obs[{groupby!r}] has no group {name!r}; it has {list_some(names, MOST_NAMED)}")
    if reference != REST:
        names = np.array([name for name in names if name in {*wanted, str(reference)}])
        wanted = [name for name in wanted if name != str(reference)]
    if len(names) < 2 or not wanted:
        where = f"obs[{groupby!r}] has" if reference == REST else "groups and reference are"
        raise ValueError(f"{where} the group '{names[0]}' only: genes tell two or more groups apart")
    if len(names) > MOST_GROUPS * len(labels):
        raise ValueError(
            f"obs[{groupby!r}] has {len(names)} different values in {len(labels)} cells: is it a measurement? "
            "Genes are ranked for groups of cells, such as types or clusters"
        )
    if small := [name for name in names if sizes[name] < 2]:
        raise ValueError(
            f"group '{small[0]}' of obs[{groupby!r}] has one cell only: leave it out or join it with another"
        )
    place = {name: code for code, name in enumerate(names)}
    codes = labels.map(place).fillna(-1).to_numpy(int)
    return Groups(names, codes, [place[name] for name in wanted], None if reference == REST else place[reference])


def read_wanted(groups: str | Iterable[str], names: np.ndarray) -> list[str]:
    """The groups whose genes are asked for."""
    if isinstance(groups, str) and groups == "all":
        return list(names)
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        example = groups if isinstance(groups, str) else str(names[0])
        raise ValueError(f"groups={groups!r} must be 'all' or a list of groups, such as [{example!r}]")
    wanted = [str(group) for group in groups]
    if not wanted:
        raise ValueError("groups is an empty list: name one group or more, or leave it out for all")
    return wanted


def load_column(obs: Any, name: str) -> pd.Series:
    """A column of ``obs``, none of it missing."""
    if name not in obs.columns:
        raise ValueError(f"obs has no column {name!r}; it has {list_some(obs.columns, MOST_NAMED)}")
    column = read_annotations(obs, [name])[name]
    missing = column.isna()
    if missing.any():
        raise ValueError(
            f"{missing.sum()} of {len(column)} cells have no value in obs[{name!r}], the first is "
            f"{column.index[missing][0]!r}: leave them out with adata[adata.obs[{name!r}].notna()].copy()"
        )
    return column


class Roles(NamedTuple):
    """What cells are for, before the last fit takes all of them."""

    trains: np.ndarray  # (n_cells,), booleans
    chooses: np.ndarray  # the price of a gate
    judges: np.ndarray  # the accuracy that is reported: these cells had no part in the model


def assign_roles(groups: Groups, donors: pd.Series | None, rng: np.random.RandomState) -> Roles:
    """Divide the cells; those that judge come from other donors, and those that choose if it can be."""
    judges = hold_out(groups, donors, rng)
    left = groups._replace(codes=np.where(judges, -1, groups.codes))
    chooses = np.zeros(len(judges), bool) if donors is None else _hold_out_donors(left, donors, rng)
    if not chooses.any():
        chooses = _hold_out_cells(left, rng)
    return Roles((left.codes >= 0) & ~chooses, chooses, judges)


def hold_out(groups: Groups, donors: pd.Series | None, rng: np.random.RandomState) -> np.ndarray:
    """Which cells are held out: a fifth of each group, or whole donors until these have a fifth of all cells."""
    if donors is None:
        return _hold_out_cells(groups, rng)
    is_held = _hold_out_donors(groups, donors, rng)
    if not is_held.any():
        raise ValueError(
            f"no donor of obs[{donors.name!r}] can be held out: without it a group would have no cells left to "
            "learn from; leave donors out, so that cells are held out whatever donor they come from"
        )
    return is_held


def _hold_out_cells(groups: Groups, rng: np.random.RandomState) -> np.ndarray:
    is_held = np.zeros(len(groups.codes), bool)
    for code in range(len(groups.names)):
        cells = rng.permutation(np.flatnonzero(groups.codes == code))
        is_held[cells[: int(HELD_OUT * len(cells))]] = True
    return is_held


def _hold_out_donors(groups: Groups, donors: pd.Series, rng: np.random.RandomState) -> np.ndarray:
    """Whole donors, as long as each group keeps cells of others; none if that cannot be."""
    is_held = np.zeros(len(groups.codes), bool)
    known = groups.codes >= 0
    for donor in rng.permutation(np.unique(donors[known])):
        candidate = is_held | ((donors == donor).to_numpy() & known)
        if len(np.unique(groups.codes[known & ~candidate])) == len(groups.names):
            is_held = candidate
        if is_held.sum() >= HELD_OUT * known.sum():
            break
    return is_held


def draw_cells(codes: np.ndarray, allowed: np.ndarray, most: int, rng: np.random.RandomState) -> np.ndarray:
    """At most so many of the allowed cells, in order: small groups whole, large ones cut to one size."""
    cells = [rng.permutation(np.flatnonzero(allowed & (codes == code))) for code in range(codes.max() + 1)]
    left, kept = most, []
    for place, own in enumerate(sorted(cells, key=len)):
        kept.append(own[: left // (len(cells) - place)])
        left -= len(kept[-1])
    return np.sort(np.concatenate(kept))

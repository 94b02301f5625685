"""What models of groups have found: their groups, which of these are the same, and how often each is found."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.fitting.needs import ROUNDING
from lspin.fitting.prediction import Member, predict_memberships
from lspin.tables.encoding import Encoding
from lspin.tables.grid import Grid
from lspin.targets.intervals import wilson_interval

SAME = 0.5  # two groups are the same if they share more than this part of the rows that either has
NONE = -1  # number of a group that is none of the common ones
MATCHED = ("member", "group", "common", "share")
STRUCTURE = (*MATCHED, "told_by", "features", "signs")
ROLES = ("group", "tells", "counts")
FREQUENCY = ("group", "role", "feature", "n_found", "found", "lower", "upper", "sign")


class Group(NamedTuple):
    """A group of rows in a model of groups."""

    told_by: np.ndarray  # columns that tell it from the others, the one that tells most first
    telling: np.ndarray  # 1 where high values speak for the group, -1 against it, not a number for categories
    features: np.ndarray  # columns whose gates it opens
    signs: np.ndarray  # of their coefficients; not a number for categories and several classes


def list_groups(member: Member) -> list[Group]:
    """What tells each group of a model, and what counts in it; columns by their position in the table."""
    networks, encoding = member.networks, member.encoding
    if networks.groups is None:
        return []
    owners = encoding.owners[encoding.seen_inputs]
    weights = networks.groups.weights[: len(owners)]  # those of flags of missing values come after
    sizes, telling = _sum_up(weights - weights.mean(axis=1, keepdims=True), owners, encoding)
    opened = 0.5 + np.tanh(networks.gating[0].weights) > ROUNDING
    signs = _coefficient_signs(member)
    groups = []
    for number, (size, is_open) in enumerate(zip(sizes, opened, strict=True)):
        told_by = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
        columns = encoding.features[told_by], encoding.features[is_open]
        groups.append(Group(columns[0], telling[number, told_by], columns[1], signs[number, is_open]))
    return groups


def _sum_up(weights: np.ndarray, owners: np.ndarray, encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
    """Largest weight of each feature, and its sign, from those of its inputs; shape ``(n, n_features)`` both."""
    sizes = np.zeros((weights.shape[1], encoding.n_features))
    np.maximum.at(sizes.T, owners, np.abs(weights))
    signs = np.zeros_like(sizes)
    signs[:, owners] = np.sign(weights).T
    signs[:, _find_categories(encoding)] = np.nan
    return sizes, signs


def _coefficient_signs(member: Member) -> np.ndarray:
    """Which way a feature counts in each group, shape ``(n_groups, n_features)``."""
    networks, encoding = member.networks, member.encoding
    layer = networks.prediction[0]
    n_groups = len(networks.gating[0].weights)
    if len(layer.bias) > 1:
        return np.full((n_groups, encoding.n_features), np.nan)
    turned = np.ones((n_groups, encoding.n_features)) if networks.signs is None else networks.signs
    return turned * _sum_up(layer.weights, encoding.owners, encoding)[1]


def _find_categories(encoding: Encoding) -> np.ndarray:
    return np.isin(encoding.features, list(encoding.levels))


# The same group in several models ----------------------------------------------------------------------------


def match_groups(members: list[Member], table: Grid, weight: np.ndarray) -> pd.DataFrame:
    """The share of the rows in each group, and which groups of the members are the same.

    One row for each member and group. ``common`` is the number of the same group in the member that agrees best
    with the others, or -1 if that member has no such group.
    """
    if any(member.networks.groups is None for member in members):
        return pd.DataFrame(columns=list(MATCHED))
    divided = [predict_memberships(member, table) for member in members]
    return match_divisions([np.eye(part.shape[1])[part.argmax(axis=1)] for part in divided], weight)


def match_divisions(divisions: list[np.ndarray], weight: np.ndarray) -> pd.DataFrame:
    """The same of rows that are divided in several ways: 1 where a row is in a group, shape ``(n, n_groups)``.

    Notes
    -----
    Groups are the same if they share more than half of the rows that either has (a Jaccard index above one half,
    below which Hennig, 2007, calls a cluster dissolved). No two groups of a division can do so with the same one,
    whatever the number of groups.

    """
    inside = np.hstack(divisions)
    owner = np.repeat(np.arange(len(divisions)), [division.shape[1] for division in divisions])
    shared = inside.T @ (inside * (weight / weight.sum())[:, None])
    sizes = np.diag(shared)
    likeness = shared / np.maximum(sizes[:, None] + sizes - shared, 1e-300)
    own = np.flatnonzero(owner == find_typical(likeness, owner, sizes))
    nearest = likeness[:, own].argmax(axis=1)
    is_same = likeness[np.arange(len(owner)), own[nearest]] > SAME
    # A group that no row is in is like no other, but the same as itself.
    is_same[own], nearest[own] = True, np.arange(len(own))
    common = np.where(is_same, nearest, NONE)
    return pd.DataFrame({"member": owner, "group": _number(owner), "common": common, "share": sizes})


def find_typical(likeness: np.ndarray, owner: np.ndarray, sizes: np.ndarray) -> int:
    """The member whose groups, weighed by their sizes, are found best in the others; the first of equals."""
    numbers = np.unique(owner)
    best = np.stack([likeness[:, owner == other].max(axis=1) for other in numbers], axis=1).mean(axis=1)
    agreement = np.bincount(owner, sizes * best)
    return int(np.flatnonzero(agreement > agreement.max() - ROUNDING)[0])


def leave_unmatched(members: list[Member]) -> pd.DataFrame:
    """The same where the rows are not known: the groups of the first member are the common ones."""
    owner = np.repeat(np.arange(len(members)), [len(list_groups(member)) for member in members])
    group = _number(owner)
    common = np.where(owner == 0, group, NONE)
    return pd.DataFrame({"member": owner, "group": group, "common": common, "share": np.nan})


def refuse_mismatch(matched: pd.DataFrame, members: list[Member]) -> None:
    """Raise an error if what a file says of the groups of its members cannot be."""
    known = leave_unmatched(members)
    if list(matched) != list(known) or not all(
        np.array_equal(matched[name], known[name]) for name in ("member", "group")
    ):
        raise ValueError("its groups do not fit its members")
    if len(known) == 0:
        return
    common = matched["common"]
    is_typical = (common == matched["group"]).groupby(matched["member"]).all()
    n_groups = int((matched["member"] == is_typical.idxmax()).sum())
    if not is_typical.any() or common.dtype.kind != "i" or not common.between(NONE, n_groups - 1).all():
        raise ValueError("its common groups are those of none of its members")


def _number(owner: np.ndarray) -> np.ndarray:
    """Numbers from 0 on within each owner; owners are ascending."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner)


def average_memberships(members: list[Member], matched: pd.DataFrame, table: Grid) -> np.ndarray:
    """Probability that a row belongs to each common group, over the members, shape ``(n, n_common)``."""
    total = np.zeros((table.n_rows, int(matched["common"].max()) + 1))
    for place, member in enumerate(members):
        common = matched.loc[matched["member"] == place, "common"].to_numpy()
        total[:, common[common != NONE]] += predict_memberships(member, table)[:, common != NONE]
    return total / total.sum(axis=1, keepdims=True)


# As users see it ---------------------------------------------------------------------------------------------


def tell_structure(
    members: list[Member], matched: pd.DataFrame, names: Any, direction: float = 1.0
) -> pd.DataFrame:
    """One row for each member and group: the same group elsewhere, its size, what tells it and what counts.

    The ``direction`` is that of scores against outputs (:attr:`lspin.targets.Kind.direction`).
    """
    groups = [group for member in members for group in list_groups(member)]
    if not groups:
        return pd.DataFrame(columns=list(STRUCTURE))
    found = pd.DataFrame(
        {
            "told_by": [tuple(names[group.told_by]) for group in groups],
            "features": [tuple(names[group.features]) for group in groups],
            "signs": [tuple((direction * group.signs).tolist()) for group in groups],
        }
    )
    return pd.concat([matched, found], axis=1)


class Finding(NamedTuple):
    """Something that members found: a group, or a feature in one of its roles."""

    group: int
    role: str  # one of ROLES
    column: int | None


def count_findings(
    members: list[Member], matched: pd.DataFrame, names: Any, direction: float = 1.0
) -> pd.DataFrame:
    """How many members find each common group, and each feature in it, with Wilson's 95 % intervals."""
    signs: dict[Finding, list[float]] = defaultdict(list)
    groups = [group for member in members for group in list_groups(member)]
    for group, number in zip(groups, matched["common"], strict=True):
        for finding, sign in _list_findings(group, int(number)) if number != NONE else ():
            signs[finding].append(sign if finding.role != "counts" else direction * sign)
    order = sorted(signs, key=lambda finding: (finding.group, ROLES.index(finding.role), -len(signs[finding])))
    rows = []
    for finding in order:
        found = signs[finding]
        feature = None if finding.column is None else names[finding.column]
        interval = wilson_interval(len(found), len(members))
        rows.append((finding.group, finding.role, feature, len(found), *interval, float(np.mean(found))))
    return pd.DataFrame(rows, columns=list(FREQUENCY)).astype({"feature": object})


def _list_findings(group: Group, number: int) -> Iterator[tuple[Finding, float]]:
    """What a member found of a group, each with its sign."""
    yield Finding(number, ROLES[0], None), np.nan
    for role, columns, signs in zip(
        ROLES[1:], (group.told_by, group.features), (group.telling, group.signs), strict=True
    ):
        for column, sign in zip(columns.tolist(), signs.tolist(), strict=True):
            yield Finding(number, role, column), sign

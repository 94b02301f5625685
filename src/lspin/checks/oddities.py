"""Odd values: gaps and constants that depend on the outcome, rows that are there twice, codes, spellings."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import poisson

from lspin.checks.findings import CHANCE, MOST_NAMED, Finding, Table, read_for_checks

APART = 0.3  # difference of two classes in the share of missing values
BY_CHANCE = (
    0.05  # rows expected to be like a row, and chance of as many pairs, below which they are no coincidence
)
MOST_MULTIPLIED = 50  # columns that this is told from
FEWEST_CONSTANT = 20  # rows of a class in which a column has one value
CODES = (
    -1,
    -9,
    -66,
    -77,
    -88,
    -99,
    -666,
    -777,
    -888,
    -999,
    -9999,
    77,
    88,
    99,
    777,
    888,
    999,
    7777,
    8888,
    9999,
    99999,
)


def find_later(table: Table, classes: np.ndarray, known: set[str]) -> list[Finding]:
    """Columns that are missing, or have one value, in one class and not in the others."""
    labels, sizes = np.unique(classes, return_counts=True)
    found: list[Finding] = []
    if len(labels) < 2:
        return found
    for place, name in enumerate(table.names):
        if name in known or len(found) >= MOST_NAMED:
            continue
        values = table.column(place)
        text = _say_gaps(values, classes, labels, sizes, len(table.names)) or _say_constant(
            values, classes, labels, table.levels.get(place), len(table.names)
        )
        if text:
            found.append(
                Finding("after the outcome", f"{name!r} {text}; is it recorded after the outcome?", (name,))
            )
    return found


def _say_gaps(
    values: np.ndarray, classes: np.ndarray, labels: np.ndarray, sizes: np.ndarray, n_columns: int
) -> str:
    missing = np.isnan(values)
    if not missing.any():
        return ""
    shares = np.array([missing[classes == label].mean() for label in labels])
    low, high = int(shares.argmin()), int(shares.argmax())
    both = missing[(classes == labels[low]) | (classes == labels[high])].mean()
    error = math.sqrt(both * (1 - both) * (1 / sizes[low] + 1 / sizes[high]))
    bar = NormalDist().inv_cdf(1 - CHANCE / (2 * n_columns)) * error
    if shares[high] - shares[low] < max(APART, bar):
        return ""
    most, least = (f"{shares[place]:.0%} of the rows of {_label(labels[place])}" for place in (high, low))
    return f"is missing in {most} and in {least}"


def _say_constant(
    values: np.ndarray, classes: np.ndarray, labels: np.ndarray, levels: Sequence | None, n_columns: int
) -> str:
    for label in labels:
        inside = values[classes == label]
        inside, outside = inside[~np.isnan(inside)], values[(classes != label) & ~np.isnan(values)]
        if len(inside) < FEWEST_CONSTANT or (inside != inside[0]).any() or not len(outside):
            continue
        share = float(np.mean(outside == inside[0]))
        by_chance = math.log(max(n_columns, 1)) + len(inside) * math.log(max(np.mean(values == inside[0]), 1e-9))
        if share <= 0.5 and by_chance < math.log(CHANCE):
            shown = f"{inside[0]:g}" if levels is None else repr(levels[int(inside[0])])
            return f"is {shown} in all rows of {_label(label)}, and in {share:.0%} of the others"
    return ""


def _label(label: Any) -> str:
    if isinstance(label, bool | np.bool_):
        return "those with the event" if label else "those without the event"
    return repr(label.item() if hasattr(label, "item") else label)


def find_copies(table: Table, y: Any, test: Any) -> list[Finding]:
    """Rows with the same values in every column, and rows to judge by that were learned from."""
    if not _has_continuous(table):
        return []
    _, which, counts = np.unique(table.hashes, return_inverse=True, return_counts=True)
    expected = _expect_alike(table)
    shared = np.flatnonzero((counts[which] > 1) & (expected < BY_CHANCE))
    # Each row alone may be a surprise; of many rows, some are alike by chance. Two rows make one pair.
    if len(shared) and poisson.sf(len(shared) / 2 - 1, expected[expected < BY_CHANCE].sum() / 2) > BY_CHANCE:
        shared = shared[:0]
    found = []
    if len(shared):
        groups = [shared[which[shared] == group] for group in np.unique(which[shared])]
        entries = np.asarray(y)
        n_differ = sum(len(rows) for rows in groups if len(np.unique(entries[rows])) > 1)
        differ = f", {table.rows(n_differ)} of them with different outcomes" if n_differ else ""
        text = f"{table.rows(len(shared))} have all values in common with another row{differ}"
        asked = f"{text}; are patients there twice?"
        found.append(Finding("duplicates", asked, rows=tuple(groups[0][:4].tolist())))
    if test is not None:
        n_seen = int(np.isin(read_for_checks(test, levels=table.levels).hashes, table.hashes).sum())
        text = f"{table.rows(n_seen)} to judge by are among the training rows, so the scores are too high"
        found += [Finding("duplicates", text)] if n_seen else []
    return found


def _expect_alike(table: Table) -> np.ndarray:
    """How many rows would be like each row by chance, if columns had nothing to do with each other."""
    expected = np.full(len(table.hashes), len(table.hashes) - 1.0)
    for place in range(min(len(table.names), MOST_MULTIPLIED)):
        _, which, counts = np.unique(table.column(place), return_inverse=True, return_counts=True)
        expected *= counts[which] / len(which)
    return expected


def _has_continuous(table: Table) -> bool:
    """Whether some column takes so many values that equal rows are no coincidence."""
    for place in range(min(len(table.names), 50)):
        values = table.column(place)
        if place not in table.levels and len(np.unique(values[~np.isnan(values)])) > len(values) / 4:
            return True
    return False


def find_codes(table: Table) -> list[Finding]:
    """Numbers such as -99 and 999 that are far from all other values of their column."""
    found: list[Finding] = []
    for place, name in enumerate(table.names):
        if place in table.levels or len(found) >= MOST_NAMED:
            continue
        first = int(np.searchsorted(table.owners, place))
        column = table.grid.values[:, [first]]
        if not np.isin(column.data if sp.issparse(column) else column, CODES).any():
            continue
        values = table.column(place)
        for code in CODES:
            if _is_code(values, code):
                n_rows = table.rows(int((values == code).sum()))
                text = f"{name!r} is {code} in {n_rows}, far from the others; does it stand for a missing value?"
                found.append(Finding("codes", text, (name,)))
    return found


def _is_code(values: np.ndarray, code: float) -> bool:
    others = values[~np.isnan(values) & ~np.isin(values, CODES)]
    n_coded = int((values == code).sum())
    if n_coded == 0 or len(np.unique(others)) < 5 or n_coded > len(others):
        return False
    low, high = others.min(), others.max()
    if code == -1:  # may be one step below 0
        return bool(low >= 0 and n_coded >= 3 and len(np.unique(others)) > 20)
    if code < 0:
        return bool(low >= 0 or low - code > high - low)
    return bool(code - high > high - low)


def find_spellings(table: Table, y: Any) -> list[Finding]:
    """Levels that differ in capital letters or spaces only."""
    found = []
    for place, levels in table.levels.items():
        codes = table.column(place)
        sizes = {level: int((codes == code).sum()) for code, level in enumerate(levels)}
        for group in group_spellings(levels):
            shown = ", ".join(f"{level!r} ({table.rows(sizes[level])})" for level in group)
            text = (
                f"{table.names[place]!r} has levels that differ in spelling only: {shown}; they count as different"
            )
            found.append(Finding("spellings", text, (table.names[place],)))
    entries = np.asarray(y)
    if entries.dtype.kind in "OUS":
        for group in group_spellings(np.unique(entries.astype(str)).tolist()):
            shown = ", ".join(f"{label!r} ({table.rows(int((entries == label).sum()))})" for label in group)
            found.append(Finding("spellings", f"the target has classes that differ in spelling only: {shown}"))
    return found[:MOST_NAMED]


def group_spellings(levels: Iterable[Any]) -> list[list[Any]]:
    """Levels that are the same but for capital letters and spaces, in groups of at least two."""
    groups = defaultdict(list)
    for level in levels:
        groups["".join(str(level).casefold().split())].append(level)
    return [group for group in groups.values() if len(group) > 1]

"""Single columns: how well each predicts the target alone, and those that do so too well."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.stats import rankdata

from lspin.checks.findings import CHANCE, FEWEST_ROWS, MOST_NAMED, Finding, Table, classes_of, densify
from lspin.survival.targets import find_time_columns
from lspin.tables.grid import column_blocks
from lspin.targets import KINDS, Kind

ROWS_PER_LEVEL = 10  # of a category; with fewer, levels follow the target by chance
MOST_STRONG = 5  # columns that are shown with their scores
TOO_WELL = 0.95  # AUC of a single column, or size of its rank correlation with a response, from which it is named


def score_columns(table: Table, y: Any, kind: Kind) -> tuple[np.ndarray, str]:
    """How well each column predicts alone, up to 1, and what the score is called.

    It is the AUC for two classes and for events, the size of the rank correlation for a response, and nothing for
    more classes.
    """
    labels, classes = np.unique(classes_of(y, kind), return_inverse=True)
    if len(labels) == 2:
        areas = _each_column(table, lambda block: areas_under_curves(block, classes == 1))
        for place in table.levels:
            areas[place] = _area_of_levels(table.column(place), classes == 1)
        return np.maximum(areas, 1 - areas), "AUC of the event" if np.asarray(y).dtype.names else "AUC"
    if len(labels) > 2 or kind.has_classes or np.asarray(y).dtype.names:
        return np.zeros(len(table.names)), ""
    target = rankdata(np.asarray(y, np.float64))
    return np.abs(_each_column(table, lambda block: correlate_ranks(block, target), other=0.0)), "rank correlation"


def _area_of_levels(codes: np.ndarray, is_case: np.ndarray) -> float:
    """Area under the ROC curve of a category, if it predicts the share of cases of each level."""
    levels = np.unique(codes[~np.isnan(codes)])
    if len(codes) < ROWS_PER_LEVEL * len(levels):
        return 0.5
    shares = np.full((len(codes), 1), np.nan)
    for level in levels:
        shares[codes == level] = is_case[codes == level].mean()
    return float(areas_under_curves(shares, is_case)[0])


def _each_column(table: Table, measure: Callable[[np.ndarray], np.ndarray], *, other: float = 0.5) -> np.ndarray:
    """A measure of every column of numbers, some columns at a time; ``other`` for categories."""
    measured = np.full(len(table.names), other)
    numbers = np.array([place for place in range(len(table.names)) if place not in table.levels], int)
    for part in column_blocks(table.grid.n_rows, len(numbers)):
        places = numbers[part]
        block = densify(table.grid.values[:, np.searchsorted(table.owners, places)]).astype(np.float64)
        if table.grid.missing is not None:
            block[densify(table.grid.missing[:, places])] = np.nan
        measured[places] = measure(block)
    return measured


def areas_under_curves(block: np.ndarray, is_case: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of each column over its known values; 0.5 where no two rows can be compared."""
    ranks = _rank(block)
    known = ~np.isnan(block)
    n_cases, n_others = known[is_case].sum(axis=0), known[~is_case].sum(axis=0)
    n_pairs = n_cases * n_others
    above = np.nansum(ranks[is_case], axis=0) - n_cases * (n_cases + 1) / 2
    return np.divide(above, n_pairs, out=np.full(block.shape[1], 0.5), where=n_pairs > 0)


def _rank(block: np.ndarray) -> np.ndarray:
    """Ranks within each column, not-a-number where missing."""
    has_gaps = np.isnan(block).any(axis=0)
    ranks = np.empty(block.shape)
    ranks[:, ~has_gaps] = rankdata(block[:, ~has_gaps], axis=0)
    for place in np.flatnonzero(has_gaps):
        known = ~np.isnan(block[:, place])
        ranks[:, place] = np.nan
        ranks[known, place] = rankdata(block[known, place])
    return ranks


def correlate_ranks(block: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Correlation of the ranks of each column with those of the target, over its known values."""
    ranks, known = _rank(block), ~np.isnan(block)
    goal = np.where(known, target[:, None], np.nan)
    with np.errstate(all="ignore"):
        counts = np.maximum(known.sum(axis=0), 1)
        ranks, goal = (part - np.nansum(part, axis=0) / counts for part in (ranks, goal))
        together = np.nansum(ranks * goal, axis=0)
        spread = np.sqrt(np.nansum(ranks**2, axis=0) * np.nansum(goal**2, axis=0))
    return np.divide(together, spread, out=np.zeros(block.shape[1]), where=spread > 0)


def name_best(table: Table, strengths: np.ndarray, measure: str) -> tuple[str, float, str] | None:
    """The column that predicts best alone, its score, and what the score is called."""
    best = int(strengths.argmax())
    return (table.names[best], float(strengths[best]), measure) if measure else None


def list_strongest(table: Table, strengths: np.ndarray, measure: str) -> tuple[tuple[str, float], ...]:
    """The columns that predict best alone, with their scores."""
    if not measure:
        return ()
    places = np.argsort(-strengths, kind="stable")[:MOST_STRONG]
    return tuple((table.names[place], float(strengths[place])) for place in places)


def find_leaks(table: Table, y: Any, kind: Kind, strengths: np.ndarray, measure: str, name: str) -> list[Finding]:
    """Columns that alone predict the target, called ``name``, perfectly or nearly so."""
    perfect = find_perfect(table, y, kind)
    least = _least(strengths, y, kind)
    strong = [int(place) for place in np.argsort(-strengths, kind="stable") if strengths[place] >= least]
    strong = [place for place in strong if place not in perfect] if measure else []
    found = [
        _word_leak(table, perfect, f"alone predicts {name!r} perfectly"),
        _word_leak(table, strong, f"alone predicts {name!r} nearly perfectly", strengths, measure),
    ]
    if np.asarray(y).dtype.names:
        follows = np.abs(_each_column(table, lambda block: correlate_ranks(block, rankdata(y["time"])), other=0.0))
        places = np.flatnonzero(follows >= _least(follows, y["time"], KINDS["regress"]())).tolist()
        found.append(_word_leak(table, places, "follows the time of the target", follows, "rank correlation"))
    return [finding for finding in found if finding is not None]


def _word_leak(
    table: Table, places: list[int], does: str, scores: np.ndarray | None = None, measure: str = ""
) -> Finding | None:
    """A sentence about columns, or nothing if there are none."""
    if not places:
        return None
    names = [table.names[place] for place in places]
    said = [repr(name) for name in names[:MOST_NAMED]]
    if scores is not None:
        said = [f"{name} ({measure} {scores[place]:.3f})" for name, place in zip(said, places, strict=False)]
    listed = ", ".join(said) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    who = f"column {listed}" if len(names) == 1 else f"each of the columns {listed}"
    return Finding("single column", f"{who} {does}; is it known before the outcome?", tuple(names))


def _least(strengths: np.ndarray, y: Any, kind: Kind) -> float:
    """The score from which a column is named: high, and hardly reached by chance."""
    sizes = np.unique(classes_of(y, kind), return_counts=True)[1]
    normal = NormalDist().inv_cdf(1 - CHANCE / (2 * max(len(strengths), 1)))
    if len(sizes) == 2:
        error = math.sqrt((len(y) + 1) / (12 * sizes[0] * sizes[1]))
        return max(TOO_WELL, 0.5 + normal * error)
    return max(TOO_WELL, normal / math.sqrt(max(len(y) - 1, 1)))


def find_perfect(table: Table, y: Any, kind: Kind) -> list[int]:
    """Columns that alone give the target away: ranges, levels or gaps of their own for each class."""
    classes = classes_of(y, kind)
    if len(np.unique(classes)) < 2:
        target = np.asarray(y)
        if target.dtype.kind not in "iuf":
            return []
        return [place for place in range(len(table.names)) if _follows(table, place, target)]
    found = []
    for part in column_blocks(table.grid.n_rows, len(table.names)):
        places = range(part.start, part.stop)
        block = np.column_stack([table.column(place) for place in places])
        separating = {part.start + place for place in separating_columns(block, classes, len(table.names))}
        for place in places:
            values = block[:, place - part.start]
            decides = _decides(values, classes) if place in table.levels else place in separating
            if decides or (np.isnan(values).any() and _decides(np.isnan(values).astype(float), classes)):
                found.append(place)
    return found


def _follows(table: Table, place: int, target: np.ndarray) -> bool:
    return place not in table.levels and bool(find_time_columns(table.column(place)[:, None], target))


def separating_columns(values: np.ndarray, classes: np.ndarray, n_columns: int | None = None) -> list[int]:
    """Positions of the columns in which every class has a range of its own, and hardly by chance.

    Parameters
    ----------
    values
        Numbers, missing ones NaN, shape ``(n, n_columns)``.
    classes
        Shape ``(n,)``.
    n_columns
        Columns that are looked at in all, if these are a part.

    """
    labels, counts = np.unique(classes, return_counts=True)
    # Logarithms of how many orders of the classes there are, and in how many of these each is in one piece.
    n_orders = math.lgamma(len(classes) + 1) - sum(math.lgamma(count + 1) for count in counts)
    n_separated = math.lgamma(len(labels) + 1)
    n_columns = max(values.shape[1] if n_columns is None else n_columns, 1)
    if len(labels) < 2 or math.log(n_columns) + n_separated - n_orders > math.log(CHANCE):
        return []
    lowest = np.stack([np.fmin.reduce(values[classes == label]) for label in labels])
    highest = np.stack([np.fmax.reduce(values[classes == label]) for label in labels])
    order = np.argsort(lowest, axis=0)
    lowest, highest = np.take_along_axis(lowest, order, 0), np.take_along_axis(highest, order, 0)
    return np.flatnonzero((highest[:-1] < lowest[1:]).all(axis=0)).tolist()


def _decides(codes: np.ndarray, classes: np.ndarray) -> bool:
    """Whether all rows of a level are of one class, and levels are few enough for that to mean something."""
    known = ~np.isnan(codes)
    codes, classes = codes[known], classes[known]
    n_levels = len(np.unique(codes))
    pairs = set(zip(codes.tolist(), classes.tolist(), strict=True))
    return len(codes) >= max(FEWEST_ROWS, 4 * n_levels) and len(pairs) == n_levels and len(np.unique(classes)) > 1

"""What a fitted estimator says of its features over many rows: its summary and their importance."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.explanation.record import Explanation, explain_table
from lspin.explanation.summary import LEAST_SHARE, Summary, list_lines, make_summary
from lspin.fitting.ensemble import GROUPS
from lspin.fitting.found import average_memberships, count_findings
from lspin.fitting.prediction import predict_member
from lspin.tables.grid import Grid, Rows, gather, take_grid

MOST_ROWS = 2000  # training rows that a fit explains
MOST_ENTRIES = 500_000  # gates of these
MOST_SHARED = 200  # rows times members of networks with hidden layers, whose explanation takes 1 ms a row
FEWEST_ROWS = 40


class Remembered(NamedTuple):
    """What a fit keeps of its training rows: no row of them."""

    lines: pd.DataFrame  # of the summary
    importances: np.ndarray  # (n_columns,), adding up to 1 unless all are 0
    n_explained: int


def remember(estimator: Any, rows: Rows) -> Remembered:
    """Explain training rows, evenly spread if there are many, and keep what holds over all of them."""
    most = MOST_ROWS if len(estimator.members_[0].networks.prediction) == 1 else MOST_SHARED
    if most == MOST_SHARED:
        most //= len(estimator.members_)
    most = max(min(most, MOST_ENTRIES // estimator.n_features_in_), FEWEST_ROWS)
    n_rows = len(rows.target)
    kept = np.linspace(0, n_rows - 1, min(most, n_rows)).round().astype(int)
    # Squares of values near the largest number are infinite: an effect is then unknown, no reason to warn.
    with np.errstate(all="ignore"):
        return _sum_up(estimator, gather(take_grid(rows.grid, kept)), rows.weight[kept])


def _sum_up(estimator: Any, table: Grid, weight: np.ndarray) -> Remembered:
    explanation = explain_table(estimator, table, np.arange(table.n_rows))
    groups, found = _divide(estimator, table, explanation)
    lines = list_lines(explanation, groups, found, estimator._levels, weight)
    sizes = np.abs(explanation.open_contributions).sum(axis=1) * weight[explanation.rows]
    importances = np.bincount(explanation.columns, sizes, estimator.n_features_in_)
    return Remembered(lines, importances / max(importances.sum(), np.finfo(float).tiny), table.n_rows)


def _divide(estimator: Any, table: Grid, explanation: Explanation) -> tuple[np.ndarray, np.ndarray]:
    """The group of each row, and how many members select each feature in each group."""
    if estimator.start_ == GROUPS:
        groups = average_memberships(estimator.members_, estimator._matched, table).argmax(axis=1)
        counted = count_findings(estimator.members_, estimator._matched, range(estimator.n_features_in_))
        counted = counted[counted["role"] == "counts"]
        found = np.zeros((int(groups.max()) + 1, estimator.n_features_in_), int)
        counted = counted[counted["group"] <= groups.max()]
        found[counted["group"], counted["feature"].astype(int)] = counted["n_found"]
        return groups, found
    groups = explanation.groups()
    found = np.zeros((int(groups.max()) + 1, estimator.n_features_in_), int)
    for member in estimator.members_:
        opened = predict_member(member, table).gates > 0
        for group in range(len(found)):
            inside = np.flatnonzero(groups == group)
            found[group] += np.asarray(opened[inside].mean(axis=0)).ravel() >= LEAST_SHARE
    return groups, found


def summarise(estimator: Any, X: Any = None) -> Summary:
    """The summary of a fitted estimator, of its training rows or of those that are given."""
    if X is None:
        if not hasattr(estimator, "_summary"):
            raise ValueError("the file of this model was written before summaries; give rows: summary(X)")
        lines, counted = estimator._summary, estimator._counted
        counted = int(counted[0]), int(counted[1])
    else:
        table = estimator._read(X)
        lines = _sum_up(estimator, table, np.ones(table.n_rows)).lines
        counted = table.n_rows, table.n_rows
    return make_summary(
        lines,
        title=_title(estimator, lines),
        kind=estimator.kind_,
        names=estimator._shown_names,
        levels=estimator._levels,
        n_members=len(estimator.members_),
        n_rows=counted,
    )


def _title(estimator: Any, lines: pd.DataFrame) -> str:
    n_used, n_members = lines["feature"].nunique(), len(estimator.members_)
    members = f", {n_members} members" if n_members > 1 else ""
    scale = "" if estimator.kind_.n_outputs > 1 else f" for the {estimator.kind_.name_output(0)}"
    used = f"{n_used:,} of {estimator.n_features_in_:,} features used"
    return f"{type(estimator).__name__}{scale}: {used}{members}"

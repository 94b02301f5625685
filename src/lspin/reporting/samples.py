"""The explained samples as a page shows them: the gate map, and each sample's own entries."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.explanation.groups import order_gate_map
from lspin.explanation.joining import explain
from lspin.explanation.members import member_range
from lspin.explanation.record import Explanation
from lspin.fitting.ensemble import GROUPS
from lspin.fitting.found import average_memberships, count_findings
from lspin.metrics import GateSummary, summarise_gates
from lspin.reporting.hiding import has_small_groups, join_small_groups
from lspin.reporting.numbers import digits
from lspin.tables.grid import Grid
from lspin.tables.reading import columns_of_inputs, is_missing
from lspin.targets import Kind

MOST_SAMPLES = 5000  # that a page holds
MOST_ENTRIES = 80_000  # open gates that it holds, the strongest of each sample
MAP_FEATURES = 50
AGREED = 0.5 - 1e-9  # part of the members that must open a gate, so that a sample is said to use a feature
SAME_GATE = 0.05  # by which gates may differ and still agree
MOST_CONTEXT = 12  # columns of a context whose values a sample's page shows


@dataclass(frozen=True)
class Cohort:
    """Explained samples, what is known of them, and the features that any of them selects."""

    explanation: Explanation
    is_held_out: np.ndarray  # (n,)
    target: np.ndarray  # (n,), the numbers of the target: class codes, responses or signed times
    groups: np.ndarray  # (n,)
    found: pd.DataFrame | None  # how many members find each group, where these are the groups of the model
    features: np.ndarray  # (m,), columns that some sample selects, the most important first
    values: dict[int, np.ndarray]  # of these columns: numbers or codes of levels, not-a-number where missing
    levels: dict[int, tuple]  # of those that are categories
    spread: np.ndarray | None  # (n, 2): lowest and highest prediction of the members
    summary: GateSummary  # of the features that at least half of the members use
    n_given: int  # samples, of which the page may hold a part

    @property
    def n_groups(self) -> int:
        """Number of groups; none of these samples may be in one that the model found."""
        return int(self.groups.max() if self.found is None else self.found["group"].max()) + 1

    @property
    def is_multiclass(self) -> bool:
        """Whether a prediction consists of one score a class."""
        return self.explanation.n_outputs > 1


def gather(
    estimator: Any,
    parts: list[tuple[Any, np.ndarray]],
    *,
    shows_samples: bool = True,
    shows_progress: bool = False,
) -> Cohort:
    """Explain the rows that the model learned from and, if given, those that it has not seen; targets are tidy."""
    kind: Kind = estimator.kind_
    n_given = sum(len(target) for _, target in parts)
    chosen = [_thin(X, target, n_given) for X, target in parts]
    explanations = [explain(estimator, X, shown=shows_progress) for X, _ in chosen]
    explanation = explanations[0] if len(parts) == 1 else _join(*explanations)
    tables = [estimator._read(X) for X, _ in chosen]
    by_column = [_by_column(table) for table in tables]
    strength = np.zeros(len(explanation.feature_names))
    np.add.at(strength, explanation.columns, np.abs(explanation.open_contributions).sum(axis=1))
    features = np.argsort(-strength, kind="stable")
    is_selected = np.bincount(explanation.columns, minlength=len(strength)) > 0
    features = features[is_selected[features]]
    levels = {column: names for column, names in estimator._levels.items() if is_selected[column]}
    place = np.full(len(strength), -1)
    place[features] = np.arange(len(features))
    agreed = explanation.open_confidence >= AGREED
    used = sp.csr_array(
        (explanation.open_gates[agreed], (explanation.rows[agreed], place[explanation.columns[agreed]])),
        shape=(len(explanation.sample_names), max(len(features), 1)),
    )
    groups = _divide(estimator, tables, explanation)
    return Cohort(
        explanation=explanation,
        is_held_out=np.repeat(np.arange(len(parts)) == 1, [len(target) for _, target in chosen]),
        target=np.concatenate([kind.read_known(kind.entries(y, trains=False)) for _, y in chosen]),
        groups=groups if shows_samples else join_small_groups(groups),
        # Of groups that had to be joined, the model has found none.
        found=_count_found(estimator) if shows_samples or not has_small_groups(groups) else None,
        features=features,
        values={
            int(column): np.concatenate(
                [
                    _column_of(table, int(column), estimator.n_features_in_, estimator._levels)
                    for table in by_column
                ]
            )
            for column in features
        },
        levels=levels,
        spread=member_range(estimator, tables, explanation.scores),
        summary=summarise_gates(used),
        n_given=n_given,
    )


def _divide(estimator: Any, tables: list[Any], explanation: Explanation) -> np.ndarray:
    """The group of each sample: as the model divides them, else by which gates are open."""
    if estimator.start_ != GROUPS:
        return explanation.groups()
    shares = [average_memberships(estimator.members_, estimator._matched, table) for table in tables]
    return np.concatenate(shares).argmax(axis=1)


def _count_found(estimator: Any) -> pd.DataFrame | None:
    """What the members of a model of groups found, features by their position."""
    if estimator.start_ != GROUPS:
        return None
    return count_findings(
        estimator.members_, estimator._matched, range(estimator.n_features_in_), estimator.kind_.direction
    )


def _thin(X: Any, target: np.ndarray, n_given: int) -> tuple[Any, np.ndarray]:
    """At most so many rows as a page holds, evenly spread."""
    if n_given <= MOST_SAMPLES:
        return X, target
    from sklearn.utils import _safe_indexing

    n_kept = max(1, MOST_SAMPLES * len(target) // n_given)
    kept = np.linspace(0, len(target) - 1, n_kept).round().astype(int)
    return _safe_indexing(X, kept), target[kept]


def _join(first: Explanation, second: Explanation) -> Explanation:
    """Two explanations by the same model as one."""
    names = second.sample_names
    if np.isin(names, first.sample_names).any():
        names = np.array([f"held-out {name}" for name in names], object)
    joined: dict[str, Any] = {
        field: np.concatenate([getattr(first, field), getattr(second, field)])
        for field in ("scores", "methods", "columns", "open_gates", "open_confidence", "open_contributions")
    }
    values = [part.open_values.astype(object) for part in (first, second)]
    return replace(
        first,
        **joined,
        open_values=np.concatenate(values),
        sample_names=np.concatenate([first.sample_names, names]),
        context=None if first.context is None else pd.concat([first.context, second.context]),
        missing=_join_missing(first, second),
        rows=np.concatenate([first.rows, second.rows + len(first.sample_names)]),
    )


def _join_missing(*parts: Explanation) -> sp.csr_array | None:
    if all(part.missing is None for part in parts):
        return None
    shapes = [(len(part.sample_names), len(part.feature_names)) for part in parts]
    filled = [
        sp.csr_array(shape, dtype=bool) if part.missing is None else part.missing
        for part, shape in zip(parts, shapes, strict=True)
    ]
    return sp.csr_array(sp.vstack(filled, format="csr"))


def _by_column(table: Grid) -> Grid:
    """The same table, if sparse with its columns within reach."""
    if not table.is_sparse:
        return table
    return Grid(sp.csc_array(table.values), None if table.missing is None else sp.csc_array(table.missing))


def _column_of(table: Any, column: int, n_columns: int, levels: Any) -> np.ndarray:
    """Numbers of a column, or the places of its levels; not-a-number where missing."""
    owners = columns_of_inputs(n_columns, levels)
    first, last = np.searchsorted(owners, [column, column + 1])
    block = table.values[:, first:last]
    block = block.toarray() if sp.issparse(block) else block
    numbers = block.argmax(axis=1).astype(float) if column in levels else np.array(block[:, 0], float)
    if table.missing is not None:
        missing = table.missing[:, [column]]
        missing = missing.toarray() if sp.issparse(missing) else missing
        numbers[missing[:, 0]] = np.nan
    return numbers


# What the page is given --------------------------------------------------------------------------------------


def uses_the_same(cohort: Cohort) -> bool:
    """Whether all samples select the same features."""
    return len(cohort.explanation.rows) == len(cohort.features) * len(cohort.groups)


def lay_out_map(cohort: Cohort) -> dict[str, list] | None:
    """The order of the map: samples of a group together, features that are open for the same samples too.

    Nothing where the gates of all samples agree: a map would have one colour in each column.
    """
    features = cohort.features[:MAP_FEATURES]
    place = np.full(len(cohort.explanation.feature_names), -1)
    place[features] = np.arange(len(features))
    shown = place[cohort.explanation.columns] >= 0
    gates = np.zeros((len(cohort.groups), len(features)))
    rows, columns = cohort.explanation.rows[shown], place[cohort.explanation.columns[shown]]
    gates[rows, columns] = cohort.explanation.open_gates[shown]
    if np.ptp(gates, axis=0).max(initial=0.0) < SAME_GATE:
        return None
    samples, order = order_gate_map(gates, cohort.groups)
    return {"features": order.tolist(), "samples": samples.tolist()}


def list_samples(cohort: Cohort) -> dict[str, Any]:
    """Every sample with its prediction and the entries of its strongest features."""
    explanation = cohort.explanation
    n_samples = len(explanation.sample_names)
    output = explanation.scores.argmax(axis=1) if cohort.is_multiclass else np.zeros(n_samples, int)
    contributions = explanation.open_contributions[np.arange(len(explanation.rows)), output[explanation.rows]]
    by_strength = np.lexsort((-np.abs(contributions), explanation.rows))
    bounds = np.searchsorted(explanation.rows, np.arange(n_samples + 1))
    rank = np.arange(len(by_strength)) - bounds[explanation.rows[by_strength]]
    most = max(10, MOST_ENTRIES // n_samples)
    kept = by_strength[rank < most]
    others = np.bincount(explanation.rows, contributions, n_samples)
    others -= np.bincount(explanation.rows[kept], contributions[kept], n_samples)
    listed: dict[str, Any] = {
        "name": explanation.sample_names.tolist(),
        "held_out": cohort.is_held_out.astype(int).tolist(),
        "group": cohort.groups.tolist(),
        "score": digits(explanation.scores[np.arange(n_samples), output]),
        "n_open": np.diff(bounds).tolist(),
        "others": digits(np.where(np.diff(bounds) > most, others, 0.0)),
        "starts": np.append(0, np.cumsum(np.minimum(np.diff(bounds), most))).tolist(),
        "baseline": digits(explanation.baseline),
        "entries": _list_entries(cohort, kept, contributions),
        "observed": explanation.kind.list_observed(cohort.target),
    }
    if explanation.probabilities is not None:
        listed["probabilities"] = [digits(row) for row in explanation.probabilities]
    if cohort.spread is not None:
        listed["spread"] = [digits(row) for row in cohort.spread]
    if explanation.context is not None:
        shown = explanation.context.iloc[:, :MOST_CONTEXT]
        listed["context"] = [_numbers_or_words(shown[name]) for name in shown]
    return listed


def _numbers_or_words(column: pd.Series) -> list:
    if pd.api.types.is_numeric_dtype(column):
        return digits(column)
    return [None if is_missing(entry) else str(entry) for entry in column]


def _list_entries(cohort: Cohort, kept: np.ndarray, contributions: np.ndarray) -> dict[str, list]:
    explanation = cohort.explanation
    place_of = np.full(len(explanation.feature_names), -1)
    place_of[cohort.features] = np.arange(len(cohort.features))
    values, places = _values_and_places(cohort, kept)
    listed = {
        "feature": place_of[explanation.columns[kept]].tolist(),
        "gate": digits(explanation.open_gates[kept], 3),
        "value": digits(values),
        "place": places.round().astype(int).tolist(),
        "contribution": digits(contributions[kept]),
    }
    if cohort.spread is not None:
        listed["confidence"] = digits(explanation.open_confidence[kept], 3)
    return listed


def _values_and_places(cohort: Cohort, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The value of each entry and its percentile in the cohort; of a level, the share of samples that have it."""
    rows, columns = cohort.explanation.rows[kept], cohort.explanation.columns[kept]
    values, places = np.empty(len(kept)), np.empty(len(kept))
    order = np.argsort(columns, kind="stable")
    bounds = np.searchsorted(columns[order], np.stack([cohort.features, cohort.features + 1]))
    for column, first, last in zip(cohort.features.tolist(), *bounds, strict=True):
        here = order[first:last]
        whole = np.sort(cohort.values[column][~np.isnan(cohort.values[column])])
        values[here] = cohort.values[column][rows[here]]
        below, not_above = (np.searchsorted(whole, values[here], side=side) for side in ("left", "right"))
        inside = not_above - below if column in cohort.levels else (below + not_above) / 2
        places[here] = 100 * inside / max(len(whole), 1)
    return values, places

"""The features that any sample selects, as a page lists them: how much, how often, which way, in which unit."""

import re

import numpy as np

from lspin.reporting.hiding import FEWEST_ALIKE, hide_few
from lspin.reporting.numbers import digits
from lspin.reporting.samples import Cohort

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
BRACKETS = {")": "(", "]": "["}
LONGEST_UNIT = 12  # letters
WAYS = {  # what speaks for the class whose score a feature moves most
    "high raises": "high → ",
    "high lowers": "low → ",
    "mixed": "either way → ",
    "raises": "where it is used → ",
    "lowers": "where it is used → not ",
    "by level": "by level → ",
}
NO_UNITS = re.compile(
    r"[\d\W_]*|y(es)?[ /-]*n(o)?|true[ /-]*false|log(2|10)?|ln|z|std|se|mean|median|min|max|n", re.IGNORECASE
)


def list_features(cohort: Cohort, *, shows_samples: bool) -> dict[str, list]:
    """The features that any sample selects, the most important first: how much, how often, and which way."""
    explanation, n_samples = cohort.explanation, len(cohort.explanation.sample_names)
    counts = np.bincount(explanation.columns, minlength=len(explanation.feature_names))
    features = shown_features(cohort, shows_samples=shows_samples)
    sizes = np.abs(explanation.open_contributions).sum(axis=1)
    importance = np.bincount(explanation.columns, sizes, len(counts)) / n_samples
    sure = np.bincount(explanation.columns, explanation.open_confidence, len(counts)) / np.maximum(counts, 1)
    inside = [cohort.groups == group for group in range(cohort.n_groups)]
    shares = [
        np.bincount(explanation.columns[members[explanation.rows]], minlength=len(counts)) / max(members.sum(), 1)
        for members in inside
    ]
    listed: dict[str, list] = {
        "name": [str(name) for name in explanation.feature_names[features]],
        "importance": digits(importance[features]),
        "share": digits(counts[features] / n_samples),
        "confidence": digits(sure[features]),
        "direction": word_directions(cohort, features),
        "groups": [
            digits(share[features] if shows_samples else hide_few(share[features], int(members.sum())))
            for share, members in zip(shares, inside, strict=True)
        ],
    }
    listed["unit"] = [find_unit(name) for name in listed["name"]]
    listed["binary"] = [
        int(column) not in cohort.levels and is_binary(cohort.values[int(column)]) for column in features
    ]
    if shows_samples:
        listed["two_valued"] = [
            int(column) not in cohort.levels and len(np.unique(_known(cohort.values[int(column)]))) == 2
            for column in features
        ]
        known = [cohort.values[int(column)] for column in features]
        listed["levels"] = [
            [str(name) for name in cohort.levels[int(column)]] if int(column) in cohort.levels else None
            for column in features
        ]
        listed["leading"] = [
            find_leading_level(cohort, int(column)) if int(column) in cohort.levels else None
            for column in features
        ]
        listed["quantiles"] = [
            None if int(column) in cohort.levels or np.isnan(values).all() else digits(_quantiles(values))
            for column, values in zip(features, known, strict=True)
        ]
    return listed


def shown_features(cohort: Cohort, *, shows_samples: bool) -> np.ndarray:
    """Columns that the page names: without samples, only those that several of them select."""
    if shows_samples:
        return cohort.features
    counts = np.bincount(cohort.explanation.columns, minlength=len(cohort.explanation.feature_names))
    return cohort.features[counts[cohort.features] >= FEWEST_ALIKE]


def _quantiles(values: np.ndarray) -> np.ndarray:
    return np.quantile(_known(values), QUANTILES)


def _known(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]


def word_directions(cohort: Cohort, features: np.ndarray, inside: np.ndarray | None = None) -> list[str]:
    """Of one output, whether high values of a feature raise it; of several, which values speak for a class.

    By all samples, or by those ``inside``. Of several classes, that one is named whose score the feature moves
    most.
    """
    explanation = cohort.explanation
    places = np.arange(len(explanation.rows)) if inside is None else np.flatnonzero(inside[explanation.rows])
    order = places[np.argsort(explanation.columns[places], kind="stable")]
    bounds = np.searchsorted(explanation.columns[order], np.stack([features, features + 1]))
    directions = []
    for column, first, last in zip(features.tolist(), *bounds, strict=True):
        entries = order[first:last]
        contributions = explanation.open_contributions[entries]
        if column in cohort.levels and not cohort.is_multiclass:
            directions.append("by level")
        elif len(entries) == 0:
            directions.append("")
        elif cohort.is_multiclass:
            place = int(np.abs(contributions).sum(axis=0).argmax())
            way = "by level"
            if column not in cohort.levels:
                way = _word_direction(_values(cohort, column, entries), contributions[:, place])
            directions.append(f"{WAYS[way]}{explanation.output_names[place]}")
        else:
            directions.append(_word_direction(_values(cohort, column, entries), contributions[:, 0]))
    return directions


def _values(cohort: Cohort, column: int, entries: np.ndarray) -> np.ndarray:
    return cohort.values[column][cohort.explanation.rows[entries]]


def _word_direction(values: np.ndarray, contributions: np.ndarray) -> str:
    if len(values) < 3 or values.std() == 0 or contributions.std() == 0:
        return "raises" if contributions.mean() > 0 else "lowers"
    trend = np.corrcoef(values, contributions)[0, 1]
    if abs(trend) < 0.5:
        return "mixed"
    return "high raises" if trend > 0 else "high lowers"


def find_leading_level(cohort: Cohort, column: int) -> str | None:
    """The level of a category that adds most on average; nothing if there are several outputs."""
    if cohort.is_multiclass:
        return None
    entries = np.flatnonzero(cohort.explanation.columns == column)
    codes = cohort.values[column][cohort.explanation.rows[entries]]
    known = ~np.isnan(codes)
    codes, added = codes[known].astype(int), cohort.explanation.open_contributions[entries[known], 0]
    counts = np.bincount(codes)
    means = np.bincount(codes, added) / np.maximum(counts, 1)
    return str(cohort.levels[column][int(means.argmax())]) if len(means) and means.max() > 0 else None


def find_unit(name: str) -> str | None:
    """The unit that the name of a column ends with in brackets, such as mg/dl."""
    name = name.rstrip()
    label, opened, rest = name[:-1].rpartition(BRACKETS.get(name[-1:], "\0"))
    unit = rest.strip()
    is_unit = 0 < len(unit) <= LONGEST_UNIT and (unit in ("%", "‰") or not NO_UNITS.fullmatch(unit))
    return unit if opened and label.strip() and is_unit else None


def is_binary(values: np.ndarray) -> bool:
    """Whether a column holds 0 and 1 alone, both of them."""
    known = values[~np.isnan(values)]
    return bool(np.isin(known, (0, 1)).all() and 0 < known.sum() < len(known))

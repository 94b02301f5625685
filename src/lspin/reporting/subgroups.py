"""The subgroups as a page shows them: those that the model found, or samples that open the same gates."""

from typing import Any

import numpy as np
import pandas as pd

from lspin.reporting.features import shown_features, word_directions
from lspin.reporting.hiding import FEWEST_ALIKE
from lspin.reporting.numbers import digits
from lspin.reporting.samples import Cohort

MOST_LISTED = 100  # features of a group in each of their roles


def list_groups(cohort: Cohort, *, shows_samples: bool) -> list[dict]:
    """Each group: how many samples, what tells it and counts in it, what is predicted and was observed."""
    listed = []
    for group in range(cohort.n_groups):
        inside = cohort.groups == group
        size = int(inside.sum())
        described = {"size": size, "share": digits([inside.mean()])[0]}
        if cohort.found is not None:
            described |= _describe_found(cohort, group, inside)
        else:
            described["features"] = _list_typical(cohort, inside, shows_samples=shows_samples)
        listed.append(described | (_summarise(cohort, inside, shows_samples=shows_samples) if size else {}))
    return listed


def _list_typical(cohort: Cohort, inside: np.ndarray, *, shows_samples: bool) -> list[int]:
    """Features that at least half of the group selects, by their places among those that the page names."""
    shown = shown_features(cohort, shows_samples=shows_samples)
    place_of = {name: place for place, name in enumerate(cohort.explanation.feature_names[shown].tolist())}
    typical = cohort.explanation.typical_features(inside)
    return [place_of[name] for name in typical if name in place_of]


def _describe_found(cohort: Cohort, group: int, inside: np.ndarray) -> dict[str, Any]:
    """What the members of a model of groups found: the group, the features that tell it, and those that count."""
    assert cohort.found is not None
    found = cohort.found[cohort.found["group"] == group]
    by_role = {role: found[found["role"] == role] for role in ("group", "tells", "counts")}
    tells, counts = (by_role[role].head(MOST_LISTED) for role in ("tells", "counts"))
    return {
        "found": _list_intervals(by_role["group"])[0],
        "told_by": _list_features(cohort, tells, [_word_level(sign) for sign in tells["sign"]]),
        "counts": _list_features(cohort, counts, _word_counting(cohort, counts, inside)),
        "n_told_by": len(by_role["tells"]),
        "n_counts": len(by_role["counts"]),
    }


def _list_features(cohort: Cohort, found: pd.DataFrame, directions: list[str]) -> dict[str, list]:
    names = cohort.explanation.feature_names[found["feature"].to_numpy(int)]
    return {"name": [str(name) for name in names], "direction": directions, "found": _list_intervals(found)}


def _list_intervals(found: pd.DataFrame) -> list[list]:
    """Number of members, and share of them with its interval."""
    columns = [digits(found[name], 3) for name in ("n_found", "found", "lower", "upper")]
    return [list(row) for row in zip(*columns, strict=True)]


def _word_level(sign: float) -> str:
    """Which values of a feature speak for a group."""
    return "" if not abs(sign) >= 0.5 else "high" if sign > 0 else "low"


def _word_counting(cohort: Cohort, counts: pd.DataFrame, inside: np.ndarray) -> list[str]:
    """Which way features count in a group: by the signs of the model, else by what they add there."""
    worded = word_directions(cohort, counts["feature"].to_numpy(int), inside)
    return [
        _word_sign(sign) if np.isfinite(sign) else word for sign, word in zip(counts["sign"], worded, strict=True)
    ]


def _word_sign(sign: float) -> str:
    return "mixed" if abs(sign) < 0.5 else "high raises" if sign > 0 else "high lowers"


def _summarise(cohort: Cohort, inside: np.ndarray, *, shows_samples: bool) -> dict[str, Any]:
    """What is predicted for some samples, and what was observed."""
    scores, target = cohort.explanation.scores[inside], cohort.target[inside]
    return cohort.explanation.kind.summarise(scores, target, fewest=1 if shows_samples else FEWEST_ALIKE)

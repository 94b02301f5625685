"""What a page may say where no sample may be told from the others: numbers of at least five samples."""

from typing import Any

import numpy as np

FEWEST_ALIKE = 5  # samples behind a number


def has_small_groups(groups: np.ndarray) -> bool:
    """Whether a group has samples, but too few of them."""
    sizes = np.bincount(groups)
    return bool(((sizes > 0) & (sizes < FEWEST_ALIKE)).any())


def join_small_groups(groups: np.ndarray) -> np.ndarray:
    """Groups of which each has enough samples: small ones become one, or part of the smallest of the others."""
    if not has_small_groups(groups):
        return groups
    sizes = np.bincount(groups)
    small = np.flatnonzero(sizes < FEWEST_ALIKE)
    large = np.flatnonzero(sizes >= FEWEST_ALIKE)
    if len(large) and sizes[small].sum() < FEWEST_ALIKE:
        small = np.append(small, large[sizes[large].argmin()])
        large = np.setdiff1d(large, small)
    place_of = np.full(len(sizes), len(large))
    place_of[large] = np.arange(len(large))
    return place_of[groups]


def hide_few(shares: np.ndarray, size: int) -> np.ndarray:
    """Shares of some samples, not-a-number where a few have something or all but a few."""
    counts = np.round(shares * size)
    few = ((counts > 0) & (counts < FEWEST_ALIKE)) | ((counts < size) & (counts > size - FEWEST_ALIKE))
    return np.where(few, np.nan, shares)


def merge_bins(bins: dict[str, list[int]]) -> dict[str, list[int]]:
    """Bins of a histogram, neighbours merged until each holds enough samples."""
    merged: dict[str, list[int]] = {"from": [], "to": [], "count": []}
    start, held = bins["from"][0], 0
    for end, count in zip(bins["to"], bins["count"], strict=True):
        held += count
        if not held:  # where nobody is, nobody is told from others
            start = end
        if held >= FEWEST_ALIKE:
            for name, value in (("from", start), ("to", end), ("count", held)):
                merged[name].append(value)
            start, held = end, 0
    if merged["to"]:  # what is left over belongs to the last one
        merged["to"][-1] = bins["to"][-1]
        merged["count"][-1] += held
    return merged


def thin_curve(curve: dict[str, Any]) -> dict[str, Any]:
    """A survival curve at times between which enough samples end."""
    kept = [0]
    for place, ended in enumerate(curve["ended"]):
        if ended - curve["ended"][kept[-1]] >= FEWEST_ALIKE:
            kept.append(place)
    names = ("times", "survival", "lower", "upper", "ended")
    return {**curve, **{name: np.asarray(curve[name])[kept] for name in names}}


def hide_counts(counts: np.ndarray) -> np.ndarray:
    """Falling numbers of samples, not-a-number where few are left or few have gone since the last one told."""
    told = np.full(len(counts), np.nan)
    last = None
    for place, count in enumerate(np.asarray(counts).tolist()):
        if 0 < count < FEWEST_ALIKE or (last is not None and 0 < last - count < FEWEST_ALIKE):
            continue
        told[place] = last = count
    return told

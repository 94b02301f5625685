"""Targets and weights as people have them become checked arrays: classes, responses, weights of rows."""

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight

from lspin.tables.reading import is_missing


def list_target(y: Any) -> np.ndarray:
    """The entries of a target as an array; among text, a missing value or a number stays what it is."""
    if np.ma.is_masked(y):
        return np.array(y.tolist(), dtype=object)  # None where masked
    entries = np.asarray(y)
    if entries.dtype.kind == "U" and entries.ndim == 1 and not all(isinstance(entry, str) for entry in y):
        return np.asarray(y, dtype=object)
    return entries


def read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes in sorted order, and each row's class as its place among them."""
    y = column_or_1d(y, warn=True)
    _refuse_gaps(y)
    _refuse_mixed_types(y)
    kind = "multiclass" if _are_whole(y) else type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass"):
        example = next((v for v in np.ravel(y) if isinstance(v, float | np.floating) and v % 1), y[0])
        advice = "for a continuous target use LSPINRegressor"
        if y.dtype == object:
            advice = "its dtype is object: make it one of whole numbers, booleans or text"
        raise ValueError(f"Unknown label type: {kind}. The target holds values such as {example!r}; {advice}")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(
            f"the target holds one class only ({classes[0]!r}, in all {len(y)} rows): "
            "a classifier needs rows of at least two classes"
        )
    if len(classes) == len(y) > 2:
        raise ValueError(
            f"the target holds {len(classes)} classes in {len(y)} rows, so no class occurs twice; "
            "is it an identifier?"
        )
    return classes, codes


def _are_whole(y: np.ndarray) -> bool:
    """Whether floats are whole numbers, also where these are too large for integers."""
    return y.dtype.kind == "f" and len(y) > 0 and bool((y == np.floor(y)).all())


def _refuse_mixed_types(y: np.ndarray) -> None:
    if y.dtype == object and isinstance(y[0], str):
        for row, entry in enumerate(y):
            if not isinstance(entry, str):
                raise ValueError(f"the target mixes text ({y[0]!r} in row 0) and {entry!r} (row {row})")


def read_response(y: Any) -> np.ndarray:
    """A continuous target as floats."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "mM":
        raise ValueError(f"the target holds dates or times ({y.dtype}); turn it into a number, such as days")
    _refuse_gaps(y)
    if y.dtype.kind in "OUS":
        y = np.array([_read_number(entry, row) for row, entry in enumerate(y)])
    y = y.astype(np.float64)
    _refuse_gaps(y)
    return y


def _read_number(entry: Any, row: int) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the target holds {str(entry)!r} (row {row}), which is no number; for classes use LSPINClassifier"
        ) from error


def refuse_constant(y: np.ndarray) -> None:
    """Raise an error if there is more than one row and all have the same target."""
    if len(y) > 1 and (y == y[0]).all():
        raise ValueError(f"the target is constant ({y[0]:g} in all {len(y)} rows): there is nothing to learn")


def _refuse_gaps(y: np.ndarray) -> None:
    if y.dtype.kind == "f":
        for kind, found in (("NaN", np.isnan(y)), ("infinity", np.isinf(y))):
            if found.any():
                limit = " or a value too large for dtype('float64')." if kind == "infinity" else ""
                raise ValueError(
                    f"Input y contains {kind}{limit} ({found.sum()} of {len(y)} rows, "
                    f"the first is row {np.flatnonzero(found)[0]})"
                )
    elif y.dtype.kind in "OmM":
        gaps = [row for row, entry in enumerate(y) if is_missing(entry)]
        if gaps:
            raise ValueError(f"Input y contains NaN ({len(gaps)} of {len(y)} rows, the first is row {gaps[0]})")


def read_weights(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the rows, none negative and not all 0."""
    if np.ma.is_masked(sample_weight):
        sample_weight = sample_weight.astype(np.float64).filled(np.nan)
    if sample_weight is not None and not (given := np.asarray(sample_weight)).any():
        raise ValueError(f"all {given.size} sample weights are zero, so there is no row to learn from")
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=False)
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(f"sample_weight is negative in row {row} ({weights[row]:g}): Negative values in data")
    with np.errstate(over="ignore"):
        if np.isinf(weights.sum()):
            raise ValueError(f"sample_weight adds up to infinity (the largest is {weights.max():g}); divide it")
    return weights

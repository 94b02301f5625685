"""Columns become the standardised inputs of the networks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.tables.grid import Grid, Rows, column_blocks, pick_columns
from lspin.tables.reading import Levels, columns_of_inputs

SMALLEST = np.finfo(float).smallest_subnormal

MANY_ALIKE = 100  # columns from which a table is looked at for one unit
AT_LARGEST = 0.25  # part of the columns that reach the largest value of all, where they have one unit
LARGEST_DEVIATION = 1e6  # standardised values are cut off here, so that no overflow follows


class Manner(NamedTuple):
    """How numbers are scaled and centred."""

    scaling: str = (
        "auto"  # "columns": each by its own; "common": one scale for all; "none"; "auto": one of the first
    )
    centering: bool | None = None  # None: where 0 is no ordinary value of a column that has a scale of its own

    @property
    def centers(self) -> bool | None:
        """The centering, once it is known that all columns have one scale or none."""
        return self.centering if self.scaling in ("auto", "columns") else bool(self.centering)


AS_USUAL = Manner()


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the inputs of the networks."""

    n_columns: int  # of the user's table
    features: np.ndarray  # (n_features,), positions of the columns that vary
    owners: np.ndarray  # (n_inputs,), which of the features an input belongs to
    center: np.ndarray  # (n_inputs,)
    scale: np.ndarray  # (n_inputs,), infinite where an input does not vary
    levels: Levels  # of the categorical columns, by their position
    sees_missing: bool  # whether the gating network is told which values are missing
    zero_is_absent: bool = False  # whether a 0 is no value at all, so that it has no gate
    context: np.ndarray | None = None  # which of the features the gates look at, ascending; None: all
    context_only: bool = False  # whether these features are for the gates alone, so that theirs never open
    manner: Manner = AS_USUAL  # of learning centers and scales, for other rows of the table

    @property
    def n_features(self) -> int:
        """Number of gates."""
        return len(self.features)

    @property
    def seen_features(self) -> np.ndarray | slice:
        """Which of the features the gates look at."""
        return slice(None) if self.context is None else self.context

    @property
    def seen_inputs(self) -> np.ndarray | slice:
        """The inputs of these features."""
        return slice(None) if self.context is None else np.flatnonzero(np.isin(self.owners, self.context))

    @property
    def context_owners(self) -> np.ndarray:
        """The feature behind each input of the gating network: those of the inputs, then those of the flags."""
        flags = np.arange(self.n_features)[self.seen_features]
        return np.concatenate([self.owners[self.seen_inputs], flags[: self.sees_missing * len(flags)]])

    @property
    def n_context(self) -> int:
        """Number of inputs of the gating network."""
        return len(self.context_owners)

    @property
    def gated_features(self) -> np.ndarray:
        """Which of the features the predictor may see."""
        everything = np.arange(self.n_features)
        return np.setdiff1d(everything, everything[self.seen_features]) if self.context_only else everything

    @property
    def gated_inputs(self) -> np.ndarray | slice:
        """The inputs of these features."""
        return np.flatnonzero(np.isin(self.owners, self.gated_features)) if self.context_only else slice(None)

    @property
    def shared_owners(self) -> np.ndarray | None:
        """The owners where some gate serves several inputs, else nothing."""
        return None if len(self.owners) == self.n_features else self.owners


def learn_encoding(
    rows: Rows,
    levels: Levels,
    n_columns: int,
    features: np.ndarray | None = None,
    manner: Manner = AS_USUAL,
) -> Encoding:
    """Centers and scales of all inputs, learned from these rows, and which columns vary at all.

    Parameters
    ----------
    rows, levels
        From :func:`merge_rows` and :func:`read_table`.
    n_columns
        Number of columns of the user's table.
    features
        The columns to keep; without it, those that vary in these rows.
    manner
        How numbers are scaled and centred.

    """
    column_of = columns_of_inputs(n_columns, levels)
    unit = _find_unit(rows, levels, manner)
    center, scale = _moments(rows, column_of, manner.centers if unit is None else bool(manner.centering))
    if unit is not None:
        scale = np.where(np.isfinite(scale), unit, np.inf)
    for column in levels:
        # One scale for a categorical column, so that all its levels together vary by 1.
        inside = column_of == column
        spread = np.sqrt(np.where(np.isfinite(scale[inside]), scale[inside] ** 2, 0.0).sum())
        scale[inside] = spread if spread > 0 else np.inf
    if features is None:
        features = np.unique(column_of[np.isfinite(scale)])
    if len(features) == 0:
        raise ValueError(
            f"all {n_columns} columns are constant over the {len(rows.target)} distinct rows: "
            "there is nothing to learn from"
        )
    kept = np.isin(column_of, features)
    return Encoding(
        n_columns=n_columns,
        features=features,
        owners=np.searchsorted(features, column_of[kept]),
        center=center[kept],
        scale=scale[kept],
        levels=levels,
        sees_missing=rows.grid.missing is not None,
        zero_is_absent=rows.grid.is_sparse,
        manner=manner,
    )


def relearn_encoding(rows: Rows, known: Encoding) -> Encoding:
    """Centers and scales learned from other rows of the same table; features and context are the known ones."""
    encoding = learn_encoding(rows, known.levels, known.n_columns, known.features, known.manner)
    return replace(encoding, context=known.context, context_only=known.context_only)


def give_context(encoding: Encoding, columns: np.ndarray, *, context_only: bool) -> Encoding:
    """The encoding of gates that look at some columns of the table only: at those of them that vary.

    Parameters
    ----------
    encoding
        Of the table.
    columns
        Positions of the columns that gates look at.
    context_only
        Whether the predictor does not see these columns.

    """
    context = np.flatnonzero(np.isin(encoding.features, columns))
    if len(context) == 0:
        raise ValueError(
            f"none of the {len(columns)} columns of the context varies, so gates would be the same for all rows"
        )
    if context_only and len(context) == encoding.n_features:
        raise ValueError("context_only=True, but no column that varies is left to predict from")
    return replace(encoding, context=context, context_only=context_only)


def use_features(encoding: Encoding, kept: np.ndarray) -> Encoding:
    """The encoding of the same table if only some of its features are read, which are given by their places."""
    inside = np.isin(encoding.owners, kept)
    return replace(
        encoding,
        features=encoding.features[kept],
        owners=np.searchsorted(kept, encoding.owners[inside]),
        center=encoding.center[inside],
        scale=encoding.scale[inside],
        context=None if encoding.context is None else np.flatnonzero(np.isin(kept, encoding.context)),
    )


def keep_features(encoding: Encoding, kept: np.ndarray) -> Encoding:
    """The encoding of a table whose columns are some of the features, which are given by their places."""
    columns = encoding.features[kept]
    return replace(
        use_features(encoding, kept),
        n_columns=len(kept),
        features=np.arange(len(kept)),
        levels={place: encoding.levels[c] for place, c in enumerate(columns.tolist()) if c in encoding.levels},
    )


def pick_features(table: Grid, encoding: Encoding, kept: np.ndarray) -> Grid:
    """The columns of a dense table that :func:`keep_features` keeps."""
    columns = encoding.features[kept]
    inputs = np.flatnonzero(np.isin(columns_of_inputs(encoding.n_columns, encoding.levels), columns))
    missing = None if table.missing is None else pick_columns(table.missing, table.rows, columns)
    return Grid(pick_columns(table.values, table.rows, inputs), missing)


def common_unit(rows: Rows) -> float | None:
    """The largest value where all columns have one unit, such as the pixels of pictures; else nothing.

    That is taken to be so in a dense table of many columns and more rows, without negative or missing values, in
    which many columns reach the same largest value. Scaled one by one, pixels that are hardly ever used would
    count as much as all others.
    """
    values, missing, places = rows.grid
    n_columns = values.shape[1]
    if rows.grid.is_sparse or missing is not None or not MANY_ALIKE <= n_columns < rows.grid.n_rows:
        return None
    blocks = [pick_columns(values, places, part) for part in column_blocks(rows.grid.n_rows, n_columns)]
    if any(block.min() < 0 for block in blocks):
        return None
    largest = np.concatenate([block.max(axis=0) for block in blocks])
    unit = float(largest.max())
    return unit if unit > 0 and np.mean(largest == unit) >= AT_LARGEST else None


def _find_unit(rows: Rows, levels: Levels, manner: Manner) -> float | None:
    """The scale of all columns, if they share one."""
    if manner.scaling == "auto":
        return None if levels else common_unit(rows)
    if manner.scaling == "common":
        values, _, places = rows.grid
        parts = column_blocks(rows.grid.n_rows, values.shape[1])
        blocks = [values] if rows.grid.is_sparse else [pick_columns(values, places, part) for part in parts]
        return max(max(float(block.max()), -float(block.min())) for block in blocks) or 1.0
    return 1.0 if manner.scaling == "none" else None


def encode(table: Grid, encoding: Encoding) -> tuple[np.ndarray, np.ndarray | None]:
    """Standardised inputs and, where any value is missing, which ones: both only for the columns that vary."""
    return encode_inputs(table, encoding, slice(None)), missing_flags(table, encoding)


def encode_inputs(table: Grid, encoding: Encoding, which: np.ndarray | slice) -> np.ndarray:
    """Some of the standardised inputs in double precision, shape ``(n, n_chosen)``."""
    column_of = columns_of_inputs(encoding.n_columns, encoding.levels)
    places: Any = which
    if encoding.n_features < encoding.n_columns:
        places = np.flatnonzero(np.isin(column_of, encoding.features))[which]
    values = pick_columns(table.values, table.rows, places)
    values = values.toarray() if sp.issparse(values) else values
    with np.errstate(over="ignore"):  # what is too large is cut off below
        standard = (values - encoding.center[which]) / encoding.scale[which]
    if table.missing is not None:
        missing = pick_columns(table.missing, table.rows, column_of[places])
        standard[missing.toarray() if sp.issparse(missing) else missing] = 0.0
    return np.clip(standard, -LARGEST_DEVIATION, LARGEST_DEVIATION, out=standard)


def missing_flags(table: Grid, encoding: Encoding) -> np.ndarray | None:
    """Which values are missing in the columns that vary, shape ``(n, n_features)``."""
    if table.missing is None:
        return None
    missing = pick_columns(table.missing, table.rows, encoding.features)
    return missing.toarray() if sp.issparse(missing) else missing


def input_blocks(table: Grid, encoding: Encoding) -> Iterator[Any]:
    """The inputs, a block of columns at a time, so that no whole copy of them is ever made."""
    if encoding.zero_is_absent:
        yield scale_sparse(table.values, encoding)
        return
    for part in column_blocks(table.n_rows, len(encoding.owners)):
        yield encode_inputs(table, encoding, part)


def context_blocks(table: Grid, encoding: Encoding) -> Iterator[Any]:
    """What a gating network may see, a block of columns at a time."""
    if encoding.zero_is_absent:
        yield sparse_context(scale_sparse(table.values, encoding), table.missing, encoding)
        return
    if encoding.context is None:
        yield from input_blocks(table, encoding)
    else:
        yield encode_inputs(table, encoding, encoding.seen_inputs)
    if encoding.sees_missing:
        flags = missing_flags(table, encoding)
        flags = np.zeros((table.n_rows, encoding.n_features)) if flags is None else flags
        yield flags[:, encoding.seen_features].astype(np.float64)


def scale_sparse(values: sp.csr_array, encoding: Encoding) -> sp.csr_array:
    """Inputs of a sparse table: scaled, not centred."""
    scaled = sp.csr_array(_keep_varying(values, encoding) @ sp.diags_array(1 / encoding.scale))
    np.clip(scaled.data, -LARGEST_DEVIATION, LARGEST_DEVIATION, out=scaled.data)
    return scaled


def sparse_context(inputs: sp.csr_array, missing: sp.csr_array | None, encoding: Encoding) -> sp.csr_array:
    """What the gating network sees of a sparse table: see :func:`gating_context`."""
    seen = inputs if encoding.context is None else sp.csr_array(inputs[:, encoding.context])
    if not encoding.sees_missing:
        return seen
    columns = encoding.features[encoding.seen_features]
    flags = sp.csr_array(seen.shape) if missing is None else missing[:, columns].astype(np.float64)
    return sp.csr_array(sp.hstack([seen, flags], format="csr"))


def gating_context(inputs: np.ndarray, missing: np.ndarray | None, encoding: Encoding) -> np.ndarray:
    """What the gating network sees: its inputs and, if any value was missing in training, which are missing."""
    seen = inputs[:, encoding.seen_inputs]
    if not encoding.sees_missing:
        return seen
    flags = np.zeros((len(inputs), encoding.n_features)) if missing is None else missing
    return np.hstack([seen, flags[:, encoding.seen_features]])


def _keep_varying(values: Any, encoding: Encoding) -> Any:
    if encoding.n_features == encoding.n_columns:
        return values
    column_of = columns_of_inputs(encoding.n_columns, encoding.levels)
    return values[:, np.flatnonzero(np.isin(column_of, encoding.features))]


def _moments(rows: Rows, column_of: np.ndarray, centers: bool | None) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each input; a scale is infinite where nothing varies.

    The mean is 0 where an input is not centred.
    """
    values, missing, places = rows.grid
    if rows.grid.is_sparse:
        return _sparse_moments(values, rows.weight)
    blocks = [
        _dense_moments(
            pick_columns(values, places, part),
            None if missing is None else pick_columns(missing, places, column_of[part]),
            rows.weight,
            centers,
        )
        for part in column_blocks(rows.grid.n_rows, values.shape[1])
    ]
    center, scale = zip(*blocks, strict=True)
    return np.concatenate(center), np.concatenate(scale)


def _dense_moments(
    values: np.ndarray, missing: np.ndarray | None, weights: np.ndarray, centers: bool | None
) -> tuple[np.ndarray, np.ndarray]:
    # Numbers near the largest float would overflow when squared; small integers when made positive.
    largest = np.maximum(values.max(axis=0).astype(np.float64), -(values.min(axis=0).astype(np.float64)))
    unit = np.where(largest > 0, largest, 1.0)
    scaled = values / unit
    weight = weights[:, None]
    if missing is not None:
        weight = np.where(missing, 0.0, weight)
    total = np.broadcast_to(weight, scaled.shape).sum(axis=0)
    total = np.where(total > 0, total, 1.0)
    mean = (weight * scaled).sum(axis=0) / total
    spread = np.sqrt((weight * (scaled - mean) ** 2).sum(axis=0) / total)
    # Where 0 is an ordinary value, a shut gate stands for 0; elsewhere it stands for the mean.
    is_centred = np.abs(mean) > spread if centers is None else centers
    mean = np.where(is_centred, mean, 0.0)
    # Below a few units in the last place, what varies is rounding.
    return mean * unit, np.where(spread > 1e-14, np.maximum(spread * unit, SMALLEST), np.inf)


def _sparse_moments(values: sp.csr_array, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scales only: a sparse table is not centred, for its zeros must stay zeros.

    The scale of a column is the size of the entries that are there, so that a rare one is no giant. Columns
    whose sizes are within a factor of ten of the usual one are taken to have one unit, and share its scale.
    """
    shares = weight / weight.sum()
    largest = np.maximum(np.abs(values).max(axis=0).toarray().ravel(), np.finfo(float).tiny)
    scaled = values @ sp.diags_array(1 / largest)
    stored = shares @ (scaled != 0).astype(np.float64)
    mean, square = shares @ scaled, shares @ scaled.power(2)
    varies = np.sqrt(np.maximum(square - mean**2, 0.0)) > 1e-7
    size = np.sqrt(square / np.maximum(stored, np.finfo(float).tiny))
    with np.errstate(over="ignore"):
        size = np.minimum(size * largest, np.finfo(float).max)
    usual = np.median(size[varies]) if varies.any() else 1.0
    size = np.where((size > usual / 10) & (size / 10 < usual), usual, size)
    return np.zeros(values.shape[1]), np.where(varies, np.maximum(size, SMALLEST), np.inf)

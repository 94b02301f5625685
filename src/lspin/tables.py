"""Tables as people have them become checked arrays of numbers: names, levels, missing values, scales."""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

Levels = dict[int, tuple[Hashable, ...]]

SMALLEST = np.finfo(float).smallest_subnormal
BLOCK_ENTRIES = 2**20  # numbers of a wide table that are in double precision at one time
LARGEST_DEVIATION = 1e6  # standardised values are cut off here, so that no overflow follows


class Table(NamedTuple):
    """Numbers of a table before they are standardised.

    Some rows of a dense table are named, not copied: they stay where the user has them.
    """

    values: Any  # (n, n_inputs), float, dense or CSR; 0 where missing
    missing: Any  # (n, n_columns), bool, dense or CSR as the values are; None where nothing is missing
    rows: np.ndarray | None = None  # which of the dense values, in which order; None: all of them as they stand

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0] if self.rows is None else len(self.rows)

    @property
    def is_sparse(self) -> bool:
        """Whether the values are CSR."""
        return sp.issparse(self.values)


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

    @property
    def n_features(self) -> int:
        """Number of gates."""
        return len(self.features)

    @property
    def n_context(self) -> int:
        """Number of inputs of the gating network."""
        return len(self.owners) + self.sees_missing * self.n_features

    @property
    def shared_owners(self) -> np.ndarray | None:
        """The owners where some gate serves several inputs, else nothing."""
        return None if len(self.owners) == self.n_features else self.owners


class Rows(NamedTuple):
    """A table with its targets and weights, no two rows alike, in an order that the data alone decide."""

    table: Table
    target: np.ndarray
    weight: np.ndarray
    source: np.ndarray  # row of the user's table that stands for each row


# Reading -----------------------------------------------------------------------------------------------------


def read_table(X: Any, levels: Levels | None = None) -> tuple[Table, Levels]:
    """Numbers of a frame, an array or a sparse matrix, and the levels of its categorical columns.

    Parameters
    ----------
    X
        A pandas or polars frame, a two-dimensional array of floats or a CSR matrix of floats.
    levels
        What :func:`read_table` returned for the table the model was fitted on; without it, the levels that
        occur are learned. A value that is not among the levels counts as missing.

    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, levels)
    if levels:
        raise ValueError(
            f"the model was fitted on a frame whose column {min(levels)} is categorical (levels such as "
            f"{levels[min(levels)][:3]}), so it needs a frame here too, not {type(X).__name__}"
        )
    if sp.issparse(X):
        return _read_sparse(X), {}
    return _split_missing(X), {}


def _read_frame(frame: nw.DataFrame, levels: Levels | None) -> tuple[Table, Levels]:
    if not levels and (plain := _plain_numbers(nw.to_native(frame))) is not None:
        _refuse_infinity(plain, frame.columns)
        missing = np.isnan(plain)
        return (Table(np.where(missing, 0.0, plain), missing) if missing.any() else Table(plain, None)), {}
    blocks: list[np.ndarray] = []
    known: Levels = {}
    missing = np.zeros(frame.shape, bool)
    for position, name in enumerate(frame.columns):
        column = frame[:, position]
        if (levels is not None and position in levels) or (levels is None and _is_categorical(column)):
            entries = column.to_list()
            known[position] = levels[position] if levels is not None else _find_levels(entries)
            block, missing[:, position] = _one_hot(entries, known[position])
        else:
            block = _read_numbers(column, name)
            missing[:, position] = np.isnan(block[:, 0])
        blocks.append(block)
    values = np.hstack(blocks)
    _refuse_infinity(values, [n for n, b in zip(frame.columns, blocks, strict=True) for _ in range(b.shape[1])])
    return Table(np.where(np.isnan(values), 0.0, values), missing if missing.any() else None), known


def _plain_numbers(frame: Any) -> np.ndarray | None:
    """The values of a pandas frame that holds nothing but NumPy's numbers, all at once, for columns are many."""
    if not isinstance(frame, pd.DataFrame):
        return None
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes):
        return None
    is_single = all(dtype == np.float32 for dtype in frame.dtypes)
    return np.ascontiguousarray(frame.to_numpy(np.float32 if is_single else np.float64))  # no copy, if it may be


def _is_categorical(column: nw.Series) -> bool:
    return column.dtype in (nw.Categorical, nw.Enum)


def _find_levels(entries: list[Any]) -> tuple[Hashable, ...]:
    present = {_level(entry) for entry in entries if not is_missing(entry)}
    return tuple(sorted(present, key=lambda level: (type(level).__name__, level)))


def _one_hot(entries: list[Any], levels: tuple[Hashable, ...]) -> tuple[np.ndarray, np.ndarray]:
    places = {level: place for place, level in enumerate(levels)}
    codes = np.array([-1 if is_missing(entry) else places.get(_level(entry), -1) for entry in entries])
    return (codes[:, None] == np.arange(len(levels))).astype(np.float64), codes < 0


def is_missing(entry: Any) -> bool:
    """Whether an entry of a column stands for no value."""
    return entry is None or entry is pd.NA or entry != entry


def _level(entry: Any) -> Hashable:
    """A level as something a saved file can hold."""
    if isinstance(entry, np.generic):
        entry = entry.item()
    return entry if isinstance(entry, str | int | float) else str(entry)


def _read_numbers(column: nw.Series, name: str) -> np.ndarray:
    if column.dtype == nw.Object:
        column = _numbers_of_objects(column, name)
    if column.dtype == nw.String:
        examples = ", ".join(repr(entry) for entry in column.drop_nulls().unique().to_list()[:3])
        raise ValueError(
            f"column {name!r} holds text ({examples}); make it categorical "
            f"(X[{name!r}] = X[{name!r}].astype('category')) or turn it into numbers"
        )
    if _is_categorical(column):
        raise ValueError(f"column {name!r} is categorical here, but held numbers when the model was fitted")
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise ValueError(
            f"column {name!r} is of type {column.dtype}, which is neither a number, a boolean nor a category; "
            "turn it into a number (for dates: days since some day)"
        )
    return np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)[:, None]


def _numbers_of_objects(column: nw.Series, name: str) -> nw.Series:
    entries = [None if is_missing(entry) else entry for entry in column.to_list()]
    if all(entry is None or isinstance(entry, int | float | np.number | np.bool_) for entry in entries):
        numbers = [np.nan if entry is None else float(entry) for entry in entries]
        return nw.new_series(name, numbers, nw.Float64, backend=column.implementation)
    return nw.new_series(name, [None if e is None else str(e) for e in entries], nw.String, backend="pandas")


def _split_missing(values: np.ndarray) -> Table:
    _refuse_infinity(values, None)
    missing = np.isnan(values)
    if not missing.any():
        return Table(values, None)
    return Table(np.where(missing, 0.0, values), missing)


def _read_sparse(matrix: sp.csr_array) -> Table:
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    holes = np.isnan(matrix.data)
    if np.isinf(matrix.data).any():
        row, column = _entry_of(matrix, int(np.flatnonzero(np.isinf(matrix.data))[0]))
        raise ValueError(f"Input X contains infinity in column {column} (row {row})")
    if not holes.any():
        return Table(matrix, None)
    missing = sp.csr_array((holes, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    missing.eliminate_zeros()
    matrix.data[holes] = 0.0
    matrix.eliminate_zeros()
    return Table(matrix, missing)


def store_sparsely(table: Table) -> Table:
    """The same table without its zeros."""
    if table.is_sparse:
        return table
    values, missing, _ = gather(table)
    return Table(sp.csr_array(values), None if missing is None else sp.csr_array(missing))


def _entry_of(matrix: sp.csr_array, place: int) -> tuple[int, int]:
    return int(np.searchsorted(matrix.indptr, place, side="right")) - 1, int(matrix.indices[place])


def _refuse_infinity(values: np.ndarray, names: list[str] | None) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()) or not np.isinf(values).any():
            return
    row, column = np.argwhere(np.isinf(values))[0]
    name = int(column) if names is None else names[column]
    raise ValueError(
        f"Input X contains infinity in column {name!r} (row {row}); if it stands for an unknown value, "
        "make it missing (NaN)"
    )


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame; a lazy frame, an empty one or a name given twice is an error."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a lazy frame, whose values are not there yet: give X.collect()")
    _refuse_duplicate_names(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    n_rows, n_columns = frame.shape
    if n_rows == 0 or n_columns == 0:
        raise ValueError(
            f"Found array with {n_rows} sample(s) and {n_columns} feature(s) "
            f"(shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
        )
    return True


def _refuse_duplicate_names(X: Any) -> None:
    names = list(getattr(X, "columns", []))
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"column name {name!r} occurs {count} times; names must be unique")


# Merging equal rows ------------------------------------------------------------------------------------------


def merge_rows(table: Table, target: np.ndarray, weight: np.ndarray) -> Rows:
    """One row for all rows that are equal in every column and in the target, with the sum of their weights.

    Notes
    -----
    The rows come out ordered by a hash of their content. So a row given twice and a row of double weight
    are the same thing to all that follows, and so are two tables that differ in the order of their rows.

    """
    hashes = _hash_rows(table) + _mix(_bits(target.astype(np.float64)) ^ np.uint64(0xD1B54A32D192ED03))
    order = np.argsort(hashes, kind="stable")
    follows_equal = np.zeros(len(order), bool)
    candidates = np.flatnonzero(np.diff(hashes[order]) == 0) + 1
    follows_equal[candidates] = _rows_equal(table, target, order[candidates - 1], order[candidates])
    starts = np.flatnonzero(~follows_equal)
    kept = order[starts]
    return Rows(
        take_table(table, kept), target[kept], np.add.reduceat(weight[order].astype(np.float64), starts), kept
    )


def take_table(table: Table, rows: np.ndarray | slice) -> Table:
    """Some rows of a table; those of a sparse one are copied, unless they are all of them in their order."""
    if table.rows is not None:
        return table._replace(rows=table.rows[rows])
    if isinstance(rows, np.ndarray):
        if not table.is_sparse:
            return table._replace(rows=np.arange(table.n_rows)[rows])
        if len(rows) == table.n_rows and (rows == np.arange(table.n_rows)).all():
            return table
    return Table(table.values[rows], None if table.missing is None else table.missing[rows])


def gather(table: Table) -> Table:
    """The same table with its rows in a place of their own."""
    if table.rows is None:
        return table
    return Table(table.values[table.rows], None if table.missing is None else table.missing[table.rows])


def _pick(matrix: Any, rows: np.ndarray | None, columns: np.ndarray | slice) -> Any:
    """Some columns of the rows of a table."""
    if rows is None:
        return matrix[:, columns]
    return matrix[:, columns][rows] if isinstance(columns, slice) else matrix[rows[:, None], columns]


def take_rows(rows: Rows, which: np.ndarray) -> Rows:
    """Some of the rows."""
    return Rows(take_table(rows.table, which), rows.target[which], rows.weight[which], rows.source[which])


def _hash_rows(table: Table) -> np.ndarray:
    values = table.values
    salts = _mix(np.arange(values.shape[1], dtype=np.uint64))
    if sp.issparse(values):
        entries = _mix(_bits(values.data) ^ salts[values.indices])
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
        hashes = running[values.indptr[1:]] - running[values.indptr[:-1]]
    else:
        hashes = np.zeros(len(values), np.uint64)
        for column, salt in enumerate(salts):
            hashes += _mix(_bits(values[:, column]) ^ salt)
    if table.missing is not None:
        hashes += table.missing.astype(np.uint64) @ _mix(salts[: table.missing.shape[1]] + np.uint64(1))
    return hashes


def _bits(values: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(values, np.float64) + 0.0).view(np.uint64)  # adding 0 makes -0 and 0 one number


def _mix(bits: np.ndarray) -> np.ndarray:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _rows_equal(table: Table, target: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    a, b = gather(take_table(table, first)), gather(take_table(table, second))
    difference = a.values != b.values
    equal = np.asarray(difference.sum(axis=1)).ravel() == 0
    if a.missing is not None and b.missing is not None:
        equal &= np.asarray((a.missing != b.missing).sum(axis=1)).ravel() == 0
    return equal & (target[first] == target[second])


# Standardising -----------------------------------------------------------------------------------------------


def learn_encoding(rows: Rows, levels: Levels, n_columns: int, features: np.ndarray | None = None) -> Encoding:
    """Centers and scales of all inputs, learned from these rows, and which columns vary at all.

    Parameters
    ----------
    rows, levels
        From :func:`merge_rows` and :func:`read_table`.
    n_columns
        Number of columns of the user's table.
    features
        The columns to keep; without it, those that vary in these rows.

    """
    column_of = columns_of_inputs(n_columns, levels)
    center, scale = _moments(rows, column_of)
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
        sees_missing=rows.table.missing is not None,
        zero_is_absent=rows.table.is_sparse,
    )


def encode(table: Table, encoding: Encoding) -> tuple[np.ndarray, np.ndarray | None]:
    """Standardised inputs and, where any value is missing, which ones: both only for the columns that vary."""
    return encode_inputs(table, encoding, slice(None)), missing_flags(table, encoding)


def encode_inputs(table: Table, encoding: Encoding, which: np.ndarray | slice) -> np.ndarray:
    """Some of the standardised inputs in double precision, shape ``(n, n_chosen)``."""
    column_of = columns_of_inputs(encoding.n_columns, encoding.levels)
    places: Any = which
    if encoding.n_features < encoding.n_columns:
        places = np.flatnonzero(np.isin(column_of, encoding.features))[which]
    values = _pick(table.values, table.rows, places)
    values = values.toarray() if sp.issparse(values) else values
    with np.errstate(over="ignore"):  # what is too large is cut off below
        standard = (values - encoding.center[which]) / encoding.scale[which]
    if table.missing is not None:
        missing = _pick(table.missing, table.rows, column_of[places])
        standard[missing.toarray() if sp.issparse(missing) else missing] = 0.0
    return np.clip(standard, -LARGEST_DEVIATION, LARGEST_DEVIATION, out=standard)


def missing_flags(table: Table, encoding: Encoding) -> np.ndarray | None:
    """Which values are missing in the columns that vary, shape ``(n, n_features)``."""
    if table.missing is None:
        return None
    missing = _pick(table.missing, table.rows, encoding.features)
    return missing.toarray() if sp.issparse(missing) else missing


def context_blocks(table: Table, encoding: Encoding) -> Iterator[Any]:
    """What a gating network may see, a block of columns at a time, so that no whole copy of it is ever made."""
    if encoding.zero_is_absent:
        yield sparse_context(scale_sparse(table.values, encoding), table.missing, encoding)
        return
    for part in _column_blocks(table.n_rows, len(encoding.owners)):
        yield encode_inputs(table, encoding, part)
    if encoding.sees_missing:
        flags = missing_flags(table, encoding)
        yield np.zeros((table.n_rows, encoding.n_features)) if flags is None else flags.astype(np.float64)


def _column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Columns of a wide table, some at a time."""
    width = max(BLOCK_ENTRIES // max(n_rows, 1), 1)
    return (slice(start, min(start + width, n_columns)) for start in range(0, n_columns, width))


def scale_sparse(values: sp.csr_array, encoding: Encoding) -> sp.csr_array:
    """Inputs of a sparse table: scaled, not centred."""
    scaled = sp.csr_array(_keep_varying(values, encoding) @ sp.diags_array(1 / encoding.scale))
    np.clip(scaled.data, -LARGEST_DEVIATION, LARGEST_DEVIATION, out=scaled.data)
    return scaled


def sparse_context(inputs: sp.csr_array, missing: sp.csr_array | None, encoding: Encoding) -> sp.csr_array:
    """What the gating network sees of a sparse table: see :func:`gating_context`."""
    if not encoding.sees_missing:
        return inputs
    flags = sp.csr_array(inputs.shape) if missing is None else missing[:, encoding.features].astype(np.float64)
    return sp.csr_array(sp.hstack([inputs, flags], format="csr"))


def gating_context(inputs: np.ndarray, missing: np.ndarray | None, encoding: Encoding) -> np.ndarray:
    """What the gating network sees: the inputs and, if some were missing in training, which are missing."""
    if not encoding.sees_missing:
        return inputs
    flags = np.zeros((len(inputs), encoding.n_features)) if missing is None else missing
    return np.hstack([inputs, flags])


def _keep_varying(values: Any, encoding: Encoding) -> Any:
    if encoding.n_features == encoding.n_columns:
        return values
    column_of = columns_of_inputs(encoding.n_columns, encoding.levels)
    return values[:, np.flatnonzero(np.isin(column_of, encoding.features))]


def columns_of_inputs(n_columns: int, levels: Levels) -> np.ndarray:
    """The column that each input comes from."""
    return np.repeat(np.arange(n_columns), [len(levels.get(column, (0,))) for column in range(n_columns)])


def _moments(rows: Rows, column_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each input; a scale is infinite where nothing varies."""
    values, missing, places = rows.table
    if rows.table.is_sparse:
        return _sparse_moments(values, rows.weight)
    blocks = [
        _dense_moments(
            _pick(values, places, part),
            None if missing is None else _pick(missing, places, column_of[part]),
            rows.weight,
        )
        for part in _column_blocks(rows.table.n_rows, values.shape[1])
    ]
    center, scale = zip(*blocks, strict=True)
    return np.concatenate(center), np.concatenate(scale)


def _dense_moments(
    values: np.ndarray, missing: np.ndarray | None, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    # Numbers near the largest float would overflow when squared.
    largest = np.abs(values).max(axis=0).astype(np.float64)
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
    mean = np.where(np.abs(mean) > spread, mean, 0.0)
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

"""Frames, arrays and sparse matrices become numbers: names, levels and missing values."""

import sys
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.tables.grid import Grid

Levels = dict[int, tuple[Hashable, ...]]


def read_table(X: Any, levels: Levels | None = None) -> tuple[Grid, Levels]:
    """Numbers of a frame, an array or a sparse matrix, and the levels of its categorical columns.

    Parameters
    ----------
    X
        A pandas or polars frame, a pyarrow table, a two-dimensional array of floats or a CSR matrix of floats.
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


def _read_frame(frame: nw.DataFrame, levels: Levels | None) -> tuple[Grid, Levels]:
    if not levels and (plain := _plain_numbers(nw.to_native(frame))) is not None:
        _refuse_infinity(plain, frame.columns)
        missing = np.isnan(plain)
        return (Grid(np.where(missing, 0.0, plain), missing) if missing.any() else Grid(plain, None)), {}
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
    return Grid(np.where(np.isnan(values), 0.0, values), missing if missing.any() else None), known


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
            f"(X[{name!r}] = X[{name!r}].astype('category')), turn it into numbers, or leave it out if it names "
            "the rows; LSPIN's estimators make text categorical by themselves with columns='auto'"
        )
    if _is_categorical(column):
        raise ValueError(f"column {name!r} is categorical here, but held numbers when the model was fitted")
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise ValueError(
            f"column {name!r} is of type {column.dtype}, which is neither a number, a boolean nor a category; "
            "turn it into a number (dates into days since some day; LSPIN's estimators do so with columns='auto')"
        )
    return np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)[:, None]


def _numbers_of_objects(column: nw.Series, name: str) -> nw.Series:
    entries = [None if is_missing(entry) else entry for entry in column.to_list()]
    if all(entry is None or isinstance(entry, int | float | np.number | np.bool_) for entry in entries):
        numbers = [np.nan if entry is None else float(entry) for entry in entries]
        return nw.new_series(name, numbers, nw.Float64, backend=column.implementation)
    return nw.new_series(name, [None if e is None else str(e) for e in entries], nw.String, backend="pandas")


def _split_missing(values: np.ndarray) -> Grid:
    _refuse_infinity(values, None)
    missing = np.isnan(values)
    if not missing.any():
        return Grid(values, None)
    return Grid(np.where(missing, 0.0, values), missing)


def _read_sparse(matrix: sp.csr_array) -> Grid:
    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    holes = np.isnan(matrix.data)
    if np.isinf(matrix.data).any():
        row, column = _entry_of(matrix, int(np.flatnonzero(np.isinf(matrix.data))[0]))
        raise ValueError(f"Input X contains infinity in column {column} (row {row})")
    if not holes.any():
        return Grid(matrix, None)
    missing = sp.csr_array((holes, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    missing.eliminate_zeros()
    matrix.data[holes] = 0.0
    matrix.eliminate_zeros()
    return Grid(matrix, missing)


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


def as_numbers(X: Any) -> Any:
    """A frame or a sparse matrix as it is; all else as an array of floats, in which masked entries are missing."""
    X = X if is_frame(X) else unmask(X)
    return X if is_frame(X) or sp.issparse(X) else np.asarray(X, np.float64)


def unmask(X: Any) -> Any:
    """An array whose masked entries are missing values; dates and times are an error, all else stays as it is."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(f"X holds dates or times ({X.dtype}); turn them into numbers, such as days")
    if not np.ma.is_masked(X):
        return np.asarray(X) if isinstance(X, np.ma.MaskedArray) else X
    return X.astype(X.dtype if X.dtype.kind == "f" else np.float64).filled(np.nan)


class NamedMatrix(NamedTuple):
    """A sparse matrix with names of its columns, which it cannot hold itself."""

    values: sp.csr_array
    names: list


def name_columns(X: Any, names: Any) -> Any:
    """An array or a sparse matrix with names of its columns."""
    if is_anndata(X) or list_names(X) is not None:
        raise ValueError(f"feature_names is for an array or a sparse matrix; the {type(X).__name__} has names")
    X, listed = X if sp.issparse(X) else np.asarray(X), [str(name) for name in names]
    if X.ndim != 2 or X.shape[1] != len(listed):
        raise ValueError(f"feature_names holds {len(listed)} names, but X has the shape {X.shape}")
    _refuse_twice(listed)
    return NamedMatrix(sp.csr_array(X), listed) if sp.issparse(X) else pd.DataFrame(X, columns=listed)


def split_names(X: Any) -> tuple[Any, list | None]:
    """The values of what holds sparse ones under names, and the names; all else as it is, without names.

    AnnData objects are taken by their ``X``; of pandas frames, those in which all columns are sparse.
    """
    if is_anndata(X):
        X = _read_anndata(X)
    if isinstance(X, NamedMatrix):
        return X.values, X.names
    if isinstance(X, pd.DataFrame) and X.shape[1] and all(_is_sparse_column(dtype) for dtype in X.dtypes):
        _refuse_twice(list(X.columns))
        return sp.csr_array(cast(Any, X.sparse).to_coo(), dtype=np.float64), list(X.columns)
    return X, None


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object; the package is not imported for it."""
    return "anndata" in sys.modules and isinstance(X, sys.modules["anndata"].AnnData)


def _read_anndata(adata: Any) -> Any:
    use = "lspin.single_cell.rank_genes_groups(adata, groupby), which reads cells in batches"
    if adata.isbacked or adata.X is None or not (sp.issparse(adata.X) or isinstance(adata.X, np.ndarray)):
        found = "is backed by a file" if adata.isbacked else f"has an X of type {type(adata.X).__name__}"
        raise TypeError(f"the AnnData object {found}, and fit needs all values in memory: call {use}")
    names = list(adata.var_names)
    if not sp.issparse(adata.X):
        return pd.DataFrame(adata.X, index=adata.obs_names, columns=names)
    _refuse_twice(names, "; make them unique with adata.var_names_make_unique()")
    return NamedMatrix(sp.csr_array(adata.X), names)


def _is_sparse_column(dtype: Any) -> bool:
    return isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 and dtype.subtype.kind in "biuf"


def is_frame(X: Any) -> bool:
    """Whether X is a pandas, polars or pyarrow table.

    A lazy frame, a batch of a table, an empty frame or a name given twice is an error.
    """
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a lazy frame, whose values are not there yet: give X.collect()")
    if type(X).__name__ == "RecordBatch" and type(X).__module__.startswith("pyarrow"):
        raise TypeError("X is one batch of a table: give pyarrow.Table.from_batches([X])")
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


def add_absent(X: Any, names: Sequence[str], dispensable: Collection[str]) -> Any:
    """The frame with columns that it lacks and may lack, all values missing, in their place.

    Parameters
    ----------
    X
        A pandas or polars frame.
    names
        All columns of the whole table, in their order.
    dispensable
        Those that may be absent.

    """
    frame = nw.from_native(X, eager_only=True)
    given = list(frame.columns)
    known = set(given)
    absent = [name for name in names if name not in known and name in dispensable]
    if not absent:
        return X
    frame = nw.concat([frame, _missing_columns(frame, absent)], how="horizontal")
    # What else is wrong with the names, and their order, is for others to say.
    whole = [name for name in names if name in known or name in dispensable]
    in_order = given == [name for name in names if name in known]
    return (frame.select(whole) if in_order else frame).to_native()


def _missing_columns(frame: nw.DataFrame, names: list[str]) -> nw.DataFrame:
    """A frame of the same rows in which all values are missing."""
    if frame.implementation.is_pandas_like():
        native = nw.to_native(frame)
        return nw.from_native(pd.DataFrame(np.nan, index=native.index, columns=names))
    blank = np.full(len(frame), np.nan)
    return nw.from_dict(dict.fromkeys(names, blank), backend=frame.implementation)


def _refuse_duplicate_names(X: Any) -> None:
    _refuse_twice(list_names(X) or [])


def _refuse_twice(names: list, advice: str = "") -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"column name {name!r} occurs {count} times; names must be unique{advice}")


def list_names(X: Any) -> list | None:
    """Names of the columns of a frame; nothing for what has none."""
    names = getattr(X, "column_names", None)  # pyarrow, whose columns are the values
    names = getattr(X, "columns", None) if names is None else names
    return None if names is None else list(names)


def columns_of_inputs(n_columns: int, levels: Levels) -> np.ndarray:
    """The column that each input comes from."""
    n_inputs = np.ones(n_columns, int)
    for column, names in levels.items():
        n_inputs[column] = len(names)
    return np.repeat(np.arange(n_columns), n_inputs)

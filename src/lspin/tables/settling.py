"""Columns of text and of dates become categories and days, where an estimator is asked to read them so."""

import re
from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from lspin.tables.reading import is_missing

MOST_LEVELS = 20  # different texts that still make a category
ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")
DAY = pd.Timedelta(days=1)
EPOCH = "1970-01-01T00:00:00+00:00"
COLUMNS = ("column", "first")  # of what is learned: a column of dates, and its first day


def settle_columns(X: Any, known: pd.DataFrame | None = None) -> tuple[Any, pd.DataFrame]:
    """A frame whose dates are days since the first, and whose texts of few values are categories.

    Parameters
    ----------
    X
        A pandas or polars frame or a pyarrow table.
    known
        What was learned from the training table: its columns of dates with the first day of each. Without it, this
        is learned.

    Returns
    -------
    The frame, and its columns of dates with the first day of each. Other columns are left as they are.

    Notes
    -----
    Text is taken for dates if all of it is written as year-month-day. Text of more than 20 different values is an
    error in a training table. Numbers in a column of dates are days already, so a frame may be settled twice.

    """
    frame = nw.from_native(X, eager_only=True)
    first = {} if known is None else dict(zip(known["column"], known["first"], strict=True))
    changed: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if (name in first and not column.dtype.is_numeric()) if known is not None else _holds_dates(column):
            changed[name], first[name] = _count_days(column, name, first.get(name))
        elif _holds_text(column):
            if known is None:
                _refuse_many(column, name)
            changed[name] = None
    learned = pd.DataFrame({COLUMNS[0]: list(first), COLUMNS[1]: list(first.values())}, dtype=object)
    return _replace(frame, changed), learned


def settle_for_checks(X: Any) -> Any:
    """A frame to look at: dates are days, text of few values is a category, other text is there or not."""
    frame = nw.from_native(X, eager_only=True)
    changed: dict[str, Any] = {}
    # Types of many columns at once: asking them one by one takes seconds on wide tables.
    is_pandas = isinstance(X, pd.DataFrame)
    others = X.select_dtypes(exclude="number").columns if is_pandas else frame.columns
    for name in others:
        column = frame.get_column(name)
        if _holds_dates(column):
            changed[name] = _count_days(column, name, EPOCH)[0]
        elif _holds_text(column):
            entries = [None if is_missing(entry) else entry for entry in column.to_list()]
            is_category = len(set(entries) - {None}) <= MOST_LEVELS
            changed[name] = None if is_category else np.where([entry is None for entry in entries], np.nan, 1.0)
    return _replace(frame, changed)


def _replace(frame: nw.DataFrame, changed: dict[str, Any]) -> Any:
    """The frame with days in the place of dates, and categories in the place of text."""
    native = nw.to_native(frame)
    if not changed:
        return native
    if isinstance(native, pd.DataFrame):
        native = native.copy(deep=False)
        for name, days in changed.items():
            native[name] = native[name].astype("category") if days is None else days
        return native
    days = [
        nw.new_series(name, values, nw.Float64, backend=frame.implementation)
        for name, values in changed.items()
        if values is not None
    ]
    texts = [nw.col(name).cast(nw.Categorical) for name, values in changed.items() if values is None]
    return frame.with_columns(*days, *texts).to_native()


def _holds_text(column: nw.Series) -> bool:
    if column.dtype == nw.String:
        return True
    return column.dtype == nw.Object and all(is_missing(entry) or isinstance(entry, str) for entry in column)


def _holds_objects(column: nw.Series) -> bool:
    return column.dtype == nw.String or column.dtype == nw.Object


def _holds_dates(column: nw.Series) -> bool:
    if column.dtype == nw.Date or column.dtype == nw.Datetime:
        return True
    present = [entry for entry in column.to_list() if not is_missing(entry)] if _holds_objects(column) else []
    if present and all(isinstance(entry, date) for entry in present):
        return True
    return bool(present) and _holds_text(column) and all(ISO_DAY.fullmatch(entry.strip()) for entry in present)


def _count_days(column: nw.Series, name: str, first: str | None) -> tuple[np.ndarray, str]:
    entries = [None if is_missing(entry) else entry for entry in column.to_list()]
    try:
        moments = pd.Series(pd.to_datetime(pd.Series(entries, dtype=object), utc=True))
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {name!r} held dates when the model was fitted, and here: {error}") from error
    if first is None:
        if moments.isna().all():
            raise ValueError(f"column {name!r} of dates is empty")
        first = moments.min().isoformat()
    return ((moments - pd.Timestamp(first)) / DAY).to_numpy(float), first


def _refuse_many(column: nw.Series, name: str) -> None:
    present = {entry for entry in column.to_list() if not is_missing(entry)}
    if len(present) > MOST_LEVELS:
        examples = ", ".join(repr(entry) for entry in sorted(present)[:3])
        raise ValueError(
            f"column {name!r} holds {len(present)} different texts ({examples}), more than the {MOST_LEVELS} that "
            "columns='auto' takes for categories; leave it out, make it categorical or turn it into numbers"
        )

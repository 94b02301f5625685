"""Read times and events from the forms that users have, check them, and explain what is wrong."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from lspin.survival.words import find_event

TIME_ZERO = float(np.finfo(np.float64).tiny)  # stands for 0, which has no sign
FEW_EVENTS = 5  # fewer than this are worth a warning
FEWEST_STEPS = 8  # distinct values below which a column may follow the time by chance


class Survival(NamedTuple):
    """Follow-up time of each sample, and whether it ended in an event."""

    time: np.ndarray  # (n,), float64, not negative
    event: np.ndarray  # (n,), bool: True for an event, False for censoring
    time_name: Any = "time"  # as the user's table has it
    event_name: Any = "event"


def read_survival(y: Any, *, needs_events: bool = True) -> Survival:
    """Read times and events from one of several forms, and check them.

    Parameters
    ----------
    y
        A structured array as in scikit-survival; a frame, a dict or an array with two columns; or a tuple
        ``(time, event)`` of arrays. Of two columns, the event is the one named ``event`` (if the other is named
        ``time``), else the boolean one, else the only one with no values other than 0 and 1.
    needs_events
        Whether to raise an error if all rows are censored, and to warn if there are fewer than five events.

    Returns
    -------
    Survival
        Times and events, with their names.

    Notes
    -----
    An event at time 0 counts: everybody is at risk then. A row censored at time 0 says nothing.
    """
    if isinstance(y, Survival):
        survival = y
    elif isinstance(y, tuple) and len(y) == 2:
        survival = _read_pair(*y, "time", "event")
    else:
        columns = _list_columns(y)
        event_name = _find_event(columns)
        (time_name,) = (name for name in columns if name != event_name)
        survival = _read_pair(columns[time_name], columns[event_name], time_name, event_name)
    if needs_events:
        _check_events(survival)
    return survival


def make_survival(time: Any, event: Any) -> np.ndarray:
    """Make a structured array with the fields ``event`` and ``time``, as in scikit-survival.

    Parameters
    ----------
    time
        Follow-up times, shape ``(n_samples,)``.
    event
        True for an event, False for censoring.

    Returns
    -------
    numpy.ndarray
        Structured array with the fields ``event`` and ``time``.

    Examples
    --------
    >>> from lspin.survival import make_survival
    >>> y = make_survival(time=[12.0, 30.0, 7.5], event=[True, False, True])
    >>> y["time"].tolist()
    [12.0, 30.0, 7.5]

    """
    survival = read_survival((time, event), needs_events=False)
    target = np.empty(len(survival.time), dtype=[("event", bool), ("time", np.float64)])
    target["event"], target["time"] = survival.event, survival.time
    return target


def sign_times(survival: Survival) -> np.ndarray:
    """One number for time and event: the time, negative where it was censored; 0 becomes ``TIME_ZERO``."""
    time = np.where(survival.time == 0, TIME_ZERO, survival.time)
    return np.where(survival.event, time, -time)


def split_times(signed: np.ndarray) -> Survival:
    """What :func:`sign_times` joined."""
    time = np.abs(signed)
    return Survival(np.where(time == TIME_ZERO, 0.0, time), signed > 0)


def _list_columns(y: Any) -> dict[Any, np.ndarray]:
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns: dict[Any, np.ndarray] = {name: _list_entries(frame[name]) for name in frame.columns}
    elif isinstance(y, Mapping):
        columns = {name: values if np.ma.is_masked(values) else np.asarray(values) for name, values in y.items()}
    elif isinstance(y, np.ndarray) and y.dtype.names:
        columns = {name: y[name] for name in y.dtype.names}
    elif isinstance(y, np.ndarray) and y.ndim == 2:
        columns = dict(enumerate(y.T))
    else:
        raise TypeError(
            f"a survival target holds times and events, and {type(y).__name__} does not say which is which; give "
            "lspin.survival.make_survival(time, event), a frame or a dict with two columns, or (time, event)"
        )
    if len(columns) != 2:
        raise ValueError(
            f"a survival target has two columns, the time and the event; this one has {len(columns)}: "
            f"{list(columns)[:8]}"
        )
    return columns


def _list_entries(column: nw.Series) -> np.ndarray:
    return column.to_numpy() if column.dtype.is_numeric() else np.array(column.to_list(), dtype=object)


def _find_event(columns: dict[Any, np.ndarray]) -> Any:
    """Name of the column that says whether the event happened."""
    plain = {str(name).lower(): name for name in columns}
    if set(plain) == {"time", "event"}:
        return plain["event"]
    tidy = {name: _tidy(values) for name, values in columns.items()}
    # A column of words, or of 1 and 2, is taken for the event so that it is refused with the right advice.
    signs: list[Callable[[np.ndarray], bool]] = [
        lambda values: values.dtype == bool,
        lambda values: _holds_only(values, (0, 1)),
        lambda values: values.dtype.kind in "OUS",
        lambda values: _holds_only(values, (1, 2)),
    ]
    for sign in signs:
        found = [name for name, values in tidy.items() if sign(values)]
        if len(found) == 1:
            return found[0]
        if found:
            break
    first, second = columns
    kind = "could both be" if found else "could neither be"
    raise ValueError(
        f"columns {first!r} and {second!r} {kind} the event, which is True or 1 where it happened and False or 0 "
        "where the row is censored; name the columns 'time' and 'event', or give (time, event)"
    )


def _holds_only(values: np.ndarray, codes: tuple[int, ...]) -> bool:
    return values.dtype.kind in "iuf" and bool(np.isin(values[~np.isnan(values)], codes).all())


def _tidy(values: Any) -> np.ndarray:
    """Objects that are numbers as floats, those that are booleans as booleans; all else as it is."""
    # Masked entries are None in a list.
    values = np.array(values.tolist(), dtype=object) if np.ma.is_masked(values) else np.asarray(values)
    if values.dtype != object:
        return values
    gaps = pd.isna(values)
    if not gaps.any() and all(isinstance(entry, bool | np.bool_) for entry in values):
        return values.astype(bool)
    if all(isinstance(entry, int | float | np.number | np.bool_) for entry in values[~gaps]):
        return np.array([np.nan if gap else float(entry) for entry, gap in zip(values, gaps, strict=True)])
    return values


def _read_pair(time: Any, event: Any, time_name: Any, event_name: Any) -> Survival:
    time, event = _tidy(time), _tidy(event)
    for values, name in ((time, time_name), (event, event_name)):
        if values.ndim != 1:
            raise ValueError(f"{name!r} must have one value for each row; its shape is {values.shape}")
    if len(time) != len(event):
        raise ValueError(f"{time_name!r} has {len(time)} rows and {event_name!r} has {len(event)}")
    if len(time) == 0:
        raise ValueError(f"{time_name!r} and {event_name!r} have no rows")
    return Survival(_read_time(time, time_name), _read_event(event, event_name), time_name, event_name)


def _read_time(values: np.ndarray, name: Any) -> np.ndarray:
    if values.dtype.kind not in "iuf":
        example = next((entry for entry in values if not pd.isna(entry)), None)
        raise ValueError(
            f"the time {name!r} holds {str(example)!r}, which is no number; turn it into one (for dates: "
            "the days from the start of follow-up to its end)"
        )
    time = values.astype(np.float64)
    reasons = {
        "missing": (np.isnan(time), "leave these rows out, or find out how long they were followed"),
        "infinite": (np.isinf(time), "a sample without the event is censored at the time it was last seen"),
        "negative": (time < 0, "is the end of follow-up before its start?"),
    }
    for kind, (found, advice) in reasons.items():
        if found.any():
            raise ValueError(
                f"the time {name!r} is {kind} in {found.sum()} of {len(time)} rows, the first is row "
                f"{np.flatnonzero(found)[0]}; {advice}"
            )
    return time


def _read_event(values: np.ndarray, name: Any) -> np.ndarray:
    gaps = pd.isna(values)
    if gaps.any():
        raise ValueError(
            f"the event {name!r} is missing in {gaps.sum()} of {len(values)} rows, the first is row "
            f"{np.flatnonzero(gaps)[0]}; leave these rows out; who was last seen without it is censored"
        )
    if values.dtype == bool:
        return values
    if values.dtype.kind not in "iuf":
        raise ValueError(_explain_words(values, name))
    if not np.isin(values, (0, 1)).all():
        raise ValueError(_explain_codes(values, name))
    return values == 1


def _explain_words(values: np.ndarray, name: Any) -> str:
    words = sorted({str(entry) for entry in values})
    found = find_event(words, str(name))
    likely = "<the word for the event>" if found is None else repr(found)
    listed = ", ".join(map(repr, words[:4]))
    return (
        f"the event {name!r} holds text ({listed}); make it True where the event happened, such as "
        f"y[{name!r}] == {likely}"
    )


def _explain_codes(values: np.ndarray, name: Any) -> str:
    codes, counts = np.unique(values, return_counts=True)
    listed = ", ".join(f"{code:g} ({count} rows)" for code, count in list(zip(codes, counts, strict=True))[:5])
    advice = "make it True where the event happened and False where the row is censored"
    if set(codes) <= {1, 2}:
        advice = f"where 1 is censored and 2 is the event, as often in R, give y[{name!r}] == 2"
    elif set(codes) == {0, 1, 2}:
        advice = f"where 1 and 2 are different events, choose one, the other is censoring: y[{name!r}] == 1"
    return f"the event {name!r} must be boolean or 0 and 1, and holds {listed}; {advice}"


def _check_events(survival: Survival) -> None:
    n_events, n_rows = int(survival.event.sum()), len(survival.event)
    if n_events == 0:
        raise ValueError(
            f"all {n_rows} samples are censored, so there is no event to learn from; is {survival.event_name!r} "
            "True where the event happened?"
        )
    if n_events < FEW_EVENTS:
        warnings.warn(
            f"only {n_events} of {n_rows} samples had the event ({survival.event_name!r}): what is learned from "
            "so few will hardly hold for others",
            UserWarning,
            stacklevel=3,
        )


def find_time_columns(X: np.ndarray, time: np.ndarray) -> list[int]:
    """Find columns that may be the follow-up time itself: those that rise or fall with it without exception.

    Parameters
    ----------
    X
        Numbers, NaN if missing, shape ``(n, n_features)``.
    time
        Shape ``(n,)``.

    Returns
    -------
    list[int]
        Positions of the columns.

    Notes
    -----
    Ties are allowed in both, so that a time in years is found where the target is in days. Columns with fewer than
    eight distinct values are skipped, because they may agree by chance; the same holds if the time has fewer.
    """
    order = np.argsort(time)
    time = np.asarray(time)[order]
    return [position for position in range(X.shape[1]) if _follows(X[order, position], time)]


def _follows(values: np.ndarray, time: np.ndarray) -> bool:
    known = ~np.isnan(values)
    values, time = values[known], time[known]
    starts = np.flatnonzero(np.diff(time, prepend=-np.inf))
    if len(starts) < FEWEST_STEPS:
        return False
    lowest, highest = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    rises, falls = (highest[:-1] <= lowest[1:]).all(), (lowest[:-1] >= highest[1:]).all()
    return bool((rises or falls) and len(np.unique(values)) >= FEWEST_STEPS)


# Numbers that go with a target ---------------------------------------------------------------------------------


def read_weight(weight: Any, n_rows: int) -> np.ndarray:
    """Weights of the samples, none negative and not all 0; 1 for all where none are given."""
    if weight is None:
        return np.ones(n_rows)
    weight = read_numbers(weight, "weight", (n_rows,))
    if weight.min() < 0 or weight.max() <= 0:
        raise ValueError(
            f"weight must not be negative nor all 0; it ranges from {weight.min():g} to {weight.max():g}"
        )
    return weight


def read_numbers(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Finite numbers of a given shape, whose first part is the number of samples."""
    values = np.ma.filled(np.ma.asarray(values, np.float64), np.nan)
    if values.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, one row for each sample; it has {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise ValueError(f"{name} holds {(~np.isfinite(values)).sum()} numbers that are not finite (row {row})")
    return values

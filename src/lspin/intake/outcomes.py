"""What is to be predicted: classes, numbers, or times and events, as a column of a file holds them."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from lspin.intake.cells import are_whole, as_word
from lspin.intake.remarks import Remark, count, find_column, join_names, suggest
from lspin.survival.targets import EVENT_WORDS, make_survival
from lspin.targets import KINDS

MOST_CLASSES = 10  # distinct whole numbers that are still taken for classes
MOSTLY = 0.9  # part of the entries that makes a text column one of numbers


class Outcome(NamedTuple):
    """What is to be predicted, for the rows in which it is known."""

    task: str  # "classify", "regress", "count" or "survive"
    target: np.ndarray
    known: np.ndarray  # (n_rows of the file,), bool
    columns: dict[str, str]  # its role -> name: "target", or "time", "event" and perhaps "happened"
    remarks: tuple[Remark, ...]


def read_outcome(frame: pd.DataFrame, target: str, task: str = "auto") -> Outcome:
    """Classes or numbers to predict."""
    column = frame[find_column(target, frame.columns)]
    known = column.notna().to_numpy()
    remarks = _remark_gaps(known, repr(target))
    column = column[known]
    if task == "auto":
        task, reason = guess_task(column)
        remarks += (Remark(f"task: {task}, for {target!r} {reason}"),)
    values = _read_classes(column) if KINDS[task].has_classes else column.to_numpy()
    return Outcome(task, values, known, {"target": target}, remarks)


def guess_task(column: pd.Series) -> tuple[str, str]:
    """Whether a target is classes or numbers, and why."""
    distinct = column.unique()
    listed = ", ".join(str(value) for value in sorted(distinct, key=str)[:4]) + (
        ", …" if len(distinct) > 4 else ""
    )
    if len(distinct) <= 2:
        return "classify", f"holds {count(len(distinct), 'value')}: {listed}"
    if not pd.api.types.is_numeric_dtype(column):
        as_numbers = pd.to_numeric(column, errors="coerce")
        if as_numbers.notna().mean() >= MOSTLY and len(distinct) > MOST_CLASSES:
            return "regress", "holds numbers, nearly all"
        return "classify", f"holds text: {listed}"
    if len(distinct) <= MOST_CLASSES and len(column) >= 5 * len(distinct) and are_whole(column):
        return (
            "classify",
            f"holds {len(distinct)} distinct whole numbers ({listed}); --task regress for a quantity",
        )
    return "regress", f"holds numbers, {len(distinct):,} distinct"


def _read_classes(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_bool_dtype(column):
        return column.to_numpy(bool)
    if pd.api.types.is_numeric_dtype(column) and are_whole(column):
        return column.to_numpy(np.float64).astype(np.int64)
    return np.array([str(entry).strip() for entry in column], dtype=object)


def read_survival_outcome(frame: pd.DataFrame, time: str, event: str) -> Outcome:
    """Times and events to predict; ``event`` is a column, or ``column=value`` for where it happened."""
    event, _, happened = (event, "", "") if event in frame.columns else event.partition("=")
    columns = {"time": find_column(time, frame.columns), "event": find_column(event, frame.columns)}
    known = (frame[time].notna() & frame[event].notna()).to_numpy()
    remarks = _remark_gaps(known, f"{time!r} or {event!r}")
    events, said = _read_events(frame[event][known], event, happened)
    if said:
        remarks += (Remark(said),)
    if happened:
        columns["happened"] = happened
    return Outcome("survive", make_survival(frame[time][known].to_numpy(), events), known, columns, remarks)


def _read_events(column: pd.Series, name: str, happened: str) -> tuple[np.ndarray, str]:
    words = np.array([as_word(entry) for entry in column], dtype=object)
    distinct = sorted(set(words))
    if happened:
        if happened not in distinct:
            raise ValueError(f"{name!r} is nowhere {happened!r}{suggest(happened, distinct)}")
        return words == happened, ""
    if pd.api.types.is_bool_dtype(column):
        return column.to_numpy(bool), ""
    if set(distinct) <= {"0", "1"}:
        return words == "1", ""
    # Of the codes 1 and 2 the event is the 2 with many, so no code is likely.
    likely = [word for word in distinct if word.lower() in EVENT_WORDS and not word.isdigit()]
    if len(likely) == 1 and len(distinct) == 2:
        (other,) = set(distinct) - set(likely)
        return words == likely[0], f"{likely[0]!r} in {name!r} counts as the event, {other!r} as censored"
    raise ValueError(
        f"{name!r} holds {join_names(distinct)}; say which of them is the event, such as --event {name}={distinct[-1]}"
    )


def _remark_gaps(known: np.ndarray, what: str) -> tuple[Remark, ...]:
    n_gaps = int((~known).sum())
    if n_gaps == len(known):
        raise ValueError(f"{what} is empty in all {count(len(known), 'row')}")
    return (Remark(f"left out {count(n_gaps, 'row')} without {what}"),) if n_gaps else ()

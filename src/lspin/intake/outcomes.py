"""What is to be predicted: classes, numbers, or times and events, as a column of a file holds them."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from lspin.intake.cells import POINTS, Notation, are_whole, as_word, name_row, read_numbers, remark_cells
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


def read_outcome(frame: pd.DataFrame, target: str, task: str = "auto", *, notation: Notation = POINTS) -> Outcome:
    """Classes or numbers to predict."""
    column = frame[find_column(target, frame.columns)]
    known = column.notna().to_numpy()
    remarks = _remark_gaps(known, repr(target))
    if task == "auto":
        task, reason = guess_task(column[known], notation)
        remarks += (Remark(f"task: {task}, for {target!r} {reason}"),)
    if KINDS[task].has_classes:
        return Outcome(task, _read_classes(column[known]), known, {"target": target}, remarks)
    numbers, said = _read_quantity(column, target, notation)
    known = numbers.notna().to_numpy()
    return Outcome(task, numbers[known].to_numpy(), known, {"target": target}, (*remarks, *said))


def _read_quantity(column: pd.Series, name: str, notation: Notation) -> tuple[pd.Series, tuple[Remark, ...]]:
    """The numbers of a target; a few entries may be none, and their rows are left out."""
    cells = read_numbers(column, notation)
    n_strange, n_present = len(cells.strange), int(column.notna().sum())
    said = tuple(remark_cells(name, cells._replace(strange=cells.strange[:0])))
    if not n_strange:
        return cells.numbers, said
    row, word = next(iter(cells.strange.items()))
    example = f"such as {word!r} in {name_row(row)}"
    if n_strange > (1 - MOSTLY) * n_present:
        raise ValueError(
            f"{name!r} holds no number in {n_strange:,} of {count(n_present, 'row')}, {example}; turn it into "
            "numbers (dates: into days since some day)"
        )
    left_out = f"left out {count(n_strange, 'row')} whose {name!r} is no number, {example}"
    return cells.numbers, (*said, Remark(left_out, is_warning=True))


def guess_task(column: pd.Series, notation: Notation = POINTS) -> tuple[str, str]:
    """Whether a target is classes or numbers, and why."""
    distinct = column.unique()
    listed = ", ".join(str(value) for value in sorted(distinct, key=str)[:4]) + (
        ", …" if len(distinct) > 4 else ""
    )
    if len(distinct) <= 2:
        return "classify", f"holds {count(len(distinct), 'value')}: {listed}"
    if not pd.api.types.is_numeric_dtype(column):
        numbers = read_numbers(column, notation).numbers
        if numbers.notna().mean() < MOSTLY:
            return "classify", f"holds text: {listed}"
        column, distinct = numbers.dropna(), numbers.dropna().unique()
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


def read_survival_outcome(frame: pd.DataFrame, time: str, event: str, *, notation: Notation = POINTS) -> Outcome:
    """Times and events to predict; ``event`` is a column, or ``column=value`` for where it happened."""
    event, _, happened = (event, "", "") if event in frame.columns else event.partition("=")
    columns = {"time": find_column(time, frame.columns), "event": find_column(event, frame.columns)}
    times, said_of_times = _read_quantity(frame[time], time, notation)
    gaps = frame[time].isna() | frame[event].isna()
    remarks = (*_remark_gaps(~gaps.to_numpy(), f"{time!r} or {event!r}"), *said_of_times)
    known = (times.notna() & ~gaps).to_numpy()
    events, said = _read_events(frame[event][known], event, happened)
    if said:
        remarks += (Remark(said),)
    if happened:
        columns["happened"] = happened
    return Outcome("survive", make_survival(times[known].to_numpy(), events), known, columns, remarks)


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
        f"{name!r} holds {join_names(distinct)}; say which of them is the event, "
        f"such as --event {name}={distinct[-1]}"
    )


def _remark_gaps(known: np.ndarray, what: str) -> tuple[Remark, ...]:
    n_gaps = int((~known).sum())
    if n_gaps == len(known):
        raise ValueError(f"{what} is empty in all {count(len(known), 'row')}")
    return (Remark(f"left out {count(n_gaps, 'row')} without {what}"),) if n_gaps else ()

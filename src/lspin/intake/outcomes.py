"""What is to be predicted: classes, numbers, or times and events, as a column of a file holds them."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.intake.cells import POINTS, Notation, are_whole, as_word, is_date, name_row, read_numbers, remark_cells
from lspin.intake.remarks import Ask, Remark, as_option, count, find_column, suggest
from lspin.survival.targets import make_survival
from lspin.survival.words import asks_alive, find_event
from lspin.targets import KINDS

MOST_CLASSES = 10  # distinct whole numbers that are still taken for classes
MOSTLY = 0.9  # part of the entries that makes a text column one of numbers
EXACT = 2.0**53  # whole numbers below which floats are exact


class Outcome(NamedTuple):
    """What is to be predicted, for the rows in which it is known."""

    task: str  # "classify", "regress", "count" or "survive"
    target: np.ndarray
    known: np.ndarray  # (n_rows of the file,), bool
    columns: dict[str, str]  # its role -> name: "target", or "time", "event" and perhaps "happened"
    remarks: tuple[Remark, ...]
    pos_label: Any = None  # the event, if there are two classes


def read_outcome(
    frame: pd.DataFrame,
    target: str,
    task: str = "auto",
    *,
    notation: Notation = POINTS,
    ask: Ask = as_option,
) -> Outcome:
    """Classes or numbers to predict."""
    column = frame[find_column(target, frame.columns)]
    known = column.notna().to_numpy()
    remarks = _remark_gaps(known, repr(target))
    if task == "auto":
        _refuse_dates(column[known], target, ask)
        task, reason = guess_task(column[known], notation, ask)
        remarks += (Remark(f"task: {task}, for {target!r} {reason}"),)
    if KINDS[task].has_classes:
        return Outcome(task, _read_classes(column[known]), known, {"target": target}, remarks)
    numbers, said = _read_quantity(column, target, notation)
    known = numbers.notna().to_numpy()
    return Outcome(task, numbers[known].to_numpy(), known, {"target": target}, (*remarks, *said))


def _refuse_dates(column: pd.Series, name: str, ask: Ask) -> None:
    if pd.api.types.is_numeric_dtype(column):
        return
    words = column.map(as_word)
    if words.nunique() > 2 and words.map(is_date).mean() >= MOSTLY:
        raise ValueError(
            f"{name!r} holds dates, such as {words.iloc[0]!r}; turn it into numbers (days since some day), "
            f"or make each date a class: {ask('task', 'classify')}"
        )


def name_event(outcome: Outcome, asked: str | None = None, ask: Ask = as_option) -> Outcome:
    """The outcome with the one of two classes that is the event: the one asked for, else by sense; and said."""
    if not KINDS[outcome.task].has_classes:
        if asked is not None:
            raise ValueError(f"{asked!r} cannot be the event: the task is {outcome.task!r}, which has no classes")
        return outcome
    counts = Counter(outcome.target.tolist())
    labels = sorted(counts)
    if len(labels) != 2 and asked is None:
        return outcome
    if len(labels) != 2:
        raise ValueError(f"the event is one of two classes, and the target holds {len(labels)}")
    found, reason, is_sure = _choose_event(labels, asked, outcome.columns["target"])
    (other,) = set(labels) - {found}
    shown = {label: f"{as_word(label)!r} ({count(counts[label], 'row')})" for label in labels}
    text = f"the event is {shown[found]}, {reason}"
    if asked is None:
        text += f"; if it is {shown[other]}: {ask('positive', as_word(other))}"
    return outcome._replace(pos_label=found, remarks=(*outcome.remarks, Remark(text, is_warning=not is_sure)))


def _choose_event(labels: list, asked: str | None, name: str) -> tuple[Any, str, bool]:
    """One of two labels, why it is the event, and whether that is more than a guess."""
    if asked is None:
        found = find_event(labels, name)
        if found is None:
            return labels[1], "the last in order, for no word tells which", False
        return found, "by its name", True
    named = {as_word(label): label for label in labels}
    if asked not in named:
        raise ValueError(f"{name!r} is nowhere {asked!r}{suggest(asked, list(named))}")
    return named[asked], "as asked for", True


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


def guess_task(column: pd.Series, notation: Notation = POINTS, ask: Ask = as_option) -> tuple[str, str]:
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
            f"holds {len(distinct)} distinct whole numbers ({listed}); {ask('task', 'regress')} for a quantity",
        )
    return "regress", f"holds numbers, {len(distinct):,} distinct"


def _read_classes(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_bool_dtype(column):
        return column.to_numpy(bool)
    if pd.api.types.is_unsigned_integer_dtype(column):
        return column.to_numpy(np.uint64)
    if pd.api.types.is_integer_dtype(column):
        return column.to_numpy(np.int64)
    if pd.api.types.is_numeric_dtype(column) and are_whole(column):
        numbers = column.to_numpy(np.float64)
        return numbers.astype(np.int64) if np.abs(numbers).max(initial=0) < EXACT else numbers
    return np.array([str(entry).strip() for entry in column], dtype=object)


def read_survival_outcome(
    frame: pd.DataFrame,
    time: str,
    event: str,
    *,
    notation: Notation = POINTS,
    trains: bool = True,
    ask: Ask = as_option,
) -> Outcome:
    """Times and events to predict; ``event`` is a column, or ``column=value`` for where it happened.

    Where the rows do not train a model, it need not have happened to any of them.
    """
    event, _, happened = (event, "", "") if event in frame.columns else event.partition("=")
    columns = {"time": find_column(time, frame.columns), "event": find_column(event, frame.columns)}
    times, said = _read_quantity(frame[time], time, notation)
    gaps = frame[time].isna() | frame[event].isna()
    remarks = (*_remark_gaps(~gaps.to_numpy(), f"{time!r} or {event!r}"), *said)
    known = (times.notna() & ~gaps).to_numpy()
    _refuse_negative(times, time)
    words = np.array([as_word(entry) for entry in frame[event][known]], dtype=object)
    if happened and trains and happened not in words:
        raise ValueError(f"{event!r} is nowhere {happened!r}{suggest(happened, sorted(set(words)))}")
    if not happened:
        happened, told = find_happened(words, event, ask)
        remarks += told
    if happened not in ("1", "True"):
        columns["happened"] = happened
    target = make_survival(times[known].to_numpy(), words == happened)
    return Outcome("survive", target, known, columns, (*remarks, *_remark_start(target, time)))


def _refuse_negative(times: pd.Series, name: str) -> None:
    negative = times[times < 0]
    if len(negative):
        raise ValueError(
            f"{name!r} is negative in {len(negative):,} of {count(int(times.notna().sum()), 'row')}, such as "
            f"{negative.iloc[0]:g} in {name_row(negative.index[0])}; is the end of follow-up before its start?"
        )


def _remark_start(target: np.ndarray, name: str) -> tuple[Remark, ...]:
    """What to say about rows that were not followed at all."""
    at_start = target["event"][target["time"] == 0]
    if not len(at_start):
        return ()
    n_events, n_censored = int(at_start.sum()), int((~at_start).sum())
    said = f"{name!r} is 0 in {count(len(at_start), 'row')}: {count(n_events, 'event')} at the start"
    idle = f", and {n_censored:,} censored there, which say nothing about the risk" if n_censored else ""
    return (Remark(said + idle),)


def find_happened(words: np.ndarray, name: str, ask: Ask = as_option) -> tuple[str, tuple[Remark, ...]]:
    """The word that stands for the event in a column, and what to say about it."""
    counts = sorted(Counter(words.tolist()).items())
    rows = {word: f"{word!r} ({count(number, 'row')})" for word, number in counts}
    if set(rows) == {"1", "2"}:
        text = f"{name!r} holds {rows['1']} and {rows['2']}; '2' counts as the event, as in R"
        return "2", (Remark(f"{text}. If 1 is the event: {ask('event', f'{name}=1')}", is_warning=True),)
    if len(rows) == 1 and set(rows) <= {"0", "1", "True", "False"}:
        yes, no = ("1", "0") if set(rows) <= {"0", "1"} else ("True", "False")
        return (no if asks_alive(name) else yes), ()
    found = find_event(list(rows), name)
    if found is None:
        choices = " or ".join(ask("event", f"{name}={word}") for word in list(rows)[:2])
        choices = choices if len(rows) < 3 else ask("event", f"{name}=VALUE")
        held = ", ".join(list(rows.values())[:5]) + (", …" if len(rows) > 5 else "")
        raise ValueError(f"{name!r} holds {held}; say which of them is the event: {choices}")
    (other,) = set(rows) - {found}
    if (found, other) in (("1", "0"), ("True", "False")):
        return found, ()
    return found, (Remark(f"{rows[found]} in {name!r} counts as the event, {rows[other]} as censored"),)


def _remark_gaps(known: np.ndarray, what: str) -> tuple[Remark, ...]:
    n_gaps = int((~known).sum())
    if n_gaps == len(known):
        raise ValueError(f"{what} is empty in all {count(len(known), 'row')}")
    return (Remark(f"left out {count(n_gaps, 'row')} without {what}"),) if n_gaps else ()

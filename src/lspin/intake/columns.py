"""What the columns of someone's table are good for: features, names of samples; and what is odd about them."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.checks import check_table
from lspin.checks.check import check_left_out
from lspin.intake.cells import (
    POINTS,
    Cells,
    Notation,
    are_whole,
    as_word,
    is_date,
    read_numbers,
    remark_cells,
    say_strange,
)
from lspin.intake.files import Source
from lspin.intake.outcomes import Outcome
from lspin.intake.remarks import Ask, Remark, as_option, count, find_column, join_names, suggest
from lspin.tables.reading import Levels
from lspin.targets import KINDS

MOST_LEVELS = 20  # of a text column that becomes a category
FEW_WORDS = 5  # different ones that a column of numbers may hold
MOST_DROPPED = 5  # columns that advice names
ADVICE = {"single column": "If not:", "after the outcome": "If so:"}  # after what a check asks
MOSTLY = 0.9  # part of the entries that makes a text column one of numbers or dates
FEWEST_ROWS = 8  # below which everything follows everything by chance
ID_NAME = re.compile(
    r"(^|.*[\W_])(id|ids|identifier|barcode|uuid|mrn|index|rownames?|nr|nummer|kennung|pseudonym)\W*$"
    r"|^(patient|fall|proband|studien)(en)?[\W_]*(nr|no|nummer|number|id)?\W*$|^Unnamed: \d+$",
    re.IGNORECASE,
)
CAMEL_ID = re.compile(r".*[a-z]I[Dd]$")


class Features(NamedTuple):
    """The columns a model learns from."""

    X: pd.DataFrame  # numbers and categories; its index are the names of the samples, each once
    id_name: str | None  # the column that names the samples
    remarks: tuple[Remark, ...]
    given_names: np.ndarray | None = None  # as the table has them, if several samples share one
    left_out: pd.DataFrame | None = None  # columns of the same rows that are no features, but were not dropped


# Features ------------------------------------------------------------------------------------------------------


def choose_features(
    source: Source,
    outcome: Outcome,
    *,
    id_name: str | None = None,
    dropped: Sequence[str] = (),
    ask: Ask = as_option,
) -> Features:
    """Columns to learn from, read as numbers or categories; the others are left out, and said to be."""
    frame = source.frame
    for name in dropped:
        find_column(name, frame.columns)
    if id_name is not None:
        find_column(id_name, frame.columns)
    roles = {value for role, value in outcome.columns.items() if role != "happened"}
    aside = roles | set(dropped) | set(source.annotations) | {id_name}
    kinds: dict[str, list[str]] = {kind: [] for kind in COLUMN_KINDS}
    kept: dict[str, pd.Series] = {}
    notations: dict[str, Notation] = {}
    remarks: list[Remark] = []
    for name in frame.columns:
        if name not in aside:
            read = read_column(frame[name][outcome.known], source.notation)
            kinds[read.kind].append(name)
            remarks += read.remarks
            notations |= {} if read.notation is None else {name: read.notation}
            if read.kind in ("number", "category"):
                kept[name] = read.values
    remarks += _say_notations(notations, source.notation)
    if id_name is None and not source.has_row_names:
        id_name = _find_id(frame[kinds["id"]])
    if not kept:
        raise ValueError(
            "no column is left to learn from" + "".join(f"; {r.text}" for r in _say_kinds(kinds, None))
        )
    X = pd.DataFrame(kept)
    names = name_samples(source, id_name)
    X.index = names.unique[np.flatnonzero(outcome.known)]
    names_left = [name for kind, left in kinds.items() if COLUMN_KINDS[kind] for name in left if name != id_name]
    left_out = frame[names_left][outcome.known].set_axis(X.index)
    remarks = [
        *_say_kinds(kinds, id_name),
        *names.remarks,
        *_warn_of_patients(names),
        *remarks,
        *_say_missing(X),
        *_say_findings(X, outcome, ask),
        *say_late(left_out, outcome),
    ]
    return Features(X, id_name, tuple(remarks), left_out=left_out)


def find_context(named: Sequence[str], features: Features, columns: Iterable[str]) -> list[str]:
    """Columns of a context, given one by one or several with commas between; each must be one to learn from."""
    columns = list(columns)
    parts = [part for name in named for part in ([name] if name in columns else name.split(","))]
    names = [part if part in columns else part.strip() for part in parts]
    for name in names:
        find_column(name, columns)
        if name not in features.X.columns:
            raise ValueError(
                f"column {name!r} cannot be a context, for it is left out of the table: it is the target, an "
                "identifier, a date, free text, has one value only, or is to be dropped"
            )
    return names


COLUMN_KINDS = {
    "number": "",
    "category": "",
    "constant": "with one value only",
    "date": "of dates (days since some day would be a number to learn from)",
    "id": "of identifiers",
    "text": "of free text",
}


class ReadColumn(NamedTuple):
    """A column as numbers or levels, and which of the ``COLUMN_KINDS`` it is."""

    values: pd.Series
    kind: str
    remarks: tuple[Remark, ...] = ()
    notation: Notation | None = None  # of its numbers, if they are text


def read_column(column: pd.Series, notation: Notation = POINTS) -> ReadColumn:
    """A column as numbers or levels, which of the ``COLUMN_KINDS`` it is, and what to say about it."""
    present = column.dropna()
    if present.nunique() < 2:
        return ReadColumn(column, "constant")
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return ReadColumn(column, "date")
    if pd.api.types.is_bool_dtype(column) or all(isinstance(entry, bool | np.bool_) for entry in present):
        return ReadColumn(column.astype(np.float64), "number")
    cells = read_numbers(column, notation)
    if pd.api.types.is_numeric_dtype(column):
        kept = column if cells.strange.empty else cells.numbers
        return ReadColumn(kept, _kind_of_numbers(kept.dropna()), tuple(remark_cells(str(column.name), cells)))
    if not isinstance(column.dtype, pd.CategoricalDtype) and _are_numbers(cells):
        kind, said = _kind_of_numbers(cells.numbers.dropna()), remark_cells(str(column.name), cells)
        return ReadColumn(cells.numbers, kind, tuple(said), cells.notation)
    return _read_words(column, pd.Series([as_word(entry) for entry in present], present.index, dtype=object))


def _are_numbers(cells: Cells) -> bool:
    """Whether nearly all entries are numbers, or all but a few words that come again and again."""
    n_numbers, n_strange = int(cells.numbers.notna().sum()), len(cells.strange)
    if n_numbers >= MOSTLY * (n_numbers + n_strange):
        return True
    return (
        n_numbers >= n_strange and cells.strange.nunique() <= FEW_WORDS and cells.numbers.nunique() > MOST_LEVELS
    )


def _read_words(column: pd.Series, words: pd.Series) -> ReadColumn:
    n_levels = words.nunique()
    if words.map(is_date).mean() >= MOSTLY:
        return ReadColumn(column, "date")
    if n_levels <= MOST_LEVELS and len(words) >= 2 * n_levels:
        return ReadColumn(words.reindex(column.index).astype("category"), "category")
    is_id = n_levels == len(words) and words.str.len().max() <= 60 and not words.str.contains(r"\s\S+\s").any()
    return ReadColumn(column, "id" if is_id or _is_id_name(str(column.name)) else "text")


def _say_notations(notations: dict[str, Notation], usual: Notation) -> list[Remark]:
    """Columns whose numbers are written otherwise than those of the file."""
    said = []
    for other in dict.fromkeys(notations.values()):
        names = [name for name, notation in notations.items() if notation == other]
        if other != usual:
            said.append(Remark(f"read with {other.words}: {join_names(names)}"))
    return said


def _kind_of_numbers(numbers: pd.Series) -> str:
    name = str(numbers.name)
    if not are_whole(numbers):
        return "number"
    whole = numbers.to_numpy(np.float64)
    n_distinct = len(np.unique(whole))
    is_counter = len(whole) >= FEWEST_ROWS and bool((np.diff(whole) == 1).all())
    if is_counter or (_is_id_name(name) and n_distinct >= max(FEWEST_ROWS, len(whole) / 10)):
        return "id"
    month, day = whole // 100 % 100, whole % 100
    is_date = (whole > 19000101) & (whole < 21001231) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return "date" if is_date.all() else "number"


def _is_id_name(name: str) -> bool:
    return bool(ID_NAME.match(name) or CAMEL_ID.match(name))


class SampleNames(NamedTuple):
    """Names of the rows of a file."""

    unique: pd.Index  # where several rows have one name, their numbers are added
    given: np.ndarray | None = None  # as the file has them, if some occur several times
    remarks: tuple[Remark, ...] = ()


def name_samples(source: Source, id_name: str | None) -> SampleNames:
    """Names of the rows: those of a column, those the file has, or their numbers from 1."""
    numbers = [str(number) for number in range(1, len(source.frame) + 1)]
    if id_name is not None and id_name in source.frame.columns:
        column, title = source.frame[id_name], id_name
    elif source.has_row_names:
        column, title = source.frame.index.to_series(), str(source.frame.index.name or "sample")
    else:
        return SampleNames(pd.Index(np.array(numbers, dtype=object), name="row"))
    given = _as_words(column)
    is_shared = pd.Series(given).duplicated(keep=False).to_numpy() | (given == "")
    names = [
        f"{name} (row {number})".strip() if shared else name
        for name, number, shared in zip(given.tolist(), numbers, is_shared, strict=True)
    ]
    unique = pd.Index(np.array(names, dtype=object), name=title)
    if not is_shared.any():
        return SampleNames(unique)
    said = f"{_say_shared(title, given)}; the row is added to these names"
    return SampleNames(unique, given.astype(object), (Remark(said, is_warning=True),))


def _warn_of_patients(names: SampleNames) -> list[Remark]:
    """What rows of one name do to the scores of a fit."""
    given = pd.Series([] if names.given is None else names.given, dtype=object)
    if not given[given != ""].duplicated().any():
        return []
    said = "rows of one name are held out row by row; if they are of one patient, held-out scores are too high"
    return [Remark(said, is_warning=True)]


def _as_words(column: pd.Series) -> np.ndarray:
    return np.array([as_word(entry) if known else "" for entry, known in zip(column, column.notna(), strict=True)])


def _find_id(columns: pd.DataFrame) -> str | None:
    """The first column of identifiers that tells all rows apart; if none does, the first one."""
    for name in columns:
        if columns[name].is_unique and columns[name].notna().all():
            return str(name)
    return None if columns.shape[1] == 0 else str(columns.columns[0])


def _say_shared(title: str, given: np.ndarray) -> str:
    """Names that several rows have."""
    counts = pd.Series(given[given != ""]).value_counts()
    shared, n_empty = counts[counts > 1], int((given == "").sum())
    parts = [f"is empty in {count(n_empty, 'row')}"] if n_empty else []
    if len(shared):
        rows = np.flatnonzero(given == shared.index[0]) + 1
        where = ", ".join(map(str, rows[:-1][:3])) + f"{', …' if len(rows) > 4 else ''} and {rows[-1]}"
        parts.append(
            f"holds {count(len(shared), 'name')} several times, such as {shared.index[0]!r} in rows {where}"
        )
    return f"{title!r} {' and '.join(parts)}"


def _say_kinds(kinds: dict[str, list[str]], id_name: str | None) -> list[Remark]:
    said = [Remark(f"samples are named by {id_name!r}")] if id_name else []
    for kind, words in COLUMN_KINDS.items():
        names = [name for name in kinds[kind] if name != id_name]
        if words and names:
            said.append(Remark(f"left out {count(len(names), 'column')} {words}: {join_names(names)}"))
    if names := kinds["category"]:
        said.append(Remark(f"taken as {'a category' if len(names) == 1 else 'categories'}: {join_names(names)}"))
    return said


def _say_missing(X: pd.DataFrame) -> list[Remark]:
    gaps = X.isna().sum()
    n_columns = int((gaps > 0).sum())
    if not n_columns:
        return []
    n_gaps = int(gaps.sum())
    said = f"{count(n_gaps, 'entry')} of {X.size:,} ({n_gaps / X.size:.1%})" if n_gaps > 1 else "1 entry"
    verb = "are" if n_gaps > 1 else "is"
    return [Remark(f"{said} {verb} missing, in {count(n_columns, 'column')}; a missing value is never used")]


def say_late(left_out: pd.DataFrame, outcome: Outcome) -> list[Remark]:
    """Columns that are left out, and filled in one class only: others may be recorded as late as they are."""
    findings = check_left_out(left_out, outcome.target, kind=KINDS[outcome.task]())
    return [Remark(finding.text, finding.is_warning) for finding in findings]


def _say_findings(X: pd.DataFrame, outcome: Outcome, ask: Ask) -> list[Remark]:
    """What the data checks found, with the rows and settings that the person has."""
    target_name = outcome.columns.get("target", outcome.columns.get("event", "y"))
    said = []
    for finding in check_table(X, outcome.target, kind=KINDS[outcome.task](), target_name=target_name).findings:
        text = finding.text
        if finding.rows:
            what = "rows " if X.index.name == "row" else ""
            text += f" (such as {what}{' and '.join(str(X.index[row]) for row in finding.rows)})"
        if finding.check in ADVICE:
            names = finding.columns[:MOST_DROPPED]
            text += f" {ADVICE[finding.check]} {ask('drop', list(names))}"
        elif finding.check == "codes":
            text += " If so, empty these cells"
        said.append(Remark(text, finding.is_warning))
    return said


# New tables ----------------------------------------------------------------------------------------------------


def read_like(
    source: Source,
    names: Sequence[str],
    levels: Levels,
    id_name: str | None,
    *,
    needed: Collection[str] | None = None,
) -> Features:
    """The columns that a model was fitted on, read as they were then; those that are not needed may be absent."""
    frame = source.frame
    needed = names if needed is None else needed
    absent = [name for name in names if name in needed and name not in frame.columns]
    if absent:
        others = [column for column in frame.columns if column not in names]
        raise ValueError(
            f"{source.name} lacks {count(len(absent), 'column')} of the {len(needed):,} that the model needs: "
            f"{join_names(absent)}{suggest(absent[0], others) if others else ''}"
        )
    remarks: list[Remark] = []
    columns: dict[str, Any] = {}
    notations: dict[str, Notation] = {}
    for place, name in enumerate(names):
        if name not in frame.columns:
            continue
        if place in levels:
            columns[name], strange = _read_levels(frame[name], levels[place])
            if len(strange):
                remarks.append(Remark(f"{name!r}: {say_strange(strange, 'known level')}"))
        else:
            cells = read_numbers(frame[name], source.notation)
            columns[name], notations[name] = cells.numbers, cells.notation
            remarks += remark_cells(name, cells)
    remarks += _say_notations(notations, source.notation)
    X = pd.DataFrame(columns)
    sample_names = name_samples(source, id_name)
    X.index = sample_names.unique
    if id_name is not None and id_name not in frame.columns:
        id_name, remarks = None, [*remarks, Remark(f"no column {id_name!r}: samples are named by their row")]
    return Features(X, id_name, (*remarks, *sample_names.remarks), sample_names.given)


def _read_levels(column: pd.Series, levels: tuple) -> tuple[pd.Series, pd.Series]:
    """The levels of a column, and entries that are none of them."""
    known = {as_word(level): level for level in levels}
    words = column.astype(object).map(as_word, na_action="ignore")
    entries = [known.get(word) if isinstance(word, str) else None for word in words]
    strange = words[[isinstance(word, str) and word not in known for word in words]]
    return pd.Series(pd.Categorical(entries, categories=list(levels)), column.index), strange

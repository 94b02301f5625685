"""Entries of a column, cell by cell: words, and numbers in the notation of the file."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.intake.remarks import Remark, count

LIMIT = re.compile(r"(<=|>=|[<>≤≥])\s*(?=\S)")
TRUTH = {"true": 1.0, "false": 0.0}
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")
MARKED = re.compile(r"\d[.,]\d")
MOST_SHOWN = 3  # odd entries that a remark names, and rows of each
MOST_LIMITS = 5  # limits that a remark names
MANY_ODD = 0.1  # part of a column's entries from which a remark is a warning


class Notation(NamedTuple):
    """How numbers are written."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def words(self) -> str:
        """The notation as a reader calls it."""
        marks = {".": "point", ",": "comma"}
        if self.thousands is None:
            return f"decimal {marks[self.decimal]}s"
        return f"{marks[self.thousands]}s between thousands"


POINTS = Notation()


class Cells(NamedTuple):
    """The numbers of a column, and the entries that are not plainly numbers; each keeps its row."""

    numbers: pd.Series  # float64, not-a-number where missing
    limits: pd.Series  # such as '<0.5', read as the limit
    strange: pd.Series  # no numbers, now missing
    notation: Notation


def as_word(entry: Any) -> str:
    """An entry as the file shows it: a gap in a column turns its whole numbers into floats."""
    if isinstance(entry, float | np.floating) and float(entry).is_integer():
        entry = int(entry)
    return str(entry).strip()


def is_date(word: str) -> bool:
    """Whether text is a day, perhaps with a time."""
    return DATE.fullmatch(word) is not None


def are_whole(column: pd.Series) -> bool:
    """Whether all numbers are finite and whole."""
    numbers = column.to_numpy(np.float64)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all())


def read_numbers(column: pd.Series, notation: Notation = POINTS) -> Cells:
    """The numbers of a column, each cell read for itself; what is no number becomes missing.

    Parameters
    ----------
    column
        Numbers, booleans or text.
    notation
        Of the file. A column whose cells can only be read in another notation is read in that.

    """
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        numbers = column if column.dtype == np.float32 else column.astype(np.float64)
        infinite = pd.Series(np.isinf(numbers), column.index)
        return Cells(numbers.mask(infinite), _no_words(), numbers[infinite].astype(str), notation)
    words = column.dropna().astype(object).map(as_word)
    notation = choose_notation(words.unique(), notation)
    read = {word: read_cell(word, notation) for word in words.unique()}
    numbers = words.map({word: value for word, (value, _) in read.items()}).astype(np.float64)
    is_limit = words.map({word: is_limit for word, (_, is_limit) in read.items()}).astype(bool)
    return Cells(numbers.reindex(column.index), words[is_limit], words[numbers.isna()], notation)


def _no_words() -> pd.Series:
    return pd.Series([], dtype=object)


def read_cell(word: str, notation: Notation) -> tuple[float, bool]:
    """The number in a cell, not-a-number if there is none; and whether it is a limit, such as ``<0.5``."""
    if word.lower() in TRUTH:
        return TRUTH[word.lower()], False
    sign = LIMIT.match(word)
    plain = word[sign.end() :] if sign else word
    plain = plain.replace("\N{MINUS SIGN}", "-")
    if not _pattern(notation).fullmatch(plain):
        return np.nan, False
    digits = re.sub(r"['’\s\u00a0\u202f]", "", plain)
    if notation.thousands:
        digits = digits.replace(notation.thousands, "")
    return float(digits.replace(notation.decimal, ".")), sign is not None


def _pattern(notation: Notation) -> re.Pattern:
    group = f"['’ \u00a0\u202f{notation.thousands or ''}]"
    whole, part = rf"(\d{{1,3}}({group}\d{{3}})+|\d+)", re.escape(notation.decimal)
    return re.compile(rf"[+-]?({whole}({part}\d*)?|{part}\d+)([eE][+-]?\d+)?")


def choose_notation(words: Iterable[str], notation: Notation) -> Notation:
    """The notation of the file, unless it reads less than half of the cells that hold points or commas.

    Then cells such as 1.234 in a file of decimal commas have points between thousands, if all are of that form.
    Else the notation that reads most cells is taken.
    """
    marked = [word for word in words if MARKED.search(word)]
    n_read = _count_read(marked, notation)
    if 2 * n_read >= len(marked):
        return notation
    mark = "." if notation.decimal == "," else ","
    if all(re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+", word) for word in marked):
        return Notation(notation.decimal, mark)
    others = [Notation(","), Notation("."), Notation(",", "."), Notation(".", ",")]
    best = max(others, key=lambda other: _count_read(marked, other))
    return best if _count_read(marked, best) > n_read else notation


def _count_read(words: Iterable[str], notation: Notation) -> int:
    return sum(not np.isnan(read_cell(word, notation)[0]) for word in words)


# Remarks -------------------------------------------------------------------------------------------------------


def remark_cells(name: str, cells: Cells) -> list[Remark]:
    """What to say about the entries of a column that are not plainly numbers."""
    said = []
    if len(cells.limits):
        words = list(dict.fromkeys(cells.limits))
        listed = ", ".join(f"{word!r} as {read_cell(word, cells.notation)[0]:g}" for word in words[:MOST_LIMITS])
        more = f" and {len(words) - MOST_LIMITS} more" if len(words) > MOST_LIMITS else ""
        what = "entries are limits and count as their numbers"
        if len(cells.limits) == 1:
            what = "entry is a limit and counts as its number"
        said.append(Remark(f"{name!r}: {len(cells.limits):,} {what}: {listed}{more}"))
    if len(cells.strange):
        n_read = int(cells.numbers.notna().sum())
        is_warning = len(cells.strange) > MANY_ODD * (n_read + len(cells.strange))
        said.append(Remark(f"{name!r}: {say_strange(cells.strange)}", is_warning))
    return said


def say_strange(strange: pd.Series, what: str = "number") -> str:
    """Entries that count as missing, with their rows."""
    words = list(dict.fromkeys(strange))
    shown = ", ".join(f"{word!r} ({name_rows(strange.index[strange == word])})" for word in words[:MOST_SHOWN])
    more = f", … ({len(words)} different)" if len(words) > MOST_SHOWN else ""
    is_are = f"is no {what} and counts" if len(strange) == 1 else f"are no {what}s and count"
    return f"{count(len(strange), 'entry')} {is_are} as missing: {shown}{more}"


def name_rows(labels: Sequence[Any]) -> str:
    """Some rows, the first few of them by their numbers or names."""
    first, *others = (name_row(label) for label in labels[:MOST_SHOWN])
    if not others:
        return first
    listed = ", ".join(["rows " + first.removeprefix("row "), *(name.removeprefix("row ") for name in others)])
    return listed + (f" and {len(labels) - MOST_SHOWN:,} more" if len(labels) > MOST_SHOWN else "")


def name_row(label: Any) -> str:
    """A row as the page calls it: by its number from 1, or by its name if the file has names of rows."""
    return f"row {label + 1}" if isinstance(label, int | np.integer) else f"row {label!r}"

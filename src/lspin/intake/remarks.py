"""Sentences about someone's table: what was noticed, and which column was meant."""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple


class Remark(NamedTuple):
    """Something the person with the table should know."""

    text: str
    is_warning: bool = False


def find_column(name: str, columns: Iterable[str]) -> str:
    """The column of this name, or an error that suggests one."""
    columns = list(columns)
    if name in columns:
        return name
    raise ValueError(f"there is no column {name!r}{suggest(name, columns)}")


def suggest(name: str, columns: Sequence[str]) -> str:
    """Names that are near, as the end of a sentence."""
    plain = {column.lower(): column for column in reversed(columns)}
    near = [plain[match] for match in difflib.get_close_matches(name.lower(), plain, n=3, cutoff=0.6)]
    if near:
        return f"; did you mean {join_names(near, ' or ')}?"
    return f"; there are {join_names(columns, most=6)}"


def join_names(names: Sequence[Any], last: str = ", ", most: int = 5) -> str:
    """Some names, quoted; of many, how many more there are."""
    shown = [repr(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return last.join(shown) if len(shown) <= 2 else f"{', '.join(shown[:-1])}{last}{shown[-1]}"


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    plural = f"{noun[:-1]}ies" if noun.endswith("try") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def quote(name: str) -> str:
    """A name as it is typed in a shell."""
    return name if re.fullmatch(r"[\w.=-]+", name) else f"'{name}'"


Ask = Callable[[str, str | list[str]], str]  # how a setting is asked for where the person works


def as_option(setting: str, value: str | list[str]) -> str:
    """A setting as it is typed on the command line."""
    return " ".join(f"--{setting} {quote(part)}" for part in ([value] if isinstance(value, str) else value))


def as_argument(setting: str, value: str | list[str]) -> str:
    """A setting as it is written in Python."""
    return f"{setting}={value!r}"

"""Outputs of the command line: checked before anything is read, written whole."""

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pandas as pd

from lspin.intake.files import STANDARD_INPUT, need
from lspin.storage import is_special, written_whole


class Kind(NamedTuple):
    """What an output is, and how a file of that kind is known."""

    name: str
    is_one: Callable[[bytes], bool]  # of the first bytes of a file


MODEL = Kind("model", lambda start: start.startswith(b"PK\x03\x04") and start[30:40] == b"model.json")
PAGE = Kind("page", lambda start: start.lower().startswith(b"<!doctype html"))
START = 40  # bytes that tell the kind
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet lets a formula begin


def check_writable(
    path: str | Path, *, reads: Sequence[str | Path] = (), kind: Kind | None = None, force: bool = False
) -> bool:
    """Raise an error now if a file could or should not be written later; whether it replaces another one.

    Parameters
    ----------
    path
        Where to write.
    reads
        What the command reads: never replaced, and nothing is written to a folder of it.
    kind
        What is to be written. A file that is there and holds something else is replaced with ``force`` only.
    force
        Whether to replace a file of another kind.

    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file in it")
    for read in reads:
        if _are_same(path, read):
            raise ValueError(f"{path} is what the command reads; give another name to write to")
        if _is_within(path, read):
            raise ValueError(f"{path} is in the folder that the command reads; write to another folder")
    if is_special(path):
        return False
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: the folder {folder} is read-only")
    if not path.exists():
        return False
    if not os.access(path, os.W_OK):
        raise ValueError(f"{path} cannot be written: it is read-only")
    if kind is not None and not force:
        _refuse_other_kind(path, kind)
    return True


def _are_same(path: Path, read: str | Path) -> bool:
    """Whether what is to be written is what is read, by whatever names."""
    if not path.is_file():
        return False
    try:
        status = os.fstat(sys.stdin.fileno()) if str(read) == STANDARD_INPUT else os.stat(read)
    except (OSError, ValueError):  # it is not there, or the standard input is no file
        return False
    return os.path.samestat(path.stat(), status)


def _is_within(path: Path, read: str | Path) -> bool:
    """Whether what is to be written would be in a folder that is read, by whatever names."""
    folder = Path(os.path.realpath(read))
    return folder.is_dir() and Path(os.path.realpath(path)).is_relative_to(folder)


def _refuse_other_kind(path: Path, kind: Kind) -> None:
    if path.stat().st_size and not is_of_kind(path, kind):
        raise ValueError(f"{path} is there already and is no {kind.name}; give another name, or --force")


def is_of_kind(path: str | Path, kind: Kind) -> bool:
    """Whether a file begins as those of a kind do."""
    with open(path, "rb") as file:
        return kind.is_one(file.read(START))


def check_output(path: str | Path, *, reads: Sequence[str | Path] = ()) -> bool:
    """Raise an error now if a table could not be written to this path later; whether it replaces a file."""
    if str(path) == "-":
        return False
    replaces = check_writable(path, reads=reads)
    if not is_special(path) and Path(path).suffix.lower() not in WRITERS:
        raise ValueError(
            f"{path} should end in {', '.join(WRITERS)}: the ending says what kind of file is written"
        )
    return replaces


def write_frame(
    frame: pd.DataFrame, path: str | Path, *, digits: int | None = None, escapes: bool = False
) -> None:
    """Write a table in the form that the ending of the path says, or as CSV to the standard output for ``-``.

    ``digits`` is how many a number has in text; all of them if not given. ``escapes`` puts a quote before text
    that a spreadsheet would take for a formula; in Excel files such text is marked as text always.
    """
    if escapes and Path(path).suffix.lower() not in (".xlsx", ".parquet"):
        frame = escape_formulas(frame)
    number = None if digits is None else f"%.{digits}g"
    if str(path) == "-":
        sys.stdout.write(frame.to_csv(index=False, lineterminator="\n", float_format=number))
        return
    with written_whole(path) as file:
        WRITERS.get(Path(path).suffix.lower(), _write_csv)(frame, file, number)


def write_parts(
    frames: Iterator[pd.DataFrame], path: str | Path, *, digits: int | None = None, escapes: bool = False
) -> int:
    """Write the parts of a table below one another, as :func:`write_frame` would the whole; the rows written."""
    ending = Path(path).suffix.lower()
    if ending == ".xlsx":
        raise ValueError(f"{path}: a table that is read part by part is written as .csv, .tsv or .parquet")
    number = None if digits is None else f"%.{digits}g"
    with contextlib.nullcontext(sys.stdout.buffer) if str(path) == "-" else written_whole(path) as file:
        if ending == ".parquet":
            return _write_parquet_parts(frames, file)
        n_rows = 0
        for frame in frames:
            shown = escape_formulas(frame) if escapes else frame
            mark = "\t" if ending == ".tsv" else ","
            shown.to_csv(file, index=False, sep=mark, float_format=number, header=n_rows == 0)
            n_rows += len(frame)
        return n_rows


def _write_parquet_parts(frames: Iterator[pd.DataFrame], file: BinaryIO) -> int:
    need("pyarrow", "and writing Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(frames)
    schema = pa.Table.from_pandas(first, preserve_index=False).schema
    n_rows = 0
    with pq.ParquetWriter(file, schema) as writer:
        for frame in itertools.chain([first], frames):
            writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
            n_rows += len(frame)
    return n_rows


def _write_csv(frame: pd.DataFrame, file: BinaryIO, number: str | None) -> None:
    frame.to_csv(file, index=False, float_format=number)


def _write_tsv(frame: pd.DataFrame, file: BinaryIO, number: str | None) -> None:
    frame.to_csv(file, index=False, sep="\t", float_format=number)


def _write_parquet(frame: pd.DataFrame, file: BinaryIO, number: str | None) -> None:
    need("pyarrow", "and writing Parquet")
    mixed = [name for name in frame.columns if len({type(entry) for entry in frame[name]}) > 1]
    frame.astype(dict.fromkeys(mixed, str)).to_parquet(file, index=False)  # values of categories and of numbers


def _write_excel(frame: pd.DataFrame, file: BinaryIO, number: str | None) -> None:
    need("openpyxl", "and writing Excel files")
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    printable = _change_text(frame, lambda text: ILLEGAL_CHARACTERS_RE.sub("\ufffd", text))
    with pd.ExcelWriter(file, engine="openpyxl") as book:
        printable.to_excel(book, index=False)
        for row in next(iter(book.sheets.values())).iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith(FORMULA_SIGNS):
                    cell.data_type, cell.quotePrefix = "s", True  # text, also after it is edited


def escape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a quote before text that a spreadsheet would take for a formula; numbers stay as they are."""
    return _change_text(frame, lambda text: f"'{text}" if _is_formula(text) else text)


def _is_formula(text: str) -> bool:
    if not text.startswith(FORMULA_SIGNS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _change_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """The table with its text changed, in the names of the columns too."""

    def change_entry(entry: Any) -> Any:
        return change(entry) if isinstance(entry, str) else entry

    changed = {
        place: [change_entry(entry) for entry in frame.iloc[:, place]]
        for place, dtype in enumerate(frame.dtypes)
        if not pd.api.types.is_numeric_dtype(dtype)
    }
    columns = [changed.get(place, frame.iloc[:, place]) for place in range(frame.shape[1])]
    copy = pd.DataFrame(dict(enumerate(columns)), index=frame.index)
    return copy.set_axis([change_entry(name) for name in frame.columns], axis=1)


WRITERS = {".csv": _write_csv, ".tsv": _write_tsv, ".parquet": _write_parquet, ".xlsx": _write_excel}

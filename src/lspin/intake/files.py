"""Tables in files: CSV, TSV, Parquet, Excel and .h5ad are told apart by content."""

import contextlib
import csv
import io
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.intake.cells import Notation, read_numbers
from lspin.intake.unpacking import check_archive, check_h5, check_parquet, unpack

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", r"\s+": "spaces"}
GAPS = ["?", ".", "-", "–", "missing", "Missing", "#DIV/0!"]  # beside those that pandas knows
SAMPLE_LINES = 100  # from which the form of a text is guessed
LARGEST_DENSE = 2**27  # entries of a sparse table that are worth a dense one: a gigabyte
STANDARD_INPUT = "-"


class Source(NamedTuple):
    """A table as it stands in a file."""

    frame: pd.DataFrame  # its index are the names of the rows, where the file has any
    name: str
    form: str  # what kind of file it is, and what was guessed about it
    has_row_names: bool = False
    annotations: tuple[str, ...] = ()  # columns that can be targets, but are no features
    zero_is_absent: bool = False
    remarks: tuple[str, ...] = ()
    notation: Notation = Notation()


class TextForm(NamedTuple):
    """How a table is written as text."""

    separator: str
    notation: Notation
    trailing: bool  # whether every row but the header ends with a separator


# Reading -------------------------------------------------------------------------------------------------------


def read_source(path: str | Path) -> Source:
    """Read a table from a file, or from the standard input for ``-``."""
    path = str(path)
    name = "standard input" if path == STANDARD_INPUT else Path(path).name
    content = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    try:
        source = _read_content(unpack(content) if content.startswith(b"\x1f\x8b") else content, name)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # a file from anywhere can fail in any way
        raise ValueError(f"{name} cannot be read as a table: {_first_line(error)}") from error
    n_rows, n_columns = source.frame.shape
    if n_rows == 0 or n_columns == 0:
        raise ValueError(f"{name} holds no table: {n_rows} rows and {n_columns} columns were found")
    return source


def _read_content(content: bytes, name: str) -> Source:
    if content.startswith(b"PAR1"):
        return _read_parquet(content, name)
    if content.startswith(b"PK\x03\x04"):
        if content[30:40] == b"model.json":
            raise ValueError("it is a model; open it with lspin.load")
        return _read_excel(content, name)
    if content.startswith(b"\x89HDF"):
        return _read_h5ad(content, name)
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError("it is an old Excel file (.xls); save it as .xlsx or CSV")
    return _read_text(content, name)


def _first_line(error: Exception) -> str:
    text = str(error).removeprefix("Error tokenizing data. C error: ").strip() or type(error).__name__
    return text.splitlines()[0]


def need(package: str, kind: str) -> None:
    """Raise an error that says what to install if a package for some kind of file is absent."""
    try:
        __import__(package)
    except ImportError as error:
        message = f"reading {kind} needs the package {package}: pip install 'lspin[files]'"
        raise ImportError(message) from error


def _read_text(content: bytes, name: str) -> Source:
    text, encoding = decode(content)
    if not text.strip():
        raise ValueError("it is empty")
    form = guess_form(text)
    frame = pd.read_csv(
        io.StringIO(text),
        sep=form.separator,
        decimal=form.notation.decimal,  # pandas would take a date for a number with thousands
        na_values=GAPS,
        skipinitialspace=True,
        low_memory=False,
        index_col=False if form.trailing else None,
    )
    frame = _read_thousands(frame, form.notation)
    has_row_names = not isinstance(frame.index, pd.RangeIndex)
    said = f"separated by {SEPARATORS[form.separator]}, {encoding}"
    if form.notation.decimal == ",":
        said += ", decimal commas"
    is_headless = all(re.fullmatch(r"[+-]?\d+([.,]\d+)*", str(column).strip()) for column in frame.columns)
    headless = "its first line holds nothing but numbers: is it a header, as it was taken for?"
    return _tidy_names(
        frame,
        name,
        said,
        has_row_names=has_row_names,
        remarks=(headless,) if is_headless else (),
        notation=form.notation,
    )


def _read_thousands(frame: pd.DataFrame, notation: Notation) -> pd.DataFrame:
    """Columns of nothing but numbers become numbers, where some have thousands."""
    for name in frame.select_dtypes(object) if notation.thousands else ():
        cells = read_numbers(frame[name], notation)
        if cells.strange.empty and cells.limits.empty and cells.notation == notation:
            frame[name] = cells.numbers
    return frame


def decode(content: bytes) -> tuple[str, str]:
    """The text that bytes stand for, and the encoding."""
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    for mark, encoding in marks.items():
        if content.startswith(mark):
            return content.decode(encoding), encoding.removesuffix("-sig").upper()
    if b"\0" in content[:4096]:
        raise ValueError("it is neither text nor Parquet, Excel (.xlsx) or .h5ad")
    # The first that fits; the last fits always.
    for encoding, said in (("utf-8", "UTF-8"), ("cp1252", "Windows-1252 (not UTF-8)"), ("latin-1", "Latin-1")):
        with contextlib.suppress(UnicodeDecodeError):
            return content.decode(encoding), said
    raise AssertionError


def guess_form(text: str) -> TextForm:
    """Separator and decimal sign of a table, from its first lines."""
    lines = [line for line in text[:1_000_000].splitlines() if line.strip()][:SAMPLE_LINES]
    split = {mark: list(csv.reader(lines, delimiter=mark, skipinitialspace=True)) for mark in ",;\t|"}
    split[r"\s+"] = [line.split() for line in lines]
    separator = max(split, key=lambda mark: _regularity(split[mark], mark))
    header, *rows = split[separator]
    trailing = bool(rows) and all(len(row) == len(header) + 1 and not row[-1] for row in rows)
    notation = _guess_notation(rows) if separator != "," else Notation()
    return TextForm(separator, notation, trailing)


def _regularity(rows: list[list[str]], mark: str) -> tuple[bool, bool, float, int]:
    """How much lines look like the rows of one table; R leaves the name of the first column out."""
    header, *others = (len(row) for row in rows)
    usual = Counter(others).most_common(1)[0][0] if others else header
    fitting = sum(width == usual for width in others) + (header in (usual, usual - 1))
    return header > 1, mark != r"\s+", fitting / len(rows), usual


def _guess_notation(rows: list[list[str]]) -> Notation:
    cells = [cell.strip() for row in rows for cell in row]
    n_commas = sum(bool(re.fullmatch(r"[+-]?\d+(\.\d{3})*,\d+([eE][+-]?\d+)?", cell)) for cell in cells)
    n_points = sum(bool(re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", cell)) for cell in cells)
    if n_commas <= n_points:
        return Notation()
    in_groups = any(re.fullmatch(r"[+-]?\d{1,3}(\.\d{3})+,\d+", cell) for cell in cells)
    return Notation(",", "." if in_groups else None)


def _tidy_names(frame: pd.DataFrame, name: str, form: str, **rest: Any) -> Source:
    """Names of columns as text without spaces around them, each once."""
    names = [str(column).strip() for column in frame.columns]
    for column, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"the column name {column!r} occurs {count} times")
    frame.columns = pd.Index(names)
    renamed = [column for column in names if (stem := re.sub(r"\.\d+$", "", column)) != column and stem in names]
    remarks = rest.pop("remarks", ())
    if renamed and "separated" in form:
        remarks += (f"a column name may occur twice: the second is called {renamed[0]!r}",)
    return Source(frame, name, form, remarks=remarks, **rest)


def _read_parquet(content: bytes, name: str) -> Source:
    need("pyarrow", "Parquet")
    check_parquet(content)
    frame = pd.read_parquet(io.BytesIO(content))
    has_row_names = not isinstance(frame.index, pd.RangeIndex)
    return _tidy_names(frame, name, "Parquet", has_row_names=has_row_names)


def _read_excel(content: bytes, name: str) -> Source:
    need("openpyxl", "Excel files")
    check_archive(content)
    book = pd.ExcelFile(io.BytesIO(content), engine="openpyxl")
    first, *others = book.sheet_names
    remarks = (f"of its {1 + len(others)} sheets the first was read",) if others else ()
    return _tidy_names(book.parse(first, na_values=GAPS), name, f"Excel, sheet {first!r}", remarks=remarks)


def _read_h5ad(content: bytes, name: str) -> Source:
    need("anndata", ".h5ad files")
    import anndata

    with tempfile.NamedTemporaryFile(suffix=".h5ad") as file:
        file.write(content)
        file.flush()
        check_h5(file.name, len(content))
        data = anndata.read_h5ad(file.name)
    data.var_names_make_unique()
    if data.X is None:
        raise ValueError("it has no X")
    is_sparse = not isinstance(data.X, np.ndarray)
    if is_sparse and data.n_obs * data.n_vars > LARGEST_DENSE:
        raise ValueError(
            f"{data.n_obs} x {data.n_vars} is too large for the command line; in Python, fit on its sparse X"
        )
    values = data.X.toarray() if is_sparse else data.X
    genes = pd.DataFrame(values, data.obs_names, data.var_names.astype(str))
    taken = [column for column in data.obs.columns if column not in genes.columns]
    form = f".h5ad with {data.n_vars} variables and {len(data.obs.columns)} annotations of the observations"
    return _tidy_names(
        pd.concat([data.obs[taken], genes], axis=1),
        name,
        form,
        has_row_names=True,
        annotations=tuple(str(column).strip() for column in taken),
        zero_is_absent=is_sparse,
    )

"""Outputs of the command line: checked before anything is read, written whole."""

import os
import sys
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from lspin.intake.files import need
from lspin.storage import written_whole


def check_writable(path: str | Path) -> None:
    """Raise an error now if a file could not be written later."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written: the folder {path.parent.resolve()} is read-only")


def check_output(path: str | Path) -> None:
    """Raise an error now if a table could not be written to this path later."""
    if str(path) == "-":
        return
    check_writable(path)
    if Path(path).suffix.lower() not in WRITERS:
        raise ValueError(
            f"{path} should end in {', '.join(WRITERS)}: the ending says what kind of file is written"
        )


def write_frame(frame: pd.DataFrame, path: str | Path, *, digits: int | None = None) -> None:
    """Write a table in the form that the ending of the path says, or as CSV to the standard output for ``-``.

    ``digits`` is how many a number has in text; all of them if not given.
    """
    number = None if digits is None else f"%.{digits}g"
    if str(path) == "-":
        sys.stdout.write(frame.to_csv(index=False, lineterminator="\n", float_format=number))
        return
    with written_whole(path) as file:
        WRITERS[Path(path).suffix.lower()](frame, file, number)


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
    frame.to_excel(file, index=False, engine="openpyxl")


WRITERS = {".csv": _write_csv, ".tsv": _write_tsv, ".parquet": _write_parquet, ".xlsx": _write_excel}

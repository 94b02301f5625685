"""Parquet tables of any size, a part at a time: a folder of files, or one large file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from lspin.intake.files import Source, need

ROWS_AT_ONCE = 20_000
LARGE = 100_000  # rows beyond which a file is not read as a whole
PARQUET = b"PAR1"


def list_parquet(path: str | Path) -> list[Path]:
    """Files that are read part by part: those of a folder, or a large one; none, if a table is read as a whole."""
    path = Path(path)
    if path.is_dir():
        files = sorted(path.rglob("*.parquet"))
        if not files:
            raise ValueError(f"{path} is a folder without files that end in .parquet")
        return files
    if not path.is_file():
        return []
    with path.open("rb") as file:
        if file.read(len(PARQUET)) != PARQUET:
            return []
    return [path] if _open(path).metadata.num_rows > LARGE else []


def _open(path: Path) -> Any:
    need("pyarrow", "Parquet")
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, pre_buffer=False)  # which keeps all that was read until the end
    except Exception as error:  # a file from anywhere can fail in any way
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def count_parts(files: list[Path]) -> int:
    """How many parts the files are read in."""
    return sum(-(-_open(path).metadata.num_rows // ROWS_AT_ONCE) for path in files)


def read_parts(files: list[Path]) -> Iterator[tuple[int, Source]]:
    """Some rows after the other, and how many came before."""
    n_before = 0
    for path in files:
        for batch in _open(path).iter_batches(ROWS_AT_ONCE):
            frame = batch.to_pandas()
            frame.columns = pd.Index([str(name).strip() for name in frame.columns])
            has_row_names = not isinstance(frame.index, pd.RangeIndex)
            yield n_before, Source(frame, path.name, "Parquet", has_row_names=has_row_names)
            n_before += len(frame)

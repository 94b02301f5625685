"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[Path]:
    """A path to write to, beside the wanted one, which it replaces once everything is written.

    If writing fails, the unfinished file is removed, and a file that was there before stays as it was.
    """
    path = Path(path)
    # Others may write the same file at the same time, from other threads, processes or machines.
    unfinished = path.with_name(f".{path.stem}.{secrets.token_hex(8)}.part{path.suffix}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)

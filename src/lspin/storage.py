"""Files that are written whole or not at all."""

import contextlib
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of the one at ``path`` once everything is written.

    If writing fails, nothing is left of it, and a file that was there before stays as it was. A symbolic link
    stays one: what it points to is replaced. Permissions and owner stay those of the file that was there. What is
    no file, such as a device or a pipe, gets everything at the end.
    """
    if is_special(path):
        content = io.BytesIO()
        yield content
        with open(path, "wb") as device:
            device.write(content.getvalue())
        return
    path = Path(os.path.realpath(path))
    with _open_beside(path) as (file, unfinished):
        _take_permissions(file, path)
        yield file
        file.flush()
        _name(file, unfinished)
        file.close()
        os.replace(unfinished, path)


def is_special(path: str | os.PathLike) -> bool:
    """Whether there is something that is neither a file nor a folder: a device, a pipe or a socket."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _open_beside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the same folder, and the name that it has or may get; afterwards nothing has this name.

    Where the system can, the file has no name while it is written, so that even a process that is killed leaves
    nothing behind.
    """
    # Others may write the same file at the same time, from other threads, processes or machines.
    unfinished = path.with_name(f".lspin-{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(_open_new(unfinished), "w+b") as file:
            yield file, unfinished
    finally:
        unfinished.unlink(missing_ok=True)


def _open_new(unfinished: Path) -> int:
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not every file system can
            return os.open(unfinished.parent, os.O_TMPFILE | os.O_RDWR, 0o666)
    return os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)


def _name(file: BinaryIO, unfinished: Path) -> None:
    if not unfinished.exists():
        # Only with a folder given is the link followed to the file itself.
        os.link(f"/proc/self/fd/{file.fileno()}", unfinished, src_dir_fd=0, follow_symlinks=True)


def _take_permissions(file: BinaryIO, path: Path) -> None:
    if not path.exists() or os.name == "nt":
        return
    old = path.stat()
    with contextlib.suppress(PermissionError):  # only an administrator may give a file away
        os.fchown(file.fileno(), old.st_uid, old.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))

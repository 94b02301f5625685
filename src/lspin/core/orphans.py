"""Processes that fit side by side end with the one that started them, and leave nothing in shared memory.

Trackers of joblib and Python remove what a killed process shared. Where they are killed together with it, as
when a terminal is closed, names stay in shared memory. So a process notes its names in a file that it keeps locked
while it lives, and the next fit side by side removes what dead processes have noted.
"""

import atexit
import contextlib
import importlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows, where nothing of this kind has a name
    fcntl = None  # type: ignore[assignment]

GLANCE = 0.5  # seconds between two looks at whether the parent of a worker is still there
SHARED = Path("/dev/shm")
NOTES = "lspin-names-"
NAMED = re.compile(r"sem\.loky-(\d+)-\w+|joblib_memmapping_folder_(\d+)_\w+")
TRACKERS = ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker")


def begin(parent: int, then: Callable[..., Any] | None, arguments: tuple) -> None:
    """What a worker begins with: to watch its parent, and what the user has all workers begin with."""
    end_with(parent)
    if then is not None:
        then(*arguments)


@cache
def end_with(parent: int) -> None:
    """Let this process end soon after its parent does, however that ended; at once if it has ended already."""
    if os.getppid() != parent:
        os._exit(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(GLANCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def start_trackers() -> None:
    """Start the processes that clear up after others."""
    for name in TRACKERS:
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module(name).ensure_running()


def list_shared() -> set[str]:
    """Names that this process has in shared memory."""
    found = [NAMED.fullmatch(name) for name in os.listdir(SHARED)] if SHARED.is_dir() else []
    return {match[0] for match in found if match is not None and str(os.getpid()) in match.groups()}


@contextlib.contextmanager
def noting_shared() -> Iterator[Callable[[], None]]:
    """Within, a function notes what this process has newly shared; so does the end."""
    known = list_shared()

    def note() -> None:
        new = list_shared() - known
        _note(new)
        known.update(new)

    yield note
    note()


def _note(names: set[str]) -> None:
    if names and fcntl is not None:
        with contextlib.suppress(OSError):
            os.write(_open_notes(os.getpid()), "".join(f"{name}\n" for name in sorted(names)).encode())


@cache
def _open_notes(owner: int) -> int:
    """A locked file for the names of this process; whoever can lock it knows that its owner is dead."""
    while True:
        number, path = tempfile.mkstemp(prefix=NOTES, dir=SHARED)
        fcntl.flock(number, fcntl.LOCK_EX)
        if os.fstat(number).st_nlink:  # else it was taken for that of a dead process before it was locked
            break
        os.close(number)
    tracker = importlib.import_module(TRACKERS[1])
    tracker.register(path, "file")

    def forget() -> None:
        if os.getpid() == owner:  # not a copy of it
            Path(path).unlink(missing_ok=True)
            tracker.unregister(path, "file")

    atexit.register(forget)
    return number


def remove_orphaned() -> None:
    """Remove from shared memory what processes of this user noted that are dead."""
    if fcntl is None or not SHARED.is_dir():
        return
    for notes in SHARED.glob(f"{NOTES}*"):
        with contextlib.suppress(OSError), _locking(notes) as names:
            for name in names:
                _remove(SHARED / name)
            notes.unlink()


@contextlib.contextmanager
def _locking(notes: Path) -> Iterator[list[str]]:
    """Names in a file of this user; an error if its owner lives."""
    number = os.open(notes, os.O_RDONLY | os.O_NOFOLLOW)
    with open(number, encoding="utf-8", errors="replace") as file:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_own = os.fstat(number).st_uid == os.getuid()
        yield [name for name in file.read().split() if is_own and NAMED.fullmatch(name)]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

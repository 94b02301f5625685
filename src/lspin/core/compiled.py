"""Compiled programs on disk: an entry that is damaged, or of another program, is discarded and made anew.

JAX's own folder keeps what is there: an entry that cannot be read costs a warning and a compilation in every
process, one under a wrong name fails the fit, and it grows without end.
"""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

LARGEST_FOLDER = 2**28  # bytes; a program takes some 120,000
SUFFIX = ".program"


class ProgramFolder:
    """Programs by their key, each with a checksum of both; the ones used least recently give way to new ones."""

    def __init__(self, folder: Path) -> None:
        self._path = folder  # what JAX calls it

    def get(self, key: str) -> bytes | None:
        """The program of this key; nothing if there is none that can be trusted."""
        path = self._path / f"{key}{SUFFIX}"
        try:
            content = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            if content[:32] == _checksum(key, content[32:]):
                os.utime(path)  # used now
                return content[32:]
            path.unlink()
        return None

    def put(self, key: str, value: bytes) -> None:
        """Keep a program; where the folder cannot be written, it is compiled again next time."""
        with contextlib.suppress(OSError):
            self._path.mkdir(parents=True, exist_ok=True)
            self._make_room(len(value))
            unfinished = self._path / f".{secrets.token_hex(8)}.part"
            try:
                unfinished.write_bytes(_checksum(key, value) + value)
                os.replace(unfinished, self._path / f"{key}{SUFFIX}")
            finally:
                unfinished.unlink(missing_ok=True)

    def _make_room(self, n_bytes: int) -> None:
        with os.scandir(self._path) as entries:  # another process may take one away while it is looked at
            files = [(entry.stat(), entry.path) for entry in entries]
        total = n_bytes + sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
            if total <= LARGEST_FOLDER:
                return
            Path(path).unlink(missing_ok=True)
            total -= status.st_size


def _checksum(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + value).digest()


def keep_programs(folder: Path) -> None:
    """Let JAX keep compiled programs in a folder, from now on."""
    import jax
    from jax._src import compilation_cache

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    # JAX has no public way to bring one's own folder. Where these names are gone, its own folder is used.
    if {"_cache", "_cache_initialized"} <= vars(compilation_cache).keys():
        vars(compilation_cache).update(_cache=ProgramFolder(folder), _cache_initialized=True)

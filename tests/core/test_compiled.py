"""Compiled programs on disk: what comes back is what was put, and all else is discarded and made anew."""

import os
import warnings

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax._src import compilation_cache

from lspin.core import compiled
from lspin.core.compiled import ProgramFolder
from lspin.core.training import prepare_compiler

PROGRAM = bytes(range(256)) * 4


@pytest.fixture
def folder(tmp_path):
    return ProgramFolder(tmp_path / "compiled")


def files(folder):
    return sorted(entry.name for entry in folder._path.iterdir())


def test_a_program_comes_back_and_another_has_none(folder):
    assert folder.get("first") is None
    folder.put("first", PROGRAM)
    assert folder.get("first") == PROGRAM
    assert folder.get("second") is None
    assert files(folder) == ["first.program"]


@given(place=st.integers(0, len(PROGRAM) + 31), mask=st.integers(1, 255))
def test_a_changed_byte_is_seen_and_the_entry_made_anew(tmp_path_factory, place, mask):
    folder = ProgramFolder(tmp_path_factory.mktemp("compiled"))
    folder.put("first", PROGRAM)
    path = folder._path / "first.program"
    content = bytearray(path.read_bytes())
    content[place] ^= mask
    path.write_bytes(content)
    assert folder.get("first") is None
    assert files(folder) == []
    folder.put("first", PROGRAM)
    assert folder.get("first") == PROGRAM


@pytest.mark.parametrize("length", [0, 31, 32, 500])
def test_a_cut_entry_is_seen(length, folder):
    folder.put("first", PROGRAM)
    path = folder._path / "first.program"
    path.write_bytes(path.read_bytes()[:length])
    assert folder.get("first") is None


def test_a_program_under_the_name_of_another_is_seen(folder):
    folder.put("first", PROGRAM)
    os.replace(folder._path / "first.program", folder._path / "second.program")
    assert folder.get("second") is None
    assert files(folder) == []


def test_the_folder_is_bounded_and_what_was_used_last_stays(folder, monkeypatch):
    monkeypatch.setattr(compiled, "LARGEST_FOLDER", 4 * len(PROGRAM))
    for place in range(3):
        folder.put(str(place), PROGRAM)
        os.utime(folder._path / f"{place}.program", (place, place))
    assert folder.get("0") == PROGRAM  # used now
    folder.put("3", PROGRAM)
    assert files(folder) == ["0.program", "2.program", "3.program"]


def test_a_folder_that_cannot_be_written_costs_a_compilation_and_nothing_else(tmp_path):
    (tmp_path / "file").write_text("")
    folder = ProgramFolder(tmp_path / "file" / "compiled")
    folder.put("first", PROGRAM)
    assert folder.get("first") is None


def test_jax_keeps_its_programs_here_and_compiles_again_where_one_is_damaged(folder, monkeypatch):
    prepare_compiler()
    assert isinstance(compilation_cache._cache, ProgramFolder)
    monkeypatch.setattr(compilation_cache, "_cache", folder)
    before = jax.config.values["jax_persistent_cache_min_compile_time_secs"]
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    try:
        for damage in (None, lambda path: path.write_bytes(b"damaged"), None):
            if damage is not None:
                for path in folder._path.iterdir():
                    damage(path)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                doubled = jax.jit(lambda x: 2 * x + 1)(np.arange(3.0))
            np.testing.assert_array_equal(doubled, [1, 3, 5])
            assert files(folder)
            assert all(path.stat().st_size > 32 for path in folder._path.iterdir())
    finally:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", before)

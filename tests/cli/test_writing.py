"""Outputs are there whole or not at all, and never in the place of an input."""

import os
import stat

import pandas as pd
import pytest

from lspin.cli import writing
from lspin.cli.writing import MODEL, PAGE, check_output, check_writable, write_frame
from lspin.intake.files import read_source

FRAME = pd.DataFrame({"größe": [1.5, 2.25, 1234.5], "stage": ["I", "II", "I"], "n": [1, 2, 3]})


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.xlsx"])
def test_what_is_written_can_be_read(name, tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    write_frame(FRAME, tmp_path / name)
    pd.testing.assert_frame_equal(read_source(tmp_path / name).frame, FRAME)


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail_halfway(frame, file, number):
        file.write(b"half of")
        raise OSError("disk full")

    monkeypatch.setitem(writing.WRITERS, ".csv", fail_halfway)
    with pytest.raises(OSError, match="disk full"):
        write_frame(FRAME, path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize(
    ("path", "reason"), [("nowhere/out.csv", "no folder"), ("out.doc", "should end in"), (".", "is a folder")]
)
def test_a_path_that_cannot_be_written_is_refused_at_once(path, reason, tmp_path):
    with pytest.raises(ValueError, match=reason):
        check_output(tmp_path / path)


# What is there already ---------------------------------------------------------------------------------------


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,2\n")
    return path


def same_file(given, way):
    """Another name of the same file."""
    other = given.with_name(f"{way}.csv")
    if way == "symlink":
        other.symlink_to(given)
    elif way == "hardlink":
        other.hardlink_to(given)
    else:
        other = given.parent / "x" / ".." / "table.csv"
        other.parent.parent.mkdir()
    return other


@pytest.mark.parametrize("way", ["symlink", "hardlink", "detour"])
def test_an_input_is_never_replaced_by_whatever_name(way, given):
    for path, read in ((given, same_file(given, way)), (given.parent / given.name, given)):
        for force in (False, True):
            with pytest.raises(ValueError, match="is what the command reads"):
                check_writable(path, reads=["none.csv", read], force=force)


def test_a_file_that_is_the_standard_input_is_never_replaced(given, monkeypatch):
    with open(given) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(ValueError, match="is what the command reads"):
            check_output(given, reads=["-"])


def test_a_file_of_another_kind_is_replaced_with_force_only(given):
    with pytest.raises(ValueError, match=r"is there already and is no model; .* --force"):
        check_writable(given, kind=MODEL)
    assert check_writable(given, kind=MODEL, force=True)
    assert not check_writable(given.with_name("new"), kind=MODEL)


def test_a_model_is_replaced_by_a_model_and_a_page_by_a_page(classifier, tmp_path):
    classifier.save(tmp_path / "model")
    (tmp_path / "page").write_text("<!doctype html>\n<html>")
    (tmp_path / "empty").write_text("")
    for kind in (MODEL, PAGE):
        assert check_writable(tmp_path / kind.name, kind=kind)
        assert check_writable(tmp_path / "empty", kind=kind)
    with pytest.raises(ValueError, match="is no page"):
        check_writable(tmp_path / "model", kind=PAGE)


@pytest.mark.skipif(os.name == "nt", reason="devices are those of POSIX")
def test_a_table_can_be_written_to_a_device():
    assert not check_output("/dev/null")
    write_frame(FRAME, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("length", [200, 250, 255])
def test_a_name_is_refused_before_the_fit_or_can_be_written_after_it(length, tmp_path):
    path = tmp_path / ("n" * (length - 4) + ".csv")
    check_output(path)
    write_frame(FRAME, path)
    with pytest.raises(OSError, match="name too long"):
        check_output(tmp_path / ("n" * 252 + ".csv"))

"""Outputs are there whole or not at all, and never in the place of an input."""

import os
import stat
from functools import partial

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


# Formulas ----------------------------------------------------------------------------------------------------

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "a=b", "-0.5", ""]


def test_text_that_looks_like_a_formula_is_text_in_excel_files(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"=HYPERLINK(1)": HOSTILE, "class": pd.Categorical(HOSTILE), "n": range(len(HOSTILE))})
    write_frame(frame, tmp_path / "out.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    rows = list(sheet.iter_rows())
    assert not [cell for row in rows for cell in row if cell.data_type == "f"]
    assert [cell.value for cell in rows[0]] == list(frame.columns)
    for place in (0, 1):
        assert [row[place].value or "" for row in rows[1:]] == HOSTILE
        marked = [bool(row[place].quotePrefix) for row in rows[1:]]
        assert marked == [True, True, True, True, True, False, True, False]
    assert [row[2].value for row in rows[1:]] == list(range(len(HOSTILE)))


def test_signs_that_no_excel_file_may_hold_are_replaced(tmp_path):
    pytest.importorskip("openpyxl")
    write_frame(pd.DataFrame({"id": ["a\x00b", "c"], "x": [1.0, 2.0]}), tmp_path / "out.xlsx")
    assert read_source(tmp_path / "out.xlsx").frame["id"].tolist() == ["a\ufffdb", "c"]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
def test_text_that_looks_like_a_formula_is_escaped_in_csv_if_asked_for(name, tmp_path):
    frame = pd.DataFrame({"@x": HOSTILE, "n": [-1.5] * len(HOSTILE)})
    read = partial(pd.read_csv, tmp_path / name, sep="," if name == "out.csv" else "\t", keep_default_na=False)
    write_frame(frame, tmp_path / name)
    pd.testing.assert_frame_equal(read(), frame)
    write_frame(frame, tmp_path / name, escapes=True)
    escaped = [f"'{text}" for text in HOSTILE[:5]] + HOSTILE[5:]
    pd.testing.assert_frame_equal(read(), pd.DataFrame({"'@x": escaped, "n": [-1.5] * len(HOSTILE)}))


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

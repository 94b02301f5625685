"""Outputs are there whole or not at all, and never in the place of an input."""

import pandas as pd
import pytest

from lspin.cli import writing
from lspin.cli.writing import check_output, write_frame
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

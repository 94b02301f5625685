"""Messages on terminals of any width, and on large files."""

import os

import pytest

from lspin.cli import output


@pytest.mark.parametrize(("columns", "widest"), [(0, 100), (5, 20), (60, 60), (300, 100)])
def test_messages_fit_the_terminal_also_if_its_width_is_not_known(columns, widest, monkeypatch, capsys):
    monkeypatch.setattr(output.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(output.sys.stderr, "fileno", lambda: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda place: os.terminal_size((columns, 24)))
    output.say("  - " + "word " * 60)
    lines = capsys.readouterr().err.splitlines()
    assert widest - 10 < max(map(len, lines)) <= widest


def test_a_large_file_is_said_to_be_read_before_it_is(tmp_path, monkeypatch, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    output.read_aloud(str(path), quiet=False)
    assert capsys.readouterr().err.startswith("Read t.csv: 2 rows x 2 columns")
    monkeypatch.setattr(output, "LARGE_FILE", 5)
    output.read_aloud(str(path), quiet=False)
    assert capsys.readouterr().err.startswith("Reading t.csv (0 MB).\nRead t.csv: 2 rows")
    output.read_aloud(str(path), quiet=True)
    assert capsys.readouterr().err == ""

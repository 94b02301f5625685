"""Progress: the time left by a clock that the test moves, in a terminal and in a log."""

import io
import re

import pytest

from lspin.fitting import progress
from lspin.fitting.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def test_lines_of_a_log_come_after_two_seconds_and_then_every_ten_with_the_time_left(clock, capsys):
    with Progress(8, shown=True, unit="parts") as bar:
        for seconds in (1.0, 3.0, 3.0, 7.0):  # after 1, 4, 7 and 14 seconds
            clock[0] += seconds
            bar.finish_fit()
    lines = capsys.readouterr().err.splitlines()
    # Two of eight parts took 4 seconds, four of eight took 14.
    assert lines == ["lspin: 2 of 8 parts, 00:12 left", "lspin: 4 of 8 parts, 00:14 left"]


def test_the_time_left_of_a_single_fit_is_told_from_a_tenth_on_and_without_its_compilation(clock, capsys):
    with Progress(1, shown=True) as bar:
        for seconds, part in ((60, 0.05), (5, 0.1), (5, 0.15), (35, 0.5)):  # of them a minute is the compilation
            clock[0] += seconds
            bar.report(part, 0.3, 2.0)
    lines = capsys.readouterr().err.splitlines()
    # 5 % take 5 seconds, so 85 % take 85.
    assert lines == [
        "lspin: 0.1 of at most 1 fits",
        "lspin: 0.1 of at most 1 fits, 01:25 left",
        "lspin: 0.5 of at most 1 fits, 00:50 left",
    ]


def test_a_terminal_has_a_bar_with_the_time_left(clock, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(4, shown=True) as bar:
        clock[0] += 10
        bar.report(0.5, 0.321, 2.0)
        clock[0] += 10
        bar.finish_fit()
    shown = re.split(r"[\r\n]", terminal.getvalue())
    assert any("0.5/4 fits [01:10 left, loss 0.321, 2.0 open gates]" in line for line in shown)


def test_a_terminal_without_a_size_gets_lines(clock, monkeypatch, capsys):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress.sys.stderr, "fileno", lambda: 2)
    monkeypatch.setattr(progress.os, "get_terminal_size", lambda place: (80, 0))
    with Progress(2, shown=True) as bar:
        clock[0] += 3
        bar.finish_fit()
    assert capsys.readouterr().err == "lspin: 1 of at most 2 fits, 00:03 left\n"


def test_parts_are_counted_when_the_next_one_is_asked_for(clock, capsys):
    bar = Progress(2, shown=True, unit="parts")
    parts = bar.follow("ab")
    clock[0] += 5
    assert next(parts) == "a"
    assert capsys.readouterr().err == ""
    assert next(parts) == "b"
    assert "1 of 2 parts, 00:05 left" in capsys.readouterr().err


def test_nothing_is_shown_unless_it_is_asked_for(clock, capsys):
    with Progress(2, shown=False) as bar:
        clock[0] += 100
        bar.finish_fit()
    assert capsys.readouterr().err == ""

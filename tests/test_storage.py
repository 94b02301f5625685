"""A file is there whole or not at all, whoever fails and however many write it."""

import pytest

from lspin.storage import written_whole


def test_a_failure_of_the_caller_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "out.html") as unfinished:  # noqa: PT012
        unfinished.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "out.html"
    path.write_text("old")
    with written_whole(path) as unfinished:
        unfinished.write_text("new")
        assert (path.read_text(), unfinished.suffix) == ("old", ".html")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_two_who_write_the_same_file_do_not_mix_their_contents(tmp_path):
    path = tmp_path / "out.html"
    with written_whole(path) as one:
        one.write_text("first of ")
        with written_whole(path) as other:
            other.write_text("second")
        one.write_text("first of all")
    assert path.read_text() == "first of all"

"""A file is there whole or not at all, whoever fails and however many write it."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from lspin import storage
from lspin.storage import written_whole

needs_posix = pytest.mark.skipif(os.name == "nt", reason="links, permissions and devices are those of POSIX")


@pytest.fixture(params=["nameless", "named"], autouse=True)
def way(request, monkeypatch):
    """Both ways to write beside a file: without a name, where the system can, and with one."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def fail(path):
    with written_whole(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_a_failure_of_the_caller_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fail(tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "out.html"
    path.write_text("old")
    with written_whole(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_two_who_write_the_same_file_do_not_mix_their_contents(tmp_path):
    path = tmp_path / "out.html"
    with written_whole(path) as one:
        one.write(b"first of ")
        with written_whole(path) as other:
            other.write(b"second")
        one.write(b"all")
    assert path.read_text() == "first of all"


@needs_posix
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link_and_what_it_points_to_is_written(exists, tmp_path):
    (tmp_path / "far").mkdir()
    path, link = tmp_path / "far" / "model", tmp_path / "link"
    if exists:
        path.write_text("old")
    link.symlink_to(path)
    with written_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["model"]


@needs_posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_stay_from_the_first_byte_on(mode, tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(mode)
    with written_whole(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode
        file.write(b"new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@needs_posix
def test_a_new_file_has_the_usual_permissions(tmp_path):
    with written_whole(tmp_path / "ours") as file:
        file.write(b"new")
    (tmp_path / "usual").write_text("new")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@needs_posix
def test_a_device_stays_a_device():
    with written_whole("/dev/null") as file:
        file.write(b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@needs_posix
def test_a_pipe_gets_everything_at_the_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    with written_whole(tmp_path / "pipe") as file:
        file.write(b"first ")
        file.write(b"second")
    assert reader.communicate()[0] == b"first second"


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name")
def test_a_process_that_is_killed_while_it_writes_leaves_nothing(way, tmp_path):
    if way == "named":
        pytest.skip("such a file is found by its name")
    code = """if True:
        import os, signal, sys
        from lspin.storage import written_whole
        with written_whole(sys.argv[1]) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_neither_file_nor_folder_is_special(tmp_path):
    (tmp_path / "file").write_text("")
    assert [storage.is_special(tmp_path / name) for name in ("file", ".", "none")] == [False] * 3
    assert os.name == "nt" or storage.is_special("/dev/null")

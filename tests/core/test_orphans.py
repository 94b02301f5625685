import os

import pytest

from lspin.core import orphans

fcntl = pytest.importorskip("fcntl", reason="Windows gives shared memory no names")

SEMAPHORE, FOLDER = "sem.loky-{}-abc123", "joblib_memmapping_folder_{}_0a_1b"


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder in the place of shared memory, with what two processes have there and a file of somebody else."""
    monkeypatch.setattr(orphans, "SHARED", tmp_path)
    for owner in (os.getpid(), 17):
        (tmp_path / SEMAPHORE.format(owner)).touch()
        (tmp_path / FOLDER.format(owner)).mkdir()
        (tmp_path / FOLDER.format(owner) / "table.pkl").touch()
    (tmp_path / "sem.other").touch()
    return tmp_path


def list_names(folder):
    return {path.name for path in folder.iterdir()}


def write_notes(folder, names):
    notes = folder / f"{orphans.NOTES}x"
    notes.write_text("\n".join(names))
    return notes


def test_only_names_of_this_process_are_listed(shared):
    own = os.getpid()
    assert orphans.list_shared() == {SEMAPHORE.format(own), FOLDER.format(own)}


def test_what_a_dead_process_noted_is_removed(shared):
    before = list_names(shared)
    gone = {SEMAPHORE.format(17), FOLDER.format(17)}
    write_notes(shared, gone)
    orphans.remove_orphaned()
    assert list_names(shared) == before - gone


def test_what_a_living_process_noted_stays(shared):
    notes = write_notes(shared, [SEMAPHORE.format(17)])
    before = list_names(shared)
    with notes.open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        orphans.remove_orphaned()
        assert list_names(shared) == before
    orphans.remove_orphaned()
    assert notes.name not in list_names(shared)


@pytest.mark.parametrize("name", ["sem.other", "../outside", "/outside", "sem.loky-17-a/../../outside"])
def test_other_names_are_never_removed(name, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "sem.other").touch()
    (tmp_path / "outside").touch()
    monkeypatch.setattr(orphans, "SHARED", shared)
    write_notes(shared, [name])
    orphans.remove_orphaned()
    assert (tmp_path / "outside").exists()
    assert list_names(shared) == {"sem.other"}


def test_a_link_is_not_followed(shared, tmp_path_factory):
    names = tmp_path_factory.mktemp("elsewhere") / "names"
    names.write_text(SEMAPHORE.format(17))
    (shared / f"{orphans.NOTES}x").symlink_to(names)
    orphans.remove_orphaned()
    assert SEMAPHORE.format(17) in list_names(shared)

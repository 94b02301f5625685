"""Fits on a Dask cluster of two processes, one of which is killed on the way: the local result, bit by bit."""

import os
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

import lspin
from conftest import QUICK
from lspin import LSPINRegressor
from lspin.comparison import board
from lspin.fitting import path, rising
from lspin.fitting.progress import Progress
from lspin.fitting.running import run_tasks

distributed = pytest.importorskip("distributed", reason="distributed is missing: pip install 'lspin[bench]'")
pytestmark = pytest.mark.filterwarnings("default")  # those of Dask are not ours

BRIEF = {**QUICK, "max_epochs": 10, "start": "networks"}


@pytest.fixture(scope="module")
def client():
    """Of two worker processes, which find the modules of the tests."""
    places = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "env": places}
    with distributed.LocalCluster(**settings) as started, distributed.Client(started) as client:
        yield client


@pytest.fixture
def cluster(client):
    """The same, after a worker that was killed has come back: with one alone, joblib works here."""
    client.wait_for_workers(2)
    with parallel_config("dask", n_jobs=2):
        yield


def die_once(function, folder, *arguments):
    """Call a function; the third call of all ends its process instead."""
    n_before = len(list(folder.glob("call*")))
    (folder / f"call{n_before}-{os.getpid()}").touch()
    if n_before >= 2 and not (folder / "death").exists():
        (folder / "death").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments)


@pytest.mark.parametrize(
    ("room", "name", "settings"),
    [(path, "fit_job", {"sparsity": 0.01, "n_members": 4}), (rising, "walk_path", {})],
    ids=["members", "folds"],
)
def test_a_model_is_the_same(cluster, table, tmp_path, monkeypatch, room, name, settings):
    X, y = table
    local = LSPINRegressor(**BRIEF, **settings, n_jobs=1).fit(X, y)
    monkeypatch.setattr(room, name, partial(die_once, getattr(room, name), tmp_path))
    model = LSPINRegressor(**BRIEF, **settings).fit(X, y)
    assert (tmp_path / "death").exists()
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    np.testing.assert_array_equal(model.gates(X), local.gates(X))
    pd.testing.assert_frame_equal(model.path_, local.path_)


def test_a_leaderboard_is_the_same(cluster, table, tmp_path, monkeypatch):
    ours = LSPINRegressor(**BRIEF, sparsity=0.01)
    settings = {"methods": ["L1", "ridge", "constant"], "extra": {"ours": ours}, "n_folds": 3}
    local = lspin.compare(*table, **settings, n_jobs=1)
    monkeypatch.setattr(board, "_judge", partial(die_once, board._judge, tmp_path))
    found = lspin.compare(*table, **settings)
    assert "ours" in found.frame.index
    assert (tmp_path / "death").exists()
    pd.testing.assert_frame_equal(found.frame.drop(columns="seconds"), local.frame.drop(columns="seconds"))
    pd.testing.assert_frame_equal(found.folds.drop(columns="seconds"), local.folds.drop(columns="seconds"))


class Parcel:
    """A table that leaves a note wherever it arrives."""

    def __init__(self, folder):
        self.folder = folder

    def __setstate__(self, state):
        self.__dict__.update(state)
        name = f"arrival{len(list(self.folder.glob('arrival*')))}-{os.getpid()}"
        (self.folder / name).touch()


def open_parcel(parcel, place, report=None):
    return os.getpid()


def test_a_table_is_sent_once_to_each_worker(cluster, tmp_path):
    parcel, done = Parcel(tmp_path), {}
    tasks = [(parcel, place) for place in range(12)]
    run_tasks(open_parcel, tasks, n_jobs=None, progress=Progress(12, shown=False), done=done)
    workers = [int(arrival.name.split("-")[1]) for arrival in tmp_path.glob("arrival*")]
    assert len(done) == 12
    assert os.getpid() not in workers
    assert sorted(workers) == sorted(set(done.values()))

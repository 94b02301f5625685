"""Large tables: the choice is made on some rows, the chosen model is fitted on all."""

import numpy as np
import pytest

from conftest import QUICK
from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting import ensemble, path, rising
from lspin.fitting.path import sample_rows
from lspin.tables.grid import Grid, Rows
from lspin.targets.classes import Classes
from lspin.targets.response import Response

BRIEF = {**QUICK, "max_epochs": 10, "start": "networks"}
MOST = 30  # less than a third of the rows, so that these fits have a size of their own


@pytest.fixture
def sizes(monkeypatch):
    """Rows of the fits of a search and of the last fits, where 30 rows are many."""
    seen = {"walk_path": [], "fit_job": []}

    def spy(room, name):
        original = getattr(room, name)

        def count(problem, job, report=None):
            seen[name].append(len(job.which))
            return original(problem, job, report)

        monkeypatch.setattr(room, name, count)

    spy(rising, "walk_path")
    spy(path, "fit_job")
    monkeypatch.setattr(ensemble, "MOST_CHOSEN_ON", MOST)
    return seen


def test_a_large_table_is_chosen_on_some_rows_and_fitted_on_all(table, labels, sizes):
    LSPINClassifier(**BRIEF).fit(table[0], labels)
    assert len(sizes["walk_path"]) > 1
    *search, last = sizes["fit_job"]
    assert max(sizes["walk_path"] + search) < MOST
    assert last == 96


def test_a_wanted_number_of_features_is_searched_on_some_rows(table, sizes):
    model = LSPINRegressor(**BRIEF, n_features=5).fit(*table)
    *search, last = sizes["fit_job"]
    assert set(search) == {MOST}
    assert last == 96
    assert len(model.members_) == 1


def test_rows_held_out_to_stop_by_are_of_the_whole_table(table, sizes):
    LSPINRegressor(**BRIEF, sparsity=0.01, patience=5).fit(*table)
    (size,) = sizes["fit_job"]
    assert MOST < size < 96


def test_an_eval_set_judges_models_of_some_rows(table, sizes):
    X, y = table
    LSPINRegressor(**BRIEF, n_restarts=1).fit(X[:64], y[:64], eval_set=(X[64:], y[64:]))
    *search, last = sizes["fit_job"]
    assert set(sizes["walk_path"] + search) == {MOST}
    assert last == 64


def draw(target):
    return Rows(Grid(np.zeros((len(target), 1)), None), target, np.ones(len(target)), np.arange(len(target)))


def test_a_sample_has_its_share_of_every_class():
    target = np.repeat([0, 1, 2], [900, 95, 5])
    rows = draw(np.random.default_rng(0).permutation(target))
    sample = sample_rows(rows, Classes(classes=np.arange(3)), 100)
    np.testing.assert_array_equal(np.bincount(rows.target[sample]), [90, 10, 1])
    assert (np.diff(sample) > 0).all()


def test_a_small_table_is_taken_whole():
    rows = draw(np.arange(7.0))
    np.testing.assert_array_equal(sample_rows(rows, Response(), 7), np.arange(7))

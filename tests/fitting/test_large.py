"""Large tables: the choice is made on some rows, the chosen model is fitted on all."""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from conftest import QUICK
from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting import contest, ensemble, fit, path, rising
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


def test_groups_of_a_large_table_are_those_that_were_judged_and_all_rows_tell_the_weights(monkeypatch):
    for room in (contest, ensemble):
        monkeypatch.setattr(room, "MOST_ROWS", 150)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.where(X[:, 0] > 0, 2 * X[:, 1], X[:, 2] - 1) + 0.3 * rng.normal(size=400)
    judged, divided = [], []
    for seen, room in ((judged, contest), (divided, fit)):
        name = "glance_at" if room is contest else "make_member"
        original = getattr(room, name)
        monkeypatch.setattr(room, name, partial(watch, original, seen))
    model = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    (problem, split, _), (rows, *_, setting, _) = judged[0], divided[0]
    np.testing.assert_array_equal(rows.target, contest.take_training(problem, split)[0].target)
    assert len(rows.target) <= 150

    ((encoding, _),) = model.members_
    reasons = X[:, encoding.features] - encoding.center
    signed = model.gates(X) * model.gate_signs(X) * reasons / encoding.scale
    judge = Ridge(alpha=setting.penalty / 2 * 400).fit(signed, y).predict(signed)
    factor, level = np.polyfit(judge, model.predict(X), 1)  # outputs are multiplied by a factor in the end
    np.testing.assert_allclose(model.predict(X), factor * judge + level, atol=0.005)
    assert factor == pytest.approx(1, abs=0.03)


def watch(original, seen, *arguments):
    seen.append(arguments)
    return original(*arguments)


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

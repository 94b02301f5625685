"""A fit that is cut short: which model is kept, and whether what is said of it is true."""

import re

import numpy as np
import pytest

from conftest import QUICK
from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting import contest, ensemble, levels, path, rising
from lspin.fitting.ensemble import FitInterruptedWarning
from lspin.fitting.running import LostWorkerError

BRIEF = {**QUICK, "max_epochs": 20, "start": "networks"}


def break_off(error):
    def stop(*_, **__):
        raise error

    return stop


def fit_broken_off(model, X, y, **more):
    with pytest.warns(FitInterruptedWarning) as caught:
        model.fit(X, y, **more)
    return str(caught[0].message)


@pytest.mark.parametrize("sizes", [(8,), ()], ids=["one run", "separate prices"])
def test_an_interrupt_in_the_last_fit_keeps_the_model_that_was_judged(sizes, table, labels, monkeypatch):
    X, held_out = table[0][:64], (table[0][64:], labels[64:])
    monkeypatch.setattr(ensemble, "run_jobs", break_off(KeyboardInterrupt()))
    model = LSPINClassifier(**{**BRIEF, "hidden_layer_sizes": sizes}, n_restarts=1, bootstrap=True, n_members=2)
    said = fit_broken_off(model, X, labels[:64], eval_set=held_out)
    (score,) = re.findall(r"accuracy (\d\.\d+) on held-out rows", said)
    chosen = model.path_[model.path_["sparsity"] == model.sparsity_].iloc[0]
    assert float(score) == pytest.approx(chosen["validation_score"], abs=5e-4)
    assert model.score(*held_out) == pytest.approx(chosen["validation_score"])
    assert len(model.members_) == 1


def test_an_interrupt_in_the_search_keeps_the_best_finished_model(table, labels, press_after, monkeypatch):
    X, held_out = table[0][:64], (table[0][64:], labels[64:])
    made = []

    def count(*rest):
        made.append(1)
        if len(made) == 2:
            press_after(3)
        return walk_path(*rest)

    walk_path = rising.walk_path
    monkeypatch.setattr(rising, "walk_path", count)
    model = LSPINClassifier(**BRIEF, n_restarts=1)
    said = fit_broken_off(model, X, labels[:64], eval_set=held_out)
    assert said.startswith("interrupted: kept the best finished model of the search, trained on 64 of 64 rows")
    scores = model.path_["validation_score"][model.path_["sparsity"] == model.sparsity_]
    assert model.score(*held_out) == pytest.approx(scores.iloc[0])


@pytest.mark.parametrize("n_judged", [1, 4, 30])
def test_an_interrupt_in_the_search_for_groups_keeps_the_best_of_those_judged(
    n_judged, table, labels, monkeypatch
):
    judged = []

    def press(*rest):
        if len(judged) == n_judged:
            raise KeyboardInterrupt
        judged.append(make_level(*rest))
        return judged[-1]

    make_level = contest.make_level
    monkeypatch.setattr(contest, "make_level", press)
    model = LSPINClassifier(random_state=0)
    said = fit_broken_off(model, table[0], labels)
    assert model.start_ == "groups"
    (score,) = re.findall(r"kept the best model of groups so far, accuracy (\d\.\d+) on held-out rows", said)
    scores = [f"{level.candidate(0.0).validation_score:.3f}" for level in judged]
    assert score in scores
    assert model.selected(table[0]).any()


@pytest.mark.parametrize("n_judged", [7, 30])
def test_after_an_interrupt_levels_need_not_be_judged(n_judged, table, labels, monkeypatch):
    judged, spread = [], []

    def press(*rest):
        if len(judged) == n_judged:
            spread.clear()
            raise KeyboardInterrupt
        judged.append(make_level(*rest))
        return judged[-1]

    def count(*rest):
        spread.append(1)
        return find_spread(*rest)

    make_level, find_spread = contest.make_level, levels.find_spread
    monkeypatch.setattr(contest, "make_level", press)
    monkeypatch.setattr(levels, "find_spread", count)
    fit_broken_off(LSPINClassifier(random_state=0), table[0], labels)
    assert spread == []


def test_the_model_that_an_interrupt_keeps_is_as_spread_as_the_whole_one(table, monkeypatch):
    model = LSPINRegressor(start="groups", random_state=0)
    whole = model.fit(*table).predict(table[0])
    monkeypatch.setattr(ensemble, "run_jobs", break_off(KeyboardInterrupt()))
    fit_broken_off(model, *table)
    np.testing.assert_array_equal(model.predict(table[0]), whole)


def test_members_that_an_interrupt_keeps_are_as_spread_as_those_of_a_whole_model(table, monkeypatch):
    made = []

    def press(*rest):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(fit_job(*rest))
        return made[-1]

    settings = {"start": "groups", "bootstrap": True, "random_state": 0}
    whole = LSPINRegressor(**settings, n_members=2).fit(*table)
    fit_job = path.fit_job
    monkeypatch.setattr(path, "fit_job", press)
    model = LSPINRegressor(**settings, n_members=4)
    assert fit_broken_off(model, *table) == "interrupted: kept 2 of 4 members, those that are finished"
    np.testing.assert_array_equal(model.predict(table[0]), whole.predict(table[0]))


def test_an_interrupt_before_any_model_of_groups_is_judged_says_that_nothing_is_kept(table, labels, monkeypatch):
    monkeypatch.setattr(contest, "glance_at", break_off(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt, match="before any model was finished: nothing is kept"):
        LSPINClassifier(random_state=0).fit(table[0], labels)


def test_folds_of_a_small_table_are_named(table, labels, monkeypatch):
    monkeypatch.setattr(ensemble, "run_jobs", break_off(KeyboardInterrupt()))
    said = fit_broken_off(LSPINClassifier(**BRIEF), table[0], labels)
    assert re.search(
        r"trained on 7\d of 96 rows, accuracy 0.\d+ on held-out rows \(mean of 5 folds, this model", said
    )


def test_an_interrupt_while_fits_are_judged_loses_none_of_them(table, labels, monkeypatch):
    judged = []

    def press(price, *rest):
        judged.append(price)
        if len(judged) == 4:  # the constant, and both decays of the first price came before
            raise KeyboardInterrupt
        return judge(price, *rest)

    judge = path.judge
    monkeypatch.setattr(path, "judge", press)
    model = LSPINClassifier(**{**BRIEF, "hidden_layer_sizes": ()})
    fit_broken_off(model, table[0], labels)
    assert len(model.path_) == 3


def test_finished_members_are_kept(table, press_after):
    press_after(21 * 2 + 3)
    model = LSPINRegressor(**{**BRIEF, "max_epochs": 40}, sparsity=0.01, n_members=4)
    assert fit_broken_off(model, *table) == "interrupted: kept 2 of 4 members, those that are finished"
    whole = LSPINRegressor(**{**BRIEF, "max_epochs": 40}, sparsity=0.01, n_members=2).fit(*table)
    np.testing.assert_array_equal(model.predict(table[0]), whole.predict(table[0]))


def test_the_finished_model_nearest_to_a_wanted_number_of_features_is_kept(table, press_after):
    press_after(21 * 2)
    model = LSPINRegressor(**{**BRIEF, "max_epochs": 40}, n_features=2)
    assert re.search("with the nearest number of features, .*, not judged", fit_broken_off(model, *table))
    assert len(model.path_) == 1


def test_a_constant_is_kept_where_it_was_the_best(table, monkeypatch):
    noise = np.random.default_rng(0).normal(size=96)
    monkeypatch.setattr(ensemble, "run_jobs", break_off(KeyboardInterrupt()))
    model = LSPINRegressor(**BRIEF)
    assert "kept a constant" in fit_broken_off(model, table[0], noise)
    np.testing.assert_allclose(model.predict(table[0]), noise.mean())
    assert not model.selected(table[0]).any()


def test_lost_workers_leave_the_finished_models(table, labels, monkeypatch):
    monkeypatch.setattr(ensemble, "run_jobs", break_off(LostWorkerError("a worker process was killed")))
    said = fit_broken_off(LSPINClassifier(**BRIEF), table[0], labels)
    assert said.startswith("a worker process was killed: kept the best finished model of the search")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), LostWorkerError("a worker process was killed")])
def test_nothing_is_kept_where_there_is_nothing(error, table, monkeypatch):
    monkeypatch.setattr(ensemble, "run_jobs", break_off(error))
    model = LSPINRegressor(**BRIEF, sparsity=0.01)
    with pytest.raises(type(error)):
        model.fit(*table)
    assert not hasattr(model, "members_")

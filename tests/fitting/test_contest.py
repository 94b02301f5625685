"""The contest of groups and networks: standard errors by another library, choices on numbers made by hand."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting import ensemble, fit, rising
from lspin.fitting.contest import choose_rule, find_contender, settle
from lspin.fitting.ensemble import FitInterruptedWarning
from lspin.fitting.fit import Fit
from lspin.fitting.groups import Setting, make_member
from lspin.fitting.judging import excess
from lspin.fitting.levels import Level, choose_level, keep_best_penalty, list_prices
from lspin.fitting.path import Choice, split_rows
from lspin.structure.divisions import WHOLE, Rule
from posed import pose
from small_clouds import draw_groups

RNG = np.random.default_rng(0)
N = 160


def draw_product(n_rows=N):
    """A response that no linear rule of any half of the rows gives."""
    X = np.random.default_rng(0).normal(size=(n_rows, 5))
    return X, np.cos(2 * X[:, 0]) + np.cos(2 * X[:, 1])


def split(problem):
    return split_rows(problem.rows, problem.kind, 0.2, np.random.default_rng(0))


@pytest.fixture(scope="module")
def grouped():
    """A problem of two groups, its splits and the best model of groups."""
    problem = pose(*draw_groups(n_rows=N)[:2])
    splits = split(problem)
    return problem, splits, find_contender(problem, splits)


# Numbers -----------------------------------------------------------------------------------------------------


def test_excess_is_the_statistic_of_a_paired_test():
    one, other = RNG.normal(0.2, 1, 50), RNG.normal(size=50)
    expected = ttest_rel(one, other).statistic * np.sqrt(50 / 49)  # which divides by one less
    assert excess(one, other, np.ones(50)) == pytest.approx(expected)
    assert excess(one, one, np.ones(50)) == 0


def test_excess_does_not_depend_on_the_unit_of_weights():
    one, other, weight = RNG.normal(0.2, 1, 50), RNG.normal(size=50), RNG.exponential(size=50)
    assert excess(one, other, weight) == pytest.approx(excess(one, other, 1e3 * weight))


@pytest.mark.parametrize(
    ("better_by", "expected"),
    [
        ({2: 0.0, 3: 0.0}, WHOLE),
        ({2: -1.0, 3: -1.0}, WHOLE),
        ({2: 1.0, 3: 0.0}, Rule("components", 2)),
        ({2: 1.0, 3: 1.0}, Rule("components", 2)),  # as good with fewer groups
        ({2: 1.0, 3: 2.0}, Rule("components", 3)),
    ],
)
def test_groups_are_chosen_if_clearly_better_and_few_if_as_good(better_by, expected):
    noise = np.random.default_rng(1).normal(size=(3, 200))
    errors = {WHOLE: 5 + noise[0]}
    for gain, part in zip(better_by.items(), noise[1:], strict=True):
        errors[Rule("components", gain[0])] = 5 + 0.5 * noise[0] + 0.1 * part - gain[1]
    n_groups = {rule: max(rule.which, 1) for rule in errors}
    assert choose_rule(errors, np.ones(200), n_groups) == expected


def test_prices_fall_from_the_highest_and_are_what_a_feature_gains():
    losses, opened = [1.0, 0.6, 0.4, 0.45, 0.44], [0.0, 1.0, 2.0, 3.0, 3.5]
    levels = [SimpleNamespace(loss=loss, mean_open=n) for loss, n in zip(losses, opened, strict=True)]
    prices = list_prices(levels, 1.0)
    assert prices[:3] == pytest.approx([1.0, 0.4, 0.2])
    assert (np.diff(prices) < 0).all()
    assert min(prices) > 0


def test_of_two_penalties_the_better_is_kept():
    levels = [
        SimpleNamespace(loss=loss, setting=Setting(WHOLE, n_terms, penalty))
        for loss, n_terms, penalty in [(1.0, 0, 0.1), (0.5, 1, 0.1), (0.4, 1, 0.2), (0.2, 2, 0.1), (0.3, 2, 0.2)]
    ]
    kept = keep_best_penalty(levels)
    assert {n_terms: level.loss for n_terms, level in kept.items()} == {0: 1.0, 1: 0.4, 2: 0.2}


def test_what_a_penalty_takes_from_the_size_of_the_weights_does_not_count_against_a_level():
    X = RNG.normal(size=(200, 3))
    problem = pose(X, 2 * X[:, 0] + X[:, 1])
    rows = problem.rows
    settings = Setting(WHOLE, 0), Setting(WHOLE, 1), Setting(WHOLE, 2, penalty=4.0)
    members = [make_member(rows, problem.encoding, problem.kind, setting).member for setting in settings]
    constant, one, shrunk = levels = [
        Level(problem, setting, [member], [rows]) for setting, member in zip(settings, members, strict=True)
    ]
    assert shrunk.loss > one.loss  # both columns, at a fraction of their weights
    assert shrunk.judged_loss < 0.1 * one.judged_loss
    assert choose_level(problem, levels, constant) is shrunk


def test_further_parts_are_held_out_until_there_are_rows_enough():
    problem = pose(RNG.normal(size=(500, 2)), RNG.normal(size=500))
    once = split_rows(problem.rows, problem.kind, 0.2, np.random.default_rng(0))
    more = split_rows(problem.rows, problem.kind, 0.2, np.random.default_rng(0), fewest=250)
    assert len(once) == 1
    held_out = np.concatenate([part.valid.source for part in more])
    assert 250 <= len(held_out) == len(set(held_out)) < 350
    np.testing.assert_array_equal(more[0].valid.source, once[0].valid.source)


# Decisions ---------------------------------------------------------------------------------------------------


def losses_of_best_slope(problem, outputs, splits):
    """Squared errors once the distances of outputs from the mean are multiplied by the best factor."""
    mean = np.average(problem.rows.target)
    above = np.concatenate(outputs).ravel() - mean
    truth = np.concatenate([part.valid.target for part in splits]) - mean
    return (truth - above * (above @ truth) / (above @ above)) ** 2


@pytest.mark.parametrize(("slip", "start"), [(0.5, "networks"), (1.0, "groups"), (1.5, "groups")])
def test_networks_win_only_if_they_are_better_on_the_same_rows(slip, start, grouped, monkeypatch):
    problem, splits, contender = grouped
    said = [
        part.valid.target[:, None] + slip * (outputs - part.valid.target[:, None])
        for part, outputs in zip(splits, contender.level.outputs, strict=True)
    ]
    foreseen = iter(said)
    monkeypatch.setattr(
        "lspin.fitting.path.predict_counted", lambda members, grid: SimpleNamespace(outputs=next(foreseen))
    )
    fits = [Fit(None, np.zeros((1, 3))) for _ in splits]
    choice = Choice(0.1, 0.0, [], fits)
    found = settle(problem, choice, contender, splits)
    assert (found.setting is not None) == (start == "groups")
    by_model = {standing.model: standing for standing in found.contest}
    assert [standing.model for standing in found.contest if standing.chosen] == [start]
    own = losses_of_best_slope(problem, contender.level.outputs, splits)
    theirs = losses_of_best_slope(problem, said, splits)
    gap = own - theirs if start == "networks" else theirs - own
    other = by_model["groups" if start == "networks" else "networks"]
    assert other.behind == pytest.approx(gap.mean(), abs=1e-5)
    assert other.standard_error == pytest.approx(gap.std() / np.sqrt(N), abs=1e-5)


def slip_for_better(contender, splits, n_better):
    """What networks say that are nearer to the truth in some rows, and further from it in the others."""
    sizes = np.cumsum([len(part.valid.target) for part in splits])[:-1]
    slips = np.split(np.where(np.arange(N) < n_better, 0.5, 1.2)[:, None], sizes)
    truth = [part.valid.target[:, None] for part in splits]
    said = contender.level.outputs
    return [one + slip * (own - one) for one, slip, own in zip(truth, slips, said, strict=True)]


@pytest.mark.parametrize("is_ridge", [True, False])
def test_a_ridge_gives_way_only_to_networks_that_are_better_by_two_standard_errors(is_ridge, grouped, monkeypatch):
    problem, splits, contender = grouped
    own = losses_of_best_slope(problem, contender.level.outputs, splits)
    for n_better in range(N):
        said = slip_for_better(contender, splits, n_better)
        gap = own - losses_of_best_slope(problem, said, splits)
        if 1.2 < gap.mean() / gap.std() * np.sqrt(N) < 1.8:
            break
    foreseen = iter(said)
    monkeypatch.setattr(
        "lspin.fitting.path.predict_counted", lambda members, grid: SimpleNamespace(outputs=next(foreseen))
    )
    monkeypatch.setattr(contender, "is_ridge", is_ridge)
    found = settle(problem, Choice(0.1, 0.0, [], [Fit(None, np.zeros((1, 3))) for _ in splits]), contender, splits)
    assert (found.setting is not None) == is_ridge


def test_a_constant_that_networks_chose_loses_to_groups(grouped):
    problem, splits, contender = grouped
    assert settle(problem, Choice(1.0, 0.0, [], []), contender, splits).setting is not None


# What a user meets -------------------------------------------------------------------------------------------


def refuse_training(*_, **__):
    raise AssertionError("a network is trained")


def test_groups_that_are_clearly_better_than_trees_need_no_network(monkeypatch):
    monkeypatch.setattr(fit, "train_networks", refuse_training)
    X, y, _ = draw_groups(n_rows=N)
    model = LSPINRegressor(random_state=0).fit(X, y)
    assert model.start_ == "groups"
    assert model.contest_["loss"].isna().tolist() == [False, False, False, True]
    assert model.contest_["chosen"].tolist() == [False, False, True, False]
    # What competes is multiplied by its best factor, the levels of a path are not.
    lowest = model.path_["validation_loss"].min()
    assert model.contest_.loc[2, "loss"] == pytest.approx(lowest, rel=0.05)
    assert model.contest_.loc[2, "loss"] <= lowest + 1e-6
    same = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_networks_that_are_better_are_chosen():
    X, y = draw_product()
    model = LSPINRegressor(max_epochs=300, learning_rate=0.01, random_state=0).fit(X, y)
    assert model.start_ == "networks"
    contest = model.contest_.set_index("model")
    assert contest.index[contest["chosen"]].tolist() == ["networks"]
    assert (contest["behind"] >= 0).all()
    assert contest.loc["constant", "loss"] == pytest.approx(1, abs=0.05)  # the variance is the unit
    assert model.score(X, y) > 0.5


def test_groups_alone_are_asked_for(monkeypatch):
    monkeypatch.setattr(fit, "train_networks", refuse_training)
    assert LSPINRegressor(start="groups").fit(*draw_product()).start_ == "groups"


@pytest.mark.parametrize("settings", [{}, {"n_panel": 2}])
def test_the_search_for_groups_says_how_far_it_is_and_finds_the_same(speaking, settings):
    X, y = draw_product()
    settings = {**settings, "start": "groups", "random_state": 0}
    silent = LSPINRegressor(**settings).fit(X, y)
    assert speaking() == ""
    model = LSPINRegressor(**settings, verbose=1).fit(X, y)
    said = speaking()
    for unit in ("splits searched for groups", "sketches of models judged", "sizes of models judged"):
        assert re.search(rf"lspin: \d+ of \d+ {unit}, 00:\d\d left", said)
    assert said.index("splits searched") < said.index("fits")
    np.testing.assert_array_equal(model.predict(X), silent.predict(X))


def test_networks_alone_are_asked_for(monkeypatch):
    monkeypatch.setattr(ensemble, "find_contender", refuse_training)
    X, y, _ = draw_groups(n_rows=N)
    model = LSPINRegressor(start="networks", max_epochs=2, random_state=0).fit(X, y)
    assert model.start_ == "networks"
    assert model.members_[0].networks.groups is None
    assert model.contest_.empty


@pytest.mark.parametrize("n_before", [0, 1])
def test_an_interrupt_while_networks_are_tried_keeps_the_model_of_groups(n_before, monkeypatch):
    X, y = draw_product()
    made = []

    def press(problem, job, report=None):
        if len(made) == n_before:
            raise KeyboardInterrupt
        made.append(job)
        return walk_path(problem, job, report)

    walk_path = rising.walk_path
    monkeypatch.setattr(rising, "walk_path", press)
    with pytest.warns(
        FitInterruptedWarning,
        match="kept the best model of groups so far, R² -0.004 on held-out",
    ):
        model = LSPINRegressor(max_epochs=2, random_state=0).fit(X, y)
    assert len(made) == n_before
    assert model.start_ == "groups"
    monkeypatch.undo()
    same = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_an_automatic_fit_of_classes_is_quiet_and_the_same_again():
    X, y, _ = draw_groups(n_rows=N)
    labels = np.where(y > np.median(y), "high", "low")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = (
            LSPINClassifier(max_epochs=2, random_state=0, n_jobs=n_jobs).fit(X, labels) for n_jobs in (None, 2)
        )
    assert one.start_ == other.start_
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))

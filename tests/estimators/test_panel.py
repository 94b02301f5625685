"""A panel: all samples together use no more columns than were asked for, and those that matter are among them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lspin import LSPINClassifier, LSPINCox, LSPINRegressor, load
from lspin.fitting import contest, ensemble
from lspin.fitting.ensemble import FitInterruptedWarning

N = 240
COUNTING, TELLING = [f"gene{i}" for i in range(6)], ["marker0", "marker1"]


def draw_cohort():
    """Two groups, told by two markers; in each, three genes of its own count. The other columns are noise."""
    rng = np.random.default_rng(0)
    names = [*COUNTING, *TELLING, *(f"noise{i}" for i in range(22))]
    frame = pd.DataFrame(rng.normal(size=(N, 30)), columns=names)
    is_first = rng.random(N) < 0.5
    frame[TELLING] += np.where(is_first, 2.5, -2.5)[:, None]
    first, second = (frame[names].to_numpy() @ [1.5, -1.2, 1.0] for names in (COUNTING[:3], COUNTING[3:]))
    return frame.sample(frac=1, axis=1, random_state=0), np.where(is_first, first, second)


COHORT, SIGNAL = draw_cohort()


@pytest.fixture(scope="module")
def model():
    judge = (COHORT[120:180], SIGNAL[120:180])  # one split: each takes its time
    return LSPINRegressor(n_panel=8, start="groups", random_state=0).fit(
        COHORT[:120], SIGNAL[:120], eval_set=judge
    )


def test_a_panel_as_large_as_the_truth_is_the_truth(model):
    assert set(model.columns_needed_) == {*COUNTING, *TELLING}
    assert model.score(COHORT[180:], SIGNAL[180:]) > 0.97
    assert set(model.structure_["features"].explode()) >= set(COUNTING)


def test_the_path_of_panels_says_what_each_size_costs(model):
    path = model.panel_path_
    assert path["n_panel"].tolist() == [1, 2, 4, 8]
    assert path["n_panel"][path["chosen"]].tolist() == [8]
    assert (np.diff(path["validation_loss"]) < 0).all()
    assert (path["n_features"] <= path["n_panel"]).all()
    assert (path["loss_error"] > 0).all()


def test_columns_outside_the_panel_have_no_effect_and_may_be_absent(model, tmp_path):
    new = COHORT[180:]
    changed, needed = new.copy(), model.columns_needed_
    others = [name for name in new if name not in needed]
    changed[others] = np.random.default_rng(1).normal(size=(len(new), len(others))) * 100
    expected = model.predict(new)
    np.testing.assert_array_equal(model.predict(changed), expected)
    model.save(tmp_path / "model.lspin")
    loaded = load(tmp_path / "model.lspin")
    pd.testing.assert_frame_equal(loaded.panel_path_, model.panel_path_)
    for part in (new[needed], pl.from_pandas(new[needed])):
        np.testing.assert_array_equal(loaded.predict(part), expected)
    with pytest.raises(ValueError, match="marker0"):
        loaded.predict(new.drop(columns="marker0"))


def test_columns_are_chosen_without_the_rows_that_judge_them():
    """Four of 200 columns of noise, chosen with all 60 rows, would explain a quarter of the target."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 200)), rng.normal(size=60)
    best = np.argsort(-np.abs(X.T @ (y - y.mean())))[:4]
    assert np.linalg.lstsq(np.c_[X[:, best], np.ones(60)], y, rcond=None)[1] < 0.75 * 60 * y.var()
    model = LSPINRegressor(n_panel=4, start="groups", random_state=0).fit(X, y)
    assert (model.panel_path_["validation_score"] < 0.1).all()


# All kinds of tables ------------------------------------------------------------------------------------------


def draw_patients():
    """The site says which of two columns counts; one of them is missing now and then."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 7)), columns=list("abcdefg"))
    site = rng.integers(3, size=120)
    signal = np.where(site == 0, 2 * frame["a"], frame["b"])
    frame.insert(2, "site", pd.Categorical(np.array(["north", "south", "west"])[site]))
    frame.loc[::9, "b"] = np.nan
    return frame, np.nan_to_num(signal)


PATIENTS, EFFECT = draw_patients()
KINDS = {
    "classes": (LSPINClassifier, {}, np.digitize(EFFECT, [-0.5, 0.5])),
    "response": (LSPINRegressor, {}, EFFECT),
    "counts": (LSPINRegressor, {"loss": "poisson"}, np.round(np.exp(EFFECT))),
    "survival": (LSPINCox, {}, (np.exp(-EFFECT), np.arange(120) % 5 > 0)),
}


def fit_patients(kind="response", **parameters):
    """A model that learns from two of three patients and is judged by the others."""
    estimator, settings, y = KINDS[kind]
    is_judge = np.arange(120) % 3 == 0
    learned, judged = (
        tuple(part[chosen] for part in y) if kind == "survival" else y[chosen] for chosen in (~is_judge, is_judge)
    )
    model = estimator(n_panel=3, random_state=0, **settings, **parameters)
    return model.fit(PATIENTS[~is_judge], learned, eval_set=(PATIENTS[is_judge], judged))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_target_keeps_to_its_panel(kind):
    model = fit_patients(kind, start="groups")
    assert len(model.columns_needed_) <= 3
    assert "a" in model.columns_needed_
    assert np.isfinite(model.predict(PATIENTS[model.columns_needed_])).all()


def test_all_members_share_one_panel():
    model = fit_patients(start="groups", n_members=4, bootstrap=True)
    assert len(model.members_) == 4
    assert len(model.columns_needed_) <= 3


NETWORKS = {"hidden_layer_sizes": (), "sparsity": 0.02, "max_epochs": 60}


@pytest.mark.parametrize("settings", [NETWORKS, {"start": "groups"}], ids=["networks", "groups"])
@pytest.mark.parametrize("context_only", [False, True])
def test_a_context_is_part_of_the_panel(context_only, settings):
    model = fit_patients(context=["site", "g"], context_only=context_only, **settings)
    assert set(model.columns_needed_) <= {"site", "g", "a"}
    assert model.panel_path_["start"][model.panel_path_["chosen"]].tolist() == [model.start_]


def test_networks_read_the_panel_only():
    model = fit_patients(**NETWORKS)
    needed = model.columns_needed_
    assert 0 < len(needed) <= 3
    others = [name for name in PATIENTS if name not in needed and name != "site"]
    expected = model.predict(PATIENTS)
    np.testing.assert_array_equal(model.predict(PATIENTS.assign(**dict.fromkeys(others, 7.0))), expected)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_panel=st.integers(1, 6),
    n_classes=st.sampled_from([0, 2, 3]),
    has_missing=st.booleans(),
)
def test_no_table_needs_more_columns_than_its_panel_has(seed, n_panel, n_classes, has_missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6))
    X[:, 5] = np.round(X[:, 5])
    y = X[:, 0] * (X[:, 1] > 0) + 0.3 * rng.normal(size=40)
    if has_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    estimator = LSPINClassifier if n_classes else LSPINRegressor
    model = estimator(n_panel=n_panel, start="groups", random_state=0).fit(
        X[:30], y[:30], eval_set=(X[30:], y[30:])
    )
    needed = model.columns_needed_
    assert len(needed) <= n_panel
    changed = rng.normal(size=X.shape)
    changed[:, needed] = X[:, needed]
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))


def test_networks_get_the_columns_of_a_rule_that_no_linear_model_sees():
    """A product and a square of three of twelve columns: none is related to the target on its own."""
    rng = np.random.default_rng(0)
    X, used = rng.normal(size=(600, 12)), np.sort(rng.choice(12, 3, replace=False))
    first, second, third = X[:, used].T
    y = first * second + third**2
    model = LSPINRegressor(n_panel=3, random_state=0).fit(X[:300], y[:300], eval_set=(X[300:450], y[300:450]))
    assert model.columns_needed_.tolist() == used.tolist()
    assert model.start_ == "networks"
    assert model.score(X[450:], y[450:]) > 0.8


@pytest.mark.parametrize("sparsity", ["auto", 0.02])
def test_training_goes_on_with_the_columns_that_it_began_with(monkeypatch, sparsity):
    """Two of four columns are noise, which is another in each split; a price that is given needs no split."""
    kept, find = [], ensemble.find_panels
    keep = lambda *given, **more: kept.append(find(*given, **more)) or kept[-1]  # noqa: E731
    monkeypatch.setattr(ensemble, "find_panels", keep)
    X = np.random.default_rng(0).normal(size=(300, 12))
    model = LSPINRegressor(n_panel=4, start="networks", sparsity=sparsity, max_epochs=10, random_state=0)
    model.fit(X, X[:, 0] * X[:, 1])
    (panels,) = kept
    first, of_all = panels.splits[0].panel.encoding.features, panels.for_networks.encoding.features
    assert {0, 1} <= set(first) & set(of_all)
    assert set(first) != set(of_all)
    expected = first if sparsity == "auto" else of_all
    np.testing.assert_array_equal(model.members_[0].encoding.features, expected)


# What is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_panel": 9}, "n_panel=9, but X has 8 columns"),
        ({"n_panel": 2, "n_features": 3}, "n_features=3 for each sample, but n_panel=2 for all"),
        (
            {"n_panel": 2, "context": ["a", "b", "site"]},
            "n_panel=2 counts the columns of the context too: it has 3",
        ),
        ({"n_panel": 2, "context": ["a", "b"], "context_only": True}, "it has 2, and 1 to predict from"),
    ],
)
def test_a_panel_that_cannot_be_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        LSPINRegressor(**parameters).fit(PATIENTS, EFFECT)


def test_a_sparse_table_has_no_panel():
    X = sp.csr_array(np.eye(20)[:, :5])
    with pytest.raises(ValueError, match="n_panel=2 needs a dense table"):
        LSPINRegressor(n_panel=2).fit(X, np.arange(20.0))


@pytest.mark.parametrize(("size", "kept"), [(8, [8]), (2, [2, 4, 8])])
def test_an_interrupt_in_the_search_keeps_the_best_panel_so_far(size, kept, monkeypatch):
    judged = []

    def press(search, *rest):
        if search.problem.encoding.n_features == size:
            if len(judged) == 9:
                raise KeyboardInterrupt
            judged.append(rest)
        return make_level(search, *rest)

    make_level = contest.make_level
    monkeypatch.setattr(contest, "make_level", press)
    model = LSPINRegressor(n_panel=8, random_state=0)
    with pytest.warns(FitInterruptedWarning, match="^interrupted: kept the best model of groups so far, R²"):
        model.fit(COHORT[:120], SIGNAL[:120], eval_set=(COHORT[120:180], SIGNAL[120:180]))
    assert model.panel_path_["n_panel"].tolist() == kept
    assert 0 < len(model.columns_needed_) <= 8
    assert model.score(COHORT[180:], SIGNAL[180:]) > 0.3

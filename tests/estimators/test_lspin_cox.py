"""The survival estimator: doors, curves, scikit-learn's contract, and what it learns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import lspin
from any_target import AnyLSPINCox
from lspin import LSPINCox
from lspin.survival import breslow_hazard, harrell_concordance, make_survival, read_survival
from lspin.survival.targets import sign_times
from lspin.tables.grid import Rows
from lspin.targets import Times

QUICK = {
    "hidden_layer_sizes": (),
    "gate_hidden_layer_sizes": (8,),
    "learning_rate": 0.02,
    "max_epochs": 100,
    "sparsity": 0.003,
    "random_state": 0,
}


def draw_cohort(n_rows=96, seed=0):
    """Two groups with a hazard of their own each, a third of the rows censored; times in whole weeks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    log_hazard = 2 * np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    time = rng.exponential(np.exp(-log_hazard))
    censored = rng.exponential(np.quantile(time, 0.7), n_rows)
    return X, make_survival(np.ceil(52 * np.minimum(time, censored)), time <= censored), log_hazard


@pytest.fixture(scope="module")
def cohort():
    return draw_cohort()


@pytest.fixture(scope="module")
def model(cohort):
    return LSPINCox(**QUICK).fit(*cohort[:2])


@parametrize_with_checks([AnyLSPINCox((4,), gate_hidden_layer_sizes=(4,), sparsity=0.001, max_epochs=5)])
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_every_form_of_the_target_gives_the_same_fit(cohort, model):
    X, y, _ = cohort
    expected = model.predict(X)
    frame = pd.DataFrame({"months": y["time"], "died": y["event"]})
    forms = [(y["time"], y["event"]), frame, pl.from_pandas(frame), {"time": y["time"], "event": y["event"]}]
    for form in forms:
        np.testing.assert_array_equal(LSPINCox(**QUICK).fit(X, form).predict(X), expected)


def test_events_at_time_zero_count_as_at_any_first_time(cohort, model):
    X, y, _ = cohort
    earlier = make_survival(y["time"] - 1, y["event"])
    is_first = earlier["time"] == 0
    assert set(earlier["event"][is_first]) == {True, False}
    shifted = LSPINCox(**QUICK).fit(X, earlier)
    np.testing.assert_array_equal(shifted.unique_times_, model.unique_times_ - 1)
    expected = breslow_hazard(earlier, log_hazard=shifted.predict(X)).y
    np.testing.assert_allclose(shifted.cumulative_baseline_hazard_, expected, rtol=1e-6)
    assert shifted.cumulative_baseline_hazard_[0] > 0
    assert shifted.predict_survival_function(X)[0](0.0) < 1
    rows = [Rows(None, sign_times(read_survival(target)), None, None) for target in (y, earlier)]
    ranks = [Times().adjust(part).target for part in rows]
    np.testing.assert_array_equal(*ranks)  # and only these matter to the likelihood


def test_it_learns_whose_hazard_rests_on_what():
    X, y, log_hazard = draw_cohort(600)
    model = LSPINCox(sparsity=0.01, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97 * harrell_concordance(y, risk=log_hazard).c_index
    selected = model.selected(X)
    assert selected[:, 3:].mean() < 0.05
    grouped = np.where(X[:, 0] > 0, selected[:, 1], selected[:, 2])
    assert grouped.mean() > 0.9


def test_curves_start_at_one_never_rise_and_stay_in_bounds(cohort, model):
    X, y, _ = cohort
    curves = model.predict_survival_function(X, return_array=True)
    assert curves.shape == (len(X), len(model.unique_times_))
    assert curves.min() >= 0
    assert curves.max() <= 1
    assert (np.diff(curves, axis=1) <= 0).all()
    steps = model.predict_survival_function(X)
    assert steps[3](model.unique_times_[0] / 2) == 1
    np.testing.assert_array_equal(steps[3].x, np.unique(y["time"]))
    np.testing.assert_allclose(steps[3](model.unique_times_), curves[3])
    hazards = model.predict_cumulative_hazard_function(X, return_array=True)
    np.testing.assert_allclose(np.exp(-hazards), curves, atol=1e-12)
    baseline = breslow_hazard(y, log_hazard=model.predict(X))
    np.testing.assert_allclose(hazards[5], np.exp(model.predict(X)[5]) * baseline.y)


def test_the_risk_is_a_sum_over_the_selected_features(cohort, model):
    X = cohort[0]
    by_hand = model.intercept_ + (model.gates(X) * (X - model.center_)) @ model.coef_
    np.testing.assert_allclose(model.predict(X), by_hand, atol=1e-9)


def test_an_explanation_adds_up_to_the_risk_and_gives_hazard_ratios(cohort, model):
    X = cohort[0]
    explanation = model.explain(X)
    assert explanation.scale == "log-hazard"
    total = explanation.baseline[0] + explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(X), atol=1e-9)
    frame = explanation.to_frame()
    np.testing.assert_allclose(frame["hazard_ratio"], np.exp(frame["contribution"]))


def test_a_row_of_weight_two_is_the_row_given_twice(cohort):
    X, y, _ = cohort
    weight = np.where(np.arange(len(X)) % 3 == 0, 2, 1)
    weighted = LSPINCox(**QUICK).fit(X, y, sample_weight=weight)
    twice = LSPINCox(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), twice.predict(X))
    np.testing.assert_allclose(weighted.cumulative_baseline_hazard_, twice.cumulative_baseline_hazard_)


def test_it_works_in_pipelines_and_searches(cohort):
    X, y, _ = cohort
    scores = cross_val_score(make_pipeline(StandardScaler(), LSPINCox(**QUICK)), X, y, cv=2)
    assert np.isfinite(scores).all()
    search = GridSearchCV(LSPINCox(**QUICK), {"sparsity": [0.003, 0.3]}, cv=2).fit(X, y)
    assert search.best_params_["sparsity"] == 0.003


def test_frames_gaps_categories_and_members_are_taken(cohort):
    X, y, _ = cohort
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=pd.Categorical(np.where(X[:, 3] > 0, "u", "v")))
    frame.loc[4, "b"] = np.nan
    model = LSPINCox(**QUICK, n_members=2).fit(frame, y)
    assert model.gates(frame)[4, 1] == 0
    assert model.selection_frequency(frame).shape == frame.shape


@pytest.mark.parametrize(
    "chosen", [{"sparsity": "auto"}, {"sparsity": "auto", "n_features": 2}, {"ties": "breslow"}]
)
def test_settings_of_the_other_estimators_hold_here_too(cohort, chosen):
    X, y, _ = cohort
    model = LSPINCox(**{**QUICK, **chosen}).fit(X, y)
    assert model.score(X, y) > 0.6
    if "n_features" in chosen:
        assert abs(np.median(model.selected(X).sum(axis=1)) - 2) <= 1


def test_rows_to_judge_by_may_be_given(cohort):
    X, y, _ = cohort
    judged = {"eval_set": (X[60:], (y["time"][60:], y["event"][60:]))}
    model = LSPINCox(**{**QUICK, "sparsity": "auto", "n_restarts": 1}).fit(X[:60], y[:60], **judged)
    assert len(model.path_) > 2
    assert model.path_["validation_score"].max() > 0.6


def test_batches_without_events_do_no_harm():
    X, y, _ = draw_cohort(256)
    y["event"] = np.arange(256) < 6
    model = LSPINCox(**{**QUICK, "max_epochs": 5}, batch_size=16).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_a_saved_model_predicts_the_same_curves(tmp_path, cohort, model):
    X = cohort[0]
    model.save(tmp_path / "cohort.lspin")
    loaded = lspin.load(tmp_path / "cohort.lspin")
    expected = model.predict_survival_function(X, return_array=True)
    np.testing.assert_array_equal(loaded.predict_survival_function(X, return_array=True), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: (y["time"], np.zeros(len(y), bool)), "all 96 samples are censored"),
        (lambda y: (np.where(np.arange(96) == 5, -1, y["time"]), y["event"]), "row 5"),
        (lambda y: (np.where(np.arange(96) == 5, np.nan, y["time"]), y["event"]), "row 5"),
        (lambda y: (y["time"], y["event"] + 1), "must be boolean or 0 and 1"),
        (lambda y: (y["time"], np.where(y["event"], "dead", "alive")), "dead"),
        (lambda y: y["time"], "does not say which is which"),
    ],
)
def test_a_wrong_target_is_refused_in_words_that_help(cohort, change, message):
    X, y, _ = cohort
    with pytest.raises((ValueError, TypeError), match=message):
        LSPINCox(**QUICK).fit(X, change(y))


def test_the_time_among_the_features_is_pointed_out(cohort):
    X, y, _ = cohort
    frame = pd.DataFrame(X, columns=list("abcde")).assign(years=y["time"] / 52)
    with pytest.warns(UserWarning, match="column 'years' rises or falls with the time"):
        LSPINCox(**{**QUICK, "max_epochs": 1}).fit(frame, y)


def test_events_that_all_have_weight_zero_are_no_events(cohort):
    X, y, _ = cohort
    with pytest.raises(ValueError, match="no event to learn"):
        LSPINCox(**QUICK).fit(X, y, sample_weight=~y["event"])

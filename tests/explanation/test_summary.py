"""The summary of a model: shares, directions and effects against closed forms and a known truth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LinearRegression

from lspin import LSPINClassifier, LSPINCox, LSPINRegressor, load
from lspin.targets.intervals import wilson_interval
from small_clouds import draw_groups

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 4)), columns=["age", "dose", "noise", "more"])
X["sex"] = pd.Categorical(RNG.choice(["f", "m"], 120))
RESPONSE = 3 * X["age"] - 2 * X["dose"] + 1.5 * (X["sex"] == "m") + 0.1 * RNG.normal(size=120)
DIED = np.where(RESPONSE + RNG.logistic(size=120) > 0, "died", "survived")
LINEAR = {"sparsity": 0.02, "max_epochs": 40, "start": "networks", "hidden_layer_sizes": ()}


@pytest.fixture(scope="module")
def regressor():
    return LSPINRegressor(start="groups", random_state=0).fit(X, RESPONSE)


@pytest.fixture(scope="module")
def members():
    return LSPINClassifier(start="groups", n_members=5, bootstrap=True, random_state=0).fit(X, DIED)


def quartiles(values):
    return np.quantile(values, [0.25, 0.75])


def test_effects_of_a_response_are_those_of_the_least_squares_line(regressor):
    frame = regressor.summary().frame
    inputs = X[["age", "dose"]].assign(male=X["sex"] == "m")
    truth = dict(zip(inputs, LinearRegression().fit(inputs, RESPONSE).coef_, strict=True))
    for name in ("age", "dose"):
        low, high = quartiles(X[name])
        assert frame.loc[name, ["low", "high"]].tolist() == pytest.approx([low, high])
        assert frame.loc[name, "effect"] == pytest.approx(truth[name] * (high - low), rel=0.05)
    assert frame.loc["sex", ["low", "high"]].tolist() == ["f", "m"]
    assert frame.loc["sex", "effect"] == pytest.approx(truth["male"], rel=0.1)
    assert frame["direction"].to_dict() == {"age": "raises", "dose": "lowers", "sex": "by level"}
    assert (frame["share"] == 1).all()
    assert not {"odds_ratio", "members"} & set(frame)


def test_odds_ratios_are_the_exponential_of_coefficient_times_quartiles():
    model = LSPINClassifier(start="groups", random_state=0).fit(X[["age", "dose"]], DIED)
    frame = model.summary().frame
    for name, coefficient in zip(["age", "dose"], model.coef_[0], strict=True):
        low, high = quartiles(X[name])
        # Coefficients speak of the second class, survived; ratios of the event.
        assert frame.loc[name, "odds_ratio"] == pytest.approx(np.exp(-coefficient * (high - low)))
    assert frame.loc["age", "odds_ratio"] > 1 > frame.loc["dose", "odds_ratio"]


def test_hazard_ratios_speak_of_the_event():
    time = np.round(RNG.exponential(np.exp(-RESPONSE.to_numpy())), 4) + 0.001
    model = LSPINCox(start="groups", random_state=0).fit(X, (time, np.ones(120, bool)))
    frame = model.summary().frame
    assert frame.loc["age", "hazard_ratio"] > 1 > frame.loc["dose", "hazard_ratio"]
    np.testing.assert_allclose(np.log(frame["hazard_ratio"]), frame["effect"])


def test_groups_are_told_apart_with_what_counts_in_each():
    values, response, _ = draw_groups()
    model = LSPINRegressor(start="groups", random_state=0).fit(values, response)
    frame = model.summary().frame
    by_group = {frozenset(part.index.get_level_values("feature")) for _, part in frame.groupby(level="group")}
    assert by_group == {frozenset({"x3", "x4"}), frozenset({"x5"})}
    is_up = frame["direction"].groupby(level="feature").first()
    assert is_up.to_dict() == {"x3": "raises", "x4": "lowers", "x5": "raises"}
    sizes = np.bincount(model.memberships(values).argmax(axis=1))
    for number, size in enumerate(sizes, start=1):
        assert f"group {number} ({size} samples)" in str(model.summary())


def test_a_category_with_one_level_in_a_group_is_told_by_what_it_adds():
    ward = np.array(["surgery", "medicine"])[np.arange(120) % 2]
    table = X[["age", "dose"]].assign(ward=pd.Categorical(ward))
    response = np.where(ward == "surgery", 4 * X["age"] + 3, -4 * X["dose"])
    model = LSPINRegressor(start="groups", random_state=0).fit(table, response)
    frame = model.summary().frame.reset_index("group").loc[["ward"]]
    assert frame["group"].tolist() == [1, 2]
    assert set(frame["high"]) == {"surgery", "medicine"}
    assert frame["low"].isna().all()
    record = model.explain(table).to_frame()
    for level, effect in zip(frame["high"], frame["effect"], strict=True):
        own = record[(record["feature"] == "ward") & (record["value"] == level)]
        assert effect == pytest.approx(own["contribution"].mean())
    assert "always surgery" in str(model.summary())
    assert "With one value only" in str(model.summary())


def test_members_are_counted_with_wilsons_interval(members):
    frame = members.summary().frame
    counted = members.structure_frequency_.query("role == 'counts'").set_index("feature")["n_found"]
    for name in frame.index:
        assert frame.loc[name, "members"] == counted[name]
        expected = wilson_interval(int(counted[name]), 5)
        assert frame.loc[name, ["frequency", "lower", "upper"]].tolist() == pytest.approx(list(expected))
    assert frame.loc["age", "members"] == 5
    assert "100% (57% to 100%)" in str(members.summary())


def test_members_of_networks_select_what_they_open_for_some_rows():
    model = LSPINRegressor(**LINEAR, n_members=2, random_state=0).fit(X, RESPONSE)
    frame = model.summary(X).frame
    opened = model.selection_frequency(X)
    share = pd.Series((opened > 0).mean(axis=0), X.columns)
    if frame.index.nlevels == 1:
        np.testing.assert_allclose(frame["share"], share[frame.index])
    assert frame["members"].max() == 2


def test_given_rows_are_summed_up_instead_of_training_rows(regressor):
    rows = X[:30]
    frame = regressor.summary(rows).frame
    assert frame.loc["age", ["low", "high"]].tolist() == pytest.approx(quartiles(rows["age"]).tolist())
    assert "By 30 samples." in str(regressor.summary(rows))


def test_importances_are_shares_of_the_mean_absolute_contributions(regressor, members):
    for model in (regressor, members):
        means = model.explain(X).importance().to_numpy()
        np.testing.assert_allclose(model.feature_importances_, means / means.sum())
    kept = SelectFromModel(members, prefit=True, threshold="mean").get_support()
    assert kept[[0, 1]].all()
    assert not kept[2:4].any()


def test_features_are_selected_from_a_table_with_categories():
    selector = SelectFromModel(
        LSPINRegressor(start="groups", random_state=0), max_features=2, importance_getter="feature_importances_"
    )
    assert selector.fit(X, RESPONSE).get_feature_names_out().tolist() == ["age", "dose"]


def test_several_classes_are_named_and_have_no_odds_ratio():
    y = np.where(X["age"] > 0.5, "old", np.where(X["dose"] > 0, "dosed", "plain"))
    model = LSPINClassifier(start="groups", random_state=0).fit(X, y)
    frame = model.summary().frame
    assert set(frame["direction"]) <= {"old", "dosed", "plain"}
    assert "odds_ratio" not in frame
    assert " class " in str(model.summary())


def test_a_model_without_features_says_so():
    noise = np.random.default_rng(1).normal(size=120)
    flat = LSPINRegressor(start="groups", random_state=0).fit(X, noise)
    assert not flat.selected(X).any()
    assert "No feature is selected" in str(flat.summary())
    assert len(flat.summary().frame) == 0
    assert "Effect" not in str(flat.summary())
    np.testing.assert_array_equal(flat.feature_importances_, 0)


def test_a_file_keeps_the_summary(members, regressor, tmp_path):
    for model in (members, regressor):
        model.save(tmp_path / "model.lspin")
        back = load(tmp_path / "model.lspin")
        pd.testing.assert_frame_equal(back.summary().frame, model.summary().frame)
        assert str(back.summary()) == str(model.summary())
        np.testing.assert_array_equal(back.feature_importances_, model.feature_importances_)


def test_notebooks_show_hostile_names_as_text(members):
    hostile = X.rename(columns={"age": "<script>age</script>"}, index={0: "<b>P0"})
    model = LSPINClassifier(start="groups", random_state=0).fit(hostile, DIED)
    for shown in (model.explain(hostile)._repr_html_(), model.summary()._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;age" in shown
    assert "&lt;b&gt;P0" in model.explain(hostile)._repr_html_()


def test_notebooks_show_what_the_strongest_features_add(members):
    explanation = members.explain(X)
    shown = explanation._repr_html_()
    assert "log-odds of died" in shown
    assert f"the first 10 of {len(X)} samples" in shown
    strongest = np.abs(explanation.contributions[0]).argmax()
    assert f"<b>{explanation.contributions[0, strongest]:+.2f}</b>" in shown

"""The event class: which of two classes odds, contributions, signs and calibration speak of."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import calibration_curve

from lspin import LSPINClassifier, load, plots
from lspin.metrics import expected_calibration_error
from lspin.targets.classes import Classes, choose_event

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 4)), columns=["age", "dose", "noise", "more"])
DIED = RNG.random(120) < expit(3 * X["age"] - 2 * X["dose"])  # age raises the odds of death, dose lowers them
Y = np.where(DIED, "died", "survived")


@pytest.fixture(scope="module")
def model():
    return LSPINClassifier(start="groups", random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def turned(model):
    return clone(model).set_params(pos_label="survived").fit(X, Y)


def test_the_event_is_chosen_by_sense_although_it_is_the_first_class(model):
    assert model.classes_.tolist() == ["died", "survived"]
    assert model.pos_label_ == "died"


def test_contributions_and_signs_speak_of_the_event(model):
    explanation = model.explain(X)
    for name, sign in (("age", 1), ("dose", -1)):
        added = explanation.contributions[:, list(X).index(name)]
        assert np.corrcoef(X[name], added)[0, 1] * sign > 0.9
    counting = model.structure_frequency_.query("role == 'counts'").set_index("feature")["sign"]
    assert (counting["age"], counting["dose"]) == (1, -1)
    assert dict(zip(model.structure_["features"][0], model.structure_["signs"][0], strict=True))["dose"] == -1
    np.testing.assert_allclose(expit(explanation.prediction), model.predict_proba(X)[:, 0])
    np.testing.assert_allclose(explanation.probabilities, model.predict_proba(X))
    assert explanation.pos_label == "died"


def test_the_other_class_turns_explanations_and_no_prediction(model, turned):
    assert turned.pos_label_ == "survived"
    np.testing.assert_array_equal(turned.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(turned.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(turned.predict(X), model.predict(X))
    np.testing.assert_array_equal(turned.coef_, model.coef_)
    one, other = model.explain(X), turned.explain(X)
    np.testing.assert_array_equal(one.contributions, -other.contributions)
    np.testing.assert_array_equal(one.baseline, -other.baseline)
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    assert [e.kind.name_output(0) for e in (one, other)] == ["log-odds of died", "log-odds of survived"]
    np.testing.assert_array_equal(one.kind.say(one.scores[0]), other.kind.say(other.scores[0]))


def test_a_file_keeps_the_event(turned, tmp_path):
    turned.save(tmp_path / "model.lspin")
    back = load(tmp_path / "model.lspin")
    assert back.pos_label_ == "survived"
    np.testing.assert_array_equal(back.explain(X).contributions, turned.explain(X).contributions)


@pytest.mark.parametrize(
    ("labels", "name", "event"),
    [
        (["no", "yes"], "", "yes"),
        (["no", "yes"], "alive", "no"),
        ([0, 1], "", 1),
        ([False, True], "", True),
        ([-1.0, 1.0], "", 1.0),
        (["benign", "malignant"], "", "malignant"),
        (["dead", "lebend"], "", "dead"),
        (["A", "B"], "", "B"),
        ([1, 2], "", 2),
    ],
)
def test_the_event_by_sense(labels, name, event):
    kind, _ = Classes().read(np.array(labels * 3), name)
    assert kind.event_label == event


def test_the_name_of_the_target_says_what_yes_means():
    y = pd.Series(np.where(DIED, "no", "yes"), name="alive")
    model = LSPINClassifier(start="groups", random_state=0).fit(X, y)
    assert model.pos_label_ == "no"


def test_an_event_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match="pos_label='dead' is none of the classes 'died' and 'survived'"):
        LSPINClassifier(pos_label="dead").fit(X, Y)
    with pytest.raises(ValueError, match="pos_label='a' is for two classes, and the target holds 3"):
        choose_event(np.array(["a", "b", "c"]), "a")
    assert Classes().read(np.array(["a", "b", "c"] * 2))[0].event_label is None


def test_held_out_rows_are_judged_towards_the_event(model):
    judge = model.kind_.judge(Y, Y)
    forecast = judge.forecast(model, X)
    calibrated = judge.calibrate(forecast)
    assert calibrated["x"] == "predicted probability of died"
    given, observed = (np.array([row[place] * row[-1] for row in calibrated["bins"]]) for place in (0, 1))
    assert given.sum() == pytest.approx(model.predict_proba(X)[:, 0].sum())
    assert observed.sum() == pytest.approx(DIED.sum())


def test_calibration_of_the_event_is_scikit_learns_curve(model):
    sure = model.predict_proba(X)
    ax = plots.calibration(Y, sure, classes=model.classes_, pos_label="died", n_bins=5)
    happened, given = calibration_curve(DIED, sure[:, 0], n_bins=5)
    drawn = np.asarray(ax.collections[-1].get_offsets())
    np.testing.assert_allclose(drawn, np.stack([given, happened], axis=1))
    assert ax.get_xlabel() == "probability of died"
    bins = np.clip(np.ceil(5 * sure[:, 0]).astype(int) - 1, 0, 4)
    error = sum(abs((sure[bins == b, 0] - DIED[bins == b]).sum()) for b in range(5)) / len(bins)
    found = expected_calibration_error(Y, sure, classes=model.classes_, n_bins=5, pos_label="died")
    assert found == pytest.approx(error)
    with pytest.raises(ValueError, match="pos_label='dead' is none of the classes"):
        plots.calibration(Y, sure, classes=model.classes_, pos_label="dead")

"""Words of the first screen for numbers that are known."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lspin import LSPINRegressor
from lspin.reporting.features import find_unit, is_binary
from lspin.reporting.headline import choose_example, is_vague, say_calibration, say_rivals, word_rival
from lspin.reporting.page import report
from lspin.reporting.template import fill_template
from lspin.targets import Classes, Counts, Response, Times
from lspin.targets.calibration import CalibrationScore
from lspin.targets.intervals import Interval
from lspin.targets.kind import Forecast, Metric
from lspin.targets.survival_judge import TimesJudge, say_median
from lspin.targets.verdicts import word_number
from pages import read_content


def scores(ratio, slope):
    return [
        CalibrationScore("ratio", "observed / expected", Interval(*ratio), 1.0),
        CalibrationScore("slope", "calibration slope", Interval(*slope), 1.0),
    ]


@pytest.mark.parametrize(
    ("ratio", "slope", "said"),
    [
        ((1, 0.9, 1.1), (1, 0.8, 1.2), "Its risks can be taken as they are."),
        ((1, 0.9, 1.1), (1, 0.5, 1.5), "Nothing speaks against its risks, but the rows are too few to be sure."),
        ((0.7, 0.6, 0.9), (1, 0.8, 1.2), "Its risks are too high on average."),
        ((1.4, 1.2, 1.6), (0.5, 0.3, 0.7), "Its risks are too low on average and too extreme."),
        ((1, 0.9, 1.1), (2, 1.5, 2.5), "Its risks are too cautious."),
        ((1, 0.9, 1.1), (8, 0.5, 13), "Nothing speaks against its risks, but the rows are too few to be sure."),
        (
            (1, 0.9, 1.1),
            (8, 2.5, 13),
            "Its risks are far too cautious: they barely differ from sample to sample.",
        ),
        ((1, 0.9, 1.1), (-3, -7, 0.4), "Its risks are too extreme."),
        ((1, 0.9, 1.1), (0.999, 0.9985, 0.9995), "Its risks can be taken as they are."),
        (
            (np.nan,) * 3,
            (np.nan,) * 3,
            "Whether its risks can be taken as they are cannot be said from these rows.",
        ),
    ],
)
def test_calibration_is_put_into_words(ratio, slope, said):
    assert say_calibration(scores(ratio, slope), "risks") == said


@pytest.mark.parametrize(
    ("rival", "word"),
    [((0.7, 0.6, 0.8), "about as good"), ((0.95, 0.9, 0.99), "better"), ((0.5, 0.4, 0.6), "less good")],
)
def test_a_rival_is_better_only_if_no_interval_holds_the_others_score(rival, word):
    assert word_rival(Interval(*rival), Interval(0.75, 0.7, 0.8), "high") == word


@pytest.mark.parametrize(
    ("value", "word"),
    [(5110.4, "5110"), (-1826.25, "-1826"), (21.84, "21.8"), (0.0123, "0.0123"), (2e12, "2e+12"), (0.0, "0")],
)
def test_numbers_are_written_in_full_as_far_as_a_reader_can_take_them(value, word):
    assert word_number(value) == word


def test_no_sentence_has_a_number_with_an_exponent():
    target = np.array([4000.0, 12000.0])
    told = [Response().summarise(target[:, None], target)["said"], Response().ask("cost", target)]
    days = np.array([(True, 900.0 + k) for k in range(300)], [("event", bool), ("time", float)])
    told += [say_median(days, 5), TimesJudge(days, days, last=1199.0).calibrate(flat(days))["x"]]
    assert not [text for text in told if "e+" in text]
    assert "predicted 8000 on average, observed 8000" in told[0]
    assert told[2].startswith("median survival about 1050")


def flat(y):
    """The same risk for every row."""
    return Forecast(np.zeros(len(y)), np.full((len(y), 20), 0.5))


def test_rows_of_equal_risk_are_one_curve():
    y = np.array([(True, 1.0 + k) for k in range(30)], [("event", bool), ("time", float)])
    (curve,) = TimesJudge(y, y, last=30.0).list_curves(flat(y))
    assert (curve["name"], curve["size"]) == ("all rows", 30)
    curves = TimesJudge(y, y, last=30.0).list_curves(Forecast(-y["time"], None))
    assert [curve["name"] for curve in curves] == ["lowest risk", "middle risk", "highest risk"]


def test_verdicts_say_how_well_and_when_it_may_be_chance():
    kind = Classes(classes=np.array(["died", "survived"]), event=0)
    judge = kind.judge(np.array(["died"]), np.array(["died", "survived"]))
    good = judge.say({"auc": Interval(0.85, 0.8, 0.9)}, "outcome")
    assert good.text.startswith("On rows it has not seen, the model tells died from survived well (area under the")
    assert judge.say({"auc": Interval(0.58, 0.52, 0.64)}, "outcome").text.startswith(
        "On rows it has not seen, the model hardly tells died from survived ("
    )
    chance = judge.say({"auc": Interval(0.58, 0.42, 0.7)}, "outcome")
    assert "may be no better than chance at telling died from survived" in chance.text
    assert (good.grade, chance.grade) == (3, 0)
    response = Response().judge(np.zeros(2), np.zeros(2)).say({"r2": Interval(0.9, 0.8, 0.95)}, "crp")
    assert "the model predicts crp very well (R² 0.90, 95 % interval 0.80 to 0.95)" in response.text
    y = np.array([(True, 1.0), (False, 2.0)], [("event", bool), ("time", float)])
    times = TimesJudge(y, y, last=2.0).say({"c_index": Interval(0.65, 0.6, 0.7)}, "death")
    assert "the model only weakly orders samples by their risk (concordance 0.65" in times.text


@pytest.mark.parametrize(
    ("log_loss", "said", "grade"),
    [
        (0.674, "ranks ill above well very well (area under the ROC curve 0.94, 95 % interval 0.85 to 1.00), but "
         "its probabilities are hardly better than the same for every sample (log loss 0.67, of a constant 0.68).",
         1),
        (0.9, "hardly better than the same for every sample (log loss 0.90, of a constant 0.68)", 1),
        (0.35, "tells ill from well very well (area under the ROC curve 0.94, 95 % interval 0.85 to 1.00).", 4),
    ],
)  # fmt: skip
def test_a_good_ranking_without_good_probabilities_is_not_praised(log_loss, said, grade):
    kind = Classes(classes=np.array(["ill", "well"]), event=0)
    judge = kind.judge(np.array(["ill", "well"]), np.array(["ill"] * 13 + ["well"] * 17))
    assert judge.metrics[-1].chance == pytest.approx(-(13 * np.log(13 / 30) + 17 * np.log(17 / 30)) / 30)
    found = {"auc": Interval(0.94, 0.85, 1.0), "log_loss": Interval(log_loss, log_loss - 0.05, log_loss + 0.05)}
    verdict = judge.say(found, "status")
    assert said in verdict.text
    assert verdict.grade == grade


def test_a_ranking_that_is_weak_anyway_is_not_said_to_be_hollow():
    kind = Classes(classes=np.array(["ill", "well"]), event=0)
    judge = kind.judge(np.array(["ill", "well"]), np.array(["ill", "well"] * 200))
    found = {"auc": Interval(0.62, 0.56, 0.68), "log_loss": Interval(0.675, 0.66, 0.69)}
    assert "only weakly tells ill from well" in judge.say(found, "status").text


def test_a_model_that_predicts_the_same_for_all_is_not_praised_for_its_calibration():
    said = say_calibration(scores((1, 0.9, 1.1), (np.nan,) * 3), "risks", is_constant=True)
    assert "can be taken" not in said
    assert said.startswith("It predicts the same for every sample")
    off = say_calibration(scores((1.5, 1.2, 1.8), (np.nan,) * 3), "risks", is_constant=True)
    assert off == "Its risks are too low on average."


def test_rivals_with_better_probabilities_are_named_even_where_the_model_ranks_better():
    names = ("this model", "L1-logistic regression", "boosted trees")
    values = [(0.94, 0.674), (0.69, 0.733), (0.78, 0.55)]
    comparison = SimpleNamespace(
        metrics=[Metric("auc", "AUC", "high", 0.5), Metric("log_loss", "log loss", "low", 0.68)],
        contenders=[SimpleNamespace(name=name, n_features=2) for name in names],
        scores=[{"auc": Interval(a, a, a), "log_loss": Interval(b, b, b)} for a, b in values],
        is_copy=True,
    )
    assert say_rivals(comparison).endswith("By log loss, boosted trees (0.55) leads it (0.67).")


def test_questions_name_the_event_and_how_many_have_it():
    kind = Classes(classes=np.array(["died", "survived"]), event=0)
    asked = kind.ask("outcome", np.array([0, 1, 1, 1]))
    assert asked == (
        "How likely is died rather than survived (outcome) for each sample? "
        "The event, died, is observed in 25 % of the 4 samples."
    )
    assert (
        Counts()
        .ask("falls", np.array([1.0, 3.0]))
        .startswith("How many falls are to be expected for each sample?")
    )
    assert Times().ask("the risk", np.array([1.0])).startswith("How soon does the event come for each sample?")
    assert "75 % of the 4 samples had it" in Times().ask("death", np.array([1.0, 2.0, -3.0, 4.0]))


@pytest.mark.parametrize(
    ("classes", "event", "named", "other"),
    [(["no", "yes"], 1, "died = yes", "died = no"), ([0, 1], 1, "died = 1", "died = 0"),
     (["ja", "nein"], 0, "died = ja", "died = nein"), ([-1.0, 1.0], 1, "died = 1.0", "died = -1.0"),
     (["alive", "dead"], 1, "dead", "alive")],
)  # fmt: skip
def test_answers_and_numbers_are_told_with_the_name_of_their_column(classes, event, named, other):
    kind = Classes(classes=np.array(classes), event=event)
    assert kind.name_raised("died") == f"the odds of {named}"
    assert f"How likely is {named}" in kind.ask("died", np.array([0, 1]))
    verdict = kind.judge(np.array(classes), np.array(classes)).say({"auc": Interval(0.8, 0.7, 0.9)}, "died")
    assert f"tells {named} from {other}" in verdict.text


def test_the_example_is_one_that_the_model_gets_right():
    kind, target = Classes(classes=np.array(["no", "yes"]), event=1), np.array([0, 0, 1, 1, 0])
    scores = np.array([[-2.0], [1.5], [1.0], [2.5], [-1.0]])  # the sample at the rank of an example is wrong
    explanation = SimpleNamespace(rows=np.arange(5), sample_names=np.arange(5), scores=scores, kind=kind)
    cohort = SimpleNamespace(explanation=explanation, is_held_out=np.zeros(5, bool), target=target)
    assert choose_example(cohort) == 2
    explanation.kind, cohort.target = Response(), np.array([-2.0, 9.0, 1.1, 2.4, -1.0])
    assert choose_example(cohort) == 2
    explanation.kind = SimpleNamespace(
        list_predictions=lambda scores: {"log-hazard": scores}
    )  # right about no one
    assert choose_example(cohort) == 1


@pytest.mark.parametrize(
    ("name", "unit"),
    [("CRP (mg/l)", "mg/l"), ("Hb [g/dl] ", "g/dl"), ("share (%)", "%"), ("gene (2)", None), ("x (log2)", None),
     ("mean", None), ("(mg)", None), ("smoker (yes/no)", None)],
)  # fmt: skip
def test_a_unit_is_what_a_name_ends_with_in_brackets(name, unit):
    assert find_unit(name) == unit


def test_a_column_of_0_and_1_is_binary():
    assert is_binary(np.array([0.0, 1.0, np.nan]))
    assert not is_binary(np.array([1.0, 1.0]))
    assert not is_binary(np.array([0.0, 1.0, 2.0]))


def test_a_slope_is_vague_where_its_interval_is_wide():
    assert [is_vague(score) for score in scores((1, 0.1, 9), (2, 0.5, 5))] == [False, True]
    assert not any(is_vague(score) for score in scores((np.nan,) * 3, (2, 0.5, 4)))


@pytest.fixture(scope="module")
def sexes(tmp_path_factory):
    """A page of a linear model: of patients, those of sex 1 weigh more; doses are 5 or 10."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"male": np.arange(120) % 2, "dose": rng.choice([5, 10], 120), "age": rng.normal(60, 9, 120)})
    y = 5 * X["male"] + X["dose"] + 0.5 * X["age"] + 0.1 * rng.normal(size=120)
    model = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    assert model.selected(X).all()
    return report(model, X, y, tmp_path_factory.mktemp("sexes") / "r.html", audits=False)


def test_columns_of_two_values_and_features_of_all_rows_are_known_to_the_page(sexes):
    content = read_content(sexes)
    names = content["features"]["name"]
    assert dict(zip(names, content["features"]["two_valued"], strict=True)) == {
        "male": True, "dose": True, "age": False,
    }  # fmt: skip
    assert dict(zip(names, content["features"]["binary"], strict=True)) == {
        "male": True, "dose": False, "age": False,
    }  # fmt: skip
    assert content["same_for_all"]


def test_two_values_are_a_share_and_all_rows_use_the_same_in_words(browser, sexes, tmp_path):
    content = read_content(sexes)
    for score in content["judged"]["calibration"]:
        score["is_vague"] = score["key"] == "slope"
    path = tmp_path / "r.html"
    path.write_text(fill_template(content), encoding="utf-8")
    window = browser.new_page()
    window.goto(path.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    assert "All samples use all 3 features." in window.text_content("#strongest")
    assert "too few rows to tell" in window.text_content("#calibration")
    assert "A slope below 1" not in window.text_content("#calibration")
    window.locator("#example button").click()
    shown = window.text_content("#sheet")
    assert shown.count("50\u202f% have this") == 1  # male; of doses, another share
    assert shown.count("% have this") == 2
    window.close()


def test_a_model_without_features_is_said_to_be_one_and_has_no_map(browser, linear_regressor, table, tmp_path):
    model = deepcopy(linear_regressor)
    for layer in model.members_[0].networks.gating:
        layer.weights[:] = 0
        layer.bias[:] = -9
    eval_set = (table[0][:40], table[1][:40])
    path = report(model, *table, tmp_path / "r.html", eval_set=eval_set, audits=False)
    content = read_content(path)
    assert content["headline"]["verdict"].startswith("No feature was found to help")
    assert content["map"] is None
    window = browser.new_page()
    window.goto(path.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    assert not window.locator("#cohort").is_visible()
    assert "Cohort map" not in window.text_content("nav")
    assert window.locator("#trust h3").all_text_contents()[0] == "Calibration"
    assert "features would be suspicious" not in window.text_content("#trust")
    window.close()

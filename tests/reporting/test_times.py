"""What a report says about survival, against the estimates and the model behind it, and in a browser."""

import re
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from conftest import QUICK
from lspin import LSPINCox, load
from lspin.cli.commands import app
from lspin.explanation.members import member_range
from lspin.reporting.hiding import hide_counts
from lspin.reporting.page import report
from lspin.reporting.samples import gather
from lspin.reporting.times import check_hazards, correct_for_many, say_hazards
from lspin.survival import check_proportionality, kaplan_meier, number_at_risk
from lspin.survival.targets import split_times
from pages import WIDTHS, find_cut, find_odd_numbers, read_content

SETTINGS = {**QUICK, "hidden_layer_sizes": (), "n_restarts": 1, "max_epochs": 60, "sparsity": 0.01}
AT = [6.0, 12.0]


@pytest.fixture(scope="module")
def cohort(table):
    X, response = table
    rng = np.random.default_rng(0)
    time, end = 12 * rng.exponential(np.exp(-response)), rng.uniform(6, 40, 96)
    y = pd.DataFrame({"OS_MONTHS": np.minimum(time, end), "died": (time <= end).astype(int)})
    frame = pd.DataFrame(X, columns=["marker", "gene b", "gene c", "d", "e"]).assign(e=(X[:, 4] > 0).astype(float))
    return LSPINCox(**SETTINGS, n_members=2).fit(frame, y), frame, y


@pytest.fixture(scope="module")
def page(cohort, tmp_path_factory):
    return report(*cohort, tmp_path_factory.mktemp("report") / "r.html", at=AT, audits=False)


@pytest.fixture(scope="module")
def content(page):
    return read_content(page)


def test_the_curve_of_the_cohort_is_kaplan_meier_with_its_band_and_the_number_at_risk(cohort, content):
    y = cohort[2]
    curve = content["survival"]["cohort"]
    expected = kaplan_meier(y)
    for name, part in zip(("survival", "lower", "upper"), expected, strict=True):
        np.testing.assert_allclose(np.array(curve[name], float), part(curve["times"]), rtol=1e-4)
    assert curve["at_risk"] == number_at_risk(y, curve["ticks"]).tolist()
    for curve in content["judged"]["curves"]:
        assert curve["at_risk"][0] == curve["size"]
        assert len(curve["lower"]) == len(curve["times"])


def test_the_unit_and_the_event_are_read_from_the_names_of_the_columns(content):
    assert content["survival"]["unit"] == "months"
    assert content["survival"]["at_words"] == ["6 months", "1 year"]
    assert content["target"] == "died"


def test_the_hazard_on_the_page_gives_the_models_own_risks(cohort, content):
    model, X, _ = cohort
    times, cumulative = (np.array(content["survival"]["hazard"][name]) for name in ("times", "cumulative"))
    at = np.searchsorted(times, AT)
    risks = 1 - np.exp(-cumulative[at] * np.exp(np.array(content["samples"]["score"]))[:, None])
    np.testing.assert_allclose(risks, model.predict_risk(X, AT), rtol=1e-3)


def test_members_are_compared_at_the_same_mean_hazard(cohort, content):
    model, X, _ = cohort
    spread, score = np.array(content["samples"]["spread"]), np.array(content["samples"]["score"])
    assert np.exp(spread[:, 0]).mean() <= np.exp(score).mean() <= np.exp(spread[:, 1]).mean()
    shifted = deepcopy(model)
    shifted.members_[0].networks.prediction[-1].bias[:] += 3.0
    tables = [model._read(X)]
    own = member_range(model, tables, model.explain(X).scores)
    moved = member_range(shifted, tables, shifted.explain(X).scores)
    np.testing.assert_allclose(moved - own, 1.5, atol=1e-6)  # the mean of both members moves by half of 3


def test_proportional_hazards_are_checked_on_the_rows_of_the_fit(cohort, content):
    model, X, y = cohort
    risk = model.predict(X)
    expected = check_proportionality(y, risk[:, None], log_hazard=risk).p_value[0]
    assert content["survival"]["proportionality"]["p_value"] == pytest.approx(expected, rel=1e-6)
    assert "Schoenfeld residuals" in content["survival"]["proportionality"]["said"]


def test_findings_about_hazards_are_worded():
    calm = say_hazards(0.4, -0.1, np.array([0.7, np.nan]), [])
    assert calm.endswith(
        "Schoenfeld residuals do not contradict it (p = 0.4, smallest corrected p of 1 features 0.7)."
    )
    fading = say_hazards(0.0001, -0.1, np.array([0.01]), [("age", "grows (corrected p = 0.01)")])
    assert "the effect of the predicted risk fades over time (p < 0.001)" in fading
    assert "the effect of age grows (corrected p = 0.01)" in fading


def test_hazards_of_equal_risks_are_not_tested(cohort):
    told = gather(cohort[0], [(cohort[1], cohort[0].kind_.tidy(cohort[2]))], shows_samples=True)
    told.explanation.scores[:] = 0.0
    assert check_hazards(told, split_times(told.target))["said"].startswith("All samples have the same risk")


def test_holms_correction_of_three_tests_by_hand():
    np.testing.assert_allclose(correct_for_many(np.array([0.04, np.nan, 0.01, 0.03])), [0.06, np.nan, 0.03, 0.06])


def test_numbers_at_risk_are_told_where_five_samples_stand_behind_them():
    told = hide_counts(np.array([40, 38, 30, 24, 4, 0]))
    np.testing.assert_array_equal(told, [40, np.nan, 30, 24, np.nan, 0])


def test_without_samples_no_time_of_one_is_told(cohort, tmp_path):
    _, _, y = cohort
    content = read_content(report(*cohort, tmp_path / "r.html", shows_samples=False, audits=False))
    survival = content["survival"]
    assert "hazard" not in survival
    numbers = {round(number, 5) for number in y["OS_MONTHS"]}
    for curve in [survival["cohort"], *survival["groups"], *content["judged"]["curves"]]:
        assert min(np.diff(curve["ended"]), default=5) >= 5
        assert not numbers & {round(time, 5) for time in curve["times"][1:]}
        known = [count for count in curve["at_risk"] if count is not None]
        assert all(drop == 0 or drop >= 5 for drop in -np.diff(known))
        assert curve["median"].startswith(("median survival about", "median survival not"))


def test_times_are_asked_for_of_survival_only(cohort, classifier, table, labels, tmp_path):
    with pytest.raises(
        ValueError, match="at and time_unit are about survival times, and the model is a classifier"
    ):
        report(classifier, table[0], labels, tmp_path / "r.html", at=[1.0])
    with pytest.raises(ValueError, match="no risk can be given at time 9000"):
        report(*cohort, tmp_path / "r.html", at=[9000.0])


@pytest.mark.parametrize("width", WIDTHS)
def test_a_sample_has_its_curve_beside_the_cohorts_and_its_risks(browser, page, content, width):
    wrongs = []
    window = browser.new_page(viewport={"width": width, "height": 900})
    window.on("pageerror", lambda error: wrongs.append(str(error)))
    window.goto(page.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    assert window.locator("#sample-curve polyline").count() == 2
    assert window.locator("#sample-curve .band").count() == 2
    assert "time (months)" in window.text_content("#sample-curve")
    example = content["headline"]["example"]
    risk = window.locator("#sheet dd").nth(1).text_content()
    hazard = content["survival"]["hazard"]
    at = hazard["cumulative"][hazard["times"].index(12)]
    expected = 1 - np.exp(-at * np.exp(content["samples"]["score"][example]))
    assert risk.startswith(f"{100 * expected:.0f}")
    thirds = window.locator("#thirds")
    assert thirds.locator(".band").count() == 3
    assert "number at risk" in thirds.text_content()
    for name in ("lowest risk", "middle risk", "highest risk"):
        assert thirds.get_by_text(name, exact=False).first.is_visible()
    assert "Hazards are proportional if" in window.text_content("#hazards")
    assert find_cut(window, width) == []
    assert find_odd_numbers(window.inner_text("main")) == []
    window.close()
    assert wrongs == []


def in_browser(browser, page, sample):
    """What the page of a sample says: its hazard ratio, and the rows of its table."""
    window = browser.new_page()
    window.goto(f"{page.as_uri()}#sample={sample}")
    window.wait_for_selector("html[data-ready=yes]")
    rows = {row.locator("th").text_content(): row.inner_text() for row in window.locator("#sheet tbody tr").all()}
    ratio = window.locator("#sheet dt", has_text="hazard ratio").locator("xpath=../dd").text_content()
    window.close()
    return ratio, rows


def test_command_page_and_python_tell_a_risk_relative_to_the_mean_of_the_cohort(browser, cohort, page, tmp_path):
    model, X, y = cohort
    risk = model.predict(X)
    assert model.mean_log_hazard_ == pytest.approx(risk.mean())
    model.save(tmp_path / "m.lspin")
    assert load(tmp_path / "m.lspin").mean_log_hazard_ == model.mean_log_hazard_
    pd.concat([X, y], axis=1).to_csv(tmp_path / "t.csv")
    place = int(risk.argmax())
    expected = np.exp(risk[place] - risk.mean())
    assert expected > 1
    given = [tmp_path / "m.lspin", tmp_path / "t.csv", "--id", "Unnamed: 0", "--sample", X.index[place]]
    said = CliRunner().invoke(app, ["explain", *map(str, given)]).stdout
    explanation = model.explain(X.iloc[[place]])
    words = f"{expected:.2f} times the cohort's mean hazard"
    assert f"Sample {X.index[place]}: {words}" in said
    assert words.replace("'", "&#x27;") in explanation._repr_html_()
    lines = [line for line in said.splitlines() if line.startswith("  ")]
    numbers = {re.split("  +", line)[1]: float(line.split()[-1]) for line in lines}
    alone = numbers["with no feature"]
    assert alone == pytest.approx(explanation.baseline[0] - risk.mean(), abs=1e-3)
    assert numbers["sum: log-hazard over cohort's mean"] == pytest.approx(np.log(expected), abs=1e-3)
    ratio, rows = in_browser(browser, page, X.index[place])
    assert ratio.startswith(f"{expected:.2f}")
    assert "against the cohort's mean" in ratio
    assert f"{np.exp(alone):.2f} × the cohort's mean" in rows["no feature used"]
    assert f"{expected:.2f} × the cohort's mean" in rows["all together"]
    frame = model.kind_.list_predictions(explanation.scores)
    np.testing.assert_allclose(frame["hazard ratio"], expected)

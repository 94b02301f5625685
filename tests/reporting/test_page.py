"""The report: what its file holds against what the model says, and the page as a person uses it in a browser."""

import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

import lspin
from conftest import QUICK
from lspin import LSPINClassifier, LSPINCox, LSPINRegressor
from lspin.baselines import CoxLasso
from lspin.reporting.features import word_directions
from lspin.reporting.held_out import compare
from lspin.reporting.page import report
from lspin.reporting.reproduce import fingerprint
from lspin.reporting.samples import gather
from lspin.reporting.template import fill_template
from lspin.survival import harrell_concordance, make_survival
from lspin.targets.intervals import area_under_curve, equal_bins, wilson_interval
from pages import WIDTHS, find_cut, find_odd_numbers, read_content

HOSTILE = "</script><script>alert('x')</script> \"&amp;\u202e\u2028 Größe '"
LINEAR = {**QUICK, "hidden_layer_sizes": (), "n_restarts": 1, "max_epochs": 60}


def longest_list(content):
    if not isinstance(content, dict | list):
        return 0
    inside = content.values() if isinstance(content, dict) else content
    return max([len(content) * isinstance(content, list), *map(longest_list, inside)])


@pytest.fixture(scope="session")
def patients(table, labels):
    """The table as a frame with hostile names, a category and missing values; its classes have such names too."""
    names = [HOSTILE, "<b>b</b>", "c", "d", "__proto__"]
    X = pd.DataFrame(table[0].copy(), columns=names, index=[f"P{row}" for row in range(96)])
    X.index = X.index.str.replace("P5", f"{HOSTILE} 5", regex=False)
    X.loc[X.index[::7], "c"] = np.nan
    X["d"] = pd.Categorical(np.where(X["d"] > 0, "</script>high", "low"))
    return X, pd.Series(np.where(labels == "yes", HOSTILE, "no"), X.index, name="<i>outcome</i>")


@pytest.fixture(scope="session")
def ensemble(patients):
    return LSPINClassifier(**LINEAR, sparsity=0.01, n_members=2).fit(*patients)


@pytest.fixture(scope="session")
def page(ensemble, patients, tmp_path_factory):
    return report(ensemble, *patients, tmp_path_factory.mktemp("report") / "report.html", audits=False)


@pytest.fixture(scope="session")
def content(page):
    return read_content(page)


# The numbers -------------------------------------------------------------------------------------------------


def test_samples_have_the_models_own_predictions_gates_and_contributions(ensemble, patients, content):
    X, y = patients
    explanation, samples, entries = ensemble.explain(X), content["samples"], content["samples"]["entries"]
    assert samples["name"] == X.index.tolist()
    np.testing.assert_allclose(samples["probabilities"], ensemble.predict_proba(X), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(samples["score"], ensemble.decision_function(X), rtol=1e-4)
    assert [content["model"]["classes"][code] for code in samples["observed"]] == y.tolist()
    matrices = {name: np.zeros(X.shape) for name in ("gate", "contribution", "confidence")}
    for row in range(len(X)):
        for entry in range(samples["starts"][row], samples["starts"][row + 1]):
            column = X.columns.get_loc(content["features"]["name"][entries["feature"][entry]])
            for name, matrix in matrices.items():
                matrix[row, column] = entries[name][entry]
    np.testing.assert_allclose(matrices["gate"], explanation.gates, rtol=1e-2, atol=1e-9)
    np.testing.assert_allclose(matrices["contribution"], explanation.contributions, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(matrices["confidence"], ensemble.selection_frequency(X), rtol=1e-2)


def test_a_sample_is_told_how_far_its_members_differ(ensemble, patients, content):
    from copy import copy

    likeliest = ensemble.predict_proba(patients[0]).argmax(axis=1)
    alone = []
    for member in ensemble.members_:
        single = copy(ensemble)
        single.members_ = [member]
        alone.append(single.predict_proba(patients[0])[np.arange(96), likeliest])
    spread = np.array(content["samples"]["spread"])
    np.testing.assert_allclose(spread[:, 0], np.min(alone, axis=0), rtol=1e-4)
    np.testing.assert_allclose(spread[:, 1], np.max(alone, axis=0), rtol=1e-4)


def test_a_context_is_named_and_every_sample_has_its_values(patients, tmp_path):
    X, y = patients
    settings = {**LINEAR, "sparsity": 0.01, "max_epochs": 5, "context": ["c", "d"], "context_only": True}
    model = LSPINClassifier(**settings).fit(X, y)
    half = np.arange(len(X)) % 2 > 0
    path = tmp_path / "report.html"
    content = read_content(report(model, X[half], y[half], path, eval_set=(X[~half], y[~half]), audits=False))
    assert content["model"]["context"] == ["c", "d"]
    assert content["model"]["context_only"]
    numbers, levels = content["samples"]["context"]
    given = pd.concat([X[half], X[~half]])
    np.testing.assert_allclose(np.array(numbers, float), given["c"], rtol=1e-4)
    assert levels == given["d"].tolist()


def test_a_report_without_samples_names_the_context_only(patients, tmp_path):
    model = LSPINClassifier(**{**LINEAR, "sparsity": 0.01, "max_epochs": 5}, context=["d"]).fit(*patients)
    path = report(model, *patients, tmp_path / "report.html", shows_samples=False, audits=False)
    assert read_content(path)["model"]["context"] == ["d"]
    assert "</script>high" not in path.read_text().replace("\\u003c", "<").split('"again"')[0]


def test_a_report_needs_all_columns(patients, tmp_path):
    X, y = patients
    model = LSPINClassifier(**{**LINEAR, "sparsity": 1.0, "max_epochs": 200}, context=["d"]).fit(X, y)
    assert len(model.columns_needed_) < 5
    with pytest.raises(ValueError, match="all 5 columns, but the table has"):
        report(model, X[["d", *model.columns_needed_[model.columns_needed_ != "d"]]], y, tmp_path / "report.html")


def test_features_have_the_importance_of_the_explanation_and_are_sorted_by_it(ensemble, patients, content):
    importance, features = ensemble.explain(patients[0]).importance(), content["features"]
    np.testing.assert_allclose(features["importance"], importance[features["name"]], rtol=1e-4)
    assert features["importance"] == sorted(features["importance"], reverse=True)
    shares = ensemble.selected(patients[0]).mean(axis=0)
    columns = [patients[0].columns.get_loc(name) for name in features["name"]]
    np.testing.assert_allclose(features["share"], shares[columns], rtol=1e-4)


def test_a_category_is_told_by_the_level_that_adds_most(ensemble, patients, content):
    X, explanation = patients[0], ensemble.explain(patients[0])
    place = content["features"]["name"].index("d")
    added = pd.Series(explanation.contributions[:, X.columns.get_loc("d")]).where(explanation.selected[:, 3])
    means = added.groupby(X["d"].to_numpy(), observed=True).mean()
    assert content["features"]["leading"][place] == (means.idxmax() if means.max() > 0 else None)
    assert content["features"]["leading"][content["features"]["name"].index("c")] is None


def test_a_value_is_shown_with_its_percentile_and_a_level_with_its_share(patients, content):
    X, entries, samples = patients[0], content["samples"]["entries"], content["samples"]
    for row in range(96):
        for entry in range(samples["starts"][row], samples["starts"][row + 1]):
            feature = entries["feature"][entry]
            name = content["features"]["name"][feature]
            known, value = X[name].dropna(), X[name].iloc[row]
            if (levels := content["features"]["levels"][feature]) is not None:
                assert levels[entries["value"][entry]] == value
                expected = 100 * np.mean(known == value)
            else:
                assert entries["value"][entry] == pytest.approx(value, rel=1e-4)
                expected = 100 * (np.mean(known < value) + np.mean(known == value) / 2)
            assert entries["place"][entry] == pytest.approx(expected, abs=0.51)


def test_given_rows_judge_the_model_itself(classifier, regressor, table, labels):
    X, response = table
    found = compare(classifier, X[:60], labels[:60], eval_set=(X[60:], labels[60:]), random_state=0)
    own = found.scores[0]
    assert own["accuracy"].value == accuracy_score(labels[60:], classifier.predict(X[60:]))
    scores = classifier.decision_function(X[60:])
    assert own["auc"].value == pytest.approx(roc_auc_score(labels[60:] == "yes", scores))
    found = compare(regressor, X[:60], response[:60], eval_set=(X[60:], response[60:]), random_state=0)
    assert found.scores[0]["r2"].value == pytest.approx(r2_score(response[60:], regressor.predict(X[60:])))
    assert [contender.name for contender in found.contenders] == ["this model", "lasso", "boosted trees"]
    for scores in found.scores:
        assert all(score.lower <= score.value <= score.upper for score in scores.values())


def test_without_given_rows_a_copy_is_judged_on_rows_it_has_not_seen(table):
    noise = np.random.default_rng(3).normal(size=96)
    model = LSPINRegressor(**{**LINEAR, "max_epochs": 300}, sparsity=1e-4).fit(table[0], noise)
    found = compare(model, table[0], noise, eval_set=None, random_state=0)
    assert (found.n_train, found.n_test) == (72, 24)
    assert found.scores[0]["r2"].value < 0.2  # whatever the model's own rows say: there is nothing to learn
    assert "24 of the 96 rows" in found.how


def test_a_copy_of_a_model_of_groups_is_one_too_and_the_page_says_so(table, tmp_path):
    X, y = table
    model = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    content = read_content(report(model, X, y, tmp_path / "r.html", audits=False))
    wanted = int(np.median(model.selected(X).sum(axis=1)))
    how = "settings (which finds groups and about as many features again) learned from the other 72"
    assert how in content["judged"]["how"]
    n_used = content["judged"]["contenders"][0]["n_features"]
    assert n_used <= wanted
    assert f"The copy that was judged uses {n_used:g} features for the median" in content["headline"]["rivals"]
    assert "sparsity" not in content["judged"]["how"]
    assert content["again"]["learned"]["start_"] == "groups"
    np.testing.assert_allclose(content["samples"]["score"], model.predict(X), rtol=1e-4)
    chosen, held = train_test_split(np.arange(96), test_size=24, random_state=0)
    copy = LSPINRegressor(start="groups", n_features=wanted, random_state=0).fit(X[chosen], y[chosen])
    own = content["judged"]["contenders"][0]["scores"]["r2"][0]
    assert own == pytest.approx(r2_score(y[held], copy.predict(X[held])))


def test_too_few_rows_for_groups_are_left_to_the_settings_of_the_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 35))
    model = LSPINRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0])
    assert model.start_ == "groups"
    found = compare(model, X, X[:, 0], eval_set=None, random_state=0)
    assert found.n_train == 30


def test_few_rows_are_not_judged(classifier, table, labels):
    X = table[0]
    assert "too few" in compare(classifier, X[:12], labels[:12], eval_set=None, random_state=0)
    assert "too few" in compare(classifier, X, labels, eval_set=(X[:4], labels[:4]), random_state=0)


def test_wilson_interval_has_the_published_figures():
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3.
    np.testing.assert_allclose(wilson_interval(81, 263), (81 / 263, 0.2553, 0.3662), atol=5e-5)
    np.testing.assert_allclose(wilson_interval(0, 20), (0, 0, 0.1611), atol=5e-5)


def test_area_under_the_curve_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    is_case, score = rng.integers(0, 2, 40), rng.integers(0, 9, 40)
    assert area_under_curve(is_case, score) == pytest.approx(roc_auc_score(is_case, score))
    assert np.isnan(area_under_curve(np.ones(3, int), score[:3]))


@pytest.mark.parametrize("n", [1, 9, 24, 500])
def test_no_bin_of_a_calibration_stands_for_a_few_rows(n):
    bins = equal_bins(np.random.default_rng(0).normal(size=n))
    assert sorted(np.concatenate(bins)) == list(range(n))
    assert len(bins) == 1 or min(map(len, bins)) >= 5


# Kinds of models and tables ----------------------------------------------------------------------------------


def test_survival_has_concordance_curves_and_two_baselines(table, tmp_path):
    X, response = table
    rng = np.random.default_rng(0)
    y = make_survival(rng.exponential(np.exp(-response)) + 0.01, rng.random(96) < 0.8)
    model = LSPINCox(**LINEAR, sparsity=0.01).fit(X[:64], y[:64])
    content = read_content(report(model, X[:64], y[:64], tmp_path / "r.html", eval_set=(X[64:], y[64:])))
    own = content["judged"]["contenders"][0]["scores"]
    assert own["c_index"][0] == pytest.approx(harrell_concordance(y[64:], risk=model.predict(X[64:])).c_index)
    assert 0 < own["brier"][0] < 0.5
    baselines = {contender["name"]: contender["scores"] for contender in content["judged"]["contenders"][1:]}
    assert list(baselines) == ["L1-Cox regression", "network", "Kaplan-Meier"]
    linear = CoxLasso(random_state=0).fit(X[:64], y[:64]).predict(X[64:])
    expected = harrell_concordance(y[64:], risk=linear).c_index
    assert baselines["L1-Cox regression"]["c_index"][0] == pytest.approx(expected)
    curves = content["judged"]["curves"]
    assert [curve["name"] for curve in curves] == ["lowest risk", "middle risk", "highest risk"]
    assert content["samples"]["held_out"] == [0] * 64 + [1] * 32
    assert content["samples"]["name"][64] == "held-out 0"
    assert content["trust"]["audit"]["verdict"].startswith("The mask is the same for all rows")


def test_three_classes_of_a_sparse_table_are_told(table, tmp_path):
    X = sp.csr_array(np.where(np.abs(table[0]) < 0.3, 0, table[0]))
    y = np.digitize(table[1], [-0.5, 0.5])
    model = LSPINClassifier(**LINEAR, sparsity=0.01).fit(X, y)
    content = read_content(report(model, X, y, tmp_path / "r.html"))
    samples = content["samples"]
    np.testing.assert_allclose(samples["probabilities"], model.predict_proba(X), rtol=1e-4, atol=1e-9)
    likeliest = model.decision_function(X).max(axis=1)
    np.testing.assert_allclose(samples["score"], likeliest, rtol=1e-4)
    totals = np.bincount(
        np.repeat(np.arange(96), np.diff(samples["starts"])), samples["entries"]["contribution"], 96
    )
    baseline = np.array(samples["baseline"])[np.argmax(samples["probabilities"], axis=1)]
    np.testing.assert_allclose(baseline + totals, likeliest, atol=1e-3)
    assert content["trust"]["audit"]["verdict"]


def test_of_several_classes_a_feature_is_told_by_the_values_that_speak_for_one():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "noise"])
    y = np.array(["low", "middle", "high"])[np.digitize(X["a"], [-0.6, 0.6])]
    told = gather(LSPINClassifier(start="groups", random_state=0).fit(X, y), [(X, y)])
    assert word_directions(told, np.array([0]))[0] in ("high \u2192 high", "low \u2192 low")
    told.values[0][:] = rng.permutation(told.values[0])  # values that have nothing to do with what they add
    assert word_directions(told, np.array([0]))[0].startswith("either way \u2192 ")
    told.values[0][:] = 1.0
    assert word_directions(told, np.array([0]))[0].startswith("where it is used \u2192 ")


def test_a_polars_frame_with_holes_is_told(table, tmp_path):
    X = pl.DataFrame(table[0], schema=list("abcde")).with_columns(
        pl.when(pl.col("b") > 1).then(None).otherwise(pl.col("b")).alias("b"),
        pl.when(pl.col("d") > 0).then(pl.lit("high")).otherwise(pl.lit("low")).cast(pl.Categorical).alias("d"),
    )
    model = LSPINRegressor(**LINEAR, sparsity=0.01).fit(X, table[1])
    content = read_content(report(model, X, table[1], tmp_path / "r.html", audits=False))
    np.testing.assert_allclose(content["samples"]["score"], model.predict(X), rtol=1e-4)
    assert len(content["judged"]["contenders"]) == 3


def test_shut_gates_make_a_report_too(linear_regressor, table, tmp_path):
    from copy import deepcopy

    model = deepcopy(linear_regressor)
    for layer in model.members_[0].networks.gating:
        layer.weights[:] = 0
        layer.bias[:] = -9
    content = read_content(report(model, *table, tmp_path / "r.html", audits=False))
    assert content["features"]["name"] == []
    assert content["samples"]["n_open"] == [0] * 96


def test_a_file_of_2000_samples_and_5000_features_stays_below_5_mb(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 5000)).astype(np.float32)).add_prefix("ENSG00000")
    y = np.where(X.iloc[:, 0] + X.iloc[:, 1] > 0, "case", "control")
    small = {"hidden_layer_sizes": (), "gate_hidden_layer_sizes": (4,), "max_epochs": 1, "anchor": None}
    model = LSPINClassifier(**small, n_restarts=1, weight_decay=0.0, sparsity=1e-3, random_state=0)
    model.fit(X[:40], y[:40])
    member = model.members_[0]
    member.networks.gating[-1].weights[:] = rng.normal(size=member.networks.gating[-1].weights.shape)
    member.networks.gating[-1].bias[:] = rng.normal(-2, 1, size=len(member.networks.gating[-1].bias))
    eval_set = (X[1500:], y[1500:])
    path = report(model, X[:1500], y[:1500], tmp_path / "r.html", eval_set=eval_set, audits=False)
    content = read_content(path)
    assert np.median(content["samples"]["n_open"]) > 50  # many more than a sparse model opens
    assert path.stat().st_size < 5e6


def test_a_leaderboard_is_a_section_if_it_is_given(classifier, table, labels, browser, tmp_path):
    with pytest.raises(TypeError, match=r"what lspin\.compare returns, not dict"):
        report(classifier, table[0], labels, tmp_path / "r.html", leaderboard={})
    board = lspin.compare(table[0], labels, methods=["ridge", "L1"], n_folds=2)
    board.failed["<b>rival</b>"] = "too slow"
    path = tmp_path / "r.html"
    eval_set = (table[0][60:], labels[60:])
    report(classifier, table[0], labels, path, eval_set=eval_set, leaderboard=board, audits=False)
    window = browser.new_page()
    window.goto(path.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    shown = window.locator("#leaderboard tbody tr")
    assert shown.count() == len(board.frame) == 2
    for row, (name, found) in zip(shown.all(), board.frame.iterrows(), strict=True):
        assert row.locator("th").text_content().startswith(name)
        assert row.locator("td").nth(0).text_content().startswith(f"{found[board.metrics[0].key]:.3f} (")
    assert "Not judged: <b>rival</b> (too slow)." in window.text_content("#performance")
    window.close()


# Names, privacy and errors -----------------------------------------------------------------------------------


def test_no_name_can_end_the_script_that_holds_it(page, content):
    text = page.read_text(encoding="utf-8")
    assert HOSTILE in content["features"]["name"]
    assert content["target"] == "<i>outcome</i>"
    assert "alert('x')" not in re.sub(r'id="content">.*?</script>', "", text)
    assert text.count("</script>") == 2
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_the_report_says_what_it_is_doing(classifier, table, labels, tmp_path, capsys):
    report(classifier, table[0], labels, tmp_path / "r.html", verbose=1)
    # What takes more than two seconds says how far it is, between the stages.
    said = capsys.readouterr().err.splitlines()
    lines = [line for line in said if re.match(r"lspin: (\d of 6, [a-z]|done)", line)]
    assert [line.split(",")[0] for line in lines[:-1]] == [f"lspin: {place} of 6" for place in range(1, 7)]
    assert lines[-1].startswith("lspin: done")
    report(classifier, table[0], labels, tmp_path / "r.html", audits=False)
    assert capsys.readouterr().err == ""


def test_the_page_points_at_a_column_that_gives_the_answer_away(table, labels, tmp_path):
    X = pd.DataFrame(table[0].copy(), columns=list("abcde"))
    X["discharge code"] = np.where(labels == "yes", 7.0, 1.0) + (np.arange(96) % 3)
    X.loc[:3, "discharge code"] = [2.0, 8.0, 2.0, 8.0]
    X.loc[10:15, "a"] = -99.0
    model = LSPINClassifier(**LINEAR, sparsity=0.01).fit(X, labels)
    twice = (X[90:], labels[90:])
    checks = read_content(report(model, X, labels, tmp_path / "r.html", eval_set=twice, audits=False))["trust"][
        "checks"
    ]
    said = " | ".join(checks["findings"])
    area = max(roc_auc_score(labels == "yes", X["discharge code"]), 0.5)
    assert f"column 'discharge code' (AUC {area:.3f}) alone predicts 'the class' nearly perfectly" in said
    assert "'a' is -99 in 6 rows" in said
    assert "6 rows to judge by are among the training rows" in said
    assert checks["best"] == ["discharge code", pytest.approx(area), "AUC"]
    assert checks["strongest"][0] == checks["best"][:2]
    assert len(checks["strongest"]) == 5


def test_samples_are_left_out_if_asked(ensemble, patients, tmp_path):
    X, y = patients
    X = X.set_axis([f"secret-{row}" for row in range(96)])
    path = report(ensemble, X, y, tmp_path / "r.html", shows_samples=False, audits=False)
    content, text = read_content(path), path.read_text(encoding="utf-8")
    assert "secret" not in text
    assert not {"samples", "map"} & set(content)
    assert not {"quantiles", "levels", "leading"} & set(content["features"])
    assert "suspicious" not in content["trust"]
    assert longest_list(content) < len(X)  # nothing has an entry for each sample
    assert content["features"]["name"]


def counts_behind(content):
    """How many samples stand behind each number that has a count of its own."""
    yield from (group["size"] for group in content["groups"] if group["size"])
    yield from content["trust"]["histogram"]["count"]
    yield content["trust"]["n_suspicious"] or 5
    judged = content["judged"]
    yield from (row[-1] for row in content["trust"].get("calibration", {"bins": []})["bins"])
    for curve in judged.get("curves", []):
        yield curve["size"]
        yield from np.diff(curve["ended"])
    for shares, group in zip(content["features"]["groups"], content["groups"], strict=True):
        held = [round(share * group["size"]) for share in shares if share is not None]
        yield from (count for count in held if count)
        yield from (group["size"] - count for count in held if count < group["size"])
    yield from (round(share * content["model"]["n_samples"]) for share in content["features"]["share"])


@pytest.mark.parametrize("n_rows", [24, 40, 96])
@pytest.mark.parametrize("kind", ["classes", "times"])
def test_without_samples_every_number_is_about_five_of_them_or_more(n_rows, kind, table, labels, tmp_path):
    X = np.where(table[0] > 1.2, 0.0, table[0])  # a few rows unlike the others
    y = labels if kind == "classes" else make_survival(np.exp(table[1]), np.arange(96) % 3 > 0)
    make = LSPINClassifier if kind == "classes" else LSPINCox
    model = make(**LINEAR, sparsity=0.01).fit(X, y)
    path = report(model, X[:n_rows], y[:n_rows], tmp_path / "r.html", shows_samples=False, audits=False)
    content = read_content(path)
    assert sum(group["size"] for group in content["groups"]) == n_rows
    assert sum(content["trust"]["histogram"]["count"]) == n_rows
    assert min(counts_behind(content)) >= 5
    for group in content["groups"]:
        assert kind == "classes" or re.search("median survival (about|not)", group["said"])


def test_fewer_than_five_samples_are_not_summarised(classifier, table, labels, tmp_path):
    X, path = table[0], tmp_path / "r.html"
    with pytest.raises(ValueError, match="at least 5 samples, and there are 4"):
        report(classifier, X[:4], labels[:4], path, shows_samples=False)
    rows = {"eval_set": (X[:3], labels[:3])}
    content = read_content(report(classifier, X, labels, path, shows_samples=False, **rows))
    assert "too few" in content["trust"]["audit"]["reason"]
    assert [entry["rows"] for entry in content["again"]["fingerprints"]] == ["training"]


def test_an_affinity_in_a_frame_is_split_with_the_rows(table, labels, tmp_path):
    alike = pd.DataFrame(np.exp(-np.abs(table[1][:, None] - table[1])))
    model = LSPINClassifier(**LINEAR, sparsity=0.01, stability=0.1, affinity=alike).fit(table[0], labels)
    content = read_content(report(model, table[0], labels, tmp_path / "r.html", audits=False))
    assert content["judged"]["n_test"] == 24
    assert content["again"]["settings"]["affinity"] == "an array of shape (96, 96)"


def test_a_failed_report_leaves_the_old_file_alone(ensemble, patients, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report(ensemble, *patients, path, audits=False)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report.html", "old")]


def test_wrong_input_is_an_error_that_helps(classifier, table, labels, ensemble, patients, tmp_path):
    X = table[0]
    path = tmp_path / "r.html"
    with pytest.raises(NotFittedError):
        report(LSPINClassifier(), X, labels, path)
    with pytest.raises(TypeError, match="not dict"):
        report({}, X, labels, path)
    with pytest.raises(ValueError, match=r"96 rows, but y has the shape \(95,\)"):
        report(classifier, X, labels[:95], path)
    with pytest.raises(ValueError, match="y holds the class 'maybe'; the model knows"):
        report(classifier, X, np.where(labels == "no", "maybe", "yes"), path)
    with pytest.raises(ValueError, match="features"):
        report(classifier, X[:, :3], labels, path)
    with pytest.raises(ValueError, match="feature names"):
        report(ensemble, patients[0].rename(columns={"c": "other"}), patients[1], path)
    assert not path.exists()


def test_a_fingerprint_tells_tables_apart(patients):
    X, y = patients
    assert fingerprint(X, y) == fingerprint(X.copy(), y.tolist())
    assert fingerprint(X, y) != fingerprint(X.rename(columns={"c": "C"}), y)
    assert fingerprint(X, y) != fingerprint(X[::-1], y[::-1])
    assert fingerprint(X, y) != fingerprint(X, y[::-1])
    sparse = sp.csr_array(np.eye(3))
    assert fingerprint(sparse, [0, 1, 2]) != fingerprint(2 * sparse, [0, 1, 2])


def test_the_package_has_the_function():
    assert lspin.report is report


# In a browser ------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, page):
    """The page in a window; what goes wrong in it fails the test."""
    wrongs = []
    window = browser.new_page(viewport={"width": 1400, "height": 900})
    window.on("console", lambda message: wrongs.append(message.text) if message.type == "error" else None)
    window.on("pageerror", lambda error: wrongs.append(str(error)))
    window.on("dialog", lambda dialog: (wrongs.append(dialog.message), dialog.dismiss()))
    window.on("request", lambda request: wrongs.append(request.url) if "file://" not in request.url else None)
    window.goto(page.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    yield window
    window.close()
    assert wrongs == []


def test_a_sample_is_found_by_typing_its_name(opened, content):
    samples = content["samples"]
    row = samples["name"].index("P77")
    opened.focus("#sample-search")
    opened.keyboard.type("p77")
    opened.keyboard.press("Enter")
    assert opened.inner_text("#sample-name") == "P77"
    event = content["model"]["classes"].index(content["model"]["event"])
    shown = opened.locator("#sheet dd").nth(0).text_content()
    assert shown.startswith(f"{100 * samples['probabilities'][row][event]:.0f}")
    rows = opened.locator("#sheet tbody tr:not(.sum)")
    assert rows.count() == samples["n_open"][row] < 6  # too few to fold any
    for place, entry in enumerate(range(samples["starts"][row], samples["starts"][row + 1])):
        shown = rows.nth(place).locator(".amount").text_content()
        factor = np.exp(samples["entries"]["contribution"][entry])
        assert float(shown.removeprefix("odds × ")) == pytest.approx(factor, rel=0.06, abs=0.006)
        name = content["features"]["name"][samples["entries"]["feature"][entry]]
        assert rows.nth(place).locator("th .name").text_content() == name


def test_hostile_names_are_shown_as_they_are(opened, content):
    opened.focus("#sample-search")
    opened.keyboard.type("größe")
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")
    assert opened.text_content("#sample-name").startswith(HOSTILE)
    names = opened.locator("#feature-table tbody th").all_text_contents()
    assert names == content["features"]["name"]
    assert opened.locator("#main b, #main i").count() == 0


OUTSIDE_NAMES = (
    "id => [...document.querySelector(id).childNodes].filter(n => n.nodeType === 3).map(n => n.data).join()"
)


def test_a_name_that_turns_text_around_turns_itself_only(opened, content):
    for place in ("#title", "#asked", "#verdict"):
        # What stands outside of the elements that keep a name apart holds no such sign.
        outside = opened.evaluate(OUTSIDE_NAMES, place)
        assert "\u202e" not in outside
    assert opened.locator("#verdict .name").text_content() == HOSTILE
    assert opened.text_content("#verdict") == content["headline"]["verdict"]


def test_the_table_sorts_by_what_is_clicked(opened, content):
    header = opened.locator("#feature-table thead th", has_text="samples that use it")
    for way, sign in (("descending", -1), ("ascending", 1)):
        header.locator("button").focus()
        opened.keyboard.press("Enter")
        assert header.get_attribute("aria-sort") == way
        names = opened.locator("#feature-table tbody th").all_text_contents()
        shares = [content["features"]["share"][content["features"]["name"].index(name)] for name in names]
        assert shares == sorted(shares, key=lambda share: sign * share)


def test_scores_on_the_page_are_those_of_the_comparison(opened, content):
    own = content["judged"]["contenders"][0]["scores"]["accuracy"]
    shown = opened.locator("#scores tbody tr").nth(0).locator("td").nth(1).text_content()
    assert [float(number) for number in re.findall(r"[\d.]+", shown)] == pytest.approx(own, abs=5e-4)


def test_the_map_is_walked_zoomed_and_left_by_keyboard(opened, content):
    opened.focus("canvas")
    opened.keyboard.press("+")
    opened.keyboard.press("ArrowDown")
    sample = content["map"]["samples"][1]
    said = opened.text_content("#map-readout")
    assert content["samples"]["name"][sample] in said
    assert "gate" in said
    opened.keyboard.press("Enter")
    assert opened.text_content("#sample-name") == content["samples"]["name"][sample]


def test_a_suspicious_sample_is_a_link_to_its_page(browser, content, tmp_path):
    trust = {**content["trust"], "suspicious": [8, 3], "n_suspicious": 2}
    path = tmp_path / "r.html"
    path.write_text(fill_template({**content, "trust": trust}), encoding="utf-8")
    window = browser.new_page()
    window.goto(path.as_uri())
    links = window.locator("#trust figure a")
    assert links.all_text_contents() == ["P8", "P3"]
    links.nth(1).focus()
    window.keyboard.press("Enter")
    assert window.text_content("#sample-name") == "P3"
    window.close()


def test_findings_of_the_checks_stand_under_the_verdict(browser, opened, content, tmp_path):
    assert opened.locator("#warning").count() == 0
    checks = {**content["trust"]["checks"], "findings": ["a column gives the answer away", "rows twice"]}
    path = tmp_path / "r.html"
    path.write_text(fill_template({**content, "trust": {**content["trust"], "checks": checks}}), encoding="utf-8")
    window = browser.new_page()
    window.goto(path.as_uri())
    assert "the data checks found 2 things to look at" in window.text_content("#warning")
    assert window.locator("#trust .note li").all_text_contents()[0] == "A column gives the answer away"
    window.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off_at_any_width(opened, width):
    assert find_cut(opened, width) == []


def test_the_first_screen_has_verdict_scores_features_and_an_example(opened, content):
    headline = content["headline"]
    assert opened.text_content("#asked") == headline["asked"]
    assert opened.text_content("#verdict") == headline["verdict"]
    area = content["judged"]["contenders"][0]["scores"]["auc"]
    assert f"{area[0]:.2f}" in opened.text_content("#discrimination .figure")
    slope = next(score for score in content["judged"]["calibration"] if score["key"] == "slope")
    told = "too few rows to tell" if slope["is_vague"] else f"{slope['interval'][0]:.2f}".replace("-", "−")
    assert told in opened.text_content("#calibration")
    names = opened.locator("#strongest li > .name").all_text_contents()
    assert names == content["features"]["name"][:5]
    assert content["samples"]["name"][headline["example"]] in opened.text_content("#example")
    assert content["model"]["event_words"] == "<i>outcome</i> = no"
    for place in ("#discrimination", "#strongest", "#example", "#sheet", "#trust figure"):
        assert "<i>outcome</i> = no" in opened.text_content(place)
    for tile in opened.locator(".tile").all():  # all of it without scrolling
        box = tile.bounding_box()
        assert box["y"] + box["height"] <= 900
    opened.locator("#example button").focus()
    opened.keyboard.press("Enter")
    assert opened.text_content("#sample-name") == content["samples"]["name"][headline["example"]]


def test_no_number_on_the_page_needs_a_calculator(opened):
    assert find_odd_numbers(opened.inner_text("main")) == []


def test_tiny_contributions_share_a_row_until_they_are_asked_for(browser, content, tmp_path):
    samples = content["samples"]
    row = int(np.argmax(samples["n_open"]))
    first, last = samples["starts"][row], samples["starts"][row + 1]
    contribution = [*samples["entries"]["contribution"]]
    contribution[first:last] = [2.0, -1.0, *[1e-3] * (last - first - 2)]
    entries = {**samples["entries"], "contribution": contribution}
    path = tmp_path / "r.html"
    changed = {**content, "samples": {**samples, "entries": entries}}
    path.write_text(
        fill_template({**changed, "headline": {**content["headline"], "example": row}}), encoding="utf-8"
    )
    window = browser.new_page()
    window.goto(path.as_uri())
    rows = window.locator("#sheet tbody tr:not(.sum)")
    n_tiny = last - first - 2
    assert n_tiny >= 3
    assert rows.count() == 3
    assert rows.nth(2).locator("th").text_content().startswith(f"{n_tiny} further features, together")
    assert rows.nth(2).locator(".amount").text_content() == "odds × 1.00"
    rows.nth(2).locator("button").focus()
    window.keyboard.press("Enter")
    assert rows.count() == 2 + n_tiny
    window.close()


def test_the_page_of_a_sample_is_printed_alone(opened):
    opened.evaluate("window.print = () => { window.asked = document.documentElement.className; }")
    opened.locator("button", has_text="print this page").focus()
    opened.keyboard.press("Enter")
    assert opened.evaluate("window.asked") == "printing-sample"
    opened.emulate_media(media="print")
    shown = [part.get_attribute("id") for part in opened.locator("main > section").all() if part.is_visible()]
    assert shown == ["sample"]
    assert opened.locator("#sheet .onlyprint").is_visible()
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.locator("#trust").is_visible()


def test_dark_windows_get_a_dark_page(opened):
    colours = []
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        colours.append(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert light > 700 > 100 > dark

"""Counts in every part of the package: what a new kind of target must go through."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_tweedie_score
from typer.testing import CliRunner

from conftest import QUICK
from lspin import LSPINRegressor, load, report
from lspin.audit import audit_leakage
from lspin.cli.commands import app
from lspin.plots import sparsity_path


@pytest.fixture(scope="module")
def counts(table):
    """Events of 96 patients: the first column decides which of the next two changes the rate."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(table[0], columns=list("abcde"))
    return X, rng.poisson(np.exp(1 + np.where(X["a"] > 0, X["b"], X["c"])))


@pytest.fixture(scope="module")
def model(counts):
    return LSPINRegressor(**{**QUICK, "hidden_layer_sizes": ()}, loss="poisson").fit(*counts)


def test_a_rate_is_learned_and_scored_by_its_deviance(model, counts):
    X, y = counts
    rates = model.predict(X)
    assert (rates > 0).all()
    assert model.score(X, y) == pytest.approx(d2_tweedie_score(y, rates, power=1))
    assert model.score(X, y) > 0.5


def test_the_path_has_the_deviance_that_is_explained(model):
    pytest.importorskip("matplotlib")
    assert model.path_["validation_score"].max() > 0.2
    assert model.path_["validation_score"].iloc[0] <= 0.01  # the constant
    assert sparsity_path(model).get_ylabel() == "D²"


def test_contributions_add_up_to_the_log_rate_and_multiply_the_rate(model, counts):
    X, _ = counts
    explanation = model.explain(X)
    assert explanation.scale == "log-rate"
    np.testing.assert_allclose(np.exp(explanation.prediction), model.predict(X))
    frame = explanation.to_frame()
    np.testing.assert_allclose(frame["rate_ratio"], np.exp(frame["contribution"]))
    factors = (
        frame.groupby("sample", sort=False)["rate_ratio"].prod().reindex(explanation.sample_names, fill_value=1)
    )
    np.testing.assert_allclose(np.exp(explanation.baseline[0]) * factors, model.predict(X))
    log_rates = model.intercept_ + (model.gates(X) * (X.to_numpy() - model.center_)) @ model.coef_
    np.testing.assert_allclose(np.exp(log_rates), model.predict(X))


def test_the_audit_and_the_page_speak_of_d2(model, counts, tmp_path):
    X, y = counts
    assert "D²" in audit_leakage(model, X, y).verdict
    page = report(model, X[:64], y[:64], tmp_path / "r.html", eval_set=(X[64:], y[64:]), target_name="relapses")
    content = json.loads(re.search(r'id="content">(.*?)</script>', page.read_text(), re.S)[1])
    own = content["judged"]["contenders"][0]["scores"]["d2"][0]
    assert own == pytest.approx(model.score(X[64:], y[64:]))
    assert [c["name"] for c in content["judged"]["contenders"]] == [
        "this model",
        "Poisson regression",
        "boosted trees",
    ]
    assert content["model"]["exponential"] == "expected count"
    assert content["model"]["raises"] == "the rate of relapses"


def test_the_command_line_fits_predicts_and_explains_counts(counts, tmp_path):
    X, y = counts
    table, file = tmp_path / "t.csv", tmp_path / "m.lspin"
    X.assign(relapses=y).to_csv(table, index=False)
    run = CliRunner().invoke
    fit = [
        "fit",
        str(table),
        "-t",
        "relapses",
        "--task",
        "count",
        "-o",
        str(file),
        "--sparsity",
        "0.01",
        "--epochs",
        "9",
    ]
    assert "model of counts" in run(app, fit).stdout
    said = run(app, ["explain", str(file), str(table), "-s", "3"]).stdout
    assert f"Sample 3: expected count {load(file).predict(X)[2]:.4g}" in said
    assert "sum: log-rate" in said
    assert run(app, ["predict", str(file), str(table)]).stdout.startswith("row,prediction,n_features,features\n")

"""Explanations of parts of a table, joined, are the explanation of the whole table."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lspin import LSPINRegressor
from lspin.cli import workflow
from lspin.explanation.joining import join_explanations

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(50, 3)), columns=["a", "b", "c"], index=[f"P{row}" for row in range(50)])
X["kind"] = pd.Categorical(RNG.choice(["u", "v"], 50))
Y = X["a"] - X["b"] + 2 * (X["kind"] == "v")
X.loc["P3", "a"] = np.nan


@pytest.fixture(scope="module")
def model():
    return LSPINRegressor(start="groups", context=["c", "kind"], random_state=0).fit(X, Y)


def assert_same(one, other):
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if field.name == "context":
            pd.testing.assert_frame_equal(left, right)
        elif field.name == "missing":
            np.testing.assert_array_equal(left.toarray(), right.toarray())
        elif field.name != "kind":
            np.testing.assert_array_equal(left, right)


def test_parts_make_the_whole(model):
    whole = model.explain(X)
    assert sp.issparse(whole.missing)
    assert_same(join_explanations([model.explain(X[a:b]) for a, b in ((0, 20), (20, 21), (21, 50))]), whole)


def test_the_command_line_explains_part_by_part_and_says_how_far_it_is(model, monkeypatch, capsys):
    monkeypatch.setattr(workflow, "ROWS_AT_ONCE", 20)
    monkeypatch.setattr("lspin.fitting.progress.SECONDS_BETWEEN_LINES", 0.0)
    assert_same(workflow.explain_parts(model, X, shown=True), model.explain(X))
    assert "lspin: 1.0 of at most 3 parts explained" in capsys.readouterr().err
    workflow.explain_parts(model, X, shown=False)
    assert capsys.readouterr().err == ""

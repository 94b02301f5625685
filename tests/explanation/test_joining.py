"""Explanations of parts of a table, joined, are the explanation of the whole table."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lspin import LSPINRegressor
from lspin.explanation import explain, joining
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
        elif getattr(left, "dtype", object) == np.float64:  # the last digit of a product depends on its shape
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14)
        elif field.name != "kind":
            np.testing.assert_array_equal(left, right)


def test_parts_make_the_whole(model):
    whole = model.explain(X)
    assert sp.issparse(whole.missing)
    assert_same(join_explanations([model.explain(X[a:b]) for a, b in ((0, 20), (20, 21), (21, 50))]), whole)


def test_rows_are_explained_part_by_part_and_a_model_that_speaks_says_how_far_it_is(model, speaking, monkeypatch):
    whole = model.explain(X)
    monkeypatch.setattr(joining, "ROWS_AT_ONCE", 20)
    assert_same(explain(model, X, shown=True), whole)
    assert "lspin: 1 of 3 parts explained, 00:00 left" in speaking()
    assert_same(model.explain(X), whole)
    assert speaking() == ""
    monkeypatch.setattr(model, "verbose", 1)
    model.explain(X)
    assert "of 3 parts explained" in speaking()

"""Tables with fewer rows than columns, and tables whose zeros are absent."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting.recipe import WIDE

N_ROWS, N_COLUMNS = 60, 1200
QUICK = {"sparsity": 0.01, "max_epochs": 60, "random_state": 0}


@pytest.fixture(scope="module")
def wide():
    """Three columns tell the classes apart, all others are noise."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    X = rng.normal(5.0, 1.0, (N_ROWS, N_COLUMNS))
    X[:, :3] += 2.0 * y[:, None]
    return X, y


@pytest.fixture(scope="module")
def classifier(wide):
    return LSPINClassifier(start="networks", random_state=0).fit(*wide)


def test_the_default_finds_the_few_columns_that_matter(classifier, wide):
    X, _ = wide
    rng = np.random.default_rng(1)
    fresh = rng.normal(5.0, 1.0, (200, N_COLUMNS))
    labels = np.arange(200) % 2
    fresh[:, :3] += 2.0 * labels[:, None]
    assert classifier.score(fresh, labels) > 0.9
    selected = classifier.selected(fresh)
    assert np.median(selected.sum(axis=1)) < 50
    assert selected[:, :3].mean() > 10 * selected[:, 3:].mean()
    # New rows open no more gates than training rows.
    assert np.median(selected.sum(axis=1)) < 2 * np.median(classifier.selected(X).sum(axis=1)) + 5


def test_a_wide_table_gets_a_linear_predictor_unless_layers_are_named(classifier, wide):
    assert classifier.coef_.shape == (1, N_COLUMNS)
    scores = (
        classifier.intercept_ + (classifier.gates(wide[0]) * (wide[0] - classifier.center_)) @ classifier.coef_.T
    )
    np.testing.assert_allclose(classifier.decision_function(wide[0]), scores[:, 0], atol=1e-9)
    deep = LSPINClassifier((8,), **QUICK).fit(*wide)
    assert len(deep.members_[0].networks.prediction) == 2
    assert deep.score(*wide) > 0.9


def test_columns_beyond_those_screened_are_never_selected(classifier, wide):
    weights = classifier.coef_[0]
    assert (weights != 0).sum() == WIDE.n_screened
    assert not classifier.selected(wide[0])[:, weights == 0].any()
    assert (weights[:3] != 0).all()


def test_screening_sees_the_training_rows_of_a_fold_only(wide):
    X, y = wide
    noise = np.random.default_rng(2).normal(size=X.shape)
    path = LSPINClassifier(random_state=0).fit(noise, y).path_
    # Screened on all rows, noise would be told apart well above chance.
    assert path["validation_score"].max() < 0.75


def test_a_wide_response_is_predicted(wide):
    X, _ = wide
    y = 3e6 * (X[:, 0] - X[:, 1])
    model = LSPINRegressor(sparsity=0.01, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5
    assert np.median(model.selected(X).sum(axis=1)) < 100


STILL = {"sparsity": 0.0, "max_epochs": 1, "learning_rate": 1e-9, "random_state": 0}


@pytest.mark.parametrize("kind", ["ridge", "own"])
def test_a_predictor_starts_at_its_anchor(wide, kind):
    X, y = wide
    own = LogisticRegression().fit(X, y).coef_
    model = LSPINClassifier(anchor=own if kind == "own" else "ridge", **STILL).fit(X, y)
    kept = model.coef_[0] != 0
    if kind == "own":
        np.testing.assert_allclose(model.coef_[0, kept], own[0, kept], rtol=1e-3, atol=1e-6)
    else:
        assert np.corrcoef(model.coef_[0, kept], own[0, kept])[0, 1] > 0.8


def test_an_anchor_of_a_regressor_is_in_units_of_table_and_target(wide):
    X, _ = wide
    y = 1e4 * X[:, 0]
    own = Ridge(alpha=10.0).fit(X, y).coef_
    model = LSPINRegressor(anchor=own, **STILL).fit(X, y)
    kept = model.coef_ != 0
    np.testing.assert_allclose(model.coef_[kept], own[kept], rtol=1e-3, atol=1e-3 * np.abs(own).max())


def test_an_anchor_holds_the_predictor_of_an_ordinary_table_too(table):
    X, y = table
    own = np.array([0.0, 0.0, 0.0, 0.5, 0.0])  # far from the truth
    free, held = (
        LSPINRegressor((), anchor=anchor, sparsity=0.01, max_epochs=200, random_state=0).fit(X, y).coef_
        for anchor in (None, own)
    )
    assert abs(held[3] - 0.5) < abs(free[3] - 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"anchor": "ridge", "hidden_layer_sizes": (8,)}, r"linear predictor: set hidden_layer_sizes=\(\)"),
        ({"anchor": np.ones((1, 7))}, r"shape \(1, 7\), but coef_ has \(1, 1200\)"),
        ({"anchor": np.full((1, N_COLUMNS), np.inf)}, "not finite"),
    ],
)
def test_an_anchor_that_does_not_fit_is_refused(wide, settings, message):
    with pytest.raises(ValueError, match=message):
        LSPINClassifier(**{**QUICK, **settings}).fit(*wide)


def test_naive_bayes_is_for_classes_and_counts(wide):
    X, y = wide
    with pytest.raises(ValueError, match="column 4 holds negative values"):
        LSPINClassifier((), anchor="naive_bayes", **QUICK).fit(np.where(np.arange(N_COLUMNS) == 4, -X, X), y)
    with pytest.raises(ValueError, match="needs classes"):
        LSPINRegressor((), anchor="naive_bayes", **QUICK).fit(X, X[:, 0])


def test_a_category_among_many_columns_has_one_gate(wide):
    X, y = wide
    frame = pd.DataFrame(X[:, :80], columns=[f"gene {d}" for d in range(80)])
    frame["sex"] = pd.Categorical(np.where(np.arange(N_ROWS) % 3, "f", "m"))
    model = LSPINClassifier(**QUICK).fit(frame, y)
    assert model.gates(frame).shape == (N_ROWS, 81)
    assert model.score(frame, y) > 0.9


def test_a_ridge_of_many_rows_is_refused():
    X = np.random.default_rng(0).normal(size=(4100, 2))
    with pytest.raises(ValueError, match="fewer than 4000 distinct rows, and this one has 4100"):
        LSPINRegressor((), anchor="ridge", **QUICK).fit(X, X[:, 0])


def test_absent_zeros_are_for_numbers():
    frame = pd.DataFrame({"count": [0.0, 1.0, 2.0, 0.0], "stage": pd.Categorical(list("abab"))})
    with pytest.raises(ValueError, match="column 'stage' is categorical"):
        LSPINClassifier(zero_is_absent=True, **QUICK).fit(frame, [0, 1, 0, 1])


@pytest.mark.parametrize("sums_to_one", [True, False])
def test_counts_with_a_few_telling_columns_are_learned(sums_to_one):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    rates = np.full((120, 300), 0.1)
    for label in range(3):
        rates[y == label, 3 * label : 3 * label + 3] = 1.5
    counts = rng.poisson(rates).astype(float)
    X = sp.csr_matrix(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) if sums_to_one else counts)
    model = LSPINClassifier(random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.85
    selected, stored = model.selected(X[1::2]), X[1::2] != 0
    assert sp.issparse(selected)
    telling, others = (selected[:, part].sum() / stored[:, part].sum() for part in (slice(9), slice(9, None)))
    assert telling > 1.5 * others


def test_rows_to_judge_by_may_hold_more_entries_than_the_training_rows():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.1, (40, 60)).astype(float))
    fuller = sp.csr_array(rng.poisson(2.0, (80, 60)).astype(float))
    y = np.arange(40) % 2
    model = LSPINClassifier(max_epochs=5, patience=3, random_state=0).fit(X, y, eval_set=(fuller, np.tile(y, 2)))
    assert np.isfinite(model.predict_proba(fuller)).all()


def test_gates_of_a_tall_table_of_counts_open_the_features_of_a_rows_own_class():
    rng = np.random.default_rng(0)
    classes = np.arange(400) % 4
    rates = np.full((4, 40), 0.3)
    for label in range(4):
        rates[label, 5 * label : 5 * label + 5] = 3.0
    counts = sp.csr_array(rng.poisson(rates[classes]).astype(np.float64))
    model = LSPINClassifier(anchor="naive_bayes", sparsity=0.03, random_state=0).fit(counts[:300], classes[:300])
    opened = model.selected(counts[300:]).toarray()
    own = rates[classes[300:]] > 1
    assert model.score(counts[300:], classes[300:]) > 0.95
    by_chance = own[counts[300:].toarray() > 0].mean()
    assert own[opened].mean() > 2 * by_chance


def test_missing_counts_change_no_score_that_gates_look_at():
    rng = np.random.default_rng(0)
    classes = np.arange(400) % 4
    values = rng.poisson(1.0 + (np.arange(40) % 4 == classes[:, None])).astype(np.float64)
    values[0, 0] = np.nan
    model = LSPINClassifier(anchor="naive_bayes", sparsity=0.03, max_epochs=20, random_state=0)
    model.fit(sp.csr_array(values), classes)
    assert np.isfinite(model.predict_proba(sp.csr_array(values))).all()
    assert model.gates(sp.csr_array(values))[0, 0] == 0

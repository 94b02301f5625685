"""Gates that look at a context only: who may see what, which columns a new row needs, and what is refused."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from lspin import LSPINClassifier, LSPINCox, LSPINRegressor, load

N = 240
SETTINGS = {"hidden_layer_sizes": (16,), "sparsity": 0.02, "max_epochs": 250, "random_state": 0}


def draw_patients():
    """The subtype says whether the first or the next two genes count; age is missing now and then."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 8)), columns=[f"gene{i}" for i in range(8)])
    is_first = rng.random(N) < 0.5
    response = np.where(is_first, 2 * frame["gene0"], frame["gene1"] - frame["gene2"])
    frame.insert(4, "subtype", pd.Categorical(np.where(is_first, "A", "B")))
    frame["age"] = np.where(np.arange(N) % 9 == 0, np.nan, rng.normal(60, 10, N))
    frame.loc[frame.index[::13], "gene3"] = np.nan
    return frame, response + 0.05 * rng.normal(size=N), is_first


X, RESPONSE, IS_FIRST = draw_patients()
CONTEXT = ["subtype", "age"]
KINDS = {
    "classes": (LSPINClassifier, np.where(RESPONSE > 0, "yes", "no")),
    "response": (LSPINRegressor, RESPONSE),
    "survival": (LSPINCox, (np.exp(-RESPONSE), np.arange(N) % 5 > 0)),
}
COUNTS = np.random.default_rng(2).poisson(2 * np.exp(RESPONSE / 2))
GROUPS = {"hidden_layer_sizes": "auto", "sparsity": "auto", "max_epochs": None, "start": "groups"}


def fit(kind="response", **settings):
    estimator, y = KINDS[kind]
    return estimator(**{**SETTINGS, "context": CONTEXT, **settings}).fit(X, y)


@pytest.fixture(scope="module", params=[*KINDS, *(f"groups of {kind}" for kind in (*KINDS, "counts"))])
def model(request):
    """Of each kind of target, networks and a model of groups whose context is for the gates alone."""
    if request.param == "groups of counts":
        settings = {"context": CONTEXT, "context_only": True, "random_state": 0}
        return LSPINRegressor(start="groups", loss="poisson", **settings).fit(X, COUNTS)
    if request.param.startswith("groups of "):
        return fit(request.param.removeprefix("groups of "), context_only=True, **GROUPS)
    return fit(request.param, context_only=True)


@pytest.fixture(scope="module")
def regressor():
    return fit(context_only=True)


def shuffle(frame, columns):
    """Other values in some columns: those of other rows. Missing ones stay where they are."""
    order = np.random.default_rng(1).permutation(N)
    changed = frame.copy()
    for name in columns:
        known = frame[name].notna().to_numpy()
        changed.loc[known, name] = frame[name][known].sample(frac=1, random_state=int(order[0])).to_numpy()
    return changed


# Who sees what -------------------------------------------------------------------------------------------------


def test_gates_do_not_change_with_columns_outside_the_context(model):
    others = X.columns.difference(CONTEXT)
    np.testing.assert_array_equal(model.gates(shuffle(X, others)), model.gates(X))
    assert not np.array_equal(model.gates(shuffle(X, CONTEXT)), model.gates(X))


def test_under_given_gates_predictions_do_not_change_with_columns_that_are_context_only(model):
    gates, changed = model.gates(X), shuffle(X, CONTEXT)
    np.testing.assert_array_equal(model.predict_with_gates(changed, gates), model.predict_with_gates(X, gates))
    everything = np.ones_like(gates)
    np.testing.assert_array_equal(
        model.predict_with_gates(changed, everything), model.predict_with_gates(X, everything)
    )


def test_a_column_that_is_context_only_is_never_selected(model):
    assert not model.selected(X)[:, X.columns.isin(CONTEXT)].any()
    assert not set(model.explain(X).to_frame()["feature"]) & set(CONTEXT)


def test_the_subtype_decides_which_genes_are_selected(model):
    selected = pd.DataFrame(model.selected(X), columns=X.columns)
    first, second = selected[IS_FIRST].mean(), selected[~IS_FIRST].mean()
    assert first["gene0"] == 1
    assert first[["gene1", "gene2"]].max() == 0
    assert second["gene0"] == 0
    assert second[["gene1", "gene2"]].min() == 1


def test_a_column_of_the_context_may_be_a_feature_too():
    response = RESPONSE + 3 * (X["subtype"] == "A")
    model = LSPINRegressor(**SETTINGS, context=CONTEXT).fit(X, response)
    assert model.selected(X)[:, X.columns.get_loc("subtype")].any()


@pytest.mark.parametrize("layers", [{}, {"hidden_layer_sizes": (8,), "gate_hidden_layer_sizes": (8, 8)}])
def test_gates_of_a_table_with_fewer_rows_than_columns_look_at_the_context_only(layers):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 90))
    values[:, 5] = np.arange(40) % 2
    model = LSPINRegressor(context=[5], sparsity=0.005, max_epochs=50, random_state=0, **layers)
    model.fit(values, np.where(values[:, 5] > 0, values[:, 0], values[:, 1]))
    changed = rng.normal(size=(40, 90))
    changed[:, 5] = values[:, 5]
    np.testing.assert_array_equal(model.gates(changed), model.gates(values))
    assert model.selected(values).any()


def test_a_context_finds_its_way_among_many_columns_of_noise():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(240, 600))
    values[:, 0] = np.arange(240) % 2
    y = np.where(values[:, 0] > 0, values[:, 1] - values[:, 2], values[:, 3] + values[:, 4])
    model = LSPINRegressor(context=[0], random_state=0).fit(values[:150], y[:150])
    assert model.score(values[150:], y[150:]) > 0.8
    assert {0, 1, 2, 3, 4} <= set(model.columns_needed_.tolist())
    assert len(model.columns_needed_) <= 10


@pytest.mark.parametrize("holes", [False, True])
def test_gates_of_entries_look_at_the_context_only(holes):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.8, size=(48, 30)).astype(float)
    counts[:, 2] = np.arange(48) % 2
    y = np.where(counts[:, 2] > 0, counts[:, 0], counts[:, 1])
    if holes:
        counts[::5, 4] = counts[::7, 2] = np.nan
    settings = {"sparsity": 0.005, "max_epochs": 50, "random_state": 0, "context": [2], "context_only": True}
    model = LSPINRegressor(**settings).fit(sp.csr_array(counts), y)
    changed = counts.copy()
    changed[:, 3:] *= 2
    np.testing.assert_array_equal(model.gates(sp.csr_array(changed)).toarray(), model.gates(counts))
    assert not model.gates(counts)[:, 2].any()
    assert model.selected(counts).any()


def test_a_context_of_all_columns_is_no_context():
    values, whole = X[["gene0", "gene1", "gene2"]], LSPINRegressor(**SETTINGS)
    expected = whole.fit(values, RESPONSE).predict(values)
    named = LSPINRegressor(**SETTINGS, context=list(values.columns)).fit(values, RESPONSE)
    np.testing.assert_allclose(named.predict(values), expected, atol=1e-3)


def test_names_and_positions_mean_the_same(regressor):
    by_position = fit(context=np.array([4, 9]), context_only=True)
    np.testing.assert_array_equal(by_position.predict(X), regressor.predict(X))


def test_the_number_of_features_counts_those_that_can_be_selected():
    model = fit(n_features=2, sparsity="auto", context_only=True)
    assert 1 <= np.median(model.selected(X).sum(axis=1)) <= 3
    with pytest.raises(ValueError, match=r"n_features=9, but only 8 of the 10 columns vary and are not for"):
        fit(n_features=9, sparsity="auto", context_only=True)


# Groups that a context tells ------------------------------------------------------------------------------------


def draw_by_context(decides, n_genes, n_rows=300, seed=0):
    """Age, sex, a stage or age and sex decide which three genes count; returns X, y and which columns count."""
    rng = np.random.default_rng([seed, n_genes])
    frame = pd.DataFrame(rng.normal(size=(n_rows, n_genes)), columns=[f"gene{i}" for i in range(n_genes)])
    age, sex, stage = rng.normal(60, 12, n_rows), rng.integers(2, size=n_rows), rng.integers(4, size=n_rows)
    group = {"age": age > 64, "sex": sex, "stage": stage, "age and sex": (age > 58) & (sex == 1)}[decides]
    genes = 3 * np.asarray(group, int)[:, None] + np.arange(3)
    response = frame.to_numpy()[np.arange(n_rows)[:, None], genes] @ [1.0, -1.0, 1.2]
    frame = frame.assign(age=age, sex=pd.Categorical(sex), stage=pd.Categorical(stage))
    counts = np.zeros(frame.shape, bool)
    counts[np.arange(n_rows)[:, None], genes] = True
    return frame, response + 0.2 * rng.normal(size=n_rows), counts


@pytest.mark.parametrize(
    ("decides", "n_genes"),
    [("age", 20), ("sex", 20), ("stage", 20), ("age and sex", 20), ("age", 400), ("sex", 400)],
)
def test_groups_are_told_by_the_columns_of_the_context_that_decide(decides, n_genes):
    frame, response, counts = draw_by_context(decides, n_genes)
    model = LSPINRegressor(start="groups", context=["age", "sex", "stage"], random_state=0)
    model.fit(frame[:240], response[:240])
    assert model.score(frame[240:], response[240:]) > 0.8
    assert (model.selected(frame) == counts).mean(axis=0).min() > 0.8  # rows near the border of an age see both
    deciding = set(decides.split(" and "))
    assert all(set(told) == deciding for told in model.structure_["told_by"])
    assert set(model.columns_needed_) == deciding | {f"gene{i}" for i in range(12 if decides == "stage" else 6)}


def test_a_context_that_decides_nothing_leaves_one_group():
    frame = draw_by_context("sex", 20)[0]
    model = LSPINRegressor(start="groups", context=["age", "sex", "stage"]).fit(frame, frame["gene0"])
    assert len(model.structure_) == 1
    assert model.columns_needed_.tolist() == ["gene0"]


@pytest.mark.parametrize("context_only", [False, True])
def test_many_columns_that_count_a_little_are_all_open_but_for_a_context_that_is_for_the_gates(context_only):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 90))
    y = values @ rng.normal(size=90)
    settings = {"context": [5, 6], "context_only": context_only, "n_features": 88 if context_only else 90}
    model = LSPINRegressor(start="groups", **settings).fit(values, y)
    expected = np.ones(90, bool)
    expected[[5, 6]] = not context_only
    np.testing.assert_array_equal(model.selected(values).all(axis=0), expected)


def test_groups_and_networks_compete_for_a_context():
    frame, response, _ = draw_by_context("sex", 20)
    model = LSPINRegressor(context=["age", "sex", "stage"], random_state=0).fit(frame, response)
    assert model.start_ == "groups"


def test_a_model_of_groups_with_a_context_comes_back(tmp_path):
    model = fit(context_only=True, **GROUPS)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.gates(X), model.gates(X))
    assert back.columns_needed_.tolist() == model.columns_needed_.tolist()


# Which columns a new row needs -----------------------------------------------------------------------------------


def test_columns_that_are_not_needed_may_be_absent(model):
    needed = list(model.columns_needed_)
    assert {"subtype", "gene0", "gene1", "gene2"} <= set(needed) < set(X.columns)
    part = X[needed]
    for say in (model.predict, model.gates, model.selected, model.transform, model.selection_frequency):
        np.testing.assert_array_equal(say(part), say(X))
    pd.testing.assert_frame_equal(model.explain(part).to_frame(), model.explain(X).to_frame())
    np.testing.assert_array_equal(model.predict(pl.from_pandas(part)), model.predict(X))


def test_a_column_that_is_not_listed_changes_nothing(model):
    others = X.columns.difference(model.columns_needed_)
    changed = X.assign(**dict.fromkeys(others, 1e3))
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))
    np.testing.assert_array_equal(model.gates(changed), model.gates(X))


def test_every_selected_column_is_needed(model):
    assert set(X.columns[model.selected(X).any(axis=0)]) <= set(model.columns_needed_)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda part: part.drop(columns=["gene0", "subtype"]), r"now missing:\n- gene0\n- subtype\n$"),
        (lambda part: part[part.columns[::-1]], "must be in the same order"),
        (lambda part: part.assign(weight=1.0), r"unseen at fit time:\n- weight"),
    ],
)
def test_a_frame_with_wrong_columns_is_refused(wrong, reason, regressor):
    with pytest.raises(ValueError, match=reason):
        regressor.predict(wrong(X[regressor.columns_needed_]))


def test_without_a_context_all_columns_must_be_there():
    model = LSPINRegressor(start="groups", random_state=0).fit(X.drop(columns="age"), RESPONSE)
    assert set(model.columns_needed_) < set(X.columns)
    with pytest.raises(ValueError, match="now missing"):
        model.predict(X[model.columns_needed_])


def test_a_constant_model_needs_no_column():
    model = fit(sparsity=3.0)
    assert not model.selected(X).any()
    assert len(model.columns_needed_) == 0


def test_columns_without_names_are_listed_by_position():
    values = X.drop(columns="subtype").assign(first=IS_FIRST).to_numpy(float)
    model = LSPINRegressor(**SETTINGS, context=[9], context_only=True).fit(values, RESPONSE)
    assert {0, 1, 2, 9} <= set(model.columns_needed_.tolist())
    with pytest.raises(ValueError, match="expecting 10 features"):
        model.predict(values[:, model.columns_needed_])


# Files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [CONTEXT, tuple(CONTEXT), np.array([4, 9]), pd.Index(CONTEXT)], ids=str)
def test_a_model_with_a_context_comes_back(context, tmp_path):
    model = fit(context=context, context_only=True, max_epochs=5)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.gates(X), model.gates(X))
    assert back.columns_needed_.tolist() == model.columns_needed_.tolist()
    assert list(back.context) == list(context)
    np.testing.assert_array_equal(back.fit(X, RESPONSE).predict(X), model.predict(X))


# What is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "reason"),
    [
        ({"context": ["subtype", "weight"]}, ValueError, "column 'weight', which X does not have"),
        ({"context": [10]}, ValueError, "position 10, but X has the columns 0 to 9"),
        ({"context": [-1]}, ValueError, "position -1"),
        ({"context": ["age", "age"]}, ValueError, "column 'age' 2 times"),
        ({"context": ["age", 9]}, ValueError, "column 'age' 2 times"),
        ({"context": []}, ValueError, "context is empty"),
        ({"context": [True, False]}, TypeError, "True, which is neither the name of a column nor its position"),
        ({"context": [1.5]}, TypeError, "1.5, which is neither"),
        ({"context": "age"}, ValueError, "'context' parameter"),
        ({"context": None, "context_only": True}, ValueError, "name them with context="),
        ({"context": list(X.columns), "context_only": True}, ValueError, "left to predict from"),
    ],
)
def test_a_wrong_context_is_refused(settings, error, reason):
    with pytest.raises(error, match=re.escape(reason)):
        fit(**settings)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match="'age', but the columns of X have no names"):
        LSPINRegressor(context=["age"]).fit(X[["gene0", "gene1"]].to_numpy(), RESPONSE)


def test_a_context_that_does_not_vary_is_refused():
    with pytest.raises(ValueError, match="none of the 1 columns of the context varies"):
        LSPINRegressor(context=["age"]).fit(X.assign(age=60.0), RESPONSE)

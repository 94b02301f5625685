"""Explanations against sums, slow loops over orders, and sets that are counted by hand."""

from copy import copy
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from conftest import QUICK
from lspin import LSPINClassifier, LSPINRegressor
from lspin.core.networks import Layer, init_layers
from lspin.explanation import contributions
from lspin.explanation.groups import Patterns, group_patterns, jaccard_distances

LINEAR = {**QUICK, "hidden_layer_sizes": ()}


@pytest.fixture(scope="session")
def mixed_table(table):
    """The table as a frame with a category, a name for each row and some missing values."""
    X = pd.DataFrame(table[0].copy(), columns=list("abcde"), index=[f"P{row}" for row in range(96)])
    X.loc[X.index[::7], "b"] = np.nan
    X["e"] = pd.Categorical(np.where(X["e"] > 0.5, "high", np.where(X["e"] < -0.5, "low", "middle")))
    return X


@pytest.fixture(scope="session")
def three_classes(table):
    return np.digitize(table[1], [-0.5, 0.5])


@pytest.fixture(scope="session")
def mixed_models(mixed_table, table, labels, three_classes):
    """Fitted models by their name, each with the method of its scores."""
    fits = {
        "linear regressor": LSPINRegressor(**LINEAR, sparsity=0.01).fit(mixed_table, 100 + 7 * table[1]),
        "linear members": LSPINClassifier(**LINEAR, sparsity=0.01, n_members=3).fit(mixed_table, labels),
        "regressor": LSPINRegressor(**QUICK, sparsity=0.01).fit(mixed_table, 100 + 7 * table[1]),
        "three classes": LSPINClassifier(**QUICK, sparsity=0.01, n_members=2).fit(mixed_table, three_classes),
        "linear three classes": LSPINClassifier(**LINEAR, sparsity=0.01).fit(mixed_table, three_classes),
        "groups": LSPINRegressor(start="groups", random_state=0).fit(mixed_table, 100 + 7 * table[1]),
        "members of groups": LSPINClassifier(start="groups", n_members=3, bootstrap=True, random_state=0).fit(
            mixed_table, three_classes
        ),
    }
    return {name: (model, getattr(model, "decision_function", model.predict)) for name, model in fits.items()}


MODELS = [
    "linear regressor", "linear members", "regressor", "three classes", "linear three classes", "groups",
    "members of groups",
]  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_baseline_and_contributions_add_up_to_the_prediction(mixed_models, mixed_table, name):
    model, predict = mixed_models[name]
    explanation = model.explain(mixed_table)
    baseline = explanation.baseline if explanation.n_outputs > 1 else explanation.baseline[0]
    total = baseline + explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(total, predict(mixed_table), rtol=0, atol=1e-9)
    np.testing.assert_allclose(explanation.prediction, predict(mixed_table), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_shut_gates_contribute_nothing_and_gates_are_the_models_own(mixed_models, mixed_table, name):
    model, _ = mixed_models[name]
    explanation = model.explain(mixed_table)
    np.testing.assert_array_equal(explanation.gates > 0, explanation.selected)
    np.testing.assert_allclose(explanation.gates, model.gates(mixed_table), atol=1e-12)
    np.testing.assert_allclose(explanation.confidence, model.selection_frequency(mixed_table), atol=1e-12)
    assert not explanation.contributions[~explanation.selected].any()
    assert not explanation.selected[mixed_table["b"].isna(), 1].any()


@pytest.mark.parametrize("start", ["networks", "groups"])
def test_linear_contributions_are_the_terms_of_the_documented_sum(start, linear_regressor, table):
    X, y = table
    model = linear_regressor if start == "networks" else LSPINRegressor(start=start, random_state=0).fit(X, y)
    terms = model.gates(X) * (X - model.center_) * model.coef_
    explanation = model.explain(X)
    np.testing.assert_allclose(explanation.contributions, terms, atol=1e-9)
    assert explanation.baseline[0] == pytest.approx(model.intercept_)
    assert set(explanation.methods) == {"linear"}


def shapley_by_orders(model, row):
    """What each gate changes, averaged over every order in which the open gates can be opened."""
    own = model.gates(row)
    open_columns = np.flatnonzero(own[0])
    values = np.zeros(own.shape[1])
    orders = list(permutations(open_columns))
    for order in orders:
        gates = np.zeros_like(own)
        before = model.predict_with_gates(row, gates)[0]
        for column in order:
            gates[0, column] = own[0, column]
            after = model.predict_with_gates(row, gates)[0]
            values[column] += (after - before) / len(orders)
            before = after
    return values


@pytest.mark.parametrize(("precision", "error"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_shapley_values_match_a_loop_over_all_orders(monkeypatch, regressor, table, precision, error):
    monkeypatch.setattr(contributions, "PRECISION", precision)
    explanation = regressor.explain(table[0])
    assert set(explanation.methods) == {"exact Shapley"}
    for row in [0, 1, 50]:
        expected = shapley_by_orders(regressor, table[0][[row]])
        np.testing.assert_allclose(
            explanation.contributions[row], expected, rtol=0, atol=error * np.abs(expected).max()
        )


@pytest.mark.parametrize("layers", [(100, 100), (200, 200), (50,)])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_single_precision_keeps_six_digits_and_the_sum(monkeypatch, layers, size):
    rng = np.random.default_rng(0)
    network = [Layer(*map(np.float64, layer)) for layer in init_layers(rng, (7, *layers, 2), scale=1.0)]
    network = [Layer(weights, rng.normal(size=bias.shape)) for weights, bias in network]
    n_open = rng.integers(1, 8, size=40)
    gated = np.vstack([np.diag(size * rng.normal(size=7))[:count] for count in n_open])
    gains = rng.normal(size=(40, 2))
    found = {}
    for precision in (np.float64, np.float32):
        monkeypatch.setattr(contributions, "PRECISION", precision)
        game = contributions.set_up_game(tuple(network))
        found[precision] = contributions.shapley_values(sp.csr_array(gated), n_open, gains, game)
    largest = np.abs(found[np.float64]).max()
    assert 0 < np.abs(found[np.float32] - found[np.float64]).max() < 1e-6 * largest
    sums = np.add.reduceat(found[np.float32], np.cumsum(n_open) - n_open)
    np.testing.assert_allclose(sums, gains, rtol=0, atol=1e-12 * largest)


def test_each_member_plays_its_own_game(mixed_models, mixed_table):
    model, _ = mixed_models["three classes"]
    alone = []
    for member in model.members_:
        single = LSPINClassifier()
        single.__dict__.update({**model.__dict__, "members_": [member]})
        alone.append(single.explain(mixed_table).contributions)
    np.testing.assert_allclose(model.explain(mixed_table).contributions, np.mean(alone, axis=0), atol=1e-12)


def test_sampled_values_are_complete_and_near_the_exact_ones(monkeypatch, regressor, table):
    exact = regressor.explain(table[0])
    monkeypatch.setattr(contributions, "MOST_EXACT", 1)
    sampled = regressor.explain(table[0])
    n_open = exact.selected.sum(axis=1)
    assert (sampled.methods == np.where(n_open > 1, "sampled Shapley", "exact Shapley")).all()
    np.testing.assert_allclose(
        sampled.baseline[0] + sampled.contributions.sum(axis=1), regressor.predict(table[0]), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(sampled.contributions, exact.contributions, atol=0.02)


def play(pieces, worth, share):
    """Shapley values of one row's game, whose worth is a function of the sum of the pieces."""
    game = contributions.Game(np.eye(pieces.shape[1]), np.zeros(pieces.shape[1]), lambda s: worth(s)[:, None])
    gain = worth(pieces.sum(axis=0)[None]) - worth(np.zeros((1, pieces.shape[1])))
    return share(pieces[:, None], gain[:, None], game)[:, 0, 0]


@pytest.mark.parametrize("share", [contributions._exact_values, contributions._sampled_values])
def test_alike_gates_share_alike_and_a_gate_that_changes_nothing_gets_nothing(share):
    pieces = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [3.0, -1.0]])
    values = play(pieces, lambda sums: sums[:, 0] * sums[:, 1] + sums[:, 0] ** 3, share)
    assert values[1] == pytest.approx(0, abs=1e-12)
    assert values[0] == pytest.approx(values[2], rel=0.05 if share is contributions._sampled_values else 1e-12)
    assert values.sum() == pytest.approx(5 * 3 + 5**3)


def test_a_product_is_shared_in_halves():
    values = play(np.array([[4.0, 0.0], [0.0, 5.0]]), lambda s: s[:, 0] * s[:, 1], contributions._exact_values)
    np.testing.assert_allclose(values, [10, 10])


def test_many_open_gates_do_not_overflow():
    pieces = np.random.default_rng(0).normal(size=(80, 3))
    values = play(pieces, lambda sums: np.tanh(sums).sum(axis=1), contributions._sampled_values)
    assert values.sum() == pytest.approx(np.tanh(pieces.sum(axis=0)).sum())


def test_places_in_a_large_sparse_table_do_not_overflow():
    gates = sp.csr_array(([0.5], ([100_000], [29_999])), shape=(100_001, 30_000))
    opened = contributions.list_open(gates)
    assert (opened.rows * 30_000 + opened.columns).tolist() == [3_000_029_999]


def test_rows_are_explained_alone_as_in_company(regressor, table):
    order = np.random.default_rng(0).permutation(96)
    together = regressor.explain(table[0])
    for rows in (order, order[:1]):
        apart = regressor.explain(table[0][rows])
        np.testing.assert_allclose(apart.scores, together.scores[rows], atol=1e-12)
        # How gates share a score is computed in single precision, whose last digit depends on the rows beside it.
        np.testing.assert_allclose(apart.contributions, together.contributions[rows], atol=1e-6)


@pytest.mark.parametrize("layers", [(), (8,)])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_sparse_table_is_explained_like_the_dense_one(table, three_classes, layers, classes):
    X = np.where(table[0] > -0.3, table[0], 0.0)
    y = np.minimum(three_classes, classes - 1)
    model = LSPINClassifier(**{**QUICK, "hidden_layer_sizes": layers}, sparsity=0.01).fit(sp.csr_array(X), y)
    sparse, dense = model.explain(sp.csr_array(X)), model.explain(X)
    found = sparse.contributions if classes == 3 else [sparse.contributions]
    expected = np.moveaxis(dense.contributions, 2, 0) if classes == 3 else [dense.contributions]
    assert all(sp.issparse(part) for part in (*found, sparse.gates, sparse.selected, sparse.confidence))
    for output, (left, right) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(left.toarray(), right, atol=1e-12)
        total = dense.baseline[output] + right.sum(axis=1)
        np.testing.assert_allclose(total, model.decision_function(X).reshape(96, -1)[:, output], atol=1e-9)


def test_the_frame_has_a_row_for_each_selected_feature(mixed_models, mixed_table):
    model, _ = mixed_models["linear members"]
    explanation = model.explain(mixed_table)
    frame = explanation.to_frame()
    assert len(frame) == explanation.selected.sum()
    for line in frame.iloc[::29].itertuples():
        row, column = mixed_table.index.get_loc(line.sample), mixed_table.columns.get_loc(line.feature)
        assert line.value == mixed_table.loc[line.sample, line.feature]
        assert line.contribution == explanation.contributions[row, column]
        assert line.gate == pytest.approx(model.gates(mixed_table)[row, column])
        assert line.confidence in (1 / 3, 2 / 3, pytest.approx(1))


def test_a_category_shows_its_level(mixed_models, mixed_table):
    frame = mixed_models["three classes"][0].explain(mixed_table).to_frame()
    levels = frame[frame["feature"] == "e"]
    assert (levels["value"].to_numpy() == mixed_table.loc[levels["sample"], "e"].to_numpy()).all()


def test_the_frame_of_three_classes_says_which(mixed_models, mixed_table):
    explanation = mixed_models["three classes"][0].explain(mixed_table)
    frame = explanation.to_frame()
    assert len(frame) == 3 * explanation.selected.sum()
    sums = frame.groupby(["sample", "class"])["contribution"].sum().unstack()
    expected = explanation.prediction - explanation.baseline
    found = sums.reindex(explanation.sample_names, fill_value=0).to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_importance_is_the_mean_size_of_the_contributions(mixed_models, mixed_table, name):
    explanation = mixed_models[name][0].explain(mixed_table)
    importance = explanation.importance()
    np.testing.assert_allclose(importance, np.abs(explanation.contributions).mean(axis=0), atol=1e-12)
    assert list(importance.index) == list("abcde")


def test_scales_and_names(mixed_models, mixed_table, table, linear_regressor):
    explanation = mixed_models["linear members"][0].explain(mixed_table)
    assert explanation.scale == "logit"
    assert explanation.sample_names[:2].tolist() == ["P0", "P1"]
    np.testing.assert_allclose(
        explanation.probabilities, mixed_models["linear members"][0].predict_proba(mixed_table), atol=1e-12
    )
    plain = linear_regressor.explain(table[0])
    assert (plain.scale, plain.probabilities) == ("response", None)
    assert plain.sample_names[-1] == "95"
    assert plain.feature_names.tolist() == ["x0", "x1", "x2", "x3", "x4"]


def test_samples_are_found_by_name_or_position(mixed_models, mixed_table):
    explanation = mixed_models["regressor"][0].explain(mixed_table)
    assert explanation.find("P17") == explanation.find(17) == 17
    assert explanation.find(-1) == 95
    with pytest.raises(ValueError, match="0 samples are called 'Q1'; names are such as 'P0'"):
        explanation.find("Q1")
    with pytest.raises(IndexError):
        explanation.find(96)


def test_an_unknown_class_is_an_error(mixed_models, mixed_table):
    explanation = mixed_models["three classes"][0].explain(mixed_table)
    assert explanation.output_of(2) == 2
    with pytest.raises(ValueError, match="7 is none of the classes"):
        explanation.output_of(7)


@pytest.mark.parametrize("name", ["linear_regressor", "regressor"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_where_all_gates_are_shut_the_baseline_is_the_prediction(table, name, form, request):
    model = copy(request.getfixturevalue(name))
    (member,) = model.members_
    *gating, last = member.networks.gating
    shut = member.networks._replace(gating=(*gating, Layer(0 * last.weights, 0 * last.bias - 5)), own=None)
    model.members_ = [member._replace(networks=shut)]
    explanation = model.explain(form(table[0]))
    assert len(explanation.to_frame()) == explanation.selected.sum() == 0
    np.testing.assert_allclose(explanation.prediction, explanation.baseline[0])
    np.testing.assert_allclose(explanation.prediction, model.predict(table[0]))
    assert explanation.signatures()["features"].tolist() == [()]
    assert (explanation.importance() == 0).all()


def test_an_explanation_is_shown_in_a_line(linear_regressor, table):
    n_open = linear_regressor.selected(table[0][:7]).sum()
    shown = f"<Explanation of 7 samples x 5 features on the scale 'response', {n_open} open gates>"
    assert repr(linear_regressor.explain(table[0][:7])) == shown


def test_a_polars_frame_is_explained_like_a_pandas_one(mixed_models, mixed_table):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    model, _ = mixed_models["regressor"]
    given = mixed_table.assign(e=mixed_table["e"].astype(str))
    polars = pl.DataFrame({name: given[name].to_list() for name in given}, nan_to_null=True)
    polars = polars.with_columns(pl.col("e").cast(pl.Categorical))
    left, right = model.explain(polars), model.explain(mixed_table)
    np.testing.assert_array_equal(left.contributions, right.contributions)
    assert left.open_values.tolist() == right.open_values.tolist()
    assert left.sample_names[3] == "3"


def test_an_unfitted_model_says_that_it_is_not_fitted(table):
    with pytest.raises(NotFittedError):
        LSPINRegressor().explain(table[0])


# Groups ------------------------------------------------------------------------------------------------------


def patterns(sets, n_features=12):
    selected = np.zeros((len(sets), n_features))
    for row, columns in enumerate(sets):
        selected[row, list(columns)] = 1
    return sp.csr_array(selected)


def test_rare_patterns_join_the_nearest_common_one():
    sets = [{0, 1}] * 50 + [{5, 6, 7}] * 40 + [{0, 1, 2}] * 2 + [{5, 6, 8}, {6, 7}, {0, 1, 11}]
    groups = group_patterns(patterns(sets))
    assert groups.tolist() == [0] * 50 + [1] * 40 + [0] * 2 + [1, 1, 0]


def test_features_that_hardly_any_sample_selects_do_not_hide_the_groups():
    rng = np.random.default_rng(0)
    sets = [{*range(8 * (row % 4), 8 * (row % 4) + 8), *rng.choice(range(40, 2000), 20)} for row in range(200)]
    assert group_patterns(patterns(sets, 2000)).tolist() == [row % 4 for row in range(200)]


def test_a_feature_that_all_samples_select_does_not_join_the_groups():
    assert group_patterns(patterns([{0, 1}, {0, 2}] * 9)).tolist() == [0, 1] * 9


def test_rows_without_an_open_gate_are_a_group_of_their_own():
    assert group_patterns(patterns([{0}] * 5 + [set()] * 3)).tolist() == [0] * 5 + [1] * 3
    assert group_patterns(patterns([set()] * 3)).tolist() == [0] * 3


@pytest.mark.parametrize("most", [1, 3])
def test_there_are_no_more_groups_than_asked_for(most):
    rng = np.random.default_rng(0)
    scattered = patterns([rng.choice(12, 3, replace=False) for _ in range(200)])
    groups = group_patterns(scattered, most)
    assert groups.max() < most
    assert (np.diff(np.bincount(groups)) <= 0).all()


def test_one_row_is_one_group():
    assert group_patterns(patterns([{3}])).tolist() == [0]


def test_groups_follow_the_sets_whatever_the_order_of_rows_and_columns():
    rng = np.random.default_rng(1)
    selected = patterns([{0, 1, 2}] * 30 + [{0, 4}] * 20 + [{7}] * 10).toarray()
    rows, columns = rng.permutation(60), rng.permutation(12)
    shuffled = group_patterns(sp.csr_array(selected[rows][:, columns]))
    assert (shuffled == group_patterns(sp.csr_array(selected))[rows]).all()


def test_missing_values_make_no_group():
    sets = [{0, 1, 2}, {0, 1}, {0, 2}] * 20  # two columns open for all, where they are known
    holes = [set(), {2}, {1}] * 20
    assert set(group_patterns(patterns(sets))) == {0, 1, 2}
    assert group_patterns(patterns(sets), missing=patterns(holes)).tolist() == [0] * 60


def test_groups_are_found_behind_missing_values():
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    open_sets = [set(range(4 * group, 4 * group + 4)) for group in truth]
    holes = [set(np.flatnonzero(rng.random(12) < 0.3)) for _ in truth]
    known = [opened - hidden for opened, hidden in zip(open_sets, holes, strict=True)]
    groups = group_patterns(patterns(known), missing=patterns(holes))
    assert len(set(zip(groups, truth, strict=True))) == len(set(groups)) == 3


def test_a_pattern_distance_counts_the_columns_that_both_samples_know():
    rng = np.random.default_rng(1)
    opened, hidden, weights = rng.random((9, 6)) < 0.5, rng.random((9, 6)) < 0.3, rng.random(6)
    opened &= ~hidden
    left, right = (
        Patterns(sp.csr_array(opened[rows] * 1.0), sp.csr_array(hidden[rows] * 1.0))
        for rows in (slice(0, 5), slice(5, 9))
    )
    distances = jaccard_distances(left, right, weights)
    for i in range(5):
        for j in range(5, 9):
            both = ~hidden[i] & ~hidden[j]
            union = weights[both & (opened[i] | opened[j])].sum()
            shared = weights[both & opened[i] & opened[j]].sum()
            assert distances[i, j - 5] == pytest.approx(1 - shared / union if union else 0.0)


def test_patients_without_a_value_are_no_group_of_their_own():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(96, 5)), columns=["bmi", "age", "b", "c", "d"])
    y = X["bmi"] + X["age"]
    X.loc[::3, "bmi"] = np.nan
    model = LSPINRegressor((), sparsity=0.02, max_epochs=200, learning_rate=0.01, random_state=0).fit(X, y)
    explanation = model.explain(X)
    assert explanation.selected[:, 0].mean() == pytest.approx(2 / 3, abs=0.02)  # open but for those without it
    assert explanation.groups().max() == 0


def test_signatures_count_their_samples_and_outcomes(mixed_models, mixed_table, three_classes):
    explanation = mixed_models["three classes"][0].explain(mixed_table)
    groups, signatures = explanation.groups(), explanation.signatures(y=three_classes)
    assert signatures["size"].sum() == 96
    for group, line in signatures.iterrows():
        inside = groups == group
        assert line["size"] == inside.sum()
        assert line["observed 2"] == pytest.approx(np.mean(three_classes[inside] == 2))
        assert line["predicted 0"] == pytest.approx(explanation.probabilities[inside, 0].mean())
        shares = explanation.selected[inside].mean(axis=0)
        assert set(line["features"]) == {name for name, share in zip("abcde", shares, strict=True) if share >= 0.5}


def test_signatures_of_a_regressor_have_mean_predictions(linear_regressor, table):
    explanation = linear_regressor.explain(table[0])
    signatures = explanation.signatures(y=table[1])
    assert signatures["size"] @ signatures["prediction"] / 96 == pytest.approx(explanation.prediction.mean())
    assert signatures["size"] @ signatures["observed"] / 96 == pytest.approx(table[1].mean())


# SHAP --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear members", "three classes"])
def test_shap_gets_the_same_numbers_and_draws_them(mixed_models, mixed_table, name):
    shap = pytest.importorskip("shap", reason="shap is not installed: pip install 'lspin[shap]'")
    plt = pytest.importorskip("matplotlib.pyplot", reason="shap draws with matplotlib")
    explanation = mixed_models[name][0].explain(mixed_table)
    shared = explanation.to_shap()
    np.testing.assert_array_equal(shared.values, explanation.contributions)
    total = np.asarray(shared.base_values) + shared.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.prediction, atol=1e-9)
    one = shared if explanation.n_outputs == 1 else shared[..., 1]
    plt.switch_backend("Agg")
    for draw, given in ((shap.plots.waterfall, one[0]), (shap.plots.bar, one), (shap.plots.beeswarm, one)):
        draw(given, show=False)
        assert plt.gcf().axes
        plt.close("all")


def test_without_shap_the_error_says_what_to_install(monkeypatch, linear_regressor, table):
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    with pytest.raises(ImportError, match=r"pip install 'lspin\[shap\]'"):
        linear_regressor.explain(table[0]).to_shap()


def test_an_explanation_holds_what_the_gates_looked_at():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "age"])
    frame["sex"] = pd.Categorical([["f", "m", None][row % 3] for row in range(40)])
    frame.loc[::4, "age"] = np.nan
    settings = {"hidden_layer_sizes": (), "sparsity": 0.01, "max_epochs": 5, "random_state": 0}
    model = LSPINRegressor(**settings, context=["sex", "age"]).fit(frame, frame["a"])
    context = model.explain(frame).context
    assert context.index.tolist() == [str(row) for row in range(40)]
    np.testing.assert_array_equal(context["age"], frame["age"])
    assert context["sex"].isna().tolist() == frame["sex"].isna().tolist()
    assert context["sex"].dropna().tolist() == frame["sex"].dropna().tolist()
    assert LSPINRegressor(**settings).fit(frame, frame["a"]).explain(frame).context is None

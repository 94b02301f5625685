"""Models of groups: the mixture they are written from, known truth, and what a user meets."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.linear_model import LinearRegression

from lspin import LSPINClassifier, LSPINCox, LSPINRegressor
from lspin.estimators.posing import plan_fits
from lspin.fitting.fit import Job, fit_job
from lspin.fitting.groups import (
    FEW_TELLING,
    Setting,
    build_member,
    find_basis,
    look_at,
    move_groups,
    predict_mixture,
    share_columns,
)
from lspin.fitting.prediction import predict_member
from lspin.structure.divisions import SMALLEST_GROUP, WHOLE, Rule
from lspin.structure.mixture import Models, order_terms, solve_terms
from lspin.tables.encoding import encode, gating_context
from lspin.tables.grid import gather
from posed import pose
from small_clouds import draw_groups

N = 300
BY_FIRST = Rule("column", 0)
GROUPS = {"start": "groups", "random_state": 0}


def draw_switch(seed=0, noise=0.1):
    """The first column, 0 or 1, decides whether column 1 or column 2 counts; the groups differ in level too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 0] = np.arange(N) % 2
    y = np.where(X[:, 0] > 0, 4 + 2 * X[:, 1], X[:, 2] - 1)
    return X, y + noise * rng.normal(size=N)


def find(X, y, rule, estimator=None):
    problem = pose(X, y, estimator)
    return problem, find_basis(look_at(problem.rows, problem.encoding, problem.kind), rule)


# The model against the mixture -------------------------------------------------------------------------------


def test_a_model_of_separate_groups_with_columns_of_their_own_says_what_the_mixture_says():
    problem, basis = find(*draw_switch(), BY_FIRST)
    rows = problem.rows
    member = build_member(basis, Setting(BY_FIRST, n_terms=2, penalty=1e-9))
    models = solve_terms(basis.moments, basis.ladder[2])
    members = basis.mixture.memberships(basis.cloud.values)
    assert members.max(axis=1).min() > 0.999
    expected = np.einsum("nk,kno->no", members, models.predict(basis.cloud.values))
    prediction = predict_member(member, rows.grid)
    np.testing.assert_allclose(prediction.outputs, expected, atol=0.02)
    # The column that tells the groups is part of the reason.
    belongs = gather(rows.grid).values[:, 0]
    np.testing.assert_allclose(
        prediction.gates, np.stack([np.ones(N), belongs, 1 - belongs, 0 * belongs, 0 * belongs], axis=1), atol=1e-9
    )


def test_one_group_is_a_linear_model_of_the_columns_that_tell_most():
    X, y = draw_switch()
    problem, basis = find(X, y, WHOLE)
    member = build_member(basis, Setting(WHOLE, n_terms=2, penalty=1e-9))
    columns = [term.column for term in basis.ladder[2]]
    rows, seen = problem.rows, gather(problem.rows.grid).values[:, columns]
    outputs = predict_member(member, rows.grid).outputs[:, 0]
    np.testing.assert_allclose(outputs, LinearRegression().fit(seen, rows.target).predict(seen), atol=5e-3)


def test_without_terms_all_gates_are_shut_and_the_prediction_is_the_mean():
    X, y = draw_switch()
    for rule in (WHOLE, BY_FIRST):
        problem, basis = find(X, y, rule)
        prediction = predict_member(build_member(basis, Setting(rule, 0)), problem.rows.grid)
        assert not prediction.gates.any()
        np.testing.assert_allclose(prediction.outputs, 0.0, atol=1e-6)  # of a standardised response


def test_a_mixture_is_judged_by_squared_errors_of_its_members_predictions():
    X, y = draw_switch()
    problem, basis = find(X[:200], y[:200], BY_FIRST)
    fresh = pose(X[200:], y[200:]).rows
    models = solve_terms(basis.moments, order_terms(basis.moments, 60, clear=True))
    spread = np.sqrt(np.mean((problem.rows.target - problem.rows.target.mean()) ** 2))
    inputs, _ = encode(fresh.grid, basis.encoding)
    errors = []
    for row, truth in zip(inputs - basis.mean, fresh.target, strict=True):
        members = softmax(row @ basis.mixture.directions + basis.mixture.offsets)
        by_group = [row @ models.weights[k, :, 0] + models.intercepts[k, 0] for k in range(2)]
        errors.append((truth - problem.rows.target.mean() - spread * (members @ by_group)) ** 2)
    np.testing.assert_allclose(predict_mixture(basis, fresh), errors, rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([2.0, 2.0], [1.0, 1.0]),
        ([2.0, 1.0], [1.0, 0.5]),
        ([-2.0, -0.5], [1.0, 0.25]),
        ([2.0, -1.0], [1.0, -0.5]),
        ([1.0, -2.0], [-0.5, 1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
    ],
)
def test_a_column_is_open_as_far_as_a_group_uses_it(weights, expected):
    _, basis = find(*draw_groups(n_rows=N, n_columns=6)[:2], Rule("components", 2))
    models = Models(np.zeros((2, 6, 1)), np.zeros((2, 1)))
    models.weights[:, 4, 0] = weights
    np.testing.assert_allclose(share_columns(models, basis)[:, 4], expected)


def test_a_category_is_open_where_groups_use_other_levels_of_it_for_the_same():
    X, y = draw_switch()
    stage = np.arange(N) % 3 % 2
    frame = pd.DataFrame(X, columns=list("abcde")).assign(stage=pd.Categorical(np.where(stage, "II", "I")))
    _, basis = find(frame, y + 3 * stage, BY_FIRST)
    models = Models(np.zeros((2, 7, 1)), np.zeros((2, 1)))
    models.weights[0, 5], models.weights[1, 6] = -2.0, 2.0  # less for the first level, or more for the second
    np.testing.assert_allclose(share_columns(models, basis)[:, 5], [1.0, 1.0])


@pytest.mark.parametrize("n_telling", [1, FEW_TELLING, FEW_TELLING + 1])
def test_few_columns_that_tell_the_groups_are_always_open_and_many_are_not(n_telling):
    X, y, group = draw_groups(n_rows=N)
    X[:, n_telling:3] -= 3 * group[:, None]
    rule = Rule("components" if n_telling > 1 else "column", 2 if n_telling > 1 else 0)
    problem, basis = find(X, y, rule)
    gates = predict_member(build_member(basis, Setting(rule, 3)), problem.rows.grid).gates
    np.testing.assert_array_equal(gates[:, :n_telling] > 0, n_telling <= FEW_TELLING)


@pytest.mark.parametrize("where", ["training and new rows", "new rows"])
def test_the_group_of_a_row_with_a_missing_value_does_not_depend_on_the_origins(where):
    X, y, _ = draw_groups(n_rows=N)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    rule = Rule("components", 2)
    _, basis = find(X if where == "new rows" else holes, y, rule)
    member = build_member(basis, Setting(rule, 3))
    table = pose(holes, y).rows.grid
    origin = (member.encoding.center - basis.encoding.center) / basis.encoding.scale
    assert np.abs(origin).max() > 0.1
    context = gating_context(*encode(table, member.encoding), member.encoding)
    found = softmax(context @ member.networks.groups.weights + member.networks.groups.bias, axis=1)
    unmoved, _ = encode(table, basis.encoding)
    np.testing.assert_allclose(found, basis.mixture.memberships(unmoved - basis.mean), atol=1e-9)
    np.testing.assert_allclose(member.networks.groups.weights, move_groups(basis, origin).weights)


def test_rows_that_cannot_be_divided_get_one_group():
    X, y = draw_switch()
    problem = pose(X, y)
    few = np.arange(2 * SMALLEST_GROUP)  # too few for so many groups
    job = Job(few, np.ones(len(few)), None, 0.1, 0.0, 0, setting=Setting(Rule("components", 2), 2))
    fit = fit_job(problem, job)
    assert len(fit.member.networks.groups.bias) == 1
    assert fit.history.shape == (1, 3)


# What a user meets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_groups_told_by_many_columns_are_found_with_the_columns_that_count(seed):
    X, y, group = draw_groups(seed)
    model = LSPINRegressor(**GROUPS).fit(X[:200], y[:200])
    assert model.start_ == "groups"
    assert model.score(X[200:], y[200:]) > 0.95
    truth = np.where(group[:, None] == 0, [True, True, False], [False, False, True])
    assert (model.selected(X)[:, 3:6] == truth).mean() > 0.97


def test_groups_told_by_one_column_are_found():
    X, y = draw_switch()
    model = LSPINRegressor(**GROUPS).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.98
    np.testing.assert_array_equal(model.selected(X)[:, 1:3], np.stack([X[:, 0] == 1, X[:, 0] == 0], axis=1))


def test_groups_are_found_from_classes():
    X, y = draw_switch()
    labels = y > np.where(X[:, 0] > 0, 4, -1)
    model = LSPINClassifier(**GROUPS).fit(X[:200], labels[:200])
    assert model.score(X[200:], labels[200:]) > 0.9
    np.testing.assert_array_equal(model.selected(X)[:, 1:3], np.stack([X[:, 0] == 1, X[:, 0] == 0], axis=1))


def test_groups_are_found_from_three_classes():
    X, _ = draw_switch()
    scores = np.where(X[:, :1] == 1, X[:, 1:3], X[:, 3:])  # of two classes; the third one has 0
    labels = np.hstack([2 * scores, np.zeros((N, 1))]).argmax(axis=1)
    model = LSPINClassifier(**GROUPS).fit(X[:200], labels[:200])
    assert model.score(X[200:], labels[200:]) > 0.8
    np.testing.assert_array_equal(
        model.selected(X)[:, 1:] > 0, np.where(X[:, :1] == 1, [1, 1, 0, 0], [0, 0, 1, 1])
    )


def test_groups_are_found_from_counts():
    X, y = draw_switch(noise=0.0)
    counts = np.random.default_rng(0).poisson(np.exp(y / 2)).astype(float)
    model = LSPINRegressor(**GROUPS, loss="poisson").fit(X[:200], counts[:200])
    assert model.score(X[200:], counts[200:]) > 0.6
    assert model.selected(X)[X[:, 0] == 1, 1].all()


@pytest.mark.parametrize("estimator", [LSPINRegressor(**GROUPS), LSPINClassifier(**GROUPS)])
def test_no_gate_opens_on_noise(estimator):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 5)), np.arange(N) % 2
    model = estimator.fit(X, y)
    assert not model.selected(X).any()
    assert len(set(model.predict(X))) == 1
    assert model.sparsity_ == model.path_["sparsity"].max()


@pytest.mark.parametrize("n_features", [2, 3])
def test_a_wanted_number_of_features_is_read_off_the_path(n_features):
    X, y = draw_switch()
    model = LSPINRegressor(n_features=n_features, **GROUPS).fit(X[:200], y[:200])
    assert abs(np.median(model.selected(X[200:]).sum(axis=1)) - n_features) <= 0.5
    chosen = model.path_[model.path_["sparsity"] == model.sparsity_].iloc[0]
    assert abs(chosen["n_features"] - n_features) <= 0.5


def test_the_path_starts_with_a_constant_and_prices_fall():
    X, y = draw_switch()
    model = LSPINRegressor(**GROUPS).fit(X, y)
    path = model.path_
    assert path["n_features"].iloc[0] == 0
    assert path["validation_score"].iloc[0] == pytest.approx(0, abs=0.02)
    assert (np.diff(path["sparsity"]) < 0).all()
    assert (np.diff(path["mean_features"]) >= 0).all()
    chosen = path[path["sparsity"] == model.sparsity_]
    assert len(chosen) == 1
    assert chosen["validation_score"].item() > 0.98


def test_rows_to_judge_by_choose_and_the_model_is_the_one_that_was_judged():
    X, y = draw_switch()
    model = LSPINRegressor(**GROUPS).fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    chosen = model.path_[model.path_["sparsity"] == model.sparsity_].iloc[0]
    # The outputs of the model are multiplied by a factor that suits these rows best.
    score = model.score(X[200:], y[200:])
    assert chosen["validation_score"] - 1e-6 <= score <= chosen["validation_score"] + 0.01


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = draw_switch()
    weight = np.random.default_rng(0).integers(0, 3, N)
    weighted = LSPINRegressor(**GROUPS).fit(X, y, sample_weight=weight)
    repeated = LSPINRegressor(**GROUPS).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    pd.testing.assert_frame_equal(weighted.path_, repeated.path_)


def test_units_of_table_target_and_weights_do_not_matter():
    X, y = draw_switch()
    plain = LSPINRegressor(**GROUPS).fit(X, y, sample_weight=np.ones(N))
    other = LSPINRegressor(**GROUPS).fit(8 * X, 1024 * y, sample_weight=np.full(N, 4.0))
    # Other rows are held out, and these find the factor of the outputs.
    np.testing.assert_allclose(other.predict(8 * X), 1024 * plain.predict(X), rtol=1e-3, atol=2.0)


def test_categories_divide_and_count_and_missing_values_are_shut():
    X, _ = draw_switch()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X[:, 1:], columns=list("bcde"))
    frame["arm"] = pd.Categorical(np.array(["old", "new", "none"])[np.arange(N) % 3])
    frame["stage"] = pd.Categorical(np.array(["I", "II"])[rng.integers(2, size=N)])
    is_old = (frame["arm"] == "old").to_numpy()
    y = np.where(is_old, 2 * X[:, 1], (frame["stage"] == "II") * 3.0) + 0.1 * rng.normal(size=N)
    frame.loc[rng.random(N) < 0.1, "b"] = np.nan
    model = LSPINRegressor(**GROUPS).fit(frame, y)
    whole = frame.notna().all(axis=1).to_numpy()
    assert model.score(frame[whole], y[whole]) > 0.95
    selected = pd.DataFrame(model.selected(frame), columns=frame.columns)
    assert not selected["b"][frame["b"].isna()].any()
    assert selected["b"][is_old & whole].all()
    assert not selected["b"][~is_old].any()
    assert selected["stage"][~is_old].all()


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_the_documented_sum_gives_the_prediction(turned):
    X, y = draw_switch()
    y += np.where(X[:, 0] > 0, turned, 1.0) * 2 * X[:, 3]
    model = LSPINRegressor(**GROUPS).fit(X, y)
    signs = model.gate_signs(X)
    by_hand = model.intercept_ + (signs * model.gates(X) * (X - model.center_)) @ model.coef_
    np.testing.assert_allclose(model.predict(X), by_hand)
    assert np.abs(signs[X[:, 0] > 0, 3] / signs[X[:, 0] == 0, 3] - turned).max() < 0.01


def test_a_column_may_count_with_opposite_signs_in_two_groups():
    X, _, group = draw_groups(n_rows=N)
    y = np.where(group == 0, X[:, 3], -X[:, 3] + X[:, 4])
    model = LSPINRegressor(**GROUPS).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.95
    explained = model.explain(X[200:])
    parts = explained.contributions.sum(axis=1) + explained.baseline
    np.testing.assert_allclose(parts.ravel(), model.predict(X[200:]))


def test_a_class_that_a_bootstrap_sample_lacks_is_no_obstacle():
    X, y = draw_switch()
    labels = np.where(y > np.median(y), "high", "low").astype(object)
    labels[:2] = "rare"
    model = LSPINClassifier(**GROUPS, n_members=5, bootstrap=True).fit(X, labels)
    assert len(model.members_) == 5
    assert model.predict_proba(X)[:, list(model.classes_).index("rare")].max() < 0.2
    frequency = model.selection_frequency(X)
    assert set(np.unique(np.round(5 * frequency))) <= set(range(6))


def test_patience_is_for_training_and_keeps_no_row_from_a_model_of_groups():
    X, y = draw_switch()
    plain, patient = (LSPINRegressor(**GROUPS, patience=patience).fit(X, y) for patience in (None, 5))
    np.testing.assert_array_equal(plain.predict(X), patient.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_layer_sizes": (8,)}, r"trains no networks, but hidden_layer_sizes=\(8,\)"),
        ({"hidden_layer_sizes": ()}, r"trains no networks, but hidden_layer_sizes=\(\)"),
        ({"gate_hidden_layer_sizes": (4,)}, "gate_hidden_layer_sizes"),
        ({"anchor": "ridge", "hidden_layer_sizes": ()}, "hidden_layer_sizes"),
        ({"stability": 0.1}, "stability=0.1"),
        ({"diversity": 0.1}, "diversity=0.1"),
        ({"sparsity": 0.1}, "sparsity=0.1"),
        ({"n_members": 3}, "n_members=3 would all be the same: add bootstrap=True"),
        ({"start": "nets"}, "start"),
    ],
)
def test_settings_of_networks_are_refused_for_groups_and_leave_networks_alone_otherwise(settings, message):
    X, y = draw_switch()
    with pytest.raises(ValueError, match=message):
        LSPINRegressor(**{**GROUPS, **settings}).fit(X, y)
    if "start" not in settings:
        estimator = LSPINRegressor(**settings)
        assert plan_fits(estimator, pose(X, y, estimator)).starts == ("networks",)


def test_a_sparse_table_is_refused_and_left_to_networks_otherwise():
    X, y = sp.csr_array(np.eye(20)[:, :5]), np.arange(20) % 2
    with pytest.raises(ValueError, match="needs a dense table"):
        LSPINClassifier(**GROUPS).fit(X, y)
    other = LSPINClassifier()
    assert plan_fits(other, pose(X, y, other)).starts == ("networks",)


def test_a_table_of_which_no_row_can_be_held_out_is_refused():
    with pytest.raises(ValueError, match="of the 2 distinct rows none can be held out"):
        LSPINClassifier(**GROUPS).fit([[0.0], [1.0]], ["a", "b"])


def test_a_survival_model_of_one_group_is_cox_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    time = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1]))
    model = LSPINCox(start="groups", random_state=0).fit(X, (time, np.ones(N, bool)))
    assert model.start_ == "groups"
    np.testing.assert_allclose(model.coef_[:2], [1.0, -0.5], atol=0.2)
    # At the optimum, rows of the risk set weighted by their hazards have the mean of the rows with an event.
    hazards = np.exp(model.predict(X))
    used = model.coef_ != 0
    means = [hazards[time >= t] @ X[time >= t][:, used] / hazards[time >= t].sum() for t in time]
    np.testing.assert_allclose(np.mean(means, axis=0), X[:, used].mean(axis=0), atol=0.05)


def test_two_groups_of_survival_times_have_hazards_of_their_own():
    rng = np.random.default_rng(0)
    group = np.arange(N) % 2
    X = rng.normal(size=(N, 8))
    X[:, :3] += 3 * group[:, None]  # tell the groups
    risk = np.where(group == 0, 1.5 * X[:, 3], -1.5 * X[:, 4])
    time, leaves = rng.exponential(np.exp(-risk)), rng.exponential(3.0, N)
    y = (np.minimum(time, leaves), time <= leaves)
    model = LSPINCox(start="groups", random_state=0).fit(X, y)
    assert len(model.structure_) == 2
    selected = model.selected(X)[:, 3:]
    assert ([selected[group == k].mean(axis=0).argmax() for k in (0, 1)] == np.array([0, 1])).all()
    assert selected.mean() < 0.3
    # Moving a column by 1 changes the log-hazard by its coefficient, and in the other group by nothing.
    for column, slopes in ((3, (1.5, 0.0)), (4, (0.0, -1.5))):
        moved = X.copy()
        moved[:, column] += 1
        change = model.predict(moved) - model.predict(X)
        for k, slope in enumerate(slopes):
            np.testing.assert_allclose(np.median(change[group == k]), slope, atol=0.3)


def test_one_group_has_all_columns_in_the_end_even_copies_of_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    _, basis = find(np.hstack([X, X]), X[:, 0] + rng.normal(size=40), WHOLE)
    terms = basis.ladder[24]
    assert sorted(term.column for term in terms) == list(range(24))
    assert terms[0].column in (0, 12)


def test_a_column_that_does_not_vary_is_no_hindrance():
    X = np.random.default_rng(0).normal(size=(100, 6))
    X[:, 2] = 1.0
    model = LSPINRegressor(start="groups", random_state=0).fit(X, X[:, 0] - X[:, 3])
    assert (model.selected(X) == [1, 0, 0, 1, 0, 0]).all()
    np.testing.assert_allclose(model.predict(X), X[:, 0] - X[:, 3], atol=0.05)


def test_the_structure_names_what_tells_each_group_and_what_counts_in_it():
    X, y, group = draw_groups(1, n_rows=N)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = LSPINRegressor(**GROUPS).fit(frame, y)
    found = model.structure_
    assert [set(names) for names in found["told_by"]] == [{"a", "b", "c"}] * 2
    assert sorted(sorted(names) for names in found["features"]) == [["d", "e"], ["f"]]
    used = model.selected(frame)[group == 1].mean(axis=0) > 0.5
    assert tuple(frame.columns[used]) in set(found["features"])
    networks = LSPINRegressor(start="networks", max_epochs=2, sparsity=0.1, random_state=0).fit(frame, y)
    assert networks.structure_.empty

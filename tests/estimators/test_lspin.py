import inspect
import pickle
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import QUICK
from lspin import LSPINClassifier, LSPINRegressor

LINEAR = {**QUICK, "hidden_layer_sizes": ()}


@pytest.mark.parametrize("kind", [LSPINClassifier, LSPINRegressor])
def test_a_clone_keeps_every_parameter(kind):
    changed = {
        "hidden_layer_sizes": (3,), "gate_hidden_layer_sizes": (2, 2), "sparsity": 0.5, "n_features": 2,
        "rule": "sparse", "start": "networks", "stability": 0.1, "diversity": 0.2, "affinity": "labels",
        "gate_exchange": 0.3, "context": ["a"], "context_only": True, "n_panel": 9, "scaling": "none",
        "centering": False, "columns": "auto",
        "noise_scale": 0.7, "learning_rate": 0.9, "zero_is_absent": True, "anchor": "ridge", "weight_decay": 0.4,
        "max_epochs": 11, "batch_size": 7, "validation_fraction": 0.33, "patience": 5, "n_restarts": 2,
        "n_members": 3, "bootstrap": True, "class_weight": "balanced", "loss": "poisson",
        "n_jobs": 2, "random_state": 1, "verbose": 1, "pos_label": "yes",
    }  # fmt: skip
    names = set(inspect.signature(kind).parameters)
    assert names | {"class_weight", "loss", "pos_label"} == set(changed)
    settings = {name: changed[name] for name in names}
    assert clone(kind(**settings)).get_params() == settings


def test_binary_probabilities_are_the_logistic_of_the_decision_function(classifier, table):
    X, _ = table
    np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], expit(classifier.decision_function(X)))
    assert list(classifier.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(classifier.predict(X) == "yes", classifier.decision_function(X) > 0)


def test_a_linear_prediction_is_the_sum_of_gated_contributions(linear_regressor, table):
    X, _ = table
    model = linear_regressor
    gates = model.gates(X)
    by_hand = [
        model.intercept_ + sum(gates[i, d] * model.coef_[d] * (X[i, d] - model.center_[d]) for d in range(5))
        for i in range(len(X))
    ]
    np.testing.assert_allclose(model.predict(X), by_hand)


def test_a_linear_decision_is_the_sum_of_gated_contributions(table):
    X, response = table
    y = np.digitize(response, [-0.5, 0.5])
    model = LSPINClassifier(**LINEAR, sparsity=0.01).fit(X, y)
    by_hand = model.intercept_ + (model.gates(X) * (X - model.center_)) @ model.coef_.T
    np.testing.assert_allclose(model.decision_function(X), by_hand)
    assert model.coef_.shape == (3, 5)


def test_coefficients_of_a_nonlinear_model_do_not_exist(regressor):
    assert not hasattr(regressor, "coef_")


def test_a_shut_feature_has_no_influence(classifier, table):
    X, _ = table
    gates = classifier.gates(X)
    moved = np.where(gates > 0, X, 1e3)
    # Values behind shut gates change the gates' own input, so compare at the gates the rows had.
    from lspin.core.model import predict_outputs
    from lspin.core.rows import Dense
    from lspin.fitting.prediction import predict_member
    from lspin.tables.encoding import encode
    from lspin.tables.grid import Grid

    member = classifier.members_[0]
    inputs, _ = encode(Grid(moved, None), member.encoding)
    outputs = predict_outputs(member.networks, Dense(gates * inputs))
    np.testing.assert_allclose(outputs, predict_member(member, Grid(X, None)).outputs)


def test_predictions_do_not_depend_on_the_rows_that_come_together(classifier, table):
    X, _ = table
    together = classifier.decision_function(X)
    alone = np.concatenate([classifier.decision_function(row[None]) for row in X])
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_a_repeated_row_is_a_row_of_double_weight(table):
    X, y = table
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    settings = {**QUICK, "max_epochs": 20}
    weighted = LSPINRegressor(**settings).fit(X, y, sample_weight=weight)
    repeated = LSPINRegressor(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    pd.testing.assert_frame_equal(weighted.path_, repeated.path_)


def test_the_same_seed_gives_the_same_fit_whatever_the_jobs(table, labels):
    X, _ = table
    settings = {**QUICK, "max_epochs": 20, "n_members": 2}
    alone = LSPINClassifier(**settings).fit(X, labels)
    together = LSPINClassifier(**settings, n_jobs=2).fit(X, labels)
    np.testing.assert_array_equal(alone.decision_function(X), together.decision_function(X))
    pd.testing.assert_frame_equal(alone.path_, together.path_)


def test_other_seeds_give_other_fits(regressor, table):
    X, y = table
    other = LSPINRegressor(**{**QUICK, "random_state": 1}, sparsity=0.01).fit(X, y)
    assert not np.array_equal(other.predict(X), regressor.predict(X))


def test_the_path_starts_where_all_gates_are_shut_and_the_choice_costs_least(table):
    X, y = table
    model = LSPINRegressor(**QUICK).fit(X, y)
    path = model.path_
    assert path["sparsity"].is_monotonic_decreasing
    assert path["n_features"].iloc[0] == 0
    assert path["validation_loss"].iloc[0] == pytest.approx(1, abs=0.2)  # the variance of a standardised target
    assert model.sparsity_ in set(path["sparsity"])
    assert len(path) >= 7


def test_rows_to_judge_by_choose_the_sparsity_and_the_model_is_kept(table):
    X, y = table
    model = LSPINRegressor(**LINEAR, n_restarts=1).fit(X[:64], y[:64], eval_set=(X[64:], y[64:]))
    listed = LSPINRegressor(**LINEAR, n_restarts=1).fit(X[:64], y[:64], eval_set=[(X[64:], y[64:])])
    np.testing.assert_array_equal(listed.predict(X), model.predict(X))
    chosen = model.path_[model.path_["sparsity"] == model.sparsity_]
    chosen = chosen[chosen["weight_decay"] == model.weight_decay_].iloc[0]
    # The outputs are multiplied by a factor that suits these rows best.
    assert 0 <= model.score(X[64:], y[64:]) - chosen["validation_score"] < 0.01


@pytest.mark.parametrize("wanted", [1, 3])
def test_the_wanted_number_of_features_is_reached(table, wanted):
    X, y = table
    model = LSPINRegressor(**{**LINEAR, "max_epochs": 300}, n_features=wanted).fit(X, y)
    assert abs(np.median(model.selected(X).sum(axis=1)) - wanted) <= 1


def test_members_are_averaged_and_their_agreement_is_the_confidence(table):
    X, y = table
    model = LSPINRegressor(**QUICK, sparsity=0.02, n_members=3, bootstrap=True).fit(X, y)
    singles = [clone(model).set_params(n_members=1, bootstrap=False) for _ in range(3)]
    for single, member in zip(singles, model.members_, strict=True):
        single.fit(X, y)
        single.members_ = [member]
        single.target_mean_, single.target_scale_ = model.target_mean_, model.target_scale_
    np.testing.assert_allclose(model.predict(X), np.mean([s.predict(X) for s in singles], axis=0))
    frequency = model.selection_frequency(X)
    np.testing.assert_allclose(frequency, np.mean([s.selected(X) for s in singles], axis=0))
    np.testing.assert_array_equal(model.selected(X), frequency > 0)


def test_two_groups_with_other_features_are_told_apart():
    rng = np.random.default_rng(0)
    group = np.repeat([1.0, -1.0], 200)
    X = rng.normal(group[:, None], 0.5, (400, 5))
    y = np.where(group > 0, X @ [-2, 1, -0.5, 0, 0], X @ [0, 0, -0.5, 1, -2])
    model = LSPINRegressor((), gate_hidden_layer_sizes=(), sparsity=0.003, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99
    open_share = np.array([model.selected(X)[group == g].mean(axis=0) for g in (1, -1)])
    np.testing.assert_allclose(open_share, [[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], atol=0.05)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_keep_their_names_and_give_what_arrays_give(kind, table, regressor):
    X, y = table
    names = ["age", "sex", "dose", "time", "site"]
    frame = pd.DataFrame(X, columns=names) if kind == "pandas" else pl.DataFrame(X, schema=names)
    model = LSPINRegressor(**QUICK, sparsity=0.01).fit(frame, y)
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(model.predict(frame), regressor.predict(X))
    gated = model.set_output(transform=kind).transform(frame)
    assert list(gated.columns) == names
    np.testing.assert_allclose(gated.to_numpy(), regressor.gates(X) * X)


def test_a_category_has_one_gate_and_a_column_a_level_in_the_gated_table(table):
    X, y = table
    stage = pd.Categorical(np.where(X[:, 1] > 0.5, "II", np.where(X[:, 1] > -0.5, "I", "0")))
    frame = pd.DataFrame({"stage": stage, "x": X[:, 0]})
    model = LSPINRegressor(**QUICK, sparsity=0.001).fit(frame, y)
    assert model.gates(frame).shape == (96, 2)
    assert list(model.get_feature_names_out()) == ["stage_0", "stage_I", "stage_II", "x"]
    strange = frame.assign(stage=pd.Categorical(["XXL"] * 96))
    assert not model.selected(strange)[:, 0].any()


def test_a_missing_value_never_contributes(table):
    X, y = table
    holes = X.copy()
    holes[::4, 1] = np.nan
    model = LSPINRegressor(**LINEAR, sparsity=0.001).fit(holes, y)
    gates = model.gates(holes)
    assert (gates[::4, 1] == 0).all()
    assert gates[1::4, 1].any()
    filled = np.where(np.isnan(holes), 1e6, holes)
    by_hand = model.intercept_ + (gates * (filled - model.center_)) @ model.coef_
    np.testing.assert_allclose(model.predict(holes), by_hand, rtol=1e-6)
    np.testing.assert_array_equal(model.transform(holes)[::4, 1], 0)


def test_values_missing_only_at_prediction_are_shut_too(regressor, table):
    X = table[0].copy()
    X[3, 1] = np.nan
    assert regressor.gates(X)[3, 1] == 0
    assert np.isfinite(regressor.predict(X)).all()


def test_balanced_classes_weigh_the_same_as_weights_by_hand(table, labels):
    X, _ = table
    rows = np.concatenate([np.flatnonzero(labels == "yes"), np.flatnonzero(labels == "no")[:12]])
    weight = np.where(labels[rows] == "yes", len(rows) / 2 / (labels[rows] == "yes").sum(), len(rows) / 2 / 12)
    settings = {**QUICK, "sparsity": 0.01}
    balanced = LSPINClassifier(**settings, class_weight="balanced").fit(X[rows], labels[rows])
    by_hand = LSPINClassifier(**settings).fit(X[rows], labels[rows], sample_weight=weight)
    np.testing.assert_allclose(balanced.decision_function(X), by_hand.decision_function(X), rtol=1e-4, atol=1e-4)


def test_stability_makes_gates_of_neighbours_alike_and_diversity_those_of_others_unlike(table):
    X, y = table
    kinds = X[:, 0] > 0
    alike = np.equal.outer(kinds, kinds) * 1.0

    def fit_gates(**settings):
        return LSPINRegressor(**{**LINEAR, "max_epochs": 300}, sparsity=0.001, **settings).fit(X, y).gates(X)

    def spread(**settings):
        gates = fit_gates(**settings)
        return ((gates[:, None] - gates[None]) ** 2).sum(axis=2).mean()

    loose = fit_gates()
    far = ((loose[:, None] - loose[None]) ** 2).sum(axis=2).mean()
    assert spread(stability=0.03, affinity=lambda A, B: np.ones((len(A), len(B)))) < 0.5 * far
    assert spread(stability=0.03, affinity=np.ones((96, 96))) < 0.5 * far
    diverse = fit_gates(diversity=0.003, affinity=alike)
    assert (diverse[kinds] @ diverse[~kinds].T).mean() < 0.5 * (loose[kinds] @ loose[~kinds].T).mean()
    assert diverse.sum() < loose.sum()  # no gate was opened for the sake of being different


@pytest.mark.parametrize("affinity", ["rbf", "labels"])
def test_named_affinities_fit(affinity, table, labels):
    model = LSPINClassifier(**QUICK, sparsity=0.01, stability=0.1, affinity=affinity).fit(table[0], labels)
    assert model.score(table[0], labels) > 0.6


def test_pipelines_searches_and_calibration_work(table, labels):
    X, _ = table
    quick = LSPINClassifier(**{**QUICK, "max_epochs": 20}, sparsity=0.01)
    pipeline = make_pipeline(StandardScaler(), quick)
    assert cross_val_score(pipeline, X, labels, cv=2).shape == (2,)
    search = GridSearchCV(quick, {"sparsity": [0.001, 10.0]}, cv=2).fit(X, labels)
    assert search.best_params_["sparsity"] == 0.001
    calibrated = CalibratedClassifierCV(quick, cv=2).fit(X, labels)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_optuna_tunes_it(table):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = table

    def loss(trial):
        model = LSPINRegressor(
            **{**QUICK, "max_epochs": 20}, sparsity=trial.suggest_float("sparsity", 1e-3, 1, log=True)
        )
        return -cross_val_score(model, X, y, cv=2).mean()  # fmt: skip

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(loss, n_trials=3)
    assert np.isfinite(study.best_value)


def test_verbose_shows_one_bar_with_loss_gates_and_time_left(table, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    LSPINRegressor(**QUICK, sparsity=0.01, verbose=1).fit(*table)
    shown = capsys.readouterr().err
    for word in ("100%", "loss", "open gates", "left"):
        assert word in shown


def test_verbose_without_a_terminal_is_plain_lines(table, speaking):
    LSPINRegressor(**QUICK, sparsity=0.01, verbose=1).fit(*table)
    shown = speaking()
    assert "\r" not in shown
    first, *others, last = shown.splitlines()
    assert re.fullmatch(r"lspin: 0(\.[01])? of at most 1 fits", first)  # nothing is known of the time yet
    assert last == "lspin: 1 of at most 1 fits, 00:00 left"
    assert any(re.fullmatch(r"lspin: 0\.[2-9] of at most 1 fits, 00:\d\d left", line) for line in others)


def test_silent_without_verbose(regressor, table, capsys):
    clone(regressor).fit(*table)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_copy_by_pickle_predicts_the_same(classifier, table):
    copy = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(copy.decision_function(table[0]), classifier.decision_function(table[0]))


def test_importing_the_package_does_not_load_the_compiler():
    import subprocess

    program = "import lspin, sys; print([m for m in ('jax', 'matplotlib') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"

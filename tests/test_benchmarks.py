"""The benchmarks end to end on tiny tables, and that no finished run is lost, whoever is killed."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks import cohorts, methods
from benchmarks import ordinary as tables
from benchmarks.attributions import Explanation, count_needed, keep_largest
from benchmarks.cohorts import share_sets
from benchmarks.drawn import draw, share_of_way
from benchmarks.everyday import fit_everyday, load_everyday, score_model
from benchmarks.experiment import Experiment, conduct, plan, read_seeds, suits_task
from benchmarks.experiments import (
    cohort,
    memory_wide,
    motivating,
    ordinary,
    parts,
    suite,
    suite_wide,
    survival_curve,
    table1,
    table3,
    wide_paper,
)
from benchmarks.method import (
    Grid,
    Method,
    Search,
    Sweep,
    Task,
    Trial,
    UnavailableError,
    Wanted,
    Wide,
    load_method,
    require_method,
    require_package,
)
from benchmarks.protocol import Budget, Samples, score_selection, select_everywhere, show, tune
from benchmarks.runs import Case, Run, do_run
from benchmarks.tables import describe_seeds, format_spread, keep_common_seeds, merge_rows
from benchmarks.wide import (
    load_wide_method,
    score_counts,
    score_honesty,
    score_number,
    search,
    select,
    split_rows,
)
from scipy import sparse
from sklearn.linear_model import Lasso
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from lspin import LSPINRegressor
from lspin.datasets import load_synthetic
from lspin.fitting import recipe as recipes
from lspin.survival import make_survival

ROOT = Path(__file__).parents[1]
EXPERIMENTS = (
    "table1", "motivating", "gate_statistics", "unequal", "overlap", "sigma", "time_n", "time_d", "speed_wide",
    "speed_explain", "table3", "nll", "counts", "survival_curve", "survival_sets", "survival_scale",
    "survival_batches", "published", "speed_originals", "memory_wide", "suite", "suite_wide",
    "wide_paper", "ordinary", "parts", "leakage", "cohort", "mnist", "mnist_small", "mnist_rotated",
    "mnist_counts", "mnist_curve", "mnist_memory", "rows", "marker_genes", "cell_scale", "markers", "noise",
    "wide_cases", "mnist_default",
)  # fmt: skip
OF_DIGITS = (
    "mnist", "mnist_small", "mnist_rotated", "mnist_counts", "mnist_curve", "mnist_memory", "mnist_default",
)  # fmt: skip
OF_REAL_TABLES = (
    "table3", "nll", "counts", "survival_curve", "survival_sets", "survival_batches", "cohort", *OF_DIGITS,
)  # fmt: skip
FOLDER = os.environ.get("LSPIN_DATA")
ALL = sorted(path.stem for path in Path(methods.__file__).parent.glob("[!_]*.py"))
SLOW = {"lspin", "lspin_auto", "llspin", "llspin_members", "lspin_linear_gates", "lspin_official"}
LIGHT = [name for name in ALL if name not in SLOW and load_method(name).fit is not None]
WIDE = [name for name in ALL if name not in SLOW and load_method(name).wide is not None]
EVERYDAY = [name for name in ALL if name not in SLOW and load_method(name).everyday is not None]
SLOW_ENOUGH = ["--quick", "--methods", "random_forest", "--seeds", "0-7"]  # to be killed between two runs
N_RUNS = 8  # at one of the two sizes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_from_data_to_figure(name, folder):
    if name in OF_REAL_TABLES and not FOLDER:
        pytest.skip("LSPIN_DATA does not name a folder of tables")
    module = import_module(f"benchmarks.experiments.{name}")
    arguments = ["--quick", "--results", str(folder)]
    if hasattr(module, "main"):
        module.main(arguments)
    else:
        conduct(module.EXPERIMENT, [*arguments, "--jobs", "1"])
    for ending in ("csv", "md", "png"):
        assert (folder / "quick" / f"{name}.{ending}").stat().st_size > 0
    assert not (folder / f"{name}.csv").exists()  # a rehearsal stays in its own folder


def test_the_time_from_csv_to_page_is_that_of_both_commands(capsys):
    rows = import_module("benchmarks.experiments.speed_page").time_csv(40, 50, turns=("first",))
    assert [row["what"] for row in rows] == ["CSV to model", "model to page"]
    assert all(row["seconds"] > 0.05 and row["table"] == "40 x 50" for row in rows)
    assert capsys.readouterr().out == ""


def file_of(name):
    return import_module(f"benchmarks.methods.{name}")


def load_or_skip(name):
    try:
        require_method(name)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return load_method(name)


@pytest.mark.parametrize("dataset", ["linear", "E1"])
@pytest.mark.parametrize("name", LIGHT)
def test_a_method_predicts_and_says_what_it_selects(name, dataset):
    method = load_or_skip(name)
    if not suits_task(name, Case(dataset)):
        return
    data = load_synthetic(dataset, 0, 40)
    train, valid, test = (show(part, dataset) for part in data)
    with threadpool_limits(1):
        fitted = method.fit(train, valid, 0, Budget(fits=2, epochs=5))
    predicted = fitted.predict(test.X)
    assert predicted.shape == test.y.shape
    if not test.is_regression:
        assert set(predicted) <= {0, 1}
    if fitted.select is not None:
        assert np.asarray(fitted.select(test.X)).shape == test.X.shape


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("name", WIDE)
def test_a_method_for_wide_tables_learns_three_classes_from_one_column_each(name, is_sparse):
    wide, rng = load_or_skip(name).wide, np.random.default_rng(0)
    if not is_sparse and wide.counts_only:
        return
    y = np.arange(60) % 3
    X = rng.poisson(0.3, (60, 20)) + 4.0 * (y[:, None] == np.arange(20))
    train = Samples(sparse.csr_matrix(X) if is_sparse else X, y, "pbmc", False)
    task = Task(train, train if is_sparse else None, 0, Budget(fits=4, epochs=50))
    assert len(wide.search.settings) <= 20
    with threadpool_limits(1):
        chosen = search(wide, task).chosen.model
    assert np.mean(chosen.predict(train.X) == y) > 0.9
    if wide.select is not None:
        assert wide.select(chosen)[:3].all()


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("name", EVERYDAY)
def test_a_method_for_everyday_learns_from_training_rows_alone(name, n_classes):
    if n_classes is None and not load_or_skip(name).for_response:
        return
    offered, rng = load_everyday(name), np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = 3 * X[:, 1] if n_classes is None else np.digitize(X[:, 1], [-0.5, 0.5][: n_classes - 1])
    wanted = Wanted(n_classes, Budget(), "neg_log_loss")
    with threadpool_limits(1):
        model, _ = fit_everyday(offered, X, y, wanted)
        scores = score_model(model, X, y, wanted)
    assert scores["score"] > 0.9
    assert ("log_loss" in scores, "auc" in scores) == (n_classes is not None, n_classes == 2)
    selected = select(offered, model, X)
    if selected is not None:
        assert selected[:, 1].mean() == selected.mean(axis=0).max() > 0


def test_a_lasso_for_each_cluster_finds_what_counts_in_it():
    rng = np.random.default_rng(0)
    groups = np.arange(200) % 2
    X = rng.normal(size=(200, 6)) + 8 * (groups[:, None] == np.arange(2)) @ np.eye(2, 6)
    y = np.where(groups == 0, X[:, 2], X[:, 3])
    model, _ = fit_everyday(load_everyday("cluster_lasso"), X, y, Wanted(None, Budget()))
    assert score_model(model, X, y, Wanted(None, Budget()))["score"] > 0.99
    np.testing.assert_array_equal(model.selected(X)[:, 2:4], groups[:, None] == [0, 1])


def test_a_lasso_for_each_cluster_falls_back_to_one_where_a_cluster_has_one_class(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.arange(80) // 2 % 2
    X[y == 1, 0] += 8  # two clusters would be the two classes
    model = load_everyday("cluster_lasso").make(Wanted(2, Budget()))
    monkeypatch.setattr(model, "_judge", lambda number, *_: number == 2)
    assert np.mean(model.fit(X, y).predict(X) == y) == 1
    assert model.selected(X).shape == X.shape


# Of seed 0, from the file that the families were first written in: whether y is a response; shape, first entry and
# sum of absolute values of the training rows; that of y, relevant entries and ceiling of the test rows.
DRAWN = {
    "clinics": (False, (702, 40), 2.25506, 25337.1, 204, 1200, 0.9475),
    "subtypes": (True, (386, 2210), 0.351882, 682593, 308.598, 1200, 0.989903),
    "switch": (True, (1607, 20), -1.7076, 25465.8, 263.918, 1403, 0.989572),
    "modules": (False, (184, 1426), -0.518538, 205307, 195, 2800, 0.92),
    "polygenic": (False, (234, 1688), -0.0656951, 623705, 205, 201600, 0.905),
    "plain": (True, (926, 24), -2.69589, 18667.9, 387.379, 4800, 0.726591),
    "pictures": (False, (2179, 144), 0, 76557.3, 190, 1200, 0.975),
    "sites": (True, (394, 49), 0.0871627, 15470.1, 310.783, 1200, 0.97846),
    "nothing": (False, (348, 20), 0.457868, 5499.32, 197, 0, 0.5075),
}


@pytest.mark.parametrize("family", DRAWN)
def test_a_family_draws_the_tables_that_were_published(family):
    is_regression, shape, entry, size, size_of_y, n_relevant, ceiling = DRAWN[family]
    drawn = draw(family, 0)
    assert (drawn.is_regression, drawn.train.X.shape, drawn.test.relevant.sum()) == (
        is_regression, shape, n_relevant,
    )  # fmt: skip
    found = [drawn.train.X[0, 0], np.abs(drawn.train.X).sum(), np.abs(drawn.test.y).sum(), drawn.ceiling]
    np.testing.assert_allclose(found, [entry, size, size_of_y, ceiling], rtol=1e-5)


def test_a_method_for_classes_gets_the_drawn_tables_with_classes():
    runs = plan(replace(suite_wide.EXPERIMENT, methods=("lasso", "protogate")), range(4))
    given: dict[str, set] = {"lasso": set(), "protogate": set()}
    for run in runs:
        given[run.method].add((run.case.dataset, run.seed))
    assert len(given["lasso"]) == 16
    assert given["protogate"] == {table for table in given["lasso"] if not draw(*table).is_regression}


def test_a_lasso_that_is_told_the_groups_has_a_model_for_each():
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 3
    X = np.column_stack([rng.normal(size=(200, 3)), codes])
    y = X[np.arange(200), codes]  # each group has a column of its own
    model = cohort.ToldLasso(Wanted(None, Budget())).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=0.1)
    is_large = (y > 0).astype(int)
    probabilities = cohort.ToldLasso(Wanted(2, Budget())).fit(X, is_large).predict_proba(X)
    assert np.mean(probabilities.argmax(axis=1) == is_large) > 0.95


@pytest.mark.parametrize("n_groups", [1, 2])
def test_groups_that_a_model_finds_are_compared_with_the_hidden_ones(n_groups):
    rng = np.random.default_rng(0)
    hidden = np.array(["a", "b"])[np.arange(120) % 2]
    X = rng.normal(size=(120, 4)) + 8 * (hidden == "a")[:, None] * [1, 0, 0, 0] * (n_groups - 1)
    y = np.where(hidden == "a", X[:, 1], X[:, 2]) if n_groups == 2 else X[:, 3]
    frame = pd.DataFrame(X, columns=list("wxyz"))
    model, _ = fit_everyday(load_everyday("lspin"), frame, y, Wanted(None, Budget()))
    row = cohort.compare_groups(model, frame, hidden)
    assert (row["n_groups"], round(row["ari"], 6)) == (n_groups, n_groups - 1)
    found = json.loads(row["groups"])
    assert sum(group["rows"] for group in found) == 120
    if n_groups == 2:  # w tells the groups, and a single column that does so is shown
        features = {tuple(group["hidden"]): group["features"] for group in found}
        assert features == {("a",): ["w", "x"], ("b",): ["w", "y"]}
        assert [group["told_by"] for group in found] == [["w"], ["w"]]


@pytest.mark.parametrize("part", parts.VARIANTS)
def test_a_part_that_is_taken_away_exists_and_comes_back(part):
    def look():
        return [getattr(module, name) for module, values in variant.constants.items() for name in values]

    variant = parts.VARIANTS[part]
    before = look()
    with parts.without_part(variant):
        assert [here is there for here, there in zip(before, look(), strict=True)].count(True) == 0
        assert recipes.NONLINEAR._asdict().items() >= variant.recipe.items()
    assert all(here is there for here, there in zip(before, look(), strict=True))
    LSPINRegressor(**variant.settings)._validate_params()


def test_a_part_is_compared_with_what_it_was_taken_from_on_the_same_tables():
    cells = [("default", 0, 0.5), ("default", 1, 0.9), ("default", 2, 0.1), ("less", 0, 0.4), ("less", 1, 0.9)]
    frame = pd.DataFrame(cells, columns=["method", "seed", "share"]).assign(dataset="sites", f1=1.0)
    both = parts.compare(frame, "less", "default")
    assert parts.describe_change(both, "share") == "-0.050 ± 0.035"
    assert parts.count_changed(both) == "1 of 2"


@pytest.mark.parametrize(("dataset", "scale"), [("linear", 0.5), ("E4", 0.5), ("E2", 1.0)])
def test_columns_of_noise_change_nothing_else(dataset, scale):
    narrow, wide = (wide_paper.load_widened(Case(dataset, 50, width), 0) for width in (60, 400))
    original = load_synthetic(dataset, 0)
    n_own = original.train.X.shape[1]
    np.testing.assert_array_equal(wide[0].X[:, :n_own], original.train.X[:50])
    np.testing.assert_array_equal(wide[1].y[-len(original.test.y) :], original.test.y)
    for one, other in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(one.X, other.X[:, :60])
        np.testing.assert_array_equal(one.y, other.y)
        assert not other.relevant[:, n_own:].any()
        np.testing.assert_array_equal(one.relevant, other.relevant[:, :60])
    assert np.std(wide[1].X[:, n_own:]) == pytest.approx(scale, rel=0.02)


@pytest.mark.parametrize("family", ["clinics", "sites"])
def test_the_way_begins_at_a_constant_and_ends_at_the_ceiling(family):
    drawn = draw(family, 0)
    constant = 0.0 if drawn.is_regression else np.bincount(drawn.test.y).max() / len(drawn.test.y)
    assert share_of_way(constant, drawn.test.y, drawn) == 0
    assert share_of_way(drawn.ceiling, drawn.test.y, drawn) == 1


def test_a_mask_that_holds_the_answer_goes_the_whole_way():
    drawn = draw("clinics", 0)
    answer = np.array(drawn.test.y == 1)[:, None]
    assert suite.share_of_mask(np.hstack([answer, ~answer]), drawn) >= 1
    assert suite.share_of_mask(np.ones((len(answer), 2), bool), drawn) == 0


def test_a_category_is_prepared_as_levels_and_counted_once():
    train = pd.DataFrame({"site": pd.Categorical(["a", "b", None, "a"]), "age": [1.0, np.nan, 3.0, 8.0]})
    test = pd.DataFrame({"site": pd.Categorical(["c", "b"]), "age": [np.nan, 5.0]})
    prepared = tables.prepare(train, test)
    assert prepared.owners.tolist() == [1, 0, 0, 0]
    np.testing.assert_array_equal(prepared.train, [[1, 1, 0, 0], [3, 0, 1, 0], [3, 0, 0, 1], [8, 1, 0, 0]])
    np.testing.assert_array_equal(prepared.test, [[3, 0, 0, 0], [5, 0, 1, 0]])
    selected = np.array([[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]], bool)
    assert tables.count_columns(selected, prepared.owners).tolist() == [1, 2, 0]


def test_every_row_of_an_ordinary_table_is_judged_once():
    table = tables.load_ordinary("wine")
    judged = np.concatenate([tables.split_folds(table, number)[1] for number in range(tables.N_FOLDS)])
    assert sorted(judged) == list(range(178))
    assert np.bincount(table.y).tolist() == [59, 71, 48]


@pytest.mark.parametrize("name", tables.SOURCES)
def test_an_ordinary_table_is_large_enough_and_does_not_hold_its_target(name):
    if not tables.is_here(name):
        pytest.skip(f"the package {tables.SOURCES[name].package} is not installed")
    table = tables.load_ordinary(name)
    assert 100 < len(table.X) == len(table.y) <= tables.MOST_ROWS
    assert np.isfinite(table.y).all()
    assert tables.SOURCES[name].target not in table.X


def test_the_report_says_which_tables_need_a_package(monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda package: None if package == "statsmodels" else package)
    frame = pd.DataFrame({"dataset": [name for name in tables.SOURCES if tables.is_here(name)]})
    missing, packages = ordinary.describe_missing(frame)
    assert "star98" in missing
    assert "wine" not in missing
    assert packages.endswith("not installed: statsmodels.")


def test_ranks_are_of_tables_that_all_methods_have_and_the_best_is_bold():
    cells = [("a", "x", 0.2), ("b", "x", 0.1), ("a", "y", 0.3), ("b", "y", 0.3), ("a", "z", 0.5)]
    frame = pd.DataFrame(cells, columns=["method", "dataset", "log_loss"]).assign(n=100, d=3)
    assert ordinary.rank_methods(frame, "log_loss").mean().to_dict() == {"a": 1.75, "b": 1.25}
    lines = ordinary.tabulate_tables(frame, "log_loss", 1)
    assert lines[2:] == [
        "| x | 100 × 3 | 0.2 ± 0.0 | **0.1 ± 0.0** |",
        "| y | 100 × 3 | **0.3 ± 0.0** | **0.3 ± 0.0** |",
        "| z | 100 × 3 | **0.5 ± 0.0** | – |",
    ]


@pytest.mark.parametrize("name", ["rf_shap", "ebm"])
@pytest.mark.parametrize("dataset", ["E5", "E1"])
def test_the_parts_of_an_explanation_sum_up_to_the_prediction(name, dataset):
    method = load_or_skip(name)
    train, valid, test = (show(part, dataset) for part in load_synthetic(dataset, 0, 60))
    explained = method.fit(train, valid, 0, Budget(fits=1, epochs=5)).predict.__self__
    parts, base, features = file_of(name).explain(explained._model, test.X)
    outputs = base + parts.sum(axis=1)
    if dataset == "E5":
        np.testing.assert_allclose(outputs[:, 0], explained.predict(test.X), rtol=1e-5)
    else:
        answers = outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0
        np.testing.assert_array_equal(answers, explained.predict(test.X))
    assert features.shape == (parts.shape[1], test.X.shape[1])


@pytest.mark.parametrize("is_regression", [True, False])
def test_a_row_counts_as_many_parts_as_its_prediction_needs(is_regression):
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(200, 6, 1)) * 0.001
    pairs = np.argsort(rng.random((200, 6)), axis=1)[:, :2]  # the two that matter are others in every row
    np.put_along_axis(parts[:, :, 0], pairs, np.array([[3.0, -5.0]]) * rng.choice([-1, 1], (200, 1)), axis=1)
    response = 1.0 + parts[:, :, 0].sum(axis=1)
    explanation = Explanation(parts, np.array([1.0]), np.eye(6, dtype=bool))
    y = response + rng.normal(size=200) if is_regression else (response > 0).astype(int)
    assert count_needed(explanation, y, is_regression=is_regression) == (2 if is_regression else 1)
    np.testing.assert_array_equal(np.sort(np.nonzero(keep_largest(parts, 2))[1].reshape(-1, 2)), np.sort(pairs))


def test_a_capped_method_takes_the_best_of_the_settings_with_few_features():
    class Column:
        """Predicts by a column of the table, and uses as many features as it is told."""

        def __init__(self, column, n_features):
            self.column, self.n_features = column, n_features

        def fit(self, X, y):
            return self

        def predict(self, X):
            return X[:, self.column].astype(int)

    y = np.arange(12) % 2
    columns = [y, 1 - y, np.where(np.arange(12) < 3, 1 - y, y), *np.zeros((5, 12))]
    rows = Samples(np.column_stack(columns), y, "colon", False)
    grid = tuple({"column": c, "n_features": n} for c, n in ((0, 7), (1, 2), (2, 3)))
    wide = Wide(
        Grid(grid, lambda task, **settings: Column(**settings)),
        select=lambda model: np.arange(len(columns)) < model.n_features,
        most_features=5,
    )
    for valid in (rows, None):
        assert search(wide, Task(rows, valid, 0, Budget())).chosen.settings == grid[2]
    none_is_allowed = replace(wide, most_features=1)
    assert search(none_is_allowed, Task(rows, rows, 0, Budget())).chosen.settings == grid[1]


def test_a_method_that_tunes_by_itself_is_left_to_do_so():
    found = Search(Trial({}, None, 0.0), [], 0.0, 1)
    assert search(Wide(lambda task: found), None) is found


def test_a_method_that_has_no_part_for_a_table_says_so():
    with pytest.raises(ValueError, match="ransac cannot do wide tables"):
        load_wide_method("ransac")
    run = Run("survival_curve", "lasso", Case("gbsg"), 0, Budget())
    with pytest.raises(ValueError, match="lasso cannot do cohorts"):
        cohorts.measure_sweep(run)


class Gated:
    """A model of two classes by the first column, with two gates a row."""

    def __init__(self, encodes):
        self.encodes = encodes  # the answer in its gates, and looks at nothing else

    def gates(self, X):
        answer = np.asarray(X[:, [0]] > 0)
        return np.hstack([answer, ~answer]).astype(float) if self.encodes else np.ones(X.shape)

    def predict_with_gates(self, X, gates):
        return gates[:, 0].astype(int) if self.encodes else (X[:, 0] * gates[:, 0] > 0).astype(int)


@pytest.mark.parametrize(("encodes", "mask", "exchanged"), [(True, 100, 100), (False, 50, 50)])
def test_gates_that_hold_the_answer_are_found_out(encodes, mask, exchanged):
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[::2, 0], X[1::2, 0] = np.abs(X[::2, 0]), -np.abs(X[1::2, 0])
    rows, model = Samples(X, (X[:, 0] > 0).astype(int), "colon", False), Gated(encodes)
    selected = select(None, model, X)
    scores = score_honesty(model, selected, selected, rows, rows)
    assert scores["mask_accuracy"] == pytest.approx(mask, abs=1)
    assert scores["exchanged_accuracy"] == pytest.approx(exchanged, abs=8)


def test_a_gate_over_an_absent_value_does_not_count():
    X = sparse.csr_matrix([[1.0, 0.0], [2.0, 3.0], [0.0, 0.0]])
    counts = score_counts(*[select(None, SimpleNamespace(gates=lambda X: np.ones(X.shape)), X)] * 2)
    assert json.loads(counts["n_selected"]) == {"0": 1, "1": 1, "2": 1}
    assert (counts["n_features"], counts["n_union"], counts["n_most"]) == (1, 2, 2)


def test_a_model_of_so_many_features_is_scored_beside_the_chosen_one():
    X = np.eye(6)[np.arange(12) % 6]
    rows = Samples(X, (X[:, 0] > 0).astype(int), "colon", False)

    def fit_number(task, number):
        """Opens the first gates of every row and all of the last, and looks at all columns but one."""
        opened = np.tile(np.arange(6) < number, (12, 1)) | (np.arange(12)[:, None] == 11)
        return SimpleNamespace(
            gates=lambda X: opened * 1.0, predict=lambda X: rows.y, columns_needed_=np.arange(5)
        )

    wide = Wide(lambda task: None, fit_number=fit_number)
    row = score_number(wide, Task(rows, None, 0, Budget()), rows, 2)
    assert row.pop("number_cpu_seconds") >= 0
    assert list(row.values()) == [2, 100, 2, 6, 5]


@pytest.mark.parametrize("in_folds", [True, False])
def test_the_parts_of_a_split_share_no_row_and_have_the_sizes_of_the_paper(in_folds):
    y = np.repeat([0, 1], [994, 999] if in_folds else [40, 22])
    splits = [split_rows(y, number, in_folds=in_folds) for number in range(5)]
    sizes = [(len(split.train), len(split.test)) for split in splits]
    assert sizes[0] == ((379, 1514) if in_folds else (49, 13))
    for split in splits:
        rows = np.concatenate([part for part in split if part is not None])
        assert len(rows) == len(set(rows.tolist())) == len(y)
    if in_folds:  # every row outside validation is learned from once
        learned = np.concatenate([split.train for split in splits])
        assert len(set(learned.tolist())) == len(learned) == len(y) - len(splits[0].valid)


def test_the_setting_picked_on_test_rows_is_best_over_all_splits_not_on_one():
    def tried(*scores):
        return json.dumps(
            [{"settings": {"C": C}, "accuracy": a, "n_features": n} for C, (a, n) in enumerate(scores)]
        )

    frame = pd.DataFrame(
        {"method": "lasso_capped", "dataset": "colon", "seed": [0, 1],
         "tried": [tried((100, 9), (80, 9), (99, 70)), tried((50, 9), (81, 9), (99, 60))]}
    )  # fmt: skip
    assert table3.pick_on_test(frame)["accuracy"].tolist() == [80, 81]


def test_the_authors_recipe_learns_the_linear_example():
    train, valid, test = (show(part, "linear") for part in load_synthetic("linear", 0, 40))
    fitted = load_method("lspin_official").fit(train, valid, 0, Budget(fits=4, epochs=2000))
    assert np.mean((fitted.predict(test.X) - test.y) ** 2) < 0.2 * np.var(test.y)
    assert fitted.gates(test.X).shape == test.X.shape


# The paper prints these for random forests, which select every feature.
@pytest.mark.parametrize(("dataset", "printed"), [("E3", 0.6250), ("E4", 0.0769), ("E5", 0.2500)])
def test_selecting_everything_scores_as_the_paper_prints(dataset, printed):
    test = load_synthetic(dataset, 0).test
    everything = select_everywhere(np.ones(test.X.shape[1], bool), test.X)
    assert score_selection(everything, test.relevant)["f1"] == pytest.approx(printed, abs=5e-5)


class Moody:
    """A model that fails for a negative setting."""

    def __init__(self, level):
        self.level = level

    def fit(self, X, y):
        if self.level < 0:
            raise ArithmeticError("no luck")
        return self

    def predict(self, X):
        return np.full(len(X), self.level)


def test_tuning_survives_fits_that_fail_and_counts_them():
    from optuna.distributions import FloatDistribution

    rows = Samples(np.zeros((4, 1)), np.full(4, 0.5), "linear", True)
    space = {"level": FloatDistribution(-1, 1)}
    fitted = tune(Moody, space, rows, rows, Budget(fits=20), 0)
    assert abs(fitted.predict(rows.X)[0] - 0.5) < 0.3
    assert 0 < fitted.costs["n_failed"] < fitted.costs["n_fits"] == 20
    with pytest.raises(RuntimeError, match="all 3 fits failed, the last with ArithmeticError: no luck"):
        tune(Moody, {"level": FloatDistribution(-2, -1)}, rows, rows, Budget(fits=3), 0)


def test_tuning_finds_the_best_of_what_it_tried_on_validation_rows():
    from optuna.distributions import FloatDistribution

    train, valid, _ = (show(part, "linear") for part in load_synthetic("linear", 0, 40))
    space = {"alpha": FloatDistribution(1e-3, 0.5, log=True)}
    fitted = tune(Lasso, space, train, valid, Budget(fits=10), 0, first={"alpha": 0.5})
    worst = Lasso(alpha=0.5).fit(train.X, train.y)
    assert fitted.settings["alpha"] < 0.5
    assert np.mean((fitted.predict(valid.X) - valid.y) ** 2) < np.mean((worst.predict(valid.X) - valid.y) ** 2)


def test_a_caption_names_the_methods_with_fewer_seeds():
    cells = [("a", "E1", 0), ("a", "E1", 1), ("a", "E2", 0), ("a", "E2", 1), ("b", "E1", 0), ("b", "E1", 1)]
    frame = pd.DataFrame(cells, columns=["method", "dataset", "seed"]).assign(lspin="1.0")
    assert describe_seeds(frame) == [
        "Mean ± standard deviation over seeds (2 a cell, of seeds 0 to 1); lspin 1.0."
    ]
    (line,) = describe_seeds(frame.iloc[:-1])
    assert "(1 to 2 a cell, of seeds 0 to 1; fewer: b 1)" in line


def test_times_are_compared_on_the_seeds_that_all_methods_have():
    rows = [("lspin", 0), ("lspin", 0), ("lspin", 1), ("stg", 1), ("lspin", 2), ("stg", 2), ("stg", 3)]
    frame = pd.DataFrame(rows, columns=["method", "seed"])
    assert keep_common_seeds(frame).index.tolist() == [2, 3, 4, 5]
    assert keep_common_seeds(frame[:3]).index.tolist() == [0, 1, 2]
    assert keep_common_seeds(frame[[True, True, False, False, False, False, True]]).index.tolist() == [0, 1, 6]


def test_a_table_keeps_the_rows_that_were_not_run_again(tmp_path):
    def row(method, seed, f1):
        return {"method": method, "dataset": "E1", "n_train": 10, "n_columns": 3, "seed": seed, "f1": f1}

    path = tmp_path / "table.csv"
    merge_rows(path, [row("a", 0, 0.1), row("a", 1, 0.2), row("b", 0, 0.3)])
    frame = merge_rows(path, [row("a", 0, 0.9)])
    assert sorted(frame["f1"]) == [0.2, 0.3, 0.9]
    pd.testing.assert_frame_equal(merge_rows(path, []), pd.read_csv(path))


def test_the_table_says_who_is_ahead_of_lspin():
    frame = pd.DataFrame(
        [
            {"method": "lspin", "dataset": "E1", "f1": 0.9, "accuracy": 95.0},
            {"method": "lspin", "dataset": "E1", "f1": 1.0, "accuracy": 97.0},
            {"method": "rival", "dataset": "E1", "f1": 0.94, "accuracy": 96.5},
            {"method": "lspin", "dataset": "E5", "mse": 0.2},
            {"method": "worse", "dataset": "E5", "mse": 0.3},
            {"method": "better", "dataset": "E5", "mse": 0.1},
            {"method": "alone", "dataset": "E4", "f1": 1.0},
        ]
    )
    assert table1.list_ahead(frame) == [
        "- E1, accuracy: rival 96.5, LSPIN 96.0",
        "- E5, error: better 0.1000, LSPIN 0.2000",
    ]
    assert table1.list_ahead(frame[frame["method"] == "lspin"]) == ["Nowhere."]


def test_a_run_that_fails_leaves_no_file_and_says_why(tmp_path):
    def fail(run):
        raise ArithmeticError("no luck")

    run = Run("table1", "lasso", Case("E1"), 0, Budget())
    assert "no luck" in do_run(run, fail, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", '{"row": {"meth', "[]x", "null"])
def test_a_damaged_file_of_a_run_is_set_aside_and_the_run_done_again(content, tmp_path):
    run = Run("table1", "lasso", Case("E1"), 0, Budget())
    path = tmp_path / run.file_name
    path.write_text(content)
    assert do_run(run, lambda run: {"row": {"method": "lasso"}, "arrays": {}}, tmp_path) is None
    assert json.loads(path.read_text())["row"]["method"] == "lasso"
    assert path.with_name(f"{path.name}.damaged").read_text() == content


def test_runs_that_differ_in_anything_have_other_files():
    runs = [
        Run("t", method, case, seed, budget, version)
        for method in ("lasso", "mlp")
        for case in (Case("E1"), Case("E1", 10), Case("E1", None, 10), Case("E2"))
        for seed in (0, 1)
        for budget in (Budget(), Budget(3), Budget(3, 2))
        for version in ("1", "2")
    ]
    assert len({run.file_name for run in runs}) == len(runs)


def test_methods_are_not_asked_for_the_other_kind_of_target():
    experiment = Experiment("t", ("lasso", "ransac", "protogate"), (Case("E1"), Case("E5")), (), (), report=print)
    assert [(run.method, run.case.dataset) for run in plan(experiment, range(1))] == [
        ("lasso", "E1"), ("protogate", "E1"), ("lasso", "E5"), ("ransac", "E5"),
    ]  # fmt: skip


def test_a_method_that_cannot_run_here_is_left_out_and_the_others_are_done(tmp_path, monkeypatch, capsys):
    absent = Method(require=lambda: require_package("no_such_package", "the-package"))
    monkeypatch.setitem(sys.modules, "benchmarks.methods.absent", SimpleNamespace(METHOD=absent))
    arguments = ["--quick", "--methods", "absent", "lasso", "--jobs", "1", "--results", str(tmp_path)]
    frame = conduct(motivating.EXPERIMENT, arguments).frame
    assert set(frame["method"]) == {"lasso"}
    assert "absent is left out: the package no_such_package is not installed: pip install the-package" in (
        capsys.readouterr().err
    )


class Pretrained:
    """Stands for a network that needs no training: it says what the nearest of its rows says."""

    def __init__(self, **settings):
        assert settings["device"] == "cpu"

    def fit(self, X, y):
        self.nearest = KNeighborsClassifier(1).fit(X, y)
        return self

    def predict(self, X):
        return self.nearest.predict(X)


@pytest.mark.parametrize(("name", "kind"), [("tabpfn", "TabPFN"), ("tabicl", "TabICL")])
def test_a_network_trained_beforehand_is_used_where_its_weights_are_present(name, kind, monkeypatch):
    library = SimpleNamespace(**{f"{kind}Classifier": Pretrained, f"{kind}Regressor": None})
    monkeypatch.setitem(sys.modules, name, library)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(set_num_threads=lambda number: None))
    method = load_method(name)
    monkeypatch.setattr(file_of(name), "require", lambda: None)
    train = show(load_synthetic("E1", 0, 40).train, "E1")
    fitted = method.fit(train, train, 0, Budget(fits=20))
    np.testing.assert_array_equal(fitted.predict(train.X), train.y)
    assert fitted.select is None
    assert fitted.costs == {"n_fits": 1, "n_failed": 0}


@pytest.mark.parametrize("name", ["tabpfn", "tabicl"])
def test_a_network_trained_beforehand_says_where_its_weights_are_to_be_had(name, tmp_path, monkeypatch):
    pytest.importorskip(name, exc_type=ImportError)
    if name == "tabicl":
        monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: None)
    else:
        monkeypatch.setattr(file_of(name), "find_weights", lambda: [tmp_path / "weights"])
    train = show(load_synthetic("E1", 0, 40).train, "E1")
    with pytest.raises(UnavailableError, match=r"the weights are not present: .*(set TABPFN_TOKEN|hf download)"):
        load_method(name).fit(train, train, 0, Budget(fits=1))


def test_sets_of_features_are_shared_out_among_the_rows():
    selected = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]], bool)
    shares = share_sets(selected, np.array(["age", "grade", "nodes"]))
    assert shares == {"age + nodes": 0.5, "none": 0.25, "grade": 0.25}
    assert next(iter(shares)) == "age + nodes"


def test_of_a_sweep_the_validation_rows_choose_all_but_its_first_setting():
    def point(price, decay, valid, test):
        settings = {"sparsity": price, "weight_decay": decay}
        return {"settings": settings, "valid_c": valid, "test_c": test, "mean_features": 10 * price}

    path = [point(0.1, 1, 0.6, 0.51), point(0.1, 3, 0.7, 0.52), point(0.2, 1, 0.9, 0.53), point(0.2, 3, 0.8, 0.9)]
    found = survival_curve.thin_path(path)
    assert dict(zip(found["mean_features"], found["test_c"], strict=True)) == {1.0: 0.52, 2.0: 0.53}


def test_what_a_sweep_chooses_is_fitted_again_with_all_members(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = make_survival(np.exp(-X[:, 0]), np.ones(60, bool))
    rows = cohorts.Rows(X, y)
    cohort = cohorts.Cohort(rows, rows, rows, np.array(list("abcd")), 0)
    monkeypatch.setattr(cohorts, "load_cohort", lambda name, seed: cohort)

    def make(settings, seed, budget):
        """A risk of the first column, less sure of it the more noise; more members select more features."""
        noise = np.random.default_rng(1).normal(size=60)
        model = SimpleNamespace(unique_times_=np.unique(y["time"]))
        model.fit = lambda X, y: model
        model.predict = lambda X: X[:, 0] + settings["noise"] * noise
        model.predict_survival_function = lambda X, return_array: np.full((len(X), 60), 0.5)
        n_selected = settings["n_selected"] + settings.get("n_members", 1) - 1
        model.selected = lambda X: np.arange(4) < np.full((len(X), 1), n_selected)
        return model

    def measure(settings, **others):
        method = Method(cox=Sweep(settings, make, **others))
        monkeypatch.setattr(cohorts, "load_method", lambda name: method)
        return cohorts.measure_sweep(Run("survival_curve", "cox_members", Case("gbsg"), 0, Budget()))["row"]

    sweep = ({"noise": 0.0, "n_selected": 3}, {"noise": 3.0, "n_selected": 2}, {"noise": 9.0, "n_selected": 1})
    row = measure(sweep, n_members=2)
    assert (row["best_test_c"], row["best_n_features"]) == (1.0, 4)
    assert json.loads(row["settings"]) == {**sweep[0], "n_members": 2}
    # Together the members of the best with few features have too many: it stays as it was.
    assert (row["few_test_c"], row["few_mean_features"]) == (1.0, 3)
    assert measure(sweep[1:], n_members=2)["few_mean_features"] == 3
    assert measure(sweep[1:])["best_n_features"] == 2


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read as Linux tells it")
def test_memory_of_a_process_and_of_those_below_it_is_seen():
    size = 64 * 2**20
    gc.collect()
    before = memory_wide.occupied()
    with memory_wide.Watch() as watch:
        held = np.ones(size // 8)
        with_array = memory_wide.occupied()
        n_looks = watch.n_looks
        while watch.n_looks < n_looks + 2:  # the first of them may have begun before
            os.sched_yield()
    assert 0.9 * size < with_array - before < 1.5 * size
    assert 0.9 * size < watch.peak - before < 1.5 * size
    hold = f"held = bytearray(b'x') * {size}; print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        with_child = memory_wide.occupied()
        child.kill()
    assert 0.9 * size < with_child - with_array < 1.5 * size
    del held


def test_seeds_are_read_as_people_write_them():
    assert read_seeds("0-2,7") == [0, 1, 2, 7]
    assert read_seeds("3") == [3]


def test_a_mean_too_small_for_its_digits_is_still_told():
    assert format_spread(pd.Series([0.97, 0.99]), 2) == "0.98 ± 0.01"
    assert format_spread(pd.Series([1e-9, 3e-9]), 4) == "2.0e-09 ± 1.0e-09"


def test_ray_is_asked_for_by_name_where_it_is_missing(tmp_path):
    if find_spec("ray") is not None:
        pytest.skip("Ray is installed")
    with pytest.raises(SystemExit, match="pip install ray"):
        conduct(motivating.EXPERIMENT, [*SLOW_ENOUGH, "--backend", "ray", "--results", str(tmp_path)])


HOLDING = """
import signal, sys
from dataclasses import replace
from benchmarks.experiment import conduct
from benchmarks.experiments.motivating import EXPERIMENT
def measure(run):
    while run.seed >= 2:
        signal.pause()
    return EXPERIMENT.measure(run)
conduct(replace(EXPERIMENT, measure=measure), sys.argv[1:])
"""


def start(folder, *program):
    command = [sys.executable, *program, *SLOW_ENOUGH, "--jobs", "1", "--results", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finished_runs(folder):
    return sorted((folder / "quick" / "runs" / "motivating").glob("[!.]*.json"))  # not those half written


def wait_for_runs(process, folder, number):
    while len(finished_runs(folder)) < number:
        assert process.poll() is None, "it ended without these runs"
        os.sched_yield()


def assert_complete(folder):
    """Every run is there once, whole, and in the table."""
    assert len([json.loads(path.read_text()) for path in finished_runs(folder)]) == N_RUNS
    assert len(pd.read_csv(folder / "quick" / "motivating.csv")) == N_RUNS


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_a_killed_table_goes_on_where_it_stopped_and_two_at_once_do_no_harm(tmp_path):
    process = start(tmp_path, "-c", HOLDING)  # its third run never ends
    wait_for_runs(process, tmp_path, 2)
    process.kill()  # SIGKILL: nothing can be tidied up
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in finished_runs(tmp_path)}
    assert len(before) == 2
    other = start(tmp_path, "-m", "benchmarks.experiments.motivating")
    conduct(motivating.EXPERIMENT, [*SLOW_ENOUGH, "--jobs", "1", "--results", str(tmp_path)])
    assert other.wait() == 0
    assert_complete(tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in before}  # nothing was done twice


def test_a_table_is_completed_by_a_cluster_that_loses_a_worker(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        with distributed.Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))

        def kill_a_worker():
            while not finished_runs(tmp_path):
                os.sched_yield()
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill_a_worker)
        killer.start()
        conduct(
            motivating.EXPERIMENT,
            [
                *SLOW_ENOUGH,
                "--backend",
                "dask",
                "--scheduler",
                cluster.scheduler_address,
                "--results",
                str(tmp_path),
            ],
        )
        killer.join()
    assert_complete(tmp_path)

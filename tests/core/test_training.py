import os
import subprocess
import sys
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import QUICK
from lspin import LSPINRegressor
from lspin.baselines import NetRegressor
from lspin.core import lspin, training
from lspin.core.arrays import bucket_size
from lspin.core.model import predict_outputs
from lspin.core.rows import Dense
from lspin.fitting import prediction
from lspin.tables.encoding import encode


def test_bucket_sizes_hold_the_rows_and_waste_at_most_a_quarter():
    for n in range(1, 3000):
        assert n <= bucket_size(n) <= max(1.25 * n + 1, n + 8)
        assert bucket_size(bucket_size(n)) == bucket_size(n)


def test_bucket_sizes_are_few():
    assert len({bucket_size(n) for n in range(1, 10_001)}) < 50


@pytest.fixture
def compilations(monkeypatch):
    """How often the training loop was traced since the test began."""
    counted = []
    original = lspin.at_progress

    def count(*arguments):
        counted.append(1)
        return original(*arguments)

    monkeypatch.setattr(lspin, "at_progress", count)
    training.advance.clear_cache()
    return counted


def test_other_strengths_seeds_and_fold_sizes_compile_nothing_new(table, compilations):
    X, y = table
    base = {**QUICK, "max_epochs": 3}
    LSPINRegressor(**base, sparsity=0.01).fit(X, y)
    assert len(compilations) == 1
    for change in (
        {"sparsity": 0.1}, {"noise_scale": 0.3}, {"learning_rate": 0.1}, {"random_state": 5}, {"max_epochs": 7},
        {"weight_decay": 1.0}, {"gate_exchange": 0.1}, {"n_members": 2},
    ):  # fmt: skip
        LSPINRegressor(**{**base, "sparsity": 0.01, **change}).fit(X, y)
    LSPINRegressor(**base, sparsity=0.01).fit(X[:85], y[:85])
    assert len(compilations) == 1


def test_a_whole_path_compiles_once(table, compilations):
    LSPINRegressor(**{**QUICK, "max_epochs": 3}).fit(*table)
    assert len(compilations) == 1


def test_a_second_process_finds_the_compilation_on_disk(tmp_path):
    program = """
import jax, numpy as np
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
from lspin import LSPINRegressor
X = np.random.default_rng(0).normal(size=(96, 5))
LSPINRegressor((8,), gate_hidden_layer_sizes=(8,), sparsity=0.01, max_epochs=3, random_state=0).fit(X, X[:, 0])
print(hits.count("/jax/compilation_cache/cache_hits"), hits.count("/jax/compilation_cache/cache_misses"))
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", program]
    counts = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert int(counts[0][1]) > 0
    assert int(counts[1][0]) > 0
    assert int(counts[1][1]) == 0


def test_history_has_one_row_an_epoch_and_the_loss_falls(regressor):
    history = regressor.history_
    assert len(history) == regressor.n_iter_ == 100
    assert history["loss"].iloc[-1] < 0.7 * history["loss"].iloc[0]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.4, (96, 5)).astype(float))
    return X, X.toarray()[:, 0] - X.toarray()[:, 1]


@pytest.mark.parametrize("layers", [(), (8,)])
def test_zeros_that_are_absent_give_the_same_model_from_a_dense_table(counts, layers):
    X, y = counts
    settings = {**QUICK, "hidden_layer_sizes": layers, "sparsity": 0.001}
    sparse = LSPINRegressor(**settings).fit(X, y)
    dense = LSPINRegressor(**settings, zero_is_absent=True).fit(X.toarray(), y)
    gates = sparse.gates(X)
    assert sp.issparse(gates)
    assert np.corrcoef(sparse.predict(X), y)[0, 1] > 0.8
    np.testing.assert_array_equal(dense.gates(X.toarray()), gates.toarray())
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(X.toarray()))
    np.testing.assert_array_equal(sparse.selected(X).toarray(), dense.selection_frequency(X.toarray()) > 0)
    np.testing.assert_allclose(sparse.transform(X).toarray(), gates.toarray() * X.toarray())


def test_what_is_absent_is_never_selected(counts):
    X, y = counts
    model = LSPINRegressor(**QUICK, sparsity=0.0).fit(X, y)
    assert not model.selected(X).toarray()[X.toarray() == 0].any()


def test_a_stored_value_that_is_missing_is_told_but_never_used(counts):
    X, y = counts
    holes = X.copy()
    holes.data[::7] = np.nan
    model = LSPINRegressor(**QUICK, sparsity=0.001).fit(holes, y)
    assert model.members_[0].encoding.sees_missing
    assert not model.selected(holes).toarray()[np.isnan(holes.toarray())].any()
    np.testing.assert_allclose(model.predict(holes), model.predict(holes.toarray()))
    without = holes.copy()
    without.data[::7] = 0.0
    assert not np.allclose(model.predict(holes), model.predict(without))


def test_rows_of_a_sparse_table_are_predicted_one_by_one_as_together(counts):
    X, y = counts
    model = LSPINRegressor(**QUICK, sparsity=0.001, n_members=2).fit(X, y)
    singly = [model.predict(X[[row]])[0] for row in range(10)]
    np.testing.assert_allclose(singly, model.predict(X)[:10], rtol=1e-10)


@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_outcomes_of_a_few_rows_at_a_time_are_those_of_all_gates(counts, monkeypatch, stored):
    X, y = counts
    X = X if stored == "sparse" else X.toarray()
    model = LSPINRegressor(**QUICK, sparsity=0.001, n_members=2).fit(X, y)
    table = model._read(X)
    together = prediction.predict_members(model.members_, table)
    monkeypatch.setattr(prediction, "BLOCK_ENTRIES", 64)  # blocks of 16 rows
    outcome = prediction.predict_counted(model.members_, table)
    gates = together.gates.toarray() if stored == "sparse" else together.gates
    each = [prediction.predict_member(member, table) for member in model.members_]
    np.testing.assert_allclose(outcome.outputs, sum(one.outputs for one in each) / 2, rtol=1e-10)
    np.testing.assert_allclose(outcome.outputs, together.outputs, rtol=1e-10)
    np.testing.assert_array_equal(outcome.n_open, (gates > 0).sum(axis=1))


@pytest.mark.parametrize("opened", [[], [1], [0, 4], [0, 1, 2, 3, 4]])
def test_outputs_are_those_of_all_inputs_times_their_gates(table, opened):
    X, y = table
    level = pd.Categorical(np.digitize(X[:, 1], [-0.5, 0.5]).astype(str))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(b=level)
    model = LSPINRegressor(**QUICK, sparsity=0.01).fit(frame, y)
    (member,) = model.members_
    gates = np.zeros(X.shape)
    gates[:, opened] = np.random.default_rng(0).uniform(size=(len(X), len(opened)))
    grid = model._read(frame)
    inputs, _ = encode(grid, member.encoding)
    expected = predict_outputs(member.networks, Dense(inputs * gates[:, member.encoding.owners]))
    found = prediction.predict_member(member, grid, gates)
    np.testing.assert_array_equal(found.gates, gates)
    np.testing.assert_allclose(found.outputs, expected, rtol=1e-12)


def test_patience_ends_training_early_and_skips_to_the_last_phase(table):
    X, y = table
    noise = np.random.default_rng(1).normal(size=len(y))
    settings = {**QUICK, "max_epochs": 400, "sparsity": 0.01}
    patient = LSPINRegressor(**settings).fit(X, noise)
    hasty = LSPINRegressor(**settings, patience=5).fit(X, noise)
    assert patient.n_iter_ == 400
    assert hasty.n_iter_ < 100
    assert hasty.history_["validation_loss"].notna().all()


def test_early_stopping_keeps_the_best_epoch_of_the_last_phase(table):
    X, y = table
    model = LSPINRegressor(**{**QUICK, "max_epochs": 100}, sparsity=0.001, patience=30)
    model.fit(X[:64], y[:64], eval_set=(X[64:], y[64:]))
    loss = np.mean((model.predict(X[64:]) - y[64:]) ** 2) / model.target_scale_**2
    settled = model.history_["validation_loss"].iloc[80:]
    assert loss == pytest.approx(settled.min(), rel=1e-3)


def test_an_interrupt_keeps_what_was_learned_if_no_fit_is_finished(table, press_after):
    press_after(10)
    with pytest.warns(match="no fit is finished, kept the one under way after 45 of 100 epochs, not judged"):
        model = LSPINRegressor(**QUICK, sparsity=0.01).fit(*table)
    assert model.n_iter_ == 45
    assert np.isfinite(model.predict(table[0])).all()
    assert model.path_.empty


@pytest.mark.parametrize("n_steps", [1, 7, 64])
def test_where_the_loop_pauses_changes_no_number(table, monkeypatch, n_steps):
    class Steady(training.Pace):
        def __init__(self):
            self.n_steps = n_steps

        def learn(self, seconds):
            pass

    settings = {**QUICK, "max_epochs": 20, "batch_size": 16, "sparsity": 0.01}  # six steps an epoch
    whole = LSPINRegressor(**settings).fit(*table)
    monkeypatch.setattr(training, "Pace", Steady)
    paused = LSPINRegressor(**settings).fit(*table)
    np.testing.assert_array_equal(paused.predict(table[0]), whole.predict(table[0]))
    pd.testing.assert_frame_equal(paused.history_, whole.history_)


@dataclass(frozen=True)
class Counting:
    """Learns nothing; the loss of a batch is the sum of its targets."""

    room: None = None
    settles: float = 0.8

    def objective(self, weights, batch, key, progress, tuning):
        return batch.target.sum() + 0.0 * weights.sum(), jnp.float32(0.0)

    def update(self, weights, directions, progress, tuning):
        return weights

    def judge(self, weights, batch, tuning):
        return jnp.float32(0.0)

    def price(self, tuning):
        return 0.0


@pytest.mark.parametrize(("most", "n_parts"), [(8, 1), (4, 2), (2, 4)])
def test_a_large_table_is_gone_through_in_several_epochs_each_row_once(most, n_parts):
    bits = np.arange(16, dtype=np.float32)
    rows = training.TrainingRows(
        values=Dense(bits[:, None]),
        context=None,
        shut=None,
        target=2**bits,
        weight=np.ones(16, np.float32),
        affinity=None,
        n_rows=np.int32(16),
    )
    trained = training.train(
        Counting(), np.zeros(1, np.float32), rows, rows._replace(n_rows=np.int32(0)), np.float32(0.0),
        max_epochs=2 * n_parts, patience=np.inf, batch_size=2, seed=1, most_batches=most,
    )  # fmt: skip
    n_batches = 8 // n_parts
    seen = (trained.history[:, 0] * n_batches).astype(int)  # of an epoch, a bit for each row
    assert [int(number).bit_count() for number in seen] == [2 * n_batches] * 2 * n_parts
    for one_pass in (seen[:n_parts], seen[n_parts:]):
        assert np.bitwise_or.reduce(one_pass) == 2**16 - 1
    assert n_parts == 1 or seen[0] != seen[n_parts]  # another order


@pytest.mark.parametrize(("seconds", "n_steps"), [(2.0, 10), (0.2, 100), (0.1, 200), (1e-5, 800), (1e3, 1)])
def test_the_loop_takes_as_many_steps_at_once_as_fit_into_a_moment(seconds, n_steps):
    pace = training.Pace()
    assert pace.n_steps == 100
    pace.learn(seconds)
    assert pace.n_steps == n_steps


@pytest.mark.parametrize(
    "model",
    [LSPINRegressor((4,), sparsity=0.01, max_epochs=1), NetRegressor((4,), max_epochs=1)],
    ids=["ours", "rivals"],
)
def test_programs_in_memory_stay_few(table, monkeypatch, model):
    X, y = table
    monkeypatch.setattr(training, "MOST_PROGRAMS", 2)
    training.advance.clear_cache()
    sizes = []
    for n_columns in (1, 2, 3):
        model.fit(X[:, :n_columns], y)
        sizes.append(training.advance._cache_size())
    assert sizes == [1, 2, 1]


def test_wide_tables_train_in_the_span_of_their_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 120))
    y = X[:, 3] + X[:, 4]
    model = LSPINRegressor((), gate_hidden_layer_sizes=(8,), sparsity=0.02, random_state=0).fit(X, y)
    first = model.members_[0].networks.gating[0].weights
    assert first.shape == (120, 8)
    # Each column of the first layer is a combination of the standardised rows.
    standard = X / X.std(axis=0)
    residual = first - standard.T @ np.linalg.lstsq(standard.T, first, rcond=None)[0]
    assert np.abs(residual).max() < 1e-6 * np.abs(first).max()
    assert model.score(X, y) > 0.5

"""What all trained rivals have from the one loop: patience, progress, history, interrupts."""

import sys

import numpy as np
import pytest

from lspin.baselines import (
    ContextualLassoRegressor,
    DeepSurv,
    EvalXClassifier,
    INVASEClassifier,
    L2XClassifier,
    NetRegressor,
    ProtoGateClassifier,
    REALXRegressor,
    STGRegressor,
)
from lspin.fitting.ensemble import FitInterruptedWarning

BRIEF = {"max_epochs": 200, "batch_size": 32, "random_state": 0}
GATED = {"gate_hidden_layer_sizes": (4,), **BRIEF}
RIVALS = [
    NetRegressor((8,), learning_rate=0.05, **BRIEF),
    STGRegressor((8,), learning_rate=0.05, **BRIEF),
    ContextualLassoRegressor((8,), learning_rate=0.05, **BRIEF),
    REALXRegressor((8,), **GATED),
    INVASEClassifier((8,), **GATED),
    L2XClassifier((8,), n_features=2, **GATED),
    EvalXClassifier((8,), learning_rate=0.05, **BRIEF),
    ProtoGateClassifier((4,), **BRIEF),
    DeepSurv((8,), learning_rate=0.05, **BRIEF),
]


def target_of(rival, noise):
    if isinstance(rival, DeepSurv):
        return np.exp(noise), np.arange(len(noise)) % 3 > 0
    return noise if "Regressor" in type(rival).__name__ else (noise > 0).astype(int)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
def test_patience_ends_the_training_of_a_target_that_is_noise(rival, table):
    X, noise = table[0], np.random.default_rng(1).normal(size=96)
    model = rival.set_params(patience=5).fit(X, target_of(rival, noise))
    assert model.n_iter_ == len(model.history_) < 200
    assert model.history_.notna().all(axis=None)
    rival.set_params(patience=None)


def test_the_best_epoch_on_held_out_rows_is_kept(table):
    X, noise = table[0], np.random.default_rng(1).normal(size=96)
    hasty = NetRegressor((16,), learning_rate=0.05, patience=20, **BRIEF).fit(X, noise)
    patient = NetRegressor((16,), learning_rate=0.05, **BRIEF).fit(X, noise)
    assert hasty.score(X, noise) < 0.5 < patient.score(X, noise)  # all rows, most of which both learned from
    assert patient.history_["validation_loss"].isna().all()


def test_progress_is_shown_and_an_interrupt_keeps_the_weights(table, press_after, monkeypatch, capsys):
    press_after(5)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.warns(FitInterruptedWarning, match="kept the weights after 40 of 200 epochs"):
        model = NetRegressor((8,), verbose=1, **BRIEF).fit(*table)
    assert np.isfinite(model.predict(table[0])).all()
    assert "open gates" in capsys.readouterr().err


def test_foreign_gates_outside_their_range_are_refused(table):
    model = NetRegressor((8,), **{**BRIEF, "max_epochs": 1}).fit(*table)
    with pytest.raises(ValueError, match=r"gates must lie in \[0, 1\]; they range from 0 to 2"):
        model.predict_with_gates(table[0], 2 * np.eye(96, 5))

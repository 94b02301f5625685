"""REAL-X and EVAL-X on rows of which the best prediction from any subset of the features is known."""

import numpy as np
import pytest

from lspin import audit
from lspin.audit import audit_leakage
from lspin.baselines import EvalXClassifier, EvalXRegressor, REALXClassifier, REALXRegressor


def draw_sum(n_rows=800):
    """The response is a sum of three independent columns: given some, the best guess is the sum of those."""
    X = np.random.default_rng(0).normal(size=(n_rows, 5))
    return X, X[:, 0] + X[:, 1] - X[:, 2]


def test_evalx_predicts_the_mean_given_the_features_it_sees():
    X, y = draw_sum()
    model = EvalXRegressor((30,), max_epochs=200, random_state=0).fit(X[:600], y[:600])
    rng = np.random.default_rng(1)
    mask = rng.random((200, 5)) < 0.5
    best = (mask * X[600:]) @ [1, 1, -1, 0, 0]
    predicted = model.predict_with_gates(X[600:], mask)
    assert np.mean((predicted - best) ** 2) < 0.05 * np.var(y)
    hidden = np.where(mask, X[600:], np.nan)
    np.testing.assert_allclose(model.predict(hidden), predicted)  # not-a-number hides a value
    assert (model.gates(X) == 1).all()


def test_realx_selects_what_a_random_mask_would_miss():
    X, y = draw_sum()
    settings = {"gate_hidden_layer_sizes": (20,), "sparsity": 0.03, "learning_rate": 0.005, "max_epochs": 300}
    settings["random_state"] = 0
    for model, target in ((REALXClassifier((30,), **settings), y > 0), (REALXRegressor((30,), **settings), y)):
        model.fit(X[:600], target[:600])
        shares = model.selected(X[600:]).mean(axis=0)
        assert shares[:3].min() > 0.6 > 0.2 > shares[3:].max()
        assert model.score(X[600:], target[600:]) > 0.85


class Encoder:
    """Shows one of two columns of noise, and which one is the answer: the last column, which is never shown."""

    classes_ = np.array([False, True])

    def selected(self, X):
        answer = X[:, -1] > 0
        return np.column_stack([answer, ~answer, np.zeros((len(X), X.shape[1] - 2), bool)])

    def predict(self, X):
        return X[:, -1] > 0


class Honest(Encoder):
    """Shows the column that is the answer."""

    def selected(self, X):
        return np.broadcast_to(np.arange(X.shape[1]) == X.shape[1] - 1, X.shape)


@pytest.mark.parametrize(("model", "leaks"), [(Encoder(), True), (Honest(), False)])
def test_evalx_can_be_the_audits_evaluator(model, leaks, monkeypatch):
    monkeypatch.setattr(audit, "MOST_COPIES", 2)
    X = np.random.default_rng(2).normal(size=(300, 4))
    evaluator = EvalXClassifier((20,), max_epochs=30, learning_rate=0.02, random_state=0)
    found = audit_leakage(model, X, X[:, -1] > 0, evaluator=evaluator)
    assert found.leaks == leaks
    assert (found.evaluator < 0.65) == leaks
    assert not hasattr(evaluator, "weights_")  # a clone has learned

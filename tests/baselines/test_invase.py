"""INVASE on rows whose relevant feature is known."""

import numpy as np

from lspin.baselines import INVASEClassifier, INVASERegressor
from lspin.metrics import score_selection


def draw_switch(n_rows=800):
    """The first column says which of the next two is the answer, and need not be seen beside that one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    relevant = np.zeros(X.shape, bool)
    relevant[:, 1], relevant[:, 2] = X[:, 0] > 0, X[:, 0] <= 0
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2]), relevant


def test_it_selects_row_by_row():
    X, y, relevant = draw_switch()
    settings = {"gate_hidden_layer_sizes": (50,), "learning_rate": 0.005, "max_epochs": 400, "random_state": 0}
    for model, target in ((INVASEClassifier((50,), **settings), y > 0), (INVASERegressor((50,), **settings), y)):
        model.fit(X[:600], target[:600])
        assert score_selection(model.selected(X[600:]), relevant[600:]).f1 > 0.8
        assert model.score(X[600:], target[600:]) > 0.9


def test_gates_are_0_or_1_and_a_higher_price_opens_fewer():
    X, y, _ = draw_switch()
    settings = {"hidden_layer_sizes": (20,), "gate_hidden_layer_sizes": (20,), "max_epochs": 100}
    gates = [INVASEClassifier(sparsity=s, random_state=0, **settings).fit(X, y > 0).gates(X) for s in (0, 0.05, 5)]
    assert set(np.unique(gates[0])) <= {0.0, 1.0}
    assert gates[0].mean() > gates[1].mean() > gates[2].mean() == 0

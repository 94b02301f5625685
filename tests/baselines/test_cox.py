"""Survival models of the rivals."""

import numpy as np
from scipy.optimize import minimize

from lspin.baselines import DeepSurv, STGCox
from lspin.survival import make_survival


def draw_cohort(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    time = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1]))
    return X, make_survival(time, rng.random(n_rows) < 0.7)


def breslow_by_hand(coefficients, X, y):
    log_hazard = X @ coefficients
    terms = [
        np.log(np.exp(log_hazard[y["time"] >= y["time"][i]]).sum()) - log_hazard[i]
        for i in np.flatnonzero(y["event"])
    ]
    return np.mean(terms)


def test_a_network_without_hidden_layers_is_the_linear_cox_model():
    X, y = draw_cohort()
    best = minimize(breslow_by_hand, np.zeros(6), args=(X, y)).x
    model = DeepSurv((), weight_decay=0.0, learning_rate=0.02, ties="breslow", random_state=0).fit(X, y)
    risk = model.predict(X)
    np.testing.assert_allclose(risk - risk.mean(), (X - X.mean(axis=0)) @ best, atol=0.01)


def test_linear_gates_select_the_columns_that_matter():
    X, y = draw_cohort()
    model = STGCox((), sparsity=0.01, learning_rate=0.02, random_state=0).fit(X, y)
    assert set(np.flatnonzero(model.selected(X)[0])) == {0, 1}
    assert model.score(X, y) > 0.7

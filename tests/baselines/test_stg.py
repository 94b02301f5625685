"""STG and the network without gates."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier

from lspin.baselines import NetClassifier, NetRegressor, STGClassifier, STGRegressor
from lspin.baselines.rival import Tuning
from lspin.baselines.stg import GlobalGates, Strengths, Weights
from lspin.core.losses import SQUARED_ERROR
from lspin.core.networks import Layer
from lspin.core.rows import Batch, Dense

jnp = pytest.importorskip("jax.numpy")


def draw_classes(n_rows=400, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def test_the_penalty_is_the_expected_number_of_open_gates():
    means = jnp.array([-0.7, 0.1, 0.4])
    weights = Weights(means, (Layer(jnp.zeros((3, 1)), jnp.zeros(1)),))
    batch = Batch(Dense(jnp.ones((4, 3))), None, None, jnp.zeros(4), jnp.full(4, 0.25), None, 4)
    tuning = Tuning(Strengths(0.3, 0.5), 0.1, 0.0, None)
    value, n_open = GlobalGates(SQUARED_ERROR).objective(weights, batch, jnp.uint32(1), 0.0, tuning)
    assert n_open == 2
    assert value == pytest.approx(0.3 * norm.cdf((np.asarray(means) + 0.5) / 0.5).sum(), rel=1e-5)


def test_linear_stg_selects_the_columns_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = 2 * X[:, 3] - X[:, 7] + 0.1 * rng.normal(size=300)
    model = STGRegressor((), sparsity=0.05, learning_rate=0.02, random_state=0).fit(X, y)
    selected = model.selected(X)
    assert (selected == selected[0]).all()
    assert set(np.flatnonzero(selected[0])) == {3, 7}
    assert model.score(X, y) > 0.95


def test_a_higher_price_leaves_fewer_features():
    X, y = draw_classes()
    counts = [STGClassifier((), sparsity=s, random_state=0).fit(X, y).selected(X)[0].sum() for s in (0, 0.05, 9)]
    assert counts[0] >= counts[1] > counts[2] == 0


def test_a_net_without_hidden_layers_is_the_linear_model():
    X, y = draw_classes()
    ours = NetClassifier((), learning_rate=0.05, batch_size=400, random_state=0).fit(X, y)
    theirs = LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.05)
    response = X @ np.arange(6.0) + 3
    ours = NetRegressor((), learning_rate=0.05, random_state=0).fit(X, response)
    np.testing.assert_allclose(ours.predict(X), LinearRegression().fit(X, response).predict(X), atol=1e-3)


def test_a_net_with_hidden_layers_is_as_good_as_scikit_learns():
    X, y = draw_classes(800)
    y = (np.sign(X[:, 0]) * X[:, 1] > 0).astype(int)
    theirs = MLPClassifier((50, 50), random_state=0, max_iter=500).fit(X[:400], y[:400])
    ours = NetClassifier((50, 50), random_state=0).fit(X[:400], y[:400])
    assert ours.score(X[400:], y[400:]) >= theirs.score(X[400:], y[400:]) - 0.02

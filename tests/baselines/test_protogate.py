"""ProtoGate."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from lspin.baselines import ProtoGateClassifier
from lspin.baselines.protogate import count_votes, soft_nearest
from lspin.tables.encoding import encode

jnp = pytest.importorskip("jax.numpy")


def draw_distances(n_rows=5, n_columns=7, seed=0):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.uniform(0, 3, (n_rows, n_columns)), jnp.float32), jnp.ones((n_rows, n_columns))


def sort_by_hand(sizes, temperature):
    """NeuralSort of one row as Grover et al. print it: a matrix of ranks and items, largest first."""
    n = len(sizes)
    spread = np.abs(sizes[:, None] - sizes).sum(axis=1)
    scores = np.array([((n + 1 - 2 * rank) * sizes - spread) / temperature for rank in range(1, n + 1)])
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("temperature", [0.5, 4.0])
def test_the_relaxed_sort_is_the_published_one(temperature):
    distances, counts = draw_distances()
    near = soft_nearest(distances, counts, 3, temperature)
    wanted = [sort_by_hand(-row, temperature)[:3].mean(axis=0) for row in np.asarray(distances, float)]
    np.testing.assert_allclose(near, wanted, atol=1e-5)
    np.testing.assert_allclose(near.sum(axis=1), 1.0, rtol=1e-5)


def test_a_cold_sort_picks_exactly_the_nearest():
    distances, counts = draw_distances()
    near = soft_nearest(distances, counts, 3, 1e-3)
    wanted = np.zeros(distances.shape)
    np.put_along_axis(wanted, np.argsort(distances, axis=1)[:, :3], 1 / 3, axis=1)
    np.testing.assert_allclose(near, wanted, atol=1e-4)


def test_a_count_of_two_is_the_column_given_twice_and_of_zero_left_out():
    distances, counts = draw_distances()
    counted = soft_nearest(distances, counts.at[:, 2].set(2.0).at[:, 5].set(0.0), 3, 1.0)
    places = [0, 1, 2, 2, 3, 4, 6]
    twice = soft_nearest(distances[:, np.array(places)], counts, 3, 1.0)
    np.testing.assert_allclose(counted[:, 2], twice[:, 2] + twice[:, 3], rtol=1e-4)
    np.testing.assert_allclose(counted[:, 0], twice[:, 0], rtol=1e-4)
    assert (counted[:, 5] == 0).all()


def test_votes_are_those_of_scikit_learns_neighbours():
    rng = np.random.default_rng(0)
    known, new, codes = rng.normal(size=(50, 3)), rng.normal(size=(20, 3)), rng.integers(0, 3, 50)
    votes = count_votes(cdist(new, known), np.ones(50), codes, 5)
    np.testing.assert_allclose(votes / 5, KNeighborsClassifier(5).fit(known, codes).predict_proba(new))
    weights = rng.integers(1, 4, 50)
    repeated = np.repeat(np.arange(50), weights)
    theirs = KNeighborsClassifier(5).fit(known[repeated], codes[repeated]).predict_proba(new)
    np.testing.assert_allclose(count_votes(cdist(new, known), weights, codes, 5) / 5, theirs)


def draw_switch(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    return X, np.where(X[:, 0] > 0, "up", "down")


def test_a_model_with_all_gates_open_is_the_nearest_neighbours():
    (X, y), (new, _) = draw_switch(80, 0), draw_switch(30, 1)
    model = ProtoGateClassifier((5,), sparsity=0.0, max_epochs=1, n_neighbors=5, random_state=0).fit(X, y)
    known, asked = (encode(model._read(rows), model.encoding_)[0] for rows in (X, new))
    # As if all had been open in training.
    codes = (y == "up").astype(int)
    model.weights_ = model.weights_._replace(prototypes=known, codes=codes, counts=np.ones(80))
    theirs = KNeighborsClassifier(5).fit(known, y)
    np.testing.assert_array_equal(model.predict_with_gates(new, np.ones(new.shape)), theirs.predict(asked))


def test_the_column_that_matters_is_found_and_no_probability_is_certain():
    (X, y), (new, answers) = draw_switch(300, 0), draw_switch(200, 1)
    model = ProtoGateClassifier((20,), sparsity=0.02, learning_rate=0.02, random_state=0).fit(X, y)
    assert model.score(new, answers) > 0.95
    shares = model.selected(new).mean(axis=0)
    assert shares[0] > 0.95
    assert shares[1:].max() < 0.1
    probabilities = model.predict_proba(new)
    assert probabilities.min() == pytest.approx(0.5 / (5 + 1))

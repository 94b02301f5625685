import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from lspin.core.penalties import (
    certainty_penalty,
    diversity_penalty,
    label_affinity,
    rbf_affinity,
    sparsity_penalty,
    squared_distances,
    stability_penalty,
)

RNG = np.random.default_rng(0)
GATES = RNG.uniform(size=(6, 4))
SHARES = np.array([0.1, 0.3, 0.2, 0.1, 0.3, 0.0])
AFFINITY = RNG.uniform(size=(6, 6))


def test_sparsity_is_the_papers_sum_over_features_averaged_over_samples():
    means = RNG.normal(size=(6, 4))
    by_hand = sum(SHARES[i] * norm.cdf((means[i, d] + 0.5) / 0.7) for i in range(6) for d in range(4))
    assert float(sparsity_penalty(means, 0.7, SHARES[:, None])) == pytest.approx(by_hand, rel=1e-5)


def test_sparsity_means_the_same_at_any_width():
    means = RNG.normal(size=(6, 4))
    shut = np.full((6, 1000), -30.0)
    wide = sparsity_penalty(np.hstack([means, shut]), 0.7, SHARES[:, None])
    assert float(wide) == pytest.approx(float(sparsity_penalty(means, 0.7, SHARES[:, None])), rel=1e-5)


def test_certainty_costs_where_gates_are_beyond_fully_open_or_shut():
    means = np.array([[-0.9, -0.6, 0.2], [0.5, 0.76, 0.96]])
    # The gate 0.5 + mean is clipped to [0, 1] well within these bounds.
    assert certainty_penalty(means, np.array([[0.25], [0.75]])) == pytest.approx(0.25 * 0.14**2 + 0.75 * 0.2**2)


def test_stability_matches_a_double_loop_over_pairs():
    by_hand = sum(
        SHARES[i] * SHARES[j] * AFFINITY[i, j] * ((GATES[i] - GATES[j]) ** 2).sum()
        for i in range(6)
        for j in range(6)
    )
    assert stability_penalty(GATES, AFFINITY, SHARES) == pytest.approx(by_hand)


def test_diversity_rewards_different_gates_of_dissimilar_samples():
    by_hand = -sum(
        SHARES[i] * SHARES[j] * (1 - AFFINITY[i, j]) * ((GATES[i] - GATES[j]) ** 2).sum()
        for i in range(6)
        for j in range(6)
    )
    assert diversity_penalty(GATES, AFFINITY, SHARES) == pytest.approx(by_hand)


def test_rbf_affinity_equals_scikit_learns_kernel():
    np.testing.assert_allclose(rbf_affinity(GATES, 0.8), rbf_kernel(GATES, gamma=1 / (2 * 0.8**2)))


def test_label_affinity_is_one_within_a_class():
    np.testing.assert_array_equal(label_affinity(np.array([0, 1, 0])), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_squared_distances_are_never_negative():
    rows = np.repeat(RNG.normal(size=(1, 50)) * 1e3, 5, axis=0)
    distances = squared_distances(rows)
    assert (distances >= 0).all()
    np.testing.assert_allclose(distances, euclidean_distances(rows) ** 2, atol=1e-6)

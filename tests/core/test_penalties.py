import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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


def test_stability_is_the_papers_sum_over_the_rows_of_a_batch_averaged_over_samples():
    by_hand = np.mean(
        [sum(AFFINITY[i, j] * ((GATES[i] - GATES[j]) ** 2).sum() for j in range(6) if i != j) for i in range(6)]
    )
    assert stability_penalty(GATES, AFFINITY, np.full(6, 1 / 6), 6) == pytest.approx(by_hand)


def test_padding_and_weights_of_rows_count_in_relations():
    weights = 5 * SHARES[:5]  # mean 1 over the five rows that are no padding
    by_hand = sum(
        SHARES[i] * weights[j] * AFFINITY[i, j] * ((GATES[i] - GATES[j]) ** 2).sum()
        for i in range(5)
        for j in range(5)
    )
    assert stability_penalty(GATES, AFFINITY, SHARES, 5) == pytest.approx(by_hand)


def test_diversity_is_the_papers_term_without_what_that_pays_for_open_gates():
    shares = np.full(6, 1 / 6)
    papers = -np.mean(
        [sum((1 - AFFINITY[i, j]) * ((GATES[i] - GATES[j]) ** 2).sum() for j in range(6)) for i in range(6)]
    )
    paid = np.mean(
        [
            sum((1 - AFFINITY[i, j]) * ((GATES[i] ** 2).sum() + (GATES[j] ** 2).sum()) for j in range(6))
            for i in range(6)
        ]
    )
    assert diversity_penalty(GATES, GATES, AFFINITY, shares, 6) == pytest.approx(papers + paid)


@given(row=st.integers(0, 5), feature=st.integers(0, 3), opened=st.floats(0, 1))
def test_diversity_never_pays_for_opening_a_gate(row, feature, opened):
    shut = np.round(GATES)
    shut[row, feature] = 0.0
    wider = shut.copy()
    wider[row, feature] = opened
    costs = [diversity_penalty(gates, gates, AFFINITY, SHARES, 5) for gates in (shut, wider)]
    assert costs[1] >= costs[0]


def test_gates_of_one_class_alone_cost_no_diversity():
    affinity = label_affinity(np.array([0, 0, 1, 1, 1, 0]))
    gates = np.where(affinity[0][:, None] == 1, [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5])
    assert diversity_penalty(gates, gates, affinity, SHARES, 5) == 0


def test_rbf_affinity_equals_scikit_learns_kernel():
    np.testing.assert_allclose(rbf_affinity(GATES, 0.8), rbf_kernel(GATES, gamma=1 / (2 * 0.8**2)))


def test_label_affinity_is_one_within_a_class():
    np.testing.assert_array_equal(label_affinity(np.array([0, 1, 0])), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_squared_distances_are_never_negative():
    rows = np.repeat(RNG.normal(size=(1, 50)) * 1e3, 5, axis=0)
    distances = squared_distances(rows)
    assert (distances >= 0).all()
    np.testing.assert_allclose(distances, euclidean_distances(rows) ** 2, atol=1e-6)

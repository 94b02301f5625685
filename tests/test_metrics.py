"""Each metric against a hand-computed case, a slow loop or another library; laws by drawn inputs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans
from sklearn.metrics import f1_score, log_loss, precision_score, recall_score
from sklearn.svm import SVC

from lspin.metrics import (
    diversity,
    expected_calibration_error,
    faithfulness,
    generalizability,
    match_clusters,
    negative_log_likelihood,
    score_selection,
    score_selection_by_sample,
    stability,
    summarise_gates,
)

RNG = np.random.default_rng(0)
N, D = 7, 9
masks = arrays(bool, (N, D))
labels = arrays(np.int64, N, elements=st.integers(0, 2)).filter(lambda y: len(set(y.tolist())) > 1)


# Selection against the truth


@given(selected=masks.filter(np.any), relevant=masks.filter(np.any))
def test_pooled_scores_are_those_of_scikit_learn_on_all_entries(selected, relevant):
    scores = score_selection(selected, relevant)
    truth, choice = relevant.ravel(), selected.ravel()
    assert scores.f1 == pytest.approx(f1_score(truth, choice))
    assert scores.tpr == pytest.approx(recall_score(truth, choice))
    assert scores.fdr == pytest.approx(1 - precision_score(truth, choice))


@given(selected=masks, relevant=masks, order=st.permutations(range(D)))
def test_selection_scores_ignore_the_order_of_features(selected, relevant, order):
    assert score_selection(selected[:, order], relevant[:, order]) == score_selection(selected, relevant)


@given(selected=masks, relevant=masks)
def test_scores_by_sample_are_the_pooled_scores_of_one_sample(selected, relevant):
    by_sample = score_selection_by_sample(selected, relevant)
    for row in range(N):
        alone = score_selection(selected[row : row + 1], relevant[row : row + 1])
        assert tuple(part[row] for part in by_sample) == alone


def test_empty_selections_have_defined_scores():
    nothing, all_ = np.zeros((1, 3)), np.ones((1, 3))
    assert score_selection(nothing, nothing) == (1.0, 1.0, 0.0)
    assert score_selection(nothing, all_) == (0.0, 0.0, 0.0)
    assert score_selection(all_, nothing) == (0.0, 1.0, 1.0)


def test_shapes_that_disagree_are_refused_with_their_numbers():
    with pytest.raises(ValueError, match=r"\(7, 9\) and \(7, 8\)"):
        score_selection(np.ones((7, 9)), np.ones((7, 8)))


# Gates


def test_gate_summary_of_a_table_counted_by_hand():
    gates = np.array([[0, 0, 1, 0.5], [0, 1, 1, 0], [0, 0, 0, 0]])
    summary = summarise_gates(gates, edges=(1, 2))
    assert (summary.share_shut, summary.share_open, summary.share_between) == (8 / 12, 3 / 12, 1 / 12)
    assert summary.n_selected.tolist() == [2, 2, 0]
    assert (summary.median, summary.union) == (2.0, 3)
    np.testing.assert_allclose(summary.histogram, [1 / 3, 0, 2 / 3])


@pytest.mark.parametrize(("greedy", "expected"), [(6, []), (7, [4]), (40, [4])])
def test_a_sample_with_over_twice_the_median_is_suspicious(greedy, expected):
    gates = np.zeros((9, 50))
    gates[:, :3] = 1
    gates[4, :greedy] = 1
    assert summarise_gates(gates).suspicious.tolist() == expected


def test_counts_that_spread_by_nature_are_not_suspicious():
    counts = np.arange(0, 41, 2)  # median 20, median absolute deviation 10
    gates = (np.arange(100) < np.append(counts, 70)[:, None]).astype(float)
    assert summarise_gates(gates).suspicious.tolist() == [21]


@given(gates=arrays(float, (N, D), elements=st.sampled_from([0.0, 0.3, 1.0])), order=st.permutations(range(D)))
def test_gate_summary_ignores_the_order_of_features(gates, order):
    for ours, theirs in zip(summarise_gates(gates), summarise_gates(gates[:, order]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_numbers_that_are_no_gates_are_refused():
    with pytest.raises(ValueError, match="range from -1 to 1"):
        summarise_gates(np.array([[-1.0, 1.0]]))


# Explanations


def test_the_terms_of_a_linear_response_are_faithful():
    X = RNG.normal(size=(N, D))
    weights = RNG.normal(size=D)
    assert faithfulness(lambda X: X @ weights, X, np.abs(X * weights)) == pytest.approx(1)
    assert faithfulness(lambda X: X @ weights, X, -np.abs(X * weights)) == pytest.approx(-1)


def test_faithfulness_is_the_correlation_found_by_a_double_loop():
    X, importance = RNG.normal(size=(N, D)), RNG.random((N, D))
    weights = RNG.normal(size=(D, 3))

    def predict(X):
        scores = np.exp(X @ weights)
        return scores / scores.sum(axis=1, keepdims=True)

    by_hand = []
    for row in range(N):
        before = predict(X[row : row + 1])[0]
        drops = []
        for feature in range(D):
            changed = X[row].copy()
            changed[feature] = 0.2
            drops.append(before.max() - predict(changed[None])[0][before.argmax()])
        by_hand.append(np.corrcoef(importance[row], drops)[0, 1])
    assert faithfulness(predict, X, importance, removed=0.2) == pytest.approx(np.mean(by_hand))


def test_equal_importances_tell_nothing():
    assert faithfulness(lambda X: X.sum(axis=1), RNG.normal(size=(N, D)), np.full((N, D), 0.1)) == 0


def test_stability_is_the_steepest_change_found_by_a_double_loop():
    X, explanations = RNG.normal(size=(20, 2)), RNG.random((20, 4))
    radius = 0.8
    steepest = []
    for i in range(20):
        pairs = [(k, np.linalg.norm(X[i] - X[k])) for k in range(20) if k != i]
        slopes = [np.linalg.norm(explanations[i] - explanations[k]) / d for k, d in pairs if d <= radius]
        if slopes:
            steepest.append(max(slopes))
    assert stability(X, explanations, radius=radius) == pytest.approx(np.mean(steepest))


def test_a_linear_explanation_changes_at_its_own_rate():
    X = RNG.normal(size=(30, 3))
    assert stability(X, 2.5 * X) == pytest.approx(2.5)
    assert stability(X, np.ones((30, 2))) == 0


def test_equal_samples_with_different_explanations_have_no_bound():
    X = np.array([[0.0], [0.0], [1.0]])
    assert stability(X, np.array([[0.0], [1.0], [0.0]]), radius=2) == np.inf
    assert stability(X, np.array([[0.0], [0.0], [3.0]]), radius=2) == pytest.approx(3)


def test_samples_without_neighbours_are_refused_with_their_distance():
    with pytest.raises(ValueError, match=r"radius 0.5: the nearest are 2 apart"):
        stability(np.array([[0.0], [2.0]]), np.ones((2, 1)), radius=0.5)


def test_diversity_of_three_classes_counted_by_hand():
    selected = np.array(
        [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], bool
    )  # median sets: {0, 1}, {0, 1, 2} (ties are in), {1, 2, 3}
    y = np.array(["a", "a", "b", "b", "c", "c"])
    assert diversity(selected, y) == pytest.approx(100 * (1 - (2 / 3 + 1 / 4 + 2 / 4) / 3))


@given(selected=masks, y=labels, order=st.permutations(range(D)), names=st.permutations(range(3)))
def test_diversity_ignores_the_order_of_features_and_the_names_of_classes(selected, y, order, names):
    renamed = np.array(names)[y]
    assert diversity(selected[:, order], renamed) == pytest.approx(diversity(selected, y))


def test_diversity_ends_at_0_and_100():
    y = np.array([0, 1])
    assert diversity(np.array([[1, 0], [0, 1]]), y) == 100
    assert diversity(np.array([[1, 0], [1, 0]]), y) == 0
    assert diversity(np.zeros((2, 2)), y) == 0
    with pytest.raises(ValueError, match="all 2 samples are of one"):
        diversity(np.ones((2, 2)), np.zeros(2))


@given(y=labels, clusters=labels)
def test_matched_clusters_agree_as_in_the_best_of_all_matchings(y, clusters):
    best = max(np.mean(np.array(names)[clusters] == y) for names in permutations(range(3)))
    assert match_clusters(clusters, y) == pytest.approx(best)


def test_separated_groups_are_found_by_simple_models_and_noise_is_not():
    y = np.repeat(["a", "b", "c"], 20)
    centers = np.repeat(np.eye(3), 20, axis=0)
    clean = generalizability(centers + 0.01 * RNG.normal(size=(60, 3)), y, centers, y)
    assert clean == (1.0, 1.0)
    noise = generalizability(RNG.normal(size=(60, 3)), y, RNG.normal(size=(60, 3)), y)
    assert max(noise) < 0.6


def test_tables_of_zeros_generalize_as_models_of_the_whole_tables_do():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    train, test = (
        (rng.random((120, 30)) < 0.25) * np.eye(3).repeat(10, axis=1)[y] + 0.5 * (rng.random((120, 30)) < 0.05)
        for _ in range(2)
    )
    train[:, ::10] = test[:, ::10] = 0.0  # columns that no row uses
    found = generalizability(train, y, test, y)
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(test)
    assert found == (SVC().fit(train, y).score(test, y), match_clusters(clusters, y))
    assert min(found) > 0.34


def test_gates_that_are_all_shut_generalize_to_one_class():
    y = np.repeat(["a", "b"], [4, 6])
    assert generalizability(np.zeros((10, 2)), y, np.zeros((10, 2)), y) == (0.6, 0.6)


# Probabilities


def test_likelihood_is_that_of_scikit_learn():
    probabilities, y = RNG.dirichlet(np.ones(3), N), RNG.integers(3, size=N)
    expected = log_loss(y, probabilities, labels=[0, 1, 2])
    assert negative_log_likelihood(y, probabilities) == pytest.approx(expected)
    names = np.array(["x", "y", "z"])
    assert negative_log_likelihood(names[y], probabilities, classes=names) == pytest.approx(expected)


def test_calibration_error_is_the_weighted_gap_found_by_a_loop_over_bins():
    probabilities, y = RNG.dirichlet(np.ones(3), 200), RNG.integers(3, size=200)
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    total = 0.0
    for low in np.arange(10) / 10:
        inside = (confidence > low) & (confidence <= low + 0.1)
        if inside.any():
            total += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    assert expected_calibration_error(y, probabilities, n_bins=10) == pytest.approx(total)


def test_calibration_error_ends_at_0_and_1():
    sure = np.eye(2)[[0, 1, 1]]
    assert expected_calibration_error(np.array([0, 1, 1]), sure) == 0
    assert expected_calibration_error(np.array([1, 0, 0]), sure) == 1


@given(names=st.permutations(range(3)))
def test_calibration_ignores_the_order_of_classes(names):
    probabilities, y = np.random.default_rng(1).dirichlet(np.ones(3), 30), np.arange(30) % 3
    renamed, order = np.array(names)[y], np.argsort(names)
    for measure in (negative_log_likelihood, expected_calibration_error):
        assert measure(renamed, probabilities[:, order]) == pytest.approx(
            measure(probabilities, y)
        )  # either order


@pytest.mark.parametrize(
    ("probabilities", "y", "message"),
    [
        ([[0.5, 0.6]], [0], "sums range from 1.1 to 1.1"),
        ([[0.5, 0.5]], [2], "y holds .*2.*, which is none of the 2 classes"),
        ([[0.5, 0.5]], [0, 1], "number of rows: 1 and 2"),
        ([0.5, 0.5], [0, 1], r"its shape is \(2,\)"),
        ([[np.nan, 0.5]], [0], "1 values that are missing"),
    ],
)
def test_what_are_no_probabilities_of_the_classes_is_refused(probabilities, y, message):
    with pytest.raises(ValueError, match=message):
        negative_log_likelihood(probabilities, np.array(y))

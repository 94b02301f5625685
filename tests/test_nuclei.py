"""Simulated nuclei of the benchmark on marker genes."""

import numpy as np
import pytest
from benchmarks.nuclei import N_NOISE, TABLES, find_factors, load_nuclei, simulate

from lspin.datasets import load_table


def test_the_first_factors_are_those_of_a_whole_decomposition():
    values = simulate(seed=0, n_cells=20).values
    left, sizes, right = find_factors(values, 8)
    others, all_sizes, whole = np.linalg.svd(values, full_matrices=False)
    np.testing.assert_allclose(sizes, all_sizes[:8])
    np.testing.assert_allclose((left * sizes) @ right, (others[:, :8] * all_sizes[:8]) @ whole[:8], atol=1e-9)


def test_nuclei_with_programmes_keep_all_the_noise_after_imputation():
    data = load_nuclei("programmes", seed=100, n_cells=200)
    assert data.train.X.shape == (160, 2 + N_NOISE)
    assert data.train.feature_names[:2].tolist() == ["CD74", "PDGFRA"]
    detected = np.array([(data.train.X[data.train.y == kind, :2] > 0).mean(axis=0) for kind in (0, 1)])
    assert detected.diagonal().min() > 0.9  # each type's own marker
    assert detected[::-1].diagonal().max() < 0.2


def test_no_rule_of_two_markers_is_right_in_98_percent_of_the_tests_of_m1():
    try:
        load_table(TABLES["m1"], download=False)
    except FileNotFoundError as reason:
        pytest.skip(str(reason))
    tests = [load_nuclei("m1", seed).test for seed in range(5)]
    shown = np.vstack([test.X[:, :2] > 0 for test in tests])
    types = np.concatenate([test.y for test in tests])
    none = ~shown.any(axis=1)
    assert [len(test.y) for test in tests] == [19] * 5
    assert none.reshape(5, 19).sum(axis=1).tolist() == [3, 3, 4, 3, 1]
    assert (shown[np.arange(len(types)), types] == ~none).all()  # who shows a marker shows its own
    assert 100 * (1 - np.bincount(types[none]).min() / len(types)) == pytest.approx(94.7, abs=0.05)

import numpy as np
import pytest

from lspin.datasets import SETS, load_synthetic

# Samples for training, validation and test, as the paper's appendix gives them.
SIZES = {
    "E1": (1710, 90, 200), "E2": (1710, 90, 200), "E3": (1710, 90, 200), "E4": (855, 95, 50),
    "E5": (1500, 300, 300), "overlap": (5400, 300, 300), "linear": (480, 60, 60), "unequal": (480, 60, 60),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_splits_have_the_sizes_of_the_paper(name):
    data = load_synthetic(name, seed=0)
    assert tuple(len(part.y) for part in data) == SIZES[name]


@pytest.mark.parametrize("name", SETS)
def test_the_same_seed_draws_the_same_table_and_another_seed_another(name):
    first, again, other = (load_synthetic(name, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.train.X, again.train.X)
    assert not np.array_equal(first.train.X, other.train.X)


def test_the_class_of_e1_follows_its_formula():
    X, y, relevant = load_synthetic("E1", seed=0).test
    for row, label, matters in zip(X, y, relevant, strict=True):
        logit = np.exp(row[0] * row[1]) if row[10] < 0 else np.exp((row[2:6] ** 2).sum() - 4)
        assert label == (1 / (1 + logit) > 0.5)
        assert set(np.flatnonzero(matters)) == ({0, 1, 10} if row[10] < 0 else {2, 3, 4, 5, 10})


def test_the_response_of_e5_follows_its_formula():
    X, y, relevant = load_synthetic("E5", seed=0).test
    for row, response, matters in zip(X, y, relevant, strict=True):
        first = int(row[20]) + 1
        assert response == row[first] * row[first + 1] + 2 * row[20]
        assert set(np.flatnonzero(matters)) == {first, first + 1, 20}


@pytest.mark.parametrize(("name", "shared"), [("linear", -0.5), ("unequal", 0.5)])
def test_the_linear_responses_have_the_coefficients_of_the_paper(name, shared):
    X, y, relevant = load_synthetic(name, seed=0).train
    first = relevant[:, 0]
    for group, expected in ((first, [-2, 1, -0.5, 0, 0]), (~first, [0, 0, shared, 1, -2])):
        design = np.column_stack([X[group], np.ones(group.sum())])
        coefficients = np.linalg.lstsq(design, y[group], rcond=None)[0][:5]
        # The response was scaled to a range of 1, so the coefficients are known up to one factor.
        np.testing.assert_allclose(coefficients / np.abs(coefficients).max() * 2, expected, atol=1e-9)


def test_fewer_training_samples_leave_the_other_parts_alone():
    whole, small = load_synthetic("linear", seed=0), load_synthetic("linear", seed=0, n_train=10)
    assert len(small.train.y) == 10
    np.testing.assert_array_equal(small.test.X, whole.test.X)

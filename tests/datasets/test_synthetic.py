import hashlib

import numpy as np
import pytest

from lspin.datasets import SETS, load_synthetic

# Samples for training, validation and test, as the paper's appendix gives them.
SIZES = {
    "E1": (1710, 90, 200), "E2": (1710, 90, 200), "E3": (1710, 90, 200), "E4": (855, 95, 50),
    "E5": (1500, 300, 300), "overlap": (5400, 300, 300), "linear": (480, 60, 60), "unequal": (480, 60, 60),
    "markers": (800, 100, 100),
} | dict.fromkeys((f"Syn{number}" for number in range(1, 7)), (10_000, 1000, 10_000))  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_splits_have_the_sizes_of_the_paper(name):
    data = load_synthetic(name, seed=0)
    assert tuple(len(part.y) for part in data) == SIZES[name]


@pytest.mark.parametrize("name", SETS)
def test_the_same_seed_draws_the_same_table_and_another_seed_another(name):
    first, again, other = (load_synthetic(name, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.train.X, again.train.X)
    assert not np.array_equal(first.train.X, other.train.X)


# What the class depends on, row by row: the exponent of the paper's Logit, and the features (from 1) in it.
PRODUCT = (lambda x: x[1] * x[2], {1, 2})
SQUARES = (lambda x: sum(x[i] ** 2 for i in range(3, 7)) - 4, {3, 4, 5, 6})
MIXTURE = (lambda x: -10 * np.sin(0.2 * x[7]) + abs(x[8]) + x[9] + np.exp(-x[10]) - 2.4, {7, 8, 9, 10})
CLASSES = {
    "E1": (PRODUCT, SQUARES),
    "E2": (PRODUCT, MIXTURE),
    "E3": (SQUARES, MIXTURE),
    "E4": ((lambda x: x[1] * x[2] - 0.9, {1, 2}), (lambda x: x[3] ** 2 + x[4] ** 2 - 2.5, {3, 4})),
    "overlap": ((lambda x: x[1] * x[3], {1, 3}), SQUARES),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_follow_the_formulas_of_the_paper(name):
    test = load_synthetic(name, seed=0).test
    for row, label, matters, group in zip(test.X, test.y, test.relevant, test.groups, strict=True):
        if name != "E4":
            assert group == (0 if row[10] < 0 else 1)
        exponent, features = CLASSES[name][group]
        assert label == (1 / (1 + np.exp(exponent([None, *row]))) > 0.5)
        assert set(np.flatnonzero(matters) + 1) == features | (set() if name == "E4" else {11})


PUBLISHED = {
    "Syn1": (PRODUCT,), "Syn2": (SQUARES,), "Syn3": (MIXTURE,),
    "Syn4": (PRODUCT, SQUARES), "Syn5": (PRODUCT, MIXTURE), "Syn6": (SQUARES, MIXTURE),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_classes_of_the_published_sets_are_drawn_with_their_probability(name):
    test = load_synthetic(name, seed=0).test
    expected = np.empty(len(test.y))
    for group, (exponent, features) in enumerate(PUBLISHED[name]):
        rows = test.groups == group
        expected[rows] = 1 / (1 + np.exp(exponent([None, *test.X[rows].T])))
        own = features | ({11} if len(PUBLISHED[name]) > 1 else set())
        assert set(np.flatnonzero(test.relevant[rows][0]) + 1) == own
    if len(PUBLISHED[name]) > 1:
        np.testing.assert_array_equal(test.groups == 0, test.X[:, 10] < 0)
    for low in (0, 0.25, 0.5, 0.75):
        inside = (expected >= low) & (expected < low + 0.25)
        error = np.sqrt((expected * (1 - expected))[inside].sum()) / inside.sum()
        assert test.y[inside].mean() == pytest.approx(expected[inside].mean(), abs=4.5 * error)


def test_the_groups_of_e4_lie_around_one_and_minus_one():
    train = load_synthetic("E4", seed=0).train
    for group, center in ((0, 1), (1, -1)):
        rows = train.X[train.groups == group]
        np.testing.assert_allclose(rows.mean(axis=0), [center] * 4 + [0] * 46, atol=0.1)
        np.testing.assert_allclose(rows.std(axis=0), 0.5, atol=0.08)


def test_the_response_of_e5_follows_its_formula():
    X, y, relevant, *_ = load_synthetic("E5", seed=0).test
    for row, response, matters in zip(X, y, relevant, strict=True):
        first = int(row[20]) + 1
        assert response == row[first] * row[first + 1] + 2 * row[20]
        assert set(np.flatnonzero(matters)) == {first, first + 1, 20}


@pytest.mark.parametrize(("name", "shared"), [("linear", -0.5), ("unequal", 0.5)])
def test_the_linear_responses_have_the_coefficients_of_the_paper(name, shared):
    X, y, relevant, groups, _ = load_synthetic(name, seed=0).train
    first = groups == 0
    np.testing.assert_array_equal(relevant[:, 0], first)
    for group, expected in ((first, [-2, 1, -0.5, 0, 0]), (~first, [0, 0, shared, 1, -2])):
        design = np.column_stack([X[group], np.ones(group.sum())])
        coefficients = np.linalg.lstsq(design, y[group], rcond=None)[0][:5]
        # The response was scaled to a range of 1, so the coefficients are known up to one factor.
        np.testing.assert_allclose(coefficients / np.abs(coefficients).max() * 2, expected, atol=1e-9)


# Of the training rows of seed 0, in millionths: the streams are frozen, so these hold for every version of NumPy.
DIGESTS = {
    "E1": "b77c9adbc3ed2952", "E2": "913f5b0bd07dc407", "E3": "ed0448071fa7d898", "E4": "6b9253ed2d282564",
    "E5": "3bbd33599a852a0f", "overlap": "6f899d9be76ad520", "linear": "041670b3858a49d0",
    "unequal": "061e935dfaa580d5", "markers": "4a0a6d7d7c64a65c", "Syn1": "4c61aed4ba49440a",
    "Syn2": "fecd7fe6c6e95707", "Syn3": "93ee54f8528c6832", "Syn4": "71efeac4207a1fa5",
    "Syn5": "2f04918e20c65893", "Syn6": "a02725b0ac620ac9",
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_every_version_draws_the_same_table(name):
    train = load_synthetic(name, seed=0).train
    digest = hashlib.sha256()
    for array in (train.X, train.y):
        digest.update(np.rint(array * 1e6).astype("<i8").tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[name]


def test_the_first_rows_of_e1_are_these():
    train = load_synthetic("E1", seed=0).train
    np.testing.assert_allclose(train.X[0, :3], [-0.6484, 0.8072, -0.3309], atol=5e-5)
    np.testing.assert_array_equal(train.y[:4], [1, 1, 0, 0])


@pytest.mark.parametrize("name", SETS)
def test_the_samples_of_a_group_share_their_relevant_features(name):
    data = load_synthetic(name, seed=0)
    for part in data:
        assert part.X.shape == part.relevant.shape == (len(part.y), len(part.feature_names))
        for group in np.unique(data.train.groups):
            assert len(np.unique(part.relevant[part.groups == group], axis=0)) == 1
    assert len(set(data.train.feature_names)) == data.train.X.shape[1]


@pytest.mark.parametrize(("name", "n_train"), [("linear", 10), ("E1", 200), ("E1", 1800)])
def test_the_number_of_training_samples_leaves_the_other_parts_alone(name, n_train):
    whole, changed = load_synthetic(name, seed=0), load_synthetic(name, seed=0, n_train=n_train)
    assert len(changed.train.y) == n_train
    np.testing.assert_array_equal(changed.test.X, whole.test.X)
    np.testing.assert_array_equal(changed.valid.X, whole.valid.X)
    n_shared = min(n_train, len(whole.train.y))
    np.testing.assert_array_equal(changed.train.X[:n_shared], whole.train.X[:n_shared])


def test_drawing_more_training_samples_repeats_none():
    X = load_synthetic("E1", seed=0, n_train=1800).train.X
    assert len(np.unique(X, axis=0)) == 1800


def test_a_wider_e2_has_standard_normal_noise_beside_its_own_features():
    plain, wide = load_synthetic("E2", seed=1), load_synthetic("E2", seed=1, n_features=100)
    for narrow, part in zip(plain, wide, strict=True):
        np.testing.assert_array_equal(part.X[:, :11], narrow.X)
        np.testing.assert_array_equal(part.y, narrow.y)
        assert part.X.shape[1] == len(part.feature_names) == 100
        assert not part.relevant[:, 11:].any()
    noise = wide.train.X[:, 11:]
    # 152,190 draws: the mean's standard error is 0.0026, the variance's 0.0036.
    assert abs(noise.mean()) < 0.012
    assert abs(noise.var() - 1) < 0.016


def test_a_smaller_training_part_has_the_same_noise_features():
    small, whole = (load_synthetic("E2", 0, n_train=n, n_features=20).train.X for n in (50, 1800))
    np.testing.assert_array_equal(small, whole[:50])


def test_markers_have_the_moments_of_the_recipe():
    parts = load_synthetic("markers", seed=0)
    X, y = (np.concatenate([getattr(part, field) for part in parts]) for field in ("X", "y"))
    depth = np.exp(8.02 + 0.43**2 / 2)
    assert np.bincount(y).tolist() == [500, 500]
    np.testing.assert_array_equal(X, np.rint(X))
    assert (X[y == 1, 0] == 0).all()
    for gene, label, rate, dispersion in ((0, 0, 5.7e-4, 1.4), (1, 1, 7.0e-4, 6.7)):
        counts = X[y == label, gene]
        mean = depth * rate
        # Var = E[Var | L] + Var[E | L], with Var[L] = depth² (exp(0.43²) - 1).
        spread = np.expm1(0.43**2)
        variance = mean + mean**2 * (1 + spread) / dispersion + mean**2 * spread
        assert counts.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / 500))
        assert counts.var() == pytest.approx(variance, rel=0.4)


def test_noise_genes_do_not_tell_the_markers_classes_apart():
    parts = load_synthetic("markers", seed=0)
    X, y = (np.concatenate([getattr(part, field) for part in parts]) for field in ("X", "y"))
    depth = X[:, 2:].sum(axis=1)
    statistic = abs(depth[y == 0].mean() - depth[y == 1].mean()) / np.sqrt(depth.var() * 2 / 500)
    assert statistic < 3


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("E6", {}, "no synthetic table 'E6'; there are E1, E2"),
        ("linear", {"n_train": 481}, "n_train = 481, but linear can have 1 to 480"),
        ("E1", {"n_train": 0}, "n_train = 0, but E1 can have at least 1"),
        ("E2", {"n_features": 10}, "n_features = 10, but E2 has at least 11"),
        ("E5", {"n_features": 30}, "always has 21 features; only E1, E2, E3, overlap can be widened"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_what_can(name, sizes, message):
    with pytest.raises(ValueError, match=message):
        load_synthetic(name, seed=0, **sizes)

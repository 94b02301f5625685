"""Plain linear models against scikit-learn, and against leaving out rows one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import f_classif, r_regression
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import MultinomialNB

from lspin.fitting.anchors import PENALTIES, fit_ridge, naive_bayes_weights, separation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(14, 30)) + 1.0
CODES = np.arange(14) % 3
OUTPUTS = np.where(np.eye(3)[CODES], 1.0, -1.0)
WEIGHT = RNG.integers(1, 4, 14).astype(float)


def slow_ridge(penalty, rows, weight):
    """scikit-learn's ridge on some of the rows, the penalty counted as ours is."""
    unit = weight.sum() / len(weight)  # ours scales weights to a mean of 1
    return Ridge(alpha=penalty * unit).fit(X[rows], OUTPUTS[rows], sample_weight=weight[rows])


def penalties(weight):
    shares = weight / weight.sum()
    centred = np.sqrt(shares * 14)[:, None] * (X - shares @ X)
    return PENALTIES * np.linalg.eigvalsh(centred @ centred.T).mean()


@pytest.mark.parametrize("weight", [np.ones(14), WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_ridge_is_scikit_learns_at_one_of_the_penalties(weight, form):
    halves = [form(X[:, :13]), form(X[:, 13:])]
    ridge = fit_ridge(lambda: halves, OUTPUTS, weight)
    gaps = [np.abs(slow_ridge(p, np.arange(14), weight).coef_.T - ridge.weights).max() for p in penalties(weight)]
    assert min(gaps) < 1e-8
    best = slow_ridge(penalties(weight)[np.argmin(gaps)], np.arange(14), weight)
    np.testing.assert_allclose(X @ ridge.weights + ridge.intercept, best.predict(X), atol=1e-8)


def test_held_out_scores_are_those_of_fits_without_the_row():
    ridge = fit_ridge(lambda: [X], OUTPUTS, np.ones(14))
    everything = np.arange(14)
    errors = []
    for penalty in penalties(np.ones(14)):
        scores = [
            slow_ridge(penalty, np.delete(everything, row), np.ones(14)).predict(X[[row]])[0] for row in everything
        ]
        errors.append(np.square(np.array(scores) - OUTPUTS).sum())
        if np.allclose(scores, ridge.held_out, atol=1e-6):
            found = len(errors) - 1
    assert np.argmin(errors) == found


@pytest.mark.parametrize("n_classes", [2, 3])
def test_naive_bayes_weights_are_scikit_learns(n_classes):
    counts = RNG.poisson(0.7, (14, 8)).astype(float)
    codes, scale = np.arange(14) % n_classes, RNG.uniform(0.5, 2.0, 8)
    smoothing = (WEIGHT @ counts).sum() / (WEIGHT @ (counts > 0)).sum()
    model = MultinomialNB(alpha=smoothing).fit(counts, codes, sample_weight=WEIGHT)
    logs = model.feature_log_prob_
    expected = (logs[1:] - logs[:1]) if n_classes == 2 else logs - logs.mean(axis=0)
    n_outputs = 1 if n_classes == 2 else 3
    found = naive_bayes_weights(sp.csr_array(counts / scale), scale, codes, WEIGHT, n_outputs)
    np.testing.assert_allclose(found / scale[:, None], expected.T)


def test_separation_ranks_classes_as_the_f_statistic_and_is_the_squared_correlation_of_a_response():
    equal = np.ones(14)
    statistic, _ = f_classif(X, CODES)
    told = separation(X, CODES, equal, is_class=True)
    np.testing.assert_allclose(told / (1 - told) * (14 - 3) / (3 - 1), statistic)
    response = RNG.normal(size=14)
    told = separation(X, response, equal, is_class=False)
    np.testing.assert_allclose(told, r_regression(X, response) ** 2)


def test_separation_counts_weights_as_repeated_rows():
    repeated = np.repeat(np.arange(14), WEIGHT.astype(int))
    for target, is_class in ((CODES, True), (X[:, 0] ** 2, False)):
        once = separation(X, target, WEIGHT, is_class=is_class)
        np.testing.assert_allclose(
            once, separation(X[repeated], target[repeated], np.ones(len(repeated)), is_class=is_class)
        )

"""Columns that give the target away by construction are named; noise is not."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from lspin.checks import check_table
from lspin.checks.findings import read_for_checks
from lspin.checks.strengths import areas_under_curves, correlate_ranks, score_columns, separating_columns
from lspin.survival import make_survival
from lspin.targets import KINDS

RNG = np.random.default_rng(0)
N = 40
CLASSES = np.arange(N) % 2
NUMBERS = RNG.normal(size=N)


def leaks_of(column, y):
    X = pd.DataFrame({"noise": RNG.normal(size=N), "leak": column})
    return " | ".join(finding.text for finding in check_table(X, y).findings)


@pytest.mark.parametrize(
    "column",
    [
        CLASSES * 3.0,
        RNG.uniform(size=N) - 2 * CLASSES,
        pd.Categorical(np.where(CLASSES, "p", "q")),
        pd.Categorical(np.array(["p", "q", "r", "s"])[np.arange(N) % 4]),
        np.where(CLASSES, np.nan, RNG.normal(size=N)),
    ],
)
def test_a_column_that_decides_the_class_is_pointed_out(column):
    assert "column 'leak' alone predicts 'y' perfectly" in leaks_of(column, CLASSES)


def test_a_column_that_rises_with_the_target_is_pointed_out():
    assert "column 'leak' alone predicts 'y' perfectly" in leaks_of(np.exp(-NUMBERS), NUMBERS)


@pytest.mark.parametrize("y", [CLASSES, NUMBERS])
def test_noise_is_not_pointed_out(y):
    assert leaks_of(RNG.normal(size=N), y) == ""
    assert leaks_of(pd.Categorical(RNG.choice(["p", "q"], N)), y) == ""


def test_a_column_that_is_nearly_perfect_is_named_with_its_figure():
    column = CLASSES + 0.1 * RNG.normal(size=N)
    column[0] = 1 - column[0]
    area = roc_auc_score(CLASSES, column)
    assert 0.95 < area < 1
    said = re.search(r"column 'leak' \(AUC (.+)\) alone predicts 'y' nearly perfectly", leaks_of(column, CLASSES))
    assert said is not None
    assert float(said[1]) == pytest.approx(area, abs=6e-4)  # shown to three digits
    response = NUMBERS + 0.05 * RNG.normal(size=N)
    rank = spearmanr(NUMBERS, response).statistic
    assert f"column 'leak' (rank correlation {rank:.3f}) alone" in leaks_of(response, NUMBERS)


def test_a_column_that_follows_the_time_is_named():
    y = make_survival(RNG.exponential(size=N) + 0.1, CLASSES == 1)
    assert "'leak' (rank correlation 1.000) follows the time" in leaks_of(1 / y["time"], y)
    assert "column 'leak' alone predicts 'y' perfectly" in leaks_of(CLASSES, y)
    assert leaks_of(RNG.normal(size=N), y) == ""


def test_columns_that_separate_few_rows_by_chance_are_not_pointed_out():
    X = RNG.normal(size=(8, 5000))
    classes = np.arange(8) < 4
    separated = [c for c in range(5000) if X[classes, c].max() < X[~classes, c].min()]
    assert separated  # there are some
    assert separating_columns(X, classes) == []
    assert check_table(X, classes).findings == []


def test_separating_columns_of_three_classes_match_a_loop():
    classes = np.repeat([0, 1, 2], [10, 10, 20])
    X = RNG.normal(size=(N, 6)) + classes[:, None] * np.array([0, 1, 3, 6, 12, 24])
    expected = [
        c for c in range(6) if all(X[classes == k, c].max() < X[classes == k + 1, c].min() for k in (0, 1))
    ]
    assert separating_columns(X, classes) == expected != []


def test_scores_of_columns_are_those_of_other_libraries():
    X = RNG.integers(0, 5, (N, 4)).astype(float)
    X[::7, 2] = np.nan
    known = ~np.isnan(X[:, 2])
    areas = areas_under_curves(X, CLASSES == 1)
    assert areas[0] == pytest.approx(roc_auc_score(CLASSES, X[:, 0]))
    assert areas[2] == pytest.approx(roc_auc_score(CLASSES[known], X[known, 2]))
    ranks = correlate_ranks(X[:, :2], np.argsort(np.argsort(NUMBERS)).astype(float))
    assert ranks[1] == pytest.approx(spearmanr(X[:, 1], NUMBERS).statistic)


def test_sparse_tables_are_scored_like_dense_ones():
    X = np.where(RNG.random((N, 6)) < 0.6, 0.0, RNG.normal(size=(N, 6)))
    scores = [
        score_columns(read_for_checks(part), CLASSES, KINDS["classify"]())[0] for part in (X, sp.csr_array(X))
    ]
    np.testing.assert_allclose(*scores)


def test_the_best_single_columns_are_given():
    X = RNG.normal(size=(N, 7))
    X[:, 1] += CLASSES
    checks = check_table(X, CLASSES)
    name, score, measure = checks.best
    assert (name, measure) == ("1", "AUC")
    assert score == pytest.approx(roc_auc_score(CLASSES, X[:, 1]))
    areas = [roc_auc_score(CLASSES, column) for column in X.T]
    expected = sorted((max(area, 1 - area) for area in areas), reverse=True)[:5]
    assert [score for _, score in checks.strongest] == pytest.approx(expected)
    assert check_table(X, RNG.choice(list("abc"), N)).strongest == ()

"""Rows that settings are judged by."""

import numpy as np
import pytest

from lspin.fitting.ensemble import list_splits
from lspin.tables.grid import gather, take_rows
from posed import pose


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(400, 3))
    return pose(X, X[:, 0])


def test_as_many_rows_as_would_be_held_out_judge_alone(problem):
    given = take_rows(problem.rows, np.arange(80))
    (split,) = list_splits(problem, given, 0.2, seed=0)
    assert split.valid is given
    np.testing.assert_array_equal(split.train, np.arange(400))


def test_fewer_rows_judge_together_with_some_that_are_held_out(problem):
    given = take_rows(problem.rows, np.arange(20))
    (split,) = list_splits(problem, given, 0.2, seed=0)
    (usual,) = list_splits(problem, None, 0.2, seed=0)
    np.testing.assert_array_equal(split.train, usual.train)
    values = gather(problem.rows.grid).values
    held_out = np.setdiff1d(np.arange(400), usual.train)
    np.testing.assert_array_equal(split.valid.grid.values, values[[*held_out, *range(20)]])

"""How far outputs should be from those of a constant: against a slope in closed form, and against known odds."""

import numpy as np
import pytest

from lspin import LSPINClassifier
from lspin.fitting.calibration import find_spread, spread_member
from lspin.fitting.prediction import predict_member
from posed import pose

rng = np.random.default_rng(0)


def test_the_factor_of_a_response_is_the_slope_of_a_regression():
    X = rng.normal(size=(500, 2))
    problem = pose(X, X[:, 0] + rng.normal(size=500))
    rows = problem.rows
    mean = problem.kind.constant(rows)
    outputs = mean + 0.4 * (rows.target[:, None] - mean) + rng.normal(size=(500, 1))
    above, truth = (outputs - mean).ravel(), rows.target - mean
    found = find_spread(problem, [outputs], [rows])
    assert found.factor == pytest.approx(above @ truth / (above @ above), rel=0.02)
    np.testing.assert_allclose(
        found.losses, (mean + found.factor * (outputs - mean) - rows.target[:, None])[:, 0] ** 2
    )


@pytest.mark.parametrize("exaggerated", [3.0, 1.0, 0.5])
def test_exaggerated_log_odds_get_their_true_spread(exaggerated):
    X = rng.normal(size=(4000, 1))
    log_odds = 1.5 * X[:, 0]
    y = (rng.random(4000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    problem = pose(X, y, LSPINClassifier())
    outputs = exaggerated * log_odds[problem.rows.source][:, None]
    assert find_spread(problem, [outputs], [problem.rows]).factor == pytest.approx(1 / exaggerated, rel=0.1)


def test_a_few_rows_that_are_all_right_do_not_ask_for_certainty():
    X = np.linspace(-1, 1, 8)[:, None]
    problem = pose(X, (X[:, 0] > 0).astype(int), LSPINClassifier())
    outputs = 2 * np.sign(problem.rows.grid.values[problem.rows.source])
    assert 1 < find_spread(problem, [outputs], [problem.rows]).factor < 4


def test_a_spread_model_keeps_its_gates_and_multiplies_its_outputs():
    X = rng.normal(size=(60, 3))
    model = LSPINClassifier(sparsity=0.01, max_epochs=3, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    problem = pose(X, (X[:, 0] > 0).astype(int), LSPINClassifier())
    (member,) = model.members_
    before, after = (
        predict_member(one, problem.rows.grid) for one in (member, spread_member(problem, member, 2.5))
    )
    constant = problem.kind.constant(problem.rows)
    np.testing.assert_array_equal(after.gates, before.gates)
    np.testing.assert_allclose(after.outputs, constant + 2.5 * (before.outputs - constant))

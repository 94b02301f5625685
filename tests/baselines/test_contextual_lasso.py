"""The contextual lasso."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize

from lspin.baselines import ContextualLassoClassifier, ContextualLassoRegressor
from lspin.baselines.contextual_lasso import find_threshold, propose_slopes, shrink
from lspin.tables.encoding import encode

EVEN = np.full(5, 0.2)
UNEVEN = np.array([0.1, 0.4, 0.2, 0.3, 0.0])


@pytest.mark.parametrize("shares", [EVEN, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("radius", [0.3, 2.0, 50.0])
def test_the_threshold_is_where_the_mean_size_meets_the_radius(radius, shares):
    slopes = np.random.default_rng(0).normal(size=(5, 4, 2))

    def excess(threshold):
        return shares @ np.maximum(np.abs(slopes) - threshold, 0).sum(axis=(1, 2)) - radius

    wanted = 0.0 if excess(0.0) <= 0 else brentq(excess, 0, 10, xtol=1e-12)
    assert find_threshold(slopes, shares, radius) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("law", ["normal", "random", "standard_cauchy", "standard_exponential"])
@pytest.mark.parametrize("part", [1e-4, 0.01, 0.5])
def test_the_threshold_is_exact_for_many_sizes_of_any_law(part, law):
    slopes = getattr(np.random.default_rng(0), law)(size=(50, 500, 2))
    sizes = np.sort(np.abs(slopes), axis=None)[::-1]
    radius = part * sizes.sum() / 50
    # With the sizes in order: the largest of what the first ones of them ask for.
    wanted = ((np.cumsum(sizes) / 50 - radius) / (np.arange(1, sizes.size + 1) / 50)).max()
    assert find_threshold(slopes, np.full(50, 1 / 50), radius) == pytest.approx(wanted, rel=1e-9)


def test_the_projection_is_the_nearest_point_of_the_ball():
    """With positive and negative parts as unknowns the projection is a smooth quadratic program."""
    slopes = np.random.default_rng(1).normal(size=(2, 3, 1))
    ours = shrink(slopes, find_threshold(slopes, np.full(2, 0.5), 0.8)).ravel()
    found = minimize(
        lambda parts: ((parts[:6] - parts[6:] - slopes.ravel()) ** 2).sum(),
        np.full(12, 0.1),
        bounds=[(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda parts: 2 * 0.8 - parts.sum()},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(ours, found.x[:6] - found.x[6:], atol=1e-6)


def draw_switch(n_rows=600, seed=0):
    """The first column says which of two others counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    X[:, 0] = rng.choice([-1.0, 1.0], n_rows)
    return X, np.where(X[:, 0] > 0, 2 * X[:, 1], -2 * X[:, 2])


def test_the_coefficients_follow_the_context_and_their_sizes_the_radius():
    X, y = draw_switch()
    model = ContextualLassoRegressor((20,), radius=0.9, context=[0], learning_rate=0.02, random_state=0).fit(X, y)
    selected = model.selected(X)
    np.testing.assert_array_equal(selected[:, 1], X[:, 0] > 0)
    np.testing.assert_array_equal(selected[:, 2], X[:, 0] < 0)
    assert not selected[:, 3:].any()
    new, response = draw_switch(seed=1)
    assert model.score(new, response) > 0.9
    inputs, _ = encode(model._read(X), model.encoding_)
    sizes = np.abs(model._slopes(inputs)).sum(axis=(1, 2))
    assert sizes.mean() == pytest.approx(0.9, abs=1e-4)


def test_a_row_is_shrunk_alike_with_others_and_alone():
    """New rows have the threshold of the training rows, not one of their own batch."""
    X, y = draw_switch()
    model = ContextualLassoClassifier((20,), max_epochs=5, random_state=0).fit(X, y > 0)
    np.testing.assert_array_equal(model.gates(X)[:7], np.vstack([model.gates(X[[row]]) for row in range(7)]))
    assert model.weights_.threshold > 0


def test_only_the_context_moves_the_coefficients():
    X, y = draw_switch(200)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = ContextualLassoRegressor((20,), context=["a", "c"], max_epochs=5, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.context_, [0, 2])
    others = np.random.default_rng(3).normal(size=X.shape)
    others[:, [0, 2]] = X[:, [0, 2]]
    before, after = (propose_slopes(model.weights_, rows, model.context_) for rows in (X, others))
    np.testing.assert_array_equal(before, after)
    with pytest.raises(ValueError, match=r"context must hold names or numbers of columns, got \['z'\]"):
        ContextualLassoRegressor(context=["z"]).fit(frame, y)

"""The rivals of marker genes get the care that ours gets."""

import numpy as np
import pytest

pytest.importorskip("anndata", reason="anndata is missing: pip install 'lspin[cells]'")

from benchmarks.cell_rankings import STRENGTHS, choose_strength
from sklearn.linear_model import LogisticRegression


def draw(flipped, rng, n=400, d=30):
    """Two classes that the first column tells apart, some labels of which are wrong."""
    values = rng.standard_normal((n, d))
    truth = values[:, 0] > 0
    return values, np.where(rng.random(n) < flipped, ~truth, truth).astype(str), truth.astype(str)


def test_the_strength_is_the_one_that_is_best_on_the_choosing_cells():
    rng = np.random.default_rng(0)
    values, labels, _ = draw(0.3, rng)
    choosing, _, truth = draw(0.0, rng)
    chosen = choose_strength(values, labels, choosing, truth)
    right = {c: LogisticRegression(C=c).fit(values, labels).score(choosing, truth) for c in STRENGTHS}
    assert right[chosen] == max(right.values())
    assert len(set(right.values())) > 1


def test_of_strengths_that_are_equally_right_the_lowest_log_loss_counts():
    values = np.array([[-1.0], [1.0]] * 20)
    labels = np.array(["a", "b"] * 20)
    assert choose_strength(values, labels, values, labels) == max(STRENGTHS)  # surest where nothing is in doubt

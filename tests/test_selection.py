"""Stability selection: bounds by hand, and the number of false features on data whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting.ensemble import FitInterruptedWarning
from lspin.selection import _divide, bound_false, stability_selection
from lspin.targets import Classes, Response

TRUE = [0, 1, 2]


class TopCorrelations(BaseEstimator):
    """Selects the columns with the largest correlations, for all rows."""

    def __init__(self, n_top=4):
        self.n_top = n_top

    def _kind(self):
        return Response()

    def fit(self, X, y):
        sizes = np.abs(np.corrcoef(np.column_stack([X, y]), rowvar=False)[-1, :-1])
        self.top_ = np.argsort(-sizes)[: self.n_top]
        return self

    def selected(self, X):
        return np.isin(np.arange(X.shape[1]), self.top_)[None].repeat(len(X), axis=0)


def draw(seed, n_rows=80, n_columns=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, TRUE].sum(axis=1) + 0.5 * rng.normal(size=n_rows)


@pytest.mark.parametrize("assumption", ["worst case", "unimodal"])
def test_the_mean_number_of_false_features_keeps_the_bound(assumption):
    settings = {"max_false": 0.5, "n_pairs": 10, "assumption": assumption}
    found = [stability_selection(TopCorrelations(), *draw(seed, 160, 40), **settings) for seed in range(30)]
    names = [{int(name[1:]) for name in result.selected} for result in found]
    assert np.mean([len(chosen & set(TRUE)) for chosen in names]) > 2.9
    assert np.mean([len(chosen - set(TRUE)) for chosen in names]) <= 0.5
    assert all(result.expected_false <= 0.5 for result in found)


def test_features_chosen_by_chance_alone_keep_the_bound():
    class Chance(TopCorrelations):
        def fit(self, X, y):
            self.top_ = np.random.default_rng(abs(hash(X.tobytes())) % 2**32).permutation(X.shape[1])[: self.n_top]
            return self

    threshold, n_false, bounds = 0.6, [], []
    for seed in range(60):
        found = stability_selection(Chance(6), *draw(seed), threshold=threshold, n_pairs=5)
        n_false.append(len(found.selected))
        bounds.append(found.expected_false)
    assert np.mean(n_false) <= bounds[0]
    assert bounds[0] == pytest.approx(6 * 6 / 20 / (2 * (0.2 - 0.1)))  # theorem 2, up to a threshold of 3/4


@pytest.mark.parametrize(
    ("threshold", "assumption", "expected"),
    [
        (0.9, "worst case", 25 / (100 * 0.8)),  # Meinshausen and Buehlmann's q² / (p (2 t - 1))
        (0.7, "unimodal", 0.25 / (2 * (0.4 - 0.01))),
        (0.9, "unimodal", 4 * (0.1 + 0.01) / 1.02 * 0.25),
        (1.0, "unimodal", 4 * 0.01 / 1.02 * 0.25),
        (0.5, "unimodal", 100.0),
    ],
)
def test_bounds_are_those_of_the_papers(threshold, assumption, expected):
    found = bound_false(threshold, 5, 100, n_pairs=50, assumption=assumption)
    assert found == pytest.approx(expected)


def test_the_lowest_threshold_that_keeps_the_bound_is_taken():
    found = stability_selection(TopCorrelations(), *draw(0), max_false=0.5, n_pairs=10)
    assert found.bound(found.threshold) <= 0.5 < found.bound(found.threshold - 0.01)
    assert found.n_selected == pytest.approx(4)
    assert found.frame["frequency"].sum() == pytest.approx(4)
    assert "Expected number of false ones: at most" in str(found)


def test_halves_of_a_pair_share_no_row_and_have_the_same_classes():
    y = np.array(["a"] * 30 + ["b"] * 11)

    class Labelled(TopCorrelations):
        def _kind(self):
            return Classes()

    halves = _divide(Labelled(), y, 41, 8, 0)
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        assert len(one) == len(other) == 20
        assert not set(one) & set(other)
        assert abs((y[one] == "b").sum() - (y[other] == "b").sum()) <= 1


def test_our_estimator_finds_the_true_features_and_no_other():
    X, y = draw(3)
    frame = pd.DataFrame(X, columns=[f"gene {column}" for column in range(20)])
    found = stability_selection(LSPINRegressor(start="groups", random_state=0), frame, y, n_pairs=2, max_false=0.5)
    assert sorted(found.selected) == ["gene 0", "gene 1", "gene 2"]
    assert (found.frame.loc[found.selected, "frequency"] == 1).all()


def test_a_fit_that_may_select_few_features_keeps_the_most_important():
    X, y = draw(3)
    y = y + 2 * X[:, 2]  # the last of the true columns counts most
    found = stability_selection(LSPINRegressor(start="groups", random_state=0), X, y, n_pairs=2, most=1)
    assert found.selected == ["x2"]


def test_progress_is_shown_if_asked_for(speaking):
    stability_selection(TopCorrelations(), *draw(0), n_pairs=3)
    assert speaking() == ""
    stability_selection(TopCorrelations(), *draw(0), n_pairs=3, verbose=1)
    assert "lspin: 6 of at most 6 fits, 00:00 left" in speaking()


class Interrupted(TopCorrelations):
    """Ctrl-C is pressed in one of its fits."""

    n_fits = 0

    def fit(self, X, y):
        Interrupted.n_fits += 1
        if Interrupted.n_fits == 8:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_an_interrupt_leaves_the_pairs_that_are_finished():
    with pytest.warns(FitInterruptedWarning, match="^interrupted: kept the 3 of 10 pairs of halves"):
        found = stability_selection(Interrupted(), *draw(0), n_pairs=10)
    assert found.n_pairs == 3
    pd.testing.assert_frame_equal(found.frame, stability_selection(TopCorrelations(), *draw(0), n_pairs=3).frame)


def test_what_cannot_be_promised_is_refused():
    X, y = draw(0)
    with pytest.raises(ValueError, match=r"a half selects 15\.0 of 20 features in the mean"):
        stability_selection(TopCorrelations(15), X, y, n_pairs=2)
    assert stability_selection(TopCorrelations(15), X, y, n_pairs=2, most=3, max_false=2).n_selected == 3
    with pytest.raises(ValueError, match=r"threshold must be above 0\.5"):
        stability_selection(TopCorrelations(), X, y, threshold=0.4)
    with pytest.raises(ValueError, match="assumption must be"):
        stability_selection(TopCorrelations(), X, y, assumption="none")
    with pytest.raises(ValueError, match="differ in their number of rows: 80 and 79"):
        stability_selection(LSPINClassifier(), X, y[1:] > 0)

"""Conformal prediction: against MAPIE, against slow loops, and by how often drawn truth is covered."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from conftest import QUICK
from lspin import LSPINClassifier, LSPINCox, LSPINRegressor
from lspin.baselines import CoxLasso
from lspin.conformal import cross_conformal, split_conformal
from lspin.survival import StepFunction, make_survival

RNG = np.random.default_rng(0)


def draw(n_rows, rng=RNG):
    X = rng.normal(size=(n_rows, 3))
    return X, X @ [2.0, -1.0, 0.0] + rng.standard_t(4, n_rows)


def draw_classes(n_rows, rng=RNG):
    X, score = draw(n_rows, rng)
    return X, np.array(["a", "b", "c"])[np.digitize(score, [-2.0, 1.0])]


X, Y = draw(120)
X_CLASSES, CLASSES = draw_classes(240)
X_NEW, _ = draw(50)
TIMES = make_survival(np.exp(-Y), np.ones(120, bool))


def test_split_intervals_are_mapies():
    mapie = pytest.importorskip("mapie.regression")
    model = LinearRegression().fit(X[:60], Y[:60])
    theirs = mapie.SplitConformalRegressor(model, confidence_level=0.8, prefit=True).conformalize(X[60:], Y[60:])
    ours = split_conformal(model, X[60:], Y[60:]).predict_interval(X_NEW, coverage=0.8)
    np.testing.assert_allclose(ours, theirs.predict_interval(X_NEW)[1][:, :, 0])


def test_split_sets_are_mapies_but_never_empty():
    mapie = pytest.importorskip("mapie.classification")
    model = LogisticRegression().fit(X_CLASSES[:120], CLASSES[:120])
    theirs = mapie.SplitConformalClassifier(model, confidence_level=0.8, conformity_score="lac", prefit=True)
    theirs = theirs.conformalize(X_CLASSES[120:], CLASSES[120:]).predict_set(X_NEW)[1][:, :, 0]
    ours = split_conformal(model, X_CLASSES[120:], CLASSES[120:]).predict_set(X_NEW, coverage=0.8)
    filled = theirs.any(axis=1)
    np.testing.assert_array_equal(ours[filled], theirs[filled])
    assert ours.to_numpy().any(axis=1).all()


def cross_interval_by_hand(conformal, row, coverage):
    low, high = [], []
    for score, fold in zip(conformal.scores, conformal.fold, strict=True):
        centre = conformal.models[fold].predict(row[None])[0]
        low.append(centre - score)
        high.append(centre + score)
    rank = int(np.ceil(coverage * (len(low) + 1)))
    return sorted(low)[len(low) - rank], sorted(high)[rank - 1]


def test_cross_intervals_are_those_of_a_slow_loop():
    conformal = cross_conformal(LinearRegression(), X, Y, n_folds=4)
    intervals = conformal.predict_interval(X_NEW[:5], coverage=0.8)
    for row, interval in zip(X_NEW[:5], intervals, strict=True):
        assert tuple(interval) == pytest.approx(cross_interval_by_hand(conformal, row, 0.8))
    assert repr(conformal) == "<Conformal regressor, CV+ over 4 folds, 120 rows>"


def test_cross_sets_are_those_of_a_slow_loop():
    conformal = cross_conformal(LogisticRegression(), X_CLASSES, CLASSES, n_folds=4)
    sets = conformal.predict_set(X_NEW[:5], coverage=0.7).to_numpy()
    for place, row in enumerate(X_NEW[:5]):
        given = [model.predict_proba(row[None])[0] for model in conformal.models]
        for code in range(3):
            pairs = zip(conformal.scores, conformal.fold, strict=True)
            n_below = sum(score < 1 - given[fold][code] for score, fold in pairs)
            is_inside = n_below < 0.7 * (len(CLASSES) + 1)
            assert sets[place, code] == is_inside or code == np.mean(given, axis=0).argmax()


@pytest.mark.parametrize("make", ["split", "cross"])
def test_intervals_hold_drawn_truth_as_often_as_asked_for(make):
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (X, y), (X_new, y_new) = draw(60, rng), draw(60, rng)
        if make == "split":
            conformal = split_conformal(LinearRegression().fit(X[:30], y[:30]), X[30:], y[30:])
        else:
            conformal = cross_conformal(LinearRegression(), X, y)
        lower, upper = conformal.predict_interval(X_new, coverage=0.8).T
        covered.append(np.mean((lower <= y_new) & (y_new <= upper)))
    # With 30 rows split intervals cover 25/31 = .806 in the mean; the standard error of 60 draws is .01.
    assert np.mean(covered) == pytest.approx(25 / 31 if make == "split" else 0.82, abs=0.04)


def test_sets_hold_each_class_as_often_as_asked_for():
    covered = {label: [] for label in "abc"}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = draw_classes(240, rng)
        model = LogisticRegression().fit(X[:60], y[:60])
        sets = split_conformal(model, X[60:160], y[60:160], by_class=True).predict_set(X[160:], coverage=0.8)
        for label in covered:
            covered[label].append(sets[label][y[160:] == label].mean())
    assert all(np.mean(shares) >= 0.78 for shares in covered.values())


def test_our_classifier_names_rows_and_classes():
    frame = pd.DataFrame(X_CLASSES, index=[f"P{row}" for row in range(240)])
    frame.columns = ["x", "y", "z"]
    two = np.where(CLASSES == "a", "died", "survived")
    model = LSPINClassifier(start="groups", random_state=0).fit(frame[:120], two[:120])
    sets = split_conformal(model, frame[120:200], two[120:200]).predict_set(frame[200:], coverage=0.9)
    assert sets.index[0] == "P200"
    assert sets.columns.tolist() == ["died", "survived"]
    inside = sets.to_numpy()[np.arange(40), (two[200:] == "survived").astype(int)]
    assert inside.mean() >= 0.75


def test_too_few_rows_promise_everything():
    model = LinearRegression().fit(X[:60], Y[:60])
    assert np.isinf(split_conformal(model, X[60:65], Y[60:65]).predict_interval(X_NEW, coverage=0.9)).all()
    labels = LogisticRegression().fit(X_CLASSES[:120], CLASSES[:120])
    assert split_conformal(labels, X_CLASSES[120:125], CLASSES[120:125]).predict_set(X_NEW).to_numpy().all()


def test_progress_is_shown_if_asked_for(speaking):
    cross_conformal(LinearRegression(), X, Y)
    assert speaking() == ""
    cross_conformal(LinearRegression(), X, Y, verbose=1)
    assert "lspin: 5 of at most 5 fits, 00:00 left" in speaking()


class Dying(LinearRegression):
    """It takes its process with it, unless there is a note that it has."""

    def __init__(self, note=None):
        super().__init__()
        self.note = note

    def fit(self, X, y):
        if self.note is not None and not self.note.exists():
            self.note.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_folds_of_a_worker_that_was_killed_are_fitted_again(tmp_path):
    X, y = draw(40)
    there = cross_conformal(Dying(tmp_path / "dead"), X, y, n_folds=3, n_jobs=2).predict_interval(X)
    np.testing.assert_array_equal(there, cross_conformal(Dying(), X, y, n_folds=3).predict_interval(X))
    assert (tmp_path / "dead").exists()


def test_a_fold_that_is_cut_short_is_none(table, press_after):
    press_after(3)
    with pytest.raises(KeyboardInterrupt):
        cross_conformal(LSPINRegressor(**QUICK, sparsity=0.01), *table, n_folds=2)


def test_what_makes_no_sense_is_refused():
    model, labels = LinearRegression().fit(X, Y), LogisticRegression().fit(X_CLASSES, CLASSES)
    with pytest.raises(ValueError, match="sets are for classes"):
        split_conformal(model, X, Y).predict_set(X_NEW)
    with pytest.raises(ValueError, match="intervals are for a response"):
        split_conformal(labels, X_CLASSES, CLASSES).predict_interval(X_NEW)
    with pytest.raises(ValueError, match="coverage must be between 0 and 1, got 90"):
        split_conformal(model, X, Y).predict_interval(X_NEW, coverage=90)
    with pytest.raises(ValueError, match="by_class=True is for classes"):
        split_conformal(model, X, Y, by_class=True)
    times = split_conformal(CoxLasso(0.1).fit(X, TIMES), X, TIMES)
    with pytest.raises(ValueError, match="predict_lower for times"):
        times.predict_interval(X_NEW)
    with pytest.raises(ValueError, match="lower bounds are for survival times"):
        split_conformal(model, X, Y).predict_lower(X_NEW)


def draw_times(n_rows, rng, censored):
    """Rows, observed times with events, and the times of the events, which only a simulation knows."""
    X = rng.normal(size=(n_rows, 3))
    time = rng.weibull(1.5, n_rows) * np.exp(X[:, 0] - 0.5 * X[:, 1] ** 2)  # not what the model assumes
    # Those at high risk leave earlier.
    end = rng.exponential(3 * np.exp(0.5 * X[:, 0])) if censored else np.full(n_rows, np.inf)
    return X, make_survival(np.minimum(time, end), time <= end), time


def lower_by_hand(model, X_held, y_held, x_new, coverage):
    """The least of all observed times that is no stranger than the strangest share of held-out rows."""
    hazard = StepFunction(model.unique_times_, model.cumulative_baseline_hazard_, before=0.0)

    def strangeness(x, time):
        return hazard(min(time, model.unique_times_[-1])) * np.exp(model.predict(x[None])[0])

    seen = sorted(strangeness(x, time) for x, time in zip(X_held, y_held["time"], strict=True))
    least = seen[int((1 - coverage) * (len(seen) + 1)) - 1]
    known = [time for time in model.unique_times_ if strangeness(x_new, time) >= least]
    return min(known, default=model.unique_times_[-1])


def test_lower_bounds_are_those_of_a_slow_loop():
    X, y, _ = draw_times(140, np.random.default_rng(3), censored=True)
    model = CoxLasso(0.05).fit(X[:80], y[:80])
    bounds = split_conformal(model, X[80:], y[80:]).predict_lower(X_NEW[:20], coverage=0.8)
    np.testing.assert_allclose(bounds, [lower_by_hand(model, X[80:], y[80:], x, 0.8) for x in X_NEW[:20]])


@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.parametrize("make", ["split", "cross"])
def test_patients_live_to_see_their_bound_as_often_as_asked_for(make, censored):
    rng, shares = np.random.default_rng(0), []
    for _ in range(15):
        X, y, _ = draw_times(160, rng, censored)
        X_new, _, true = draw_times(200, rng, censored)
        if make == "split":
            found = split_conformal(CoxLasso(0.05).fit(X[:80], y[:80]), X[80:], y[80:])
        else:
            found = cross_conformal(CoxLasso(0.05), X, y)
        bounds = found.predict_lower(X_new, coverage=0.8)
        shares.append(np.mean(true >= bounds))
        assert np.ptp(bounds) > 0.1  # of each patient, not one for all
    # Without censoring as often as asked for, with it no less often.
    assert 0.77 < np.mean(shares) < (0.9 if censored else 0.84)


def test_few_rows_and_a_high_coverage_bound_nothing():
    X, y, _ = draw_times(88, np.random.default_rng(3), censored=True)
    model = CoxLasso(0.05).fit(X[:80], y[:80])
    assert (split_conformal(model, X[80:], y[80:]).predict_lower(X_NEW, coverage=0.9) == 0).all()


def test_our_survival_model_has_bounds():
    X, y, _ = draw_times(100, np.random.default_rng(3), censored=True)
    model = LSPINCox(start="groups", random_state=0).fit(X[:60], y[:60])
    pair = y["time"][60:], y["event"][60:]
    np.testing.assert_array_equal(
        split_conformal(model, X[60:], pair).predict_lower(X_NEW),
        split_conformal(model, X[60:], y[60:]).predict_lower(X_NEW),
    )

"""Conformal prediction: against MAPIE, against slow loops, and by how often drawn truth is covered."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from lspin import LSPINClassifier, LSPINCox
from lspin.conformal import cross_conformal, split_conformal

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
    cox = LSPINCox(start="groups", random_state=0).fit(X[:60], (np.exp(-Y[:60]), np.ones(60, bool)))
    with pytest.raises(ValueError, match="times that are censored need more"):
        split_conformal(cox, X, Y)

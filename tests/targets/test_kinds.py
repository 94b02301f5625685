"""Kinds of target against scikit-learn, closed forms and counts by hand."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, d2_tweedie_score, log_loss, r2_score

from lspin.survival import harrell_concordance, make_survival
from lspin.survival.targets import sign_times, split_times
from lspin.tables.grid import Grid, Rows
from lspin.targets import KINDS, Classes, Counts, Response, Times, kind_of

RNG = np.random.default_rng(0)
NUMBERS = np.array([0, 1, 2])


def make_rows(target, weight=None):
    target = np.asarray(target)
    weight = np.ones(len(target)) if weight is None else np.asarray(weight, float)
    return Rows(Grid(np.arange(len(target), dtype=float)[:, None], None), target, weight, np.arange(len(target)))


# What a constant costs, and scores on held-out rows -----------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_highest_price_of_classes_is_the_log_loss_of_their_frequencies(n_classes):
    codes, weight = RNG.integers(n_classes, size=40), RNG.uniform(1, 3, 40)
    shares = np.bincount(codes, weights=weight) / weight.sum()
    expected = log_loss(codes, np.tile(shares, (40, 1)), sample_weight=weight, labels=range(n_classes))
    kind = Classes(classes=np.arange(n_classes))
    assert kind.highest_price(make_rows(codes, weight)) == pytest.approx(expected)
    assert kind.constant(make_rows(codes, weight)).shape == (1 if n_classes == 2 else 3,)


@pytest.mark.parametrize("how", ["without weight", "left out"])
def test_a_class_that_does_not_count_leaves_the_price_to_the_others(how):
    codes, weight = np.array([0, 0, 0, 1, 2]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    rows = make_rows(codes, weight) if how == "without weight" else make_rows(codes[:4])
    kind = Classes(classes=NUMBERS)
    assert kind.highest_price(rows) == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))
    assert np.isfinite(kind.constant(rows)).all()


def test_the_highest_price_of_a_response_is_its_weighted_variance():
    y, weight = RNG.normal(size=40), RNG.uniform(1, 3, 40)
    expected = np.cov(y, aweights=weight, ddof=0)
    assert Response().highest_price(make_rows(y, weight)) == pytest.approx(float(expected))


def test_held_out_accuracy_and_r2_are_scikit_learns():
    weight = RNG.uniform(1, 3, 30)
    scores, codes = RNG.normal(size=(30, 3)), RNG.integers(3, size=30)
    expected = accuracy_score(codes, scores.argmax(axis=1), sample_weight=weight)
    assert Classes(classes=NUMBERS).score([scores], [make_rows(codes, weight)]) == pytest.approx(expected)
    y, outputs = RNG.normal(size=30), RNG.normal(size=(30, 1))
    expected = r2_score(y, outputs[:, 0], sample_weight=weight)
    halves = [make_rows(y[part], weight[part]) for part in (slice(12), slice(12, 30))]
    assert Response().score([outputs[:12], outputs[12:]], halves) == pytest.approx(expected)


def test_held_out_d2_of_counts_is_scikit_learns():
    weight, y, log_rate = RNG.uniform(1, 3, 30), RNG.poisson(2.0, 30).astype(float), RNG.normal(0.5, 0.3, size=30)
    expected = d2_tweedie_score(y, np.exp(log_rate), sample_weight=weight, power=1)
    kind = Counts().learn(make_rows(y, weight), ["x"])
    rows = kind.adjust(make_rows(y, weight))
    outputs = log_rate[:, None] - kind.origin
    halves = [rows._replace(target=rows.target[part], weight=weight[part]) for part in (slice(12), slice(12, 30))]
    assert kind.score([outputs[:12], outputs[12:]], halves) == pytest.approx(expected)
    assert kind.grade(y, kind.decide(outputs), weight) == pytest.approx(expected)


def test_held_out_concordance_is_the_mean_over_parts_that_can_be_compared():
    time, event, risk = RNG.exponential(size=20), np.arange(20) % 3 > 0, RNG.normal(size=20)
    signed = np.where(event, time, -time)
    outputs = [risk[:10, None], risk[10:, None], np.zeros((3, 1))]
    parts = [make_rows(signed[:10]), make_rows(signed[10:]), make_rows(np.array([-1.0, -2.0, -3.0]))]
    halves = [harrell_concordance((time[s], event[s]), risk=risk[s]).c_index for s in (slice(10), slice(10, 20))]
    assert Times().score(outputs, parts) == pytest.approx(np.mean(halves))
    assert np.isnan(Times().score(outputs[2:], parts[2:]))


# Reading ------------------------------------------------------------------------------------------------------

TIDY = {
    "classify": np.array(["a", "c", "b", "a", "b", "c"]),
    "regress": np.array([3.0, 1.0, 2.5, -1.0, 7.0, 0.0]),
    "count": np.array([3.0, 1.0, 2.0, 0.0, 7.0, 0.0]),
    "survive": make_survival([3.0, 1.0, 2.0, 4.0, 9.0, 1.0], [1, 0, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("task", TIDY)
def test_what_is_learned_comes_back_from_its_attributes(task):
    start = KINDS[task]()
    kind, numbers = start.read(start.entries(TIDY[task], trains=True))
    rows = make_rows(numbers)
    kind = kind.learn(rows, ["x"])
    outputs = RNG.normal(size=(6, kind.n_outputs))
    kind = kind.finish(rows, outputs)
    assert kind.attributes.keys() == kind.learned_types.keys()
    for name, value in kind.attributes.items():
        assert value is None or isinstance(value, kind.learned_types[name])
    back = start.restore(kind.attributes)
    np.testing.assert_array_equal(back.decide(outputs), kind.decide(outputs))
    one, other = (k.list_predictions(k.origin + k.unit * outputs) for k in (back, kind))
    assert one.keys() == other.keys()
    for column in one:
        np.testing.assert_array_equal(one[column], other[column])


@pytest.mark.parametrize("task", TIDY)
def test_a_tidy_target_has_the_same_numbers_as_the_target_itself(task):
    start = KINDS[task]()
    kind, numbers = start.read(start.entries(TIDY[task], trains=True))
    np.testing.assert_array_equal(kind.read_known(kind.entries(kind.tidy(TIDY[task]), trains=False)), numbers)


def test_times_become_signed_ranks():
    signed = sign_times(split_times(np.array([3.0, -1.0, 2.0, -2.0])))
    np.testing.assert_array_equal(Times().adjust(make_rows(signed)).target, [3, -1, 2, -2])


def test_a_negative_count_is_refused_with_its_row():
    with pytest.raises(ValueError, match=r"negative in 2 of 4 rows \(-1 in row 1\)"):
        Counts().read(np.array([1.0, -1.0, 3.0, -2.0]))


def test_an_unknown_class_is_named_with_those_that_are_known():
    kind = Classes(classes=np.array(["benign", "malignant"]))
    with pytest.raises(ValueError, match="eval_set holds the class 'odd'; the model knows 'benign', 'malignant'"):
        kind.read_known(np.array(["benign", "odd"]))


# Models of other packages --------------------------------------------------------------------------------------


def test_the_kind_of_another_packages_model_is_told_by_what_it_can_do():
    class Plain(BaseEstimator):
        pass

    class Classifying(BaseEstimator):
        classes_ = np.array(["a", "b"])

    class Surviving(BaseEstimator):
        def predict_survival_function(self, X):
            return X

    assert isinstance(kind_of(Plain()), Response)
    assert kind_of(Classifying()).labels.tolist() == ["a", "b"]
    assert isinstance(kind_of(Surviving()), Times)


def test_times_are_summarised_with_the_median_survival():
    scores = np.zeros((5, 1))
    said = Times().summarise(scores, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))["said"]
    assert said == "100% had the event, median survival 3 (from 1, no upper limit)"
    # Of those at risk at 2, one of four dies, at 3 one of three: 3/4 and 1/2 are left.
    assert "median survival 3" in Times().summarise(scores, np.array([-1.0, 2.0, 3.0, -4.0, -5.0]))["said"]
    assert (
        "20% had the event, median survival not reached"
        in (Times().summarise(scores, np.array([1.0, -2.0, -3.0, -4.0, -5.0]))["said"])
    )


def test_a_baseline_with_an_event_at_time_0_comes_back_from_its_file():
    target = make_survival([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1, 1, 0, 1, 1, 1])
    kind, numbers = Times().read(Times().entries(target, trains=True))
    kind = kind.finish(make_rows(numbers), np.zeros((6, 1)))
    assert kind.attributes["unique_times_"][0] == 0
    back = Times().restore(kind.attributes)
    assert back.known_baseline(0.0) == pytest.approx(1 / 6)  # all six are at risk, and one has the event


def test_where_samples_are_hidden_the_median_survival_is_the_mean_of_the_five_times_around_it():
    times, scores = 2.0 ** np.arange(9), np.zeros((9, 1))
    summarise = Times().summarise
    assert summarise(scores, times)["said"].endswith("median survival 16 (1 to 128)")
    # Means of five: (4 + ... + 64) / 5, of the first five, and of the last five.
    assert summarise(scores, times, fewest=5)["said"].endswith("median survival about 24.8 (6.2 to 99.2)")
    # Of those at risk at 1, 2, 4 and 8, one of 9, 8, 7 and 6 dies; of those at 256, the last one.
    late = np.where(np.isin(times, [1, 2, 4, 8, 256]), times, -times)
    assert summarise(scores, late, fewest=5)["said"].count("median survival about 54.2 (from 54.2") == 1
    few = np.where(np.isin(times, [1, 2, 4, 256]), times, -times)
    assert summarise(scores, few)["said"].count("median survival 256 (") == 1
    assert "too few events" in summarise(scores, few, fewest=5)["said"]


@pytest.mark.parametrize("score", [-1e6, 0.0, 600.0, 1e6, 1e308])
def test_rates_and_hazard_ratios_are_finite_for_every_score(score):
    scores = np.array([[score]])
    for kind in (Counts(mean=2.0), Times()):
        assert "inf" not in kind.say(scores[0])
        assert np.isfinite(kind.summarise(scores, np.array([1.0]))["predicted"]).all()
    assert np.isfinite(Counts(mean=2.0).list_predictions(scores)["prediction"]).all()
    assert np.isfinite(Counts(mean=2.0).decide(scores)).all()
    if score <= 600:
        np.testing.assert_allclose(Counts(mean=2.0).decide(scores), 2.0 * np.exp(score))


@pytest.mark.parametrize(
    ("kind", "attributes", "reason"),
    [
        (Classes(), {"classes_": ["a"]}, "its 1 classes"),
        (Classes(), {"classes_": ["a", "a"]}, "no two or more in sorted order"),
        (Classes(), {"classes_": [2, 1, 3]}, "no two or more in sorted order"),
        (Response(), {"target_mean_": np.inf, "target_scale_": 1.0}, "mean inf"),
        (Response(), {"target_mean_": 0.0, "target_scale_": 0.0}, "standard deviation 0"),
        (Response(), {"target_mean_": 0.0, "target_scale_": np.nan}, "standard deviation nan"),
        (Counts(), {"target_mean_": 0.0}, "mean 0"),
        (Times(), {"unique_times_": [1.0, 1.0], "cumulative_baseline_hazard_": [0.1, 0.2]}, "does not rise"),
        (Times(), {"unique_times_": [-1.0, 2.0], "cumulative_baseline_hazard_": [0.1, 0.2]}, "does not rise"),
        (Times(), {"unique_times_": [1.0, 2.0], "cumulative_baseline_hazard_": [0.2, 0.1]}, "does not rise"),
        (Times(), {"unique_times_": [1.0, 2.0], "cumulative_baseline_hazard_": [0.1]}, "does not rise"),
        (Times(), {"unique_times_": [1.0, np.inf], "cumulative_baseline_hazard_": [0.1, 0.2]}, "does not rise"),
        (Times(), {"unique_times_": [], "cumulative_baseline_hazard_": []}, "does not rise"),
    ],
)
def test_a_file_with_impossible_numbers_of_the_target_is_refused(kind, attributes, reason):
    given = {name: np.array(value) if isinstance(value, list) else value for name, value in attributes.items()}
    with pytest.raises(ValueError, match=reason):
        kind.restore(given)

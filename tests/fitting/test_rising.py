import numpy as np
import pytest

from lspin import LSPINClassifier, LSPINRegressor
from lspin.core.losses import CROSS_ENTROPY
from lspin.core.lspin import GATES_SETTLE, at_progress, price_level
from lspin.core.model import Networks, Strengths
from lspin.fitting.fit import Fit, Job, prepare_job, tune
from lspin.fitting.linear import gate_rows
from lspin.fitting.path import Candidate, Split
from lspin.fitting.recipe import NONLINEAR, RISING, list_runs, recipe_for_many
from lspin.fitting.rising import Rung, choose_rung, settle_predictor
from lspin.metrics import score_selection
from lspin.tables.grid import Grid, Rows
from lspin.targets.response import Response
from posed import pose

N_COLUMNS = 304  # just beyond what a nonlinear predictor reads


@pytest.fixture(scope="module")
def pictures():
    """Two templates; which of the first two pixels tells the class depends on the template."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(320, N_COLUMNS)).astype(float)
    X[:, 0] = 255.0 * (rng.random(320) < 0.5)
    X[0] = 255.0  # all columns reach the largest value
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 128
    return X, y


@pytest.fixture(scope="module")
def model(pictures):
    return LSPINClassifier(start="networks", max_epochs=40, random_state=0).fit(*pictures)


def test_a_rising_price_goes_by_equal_factors():
    assert price_level(np.float64(0.0), 0.02, 2.0) == pytest.approx(0.02)
    assert price_level(np.float64(0.5), 0.02, 2.0) == pytest.approx(0.2)
    assert price_level(np.float64(1.2), 0.02, 2.0) == 2.0
    assert price_level(np.float64(0.3), 1.0, 1.0) == 1.0


@pytest.mark.parametrize(("price", "expected"), [(0.1, [0.02, 0.1, 0.1]), (5.0, [0.02, 0.2, 2.0])])
def test_a_run_follows_the_rising_price_up_to_its_own(price, expected):
    strengths = Strengths(price, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.5, first_price=0.02, last_price=2.0)
    prices = [at_progress(np.float64(part), strengths).price for part in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(prices, expected)


def test_foreign_gates_come_little_by_little_and_go_with_the_noise():
    strengths = Strengths(0.1, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.6, exchange_rise=0.5)
    shares = [at_progress(np.float64(part), strengths).exchange for part in (0.0, 0.25, 0.5, 0.7, 0.9)]
    np.testing.assert_allclose(shares, [0.0, 0.3, 0.6, 0.6, 0.0], rtol=1e-6)


def test_one_run_is_the_whole_path(model):
    path = model.path_
    assert path["n_features"][0] == 0  # the constant is known without a fit
    null = path["sparsity"][0]
    levels = path["sparsity"][1:].to_numpy()
    # Prices are those of the schedule at whole epochs, of which there are 40.
    first, last = (part * null for part in RISING.path)
    done = GATES_SETTLE * np.log(levels / first) / np.log(last / first)
    np.testing.assert_allclose(done * 40, np.round(done * 40), atol=1e-6)
    assert levels[0] == pytest.approx(last)
    assert (np.diff(levels) < 0).all()
    assert len(levels) >= 8


def test_a_higher_price_opens_fewer_gates(model):
    features = model.path_["mean_features"]
    assert features[1] < features.iloc[-1]


def test_the_chosen_level_is_one_of_the_path(model):
    assert model.sparsity_ in set(model.path_["sparsity"])
    assert model.start_ == "networks"


def test_pixels_share_one_scale(model):
    encoding = model.members_[0].encoding
    assert set(encoding.scale) == {255.0}
    assert not encoding.center.any()


def test_the_predictor_of_a_level_is_the_best_behind_its_gates(pictures, model):
    X, y = pictures
    rows = Rows(Grid(X, None), y.astype(int), np.ones(len(y)), np.arange(len(y)))
    posed = Posed()
    posed.kind = model.kind_
    settled = settle_predictor(posed, Fit(model.members_[0], np.zeros((0, 3))), rows)
    layer = settled.member.networks.prediction[0]
    gated = gate_rows(settled.member, rows).toarray()
    slopes = CROSS_ENTROPY.slope(gated @ layer.weights + layer.bias, rows.target) / len(y)
    # At the optimum the slope by every weight is what the penalty takes, and that by the bias is 0.
    used = gated.any(axis=0)
    assert abs(slopes.sum()) < 1e-2
    assert np.abs(gated[:, used].T @ slopes + 1e-4 * layer.weights[used]).max() < 1e-2


def test_small_integers_stay_what_they_are_and_change_no_prediction(pictures):
    X, y = pictures
    small = X.astype(np.uint8)
    brief = {"sparsity": 0.02, "max_epochs": 2, "random_state": 0}
    models = [LSPINClassifier((), **brief).fit(table, y) for table in (X, small)]
    np.testing.assert_allclose(*(model.predict_proba(small) for model in models))
    assert models[1]._take(small, y, None).rows.grid.values.dtype == np.uint8


@pytest.mark.parametrize("layers", [(), (8,)])
def test_many_columns_get_a_rising_price_whatever_the_predictor(pictures, layers):
    model = LSPINClassifier(layers, sparsity=0.02, max_epochs=2, random_state=0).fit(*pictures)
    assert [len(layer.bias) for layer in model.members_[0].networks.gating[:-1]] == list(RISING.gating_layers)


def test_only_short_last_phases_of_a_linear_predictor_take_long_steps():
    rates = [recipe_for_many(layers, n_rows).settled_rate for layers in ((), (8,)) for n_rows in (6000, 55_000)]
    assert rates == [3.0, 0.3, 0.3, 0.3]


def test_every_weight_decay_has_a_run_and_a_strict_one_and_one_of_low_prices_compete():
    runs = list_runs(NONLINEAR, (0.0, 3.0))
    assert [run.usual_decay for run in runs] == [0.0, 3.0, 0.0, 0.0]
    assert [run.exchange_rise > 0 for run in runs] == [True, True, False, True]
    assert [run.path[0] < NONLINEAR.path[0] for run in runs] == [False, False, False, True]
    assert list_runs(RISING, (0.0,)) == [RISING]


def test_training_goes_on_at_half_the_price_that_the_gates_of_a_level_lag_behind():
    X = np.random.default_rng(0).normal(size=(100, 3))
    problem = pose(X, X[:, 0])
    job = prepare_job(problem, Job(np.arange(100), np.ones(100), None, 0.04, 0.0, 0))
    at_once, going_on = (
        tune(problem, one, problem.rows, job.prepared).strengths.sparsity
        for one in (job, job._replace(start=Networks((), ())))
    )
    assert (at_once, going_on) == (0.04, 0.02)


def rung(loss, n_features, run=0):
    """A level of a path whose held-out rows, of which there are ten, all have the same loss."""
    candidate = Candidate(0.1, 0.0, loss, 0.5, n_features, n_features)
    return Rung(candidate, [], np.full(10, loss) + 1e-3 * np.arange(10) * run, Posed(), [])


class Posed:
    """What of a problem the choice of a level asks for."""

    kind = Response()
    tolerance = 0.1


@pytest.mark.parametrize(
    ("levels", "chosen"),
    [
        ([(0.5, 4.0), (0.6, 2.0)], (0.5, 4.0)),  # 20 % of the gain for half of the features
        ([(0.5, 4.0), (0.54, 2.0)], (0.5, 4.0)),  # within 10 %, but surely worse
        ([(0.5, 4.0), (0.5, 2.0)], (0.5, 2.0)),
        ([(1.2, 3.0)], (1.0, 0.0)),  # worse than a constant
    ],
)
def test_a_level_is_chosen_that_loses_next_to_nothing(levels, chosen):
    rungs = [rung(*level) for level in levels]
    split = Split(np.arange(0), np.zeros(0), Rows(None, np.zeros(10), np.ones(10), np.arange(10)))
    best = choose_rung(Posed(), [split], rung(1.0, 0.0), rungs).candidate
    assert (best.validation_loss, best.n_features) == chosen


@pytest.fixture(scope="module")
def switched():
    """The sign of the first column says which of the next two counts, by its square."""
    X = np.random.default_rng(0).normal(size=(600, 6))
    return X, np.where(X[:, 0] > 0, X[:, 1] ** 2, X[:, 2] ** 2)


def test_a_nonlinear_path_finds_what_counts_for_each_row(switched):
    X, y = switched
    model = LSPINRegressor(start="networks", random_state=0).fit(X[:400], y[:400])
    truth = np.zeros((200, 6), bool)
    truth[:, 0], truth[:, 1], truth[:, 2] = True, X[400:, 0] > 0, X[400:, 0] <= 0
    assert score_selection(model.selected(X[400:]), truth).f1 > 0.9
    assert model.score(X[400:], y[400:]) > 0.9
    assert len(model.path_) >= 16  # two runs, and the constant


def test_a_wanted_number_of_features_is_found_by_fits_at_fixed_prices(switched):
    X, y = switched
    model = LSPINRegressor(start="networks", n_features=2, random_state=0).fit(X[:400], y[:400])
    assert abs(np.median(model.selected(X[400:]).sum(axis=1)) - 2) <= 1

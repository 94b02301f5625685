import numpy as np
import pytest

from lspin import LSPINClassifier
from lspin.core.losses import CROSS_ENTROPY
from lspin.core.lspin import GATES_SETTLE, price_factor
from lspin.fitting.recipe import RISING

N_COLUMNS = 304  # just beyond what groups are looked for in


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
    return LSPINClassifier(max_epochs=40, random_state=0).fit(*pictures)


def test_a_rising_price_goes_by_equal_factors_until_gates_are_fixed():
    assert price_factor(np.float64(0.0), 0.01) == pytest.approx(0.01)
    assert price_factor(np.float64(GATES_SETTLE / 2), 0.01) == pytest.approx(0.1)
    assert price_factor(np.float64(0.9), 0.01) == 1.0
    assert price_factor(np.float64(0.3), 1.0) == 1.0


def test_one_run_is_the_whole_path(model):
    path = model.path_
    assert path["n_features"][0] == 0  # the constant is known without a fit
    null = path["sparsity"][0]
    levels = path["sparsity"][1:].to_numpy()
    # Prices are those of the schedule at whole epochs, of which there are 40.
    done = GATES_SETTLE * (1 + np.log(levels / (RISING.prices[0] * null)) / -np.log(RISING.price_start))
    np.testing.assert_allclose(done * 40, np.round(done * 40), atol=1e-6)
    assert (np.diff(levels) < 0).all()
    assert len(levels) >= 10


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
    from lspin.fitting.fit import Fit
    from lspin.fitting.rising import gate_rows, settle_predictor
    from lspin.tables.grid import Grid, Rows

    X, y = pictures
    rows = Rows(Grid(X, None), y.astype(int), np.ones(len(y)), np.arange(len(y)))

    class Posed:
        kind = model.kind_

    settled = settle_predictor(Posed(), Fit(model.members_[0], np.zeros((0, 3)), False), rows)
    layer = settled.member.networks.prediction[0]
    gated = gate_rows(settled.member, rows)
    slopes = CROSS_ENTROPY.slope(gated @ layer.weights + layer.bias, rows.target) / len(y)
    # At the optimum the slope by every weight is what the penalty takes, and that by the bias is 0.
    used = gated.any(axis=0)
    assert abs(slopes.sum()) < 1e-2
    assert np.abs(gated[:, used].T @ slopes + 1e-4 * layer.weights[used]).max() < 1e-2

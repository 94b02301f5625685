"""The rivals as scikit-learn estimators: its own checks, and tables as people have them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

import lspin.baselines
from lspin.baselines import (
    ContextualLassoClassifier,
    ContextualLassoRegressor,
    LocalizedLassoRegressor,
    NetClassifier,
    NetRegressor,
    ProtoGateClassifier,
    STGClassifier,
    STGRegressor,
)

SMALL = {"random_state": 0}
RIVALS = [
    ContextualLassoClassifier((20,), **SMALL),
    ContextualLassoRegressor((20,), **SMALL),
    LocalizedLassoRegressor(),
    NetClassifier((20,), **SMALL),
    NetRegressor((20,), **SMALL),
    ProtoGateClassifier((20,), batch_size=16, **SMALL),
    STGClassifier((20,), **SMALL),
    STGRegressor((20,), **SMALL),
]


@parametrize_with_checks(RIVALS)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_every_rival_is_checked():
    assert {type(rival).__name__ for rival in RIVALS} == set(lspin.baselines.__all__)


def draw_frame(n_rows=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], n_rows))
    frame.loc[3, "b"] = np.nan
    return frame, frame["a"] + (frame["kind"] == "x") > 0.2


def fit_on(rival, X, y):
    target = np.asarray(y, float) + 0.1 * np.arange(len(y)) if "Regressor" in type(rival).__name__ else y
    return rival.set_params(**{"max_epochs": 2} if "max_epochs" in rival.get_params() else {}).fit(X, target)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
def test_frames_with_categories_and_gaps_are_read(rival):
    X, y = draw_frame()
    model = fit_on(rival, X, y)
    gates = model.gates(X)
    assert gates.shape == X.shape
    assert gates.min() >= 0
    assert gates.max() <= 1
    assert gates[3, 1] == 0  # a missing value has its gate shut
    np.testing.assert_array_equal(model.selected(X), gates > 0)
    np.testing.assert_array_equal(model.predict_with_gates(X, gates), model.predict(X))
    assert model.predict_with_gates(X, np.zeros(X.shape)).shape == (len(X),)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
def test_a_sparse_matrix_is_the_dense_table_with_its_numbers(rival):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.5)
    y = X[:, 0] > 0.1
    dense = fit_on(rival, X, y).predict(X)
    np.testing.assert_array_equal(fit_on(rival, sp.csr_array(X), y).predict(sp.csr_array(X)), dense)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
def test_bad_input_is_refused_with_its_name_and_number(rival):
    X, y = draw_frame()
    broken = X.assign(a=np.where(np.arange(len(X)) == 7, np.inf, X["a"]))
    with pytest.raises(ValueError, match=r"infinity in column 'a' \(row 7\)"):
        fit_on(rival, broken, y)
    with pytest.raises(ValueError, match="column 'kind' holds text"):
        fit_on(rival, X.astype({"kind": object}), y)
    with pytest.raises(ValueError, match="all 60 sample weights are zero"):
        fit_on(rival, X, y) and rival.fit(X, np.arange(60) % 2, sample_weight=np.zeros(60))

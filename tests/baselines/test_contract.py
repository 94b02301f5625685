"""The rivals as scikit-learn estimators: its own checks, and tables as people have them."""

import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.utils.estimator_checks import estimator_checks_generator

import lspin.baselines
from any_target import AnyCoxLasso, AnyDeepSurv, AnySTGCox
from lspin.baselines import (
    ContextualLassoClassifier,
    ContextualLassoRegressor,
    EvalXClassifier,
    EvalXRegressor,
    INVASEClassifier,
    INVASERegressor,
    L2XClassifier,
    L2XRegressor,
    LocalizedLassoRegressor,
    NetClassifier,
    NetRegressor,
    ProtoGateClassifier,
    REALXClassifier,
    REALXRegressor,
    STGClassifier,
    STGRegressor,
)

SMALL = {"random_state": 0}
DRAWN = {"gate_hidden_layer_sizes": (10,), "learning_rate": 0.02, "max_epochs": 200, **SMALL}
RIVALS = [
    EvalXClassifier((20,), max_epochs=200, **SMALL),
    EvalXRegressor((20,), max_epochs=200, **SMALL),
    INVASEClassifier((20,), **DRAWN),
    INVASERegressor((20,), **DRAWN),
    L2XClassifier((20,), n_features=2, **DRAWN),
    L2XRegressor((20,), n_features=2, **DRAWN),
    REALXClassifier((20,), **DRAWN),
    REALXRegressor((20,), **DRAWN),
    NetClassifier((20,), learning_rate=0.02, max_epochs=100, **SMALL),
    NetRegressor((20,), learning_rate=0.02, max_epochs=100, **SMALL),
    STGClassifier((20,), learning_rate=0.02, max_epochs=100, **SMALL),
    STGRegressor((20,), learning_rate=0.02, max_epochs=100, **SMALL),
    AnyDeepSurv((4,), max_epochs=5, **SMALL),
    AnySTGCox((4,), max_epochs=5, **SMALL),
    AnyCoxLasso(0.05),
    ContextualLassoClassifier((20,), max_epochs=100, **SMALL),
    ContextualLassoRegressor((20,), max_epochs=100, **SMALL),
    LocalizedLassoRegressor(),
    ProtoGateClassifier((20,), batch_size=16, **SMALL),
]


# Rivals that are trained have one shell, which the network alone is checked with from end to end: the others, and
# regressors, which are their classifiers but for the target, get the checks in which targets, weights or what they
# have learned matter, unless all are asked for. Every check is some fits of other shapes, which are compiled each.
ALL_CHECKS = os.environ.get("LSPIN_ALL_CHECKS")
SHELLS = (NetClassifier, AnyDeepSurv, AnyCoxLasso, LocalizedLassoRegressor)
OF_TARGETS = ("regress", "sample_weight_equivalence", "zero_sample_weights", "fit2d")
OF_LEARNED = ("invariance", "idempotent", "pickle", "dict_unchanged", "overwrite_params", "classifiers_train")


def needs(estimator, check):
    name = getattr(check, "func", check).__name__
    parts = OF_TARGETS if is_regressor(estimator) else OF_TARGETS + OF_LEARNED
    return ALL_CHECKS or isinstance(estimator, SHELLS) or any(part in name for part in parts)


CHECKS = [
    pytest.param(rival, check, id=f"{type(rival).__name__}-{getattr(check, 'func', check).__name__}")
    for estimator in RIVALS
    for rival, check in estimator_checks_generator(estimator, mark="skip")
    if needs(rival, check)
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_every_rival_is_checked():
    assert {type(rival).__name__.removeprefix("Any") for rival in RIVALS} == set(lspin.baselines.__all__)


def draw_frame(n_rows=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], n_rows))
    frame.loc[3, "b"] = np.nan
    return frame, frame["a"] + (frame["kind"] == "x") > 0.2


def fit_on(rival, X, y):
    target = np.asarray(y, float) + 0.1 * np.arange(len(y)) if "Regressor" in type(rival).__name__ else y
    few = {"max_epochs": 2} if "max_epochs" in rival.get_params() else {}
    return clone(rival).set_params(**few).fit(X, target)


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
        clone(rival).fit(X, np.arange(60) % 2, sample_weight=np.zeros(60))

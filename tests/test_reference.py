"""Stored predictions, gates, prices and explanations of every estimator: a change of form changes no number.

What it sees: any change of the arithmetic between a table and its predictions, in every regime (kinds of target,
linear and nonlinear predictors, models of groups, wide, sparse, categories and missing values, members, every
rival). What it cannot see: whether a model is any good (tables are tiny and runs a few epochs long), speed,
messages, pages, and changes below ``TOLERANCE``, which is what single precision leaves after some dozen steps on
another processor.

When the engine is meant to change, write the stored numbers anew and commit them with the reason:
``python tests/test_reference.py``, or with the names of some cases, which leaves all others as they are.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lspin.baselines as rivals
from lspin import LSPINClassifier, LSPINCox, LSPINRegressor

STORED = Path(__file__).parent / "data" / "reference.json"
TOLERANCE = 2e-3
SHOWN = 6  # rows whose numbers are stored

# Tables ------------------------------------------------------------------------------------------------------


def draw(n_rows=48, n_columns=5):
    """Two groups, told by the first column, in which one of the next two columns counts."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_rows, n_columns))
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.1 * rng.normal(size=n_rows)


def draw_frame(n_rows=48):
    X, response = draw(n_rows)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = pd.Categorical(np.array(["x", "y", "z"])[np.arange(len(X)) % 3])
    frame.loc[frame.index[::7], "b"] = np.nan
    return frame, response + (np.arange(len(X)) % 3 == 0)


def draw_counts():
    """A sparse table: each of two groups has a column of its own whose entries count."""
    rng = np.random.default_rng(8)
    X = rng.poisson(0.8, size=(48, 30)).astype(float)
    return sp.csr_array(X), X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=48)


TABLES = {
    "plain": draw,
    "frame": draw_frame,
    "wide": lambda: draw(n_columns=60),
    "counts": draw_counts,
    # Enough rows to find the two groups from classes too.
    "groups": lambda: draw(n_rows=160),
    "groups frame": lambda: draw_frame(n_rows=160),
}


def two(response):
    return np.where(response > np.median(response), "yes", "no")


def three(response):
    return np.searchsorted(np.quantile(response, [1 / 3, 2 / 3]), response)


def rates(response):
    return np.round(2 * np.exp(response))


def times(response):
    return 0.1 + np.round(np.exp(-response), 1), np.arange(len(response)) % 4 > 0


# Cases: the table, the target, the estimator, what else is given to fit --------------------------------------

SHORT = {"max_epochs": 20, "learning_rate": 0.03, "batch_size": 16, "random_state": 0}
SMALL = {"hidden_layer_sizes": (8,), "gate_hidden_layer_sizes": (6,), **SHORT}
LINEAR = {"hidden_layer_sizes": (), "gate_hidden_layer_sizes": (6,), **SHORT}
GROUPS = {"start": "groups", "random_state": 0}
PRICE = {"sparsity": 0.02, "weight_decay": 0.5}
BRIEF = {"max_epochs": 10, "batch_size": 16, "random_state": 0}
GATED = {"gate_hidden_layer_sizes": (6,), **BRIEF}

CASES = {
    "classes": ("plain", two, LSPINClassifier(**SMALL)),
    "classes linear": ("plain", two, LSPINClassifier(**LINEAR)),
    "three classes": ("plain", three, LSPINClassifier(**SMALL, **PRICE)),
    "three classes linear": ("plain", three, LSPINClassifier(**LINEAR, **PRICE)),
    "classes, default layers": ("plain", two, LSPINClassifier((200, 200), **SHORT, **PRICE)),
    "classes, groups": ("groups", two, LSPINClassifier(**GROUPS)),
    "three classes, groups": ("groups", three, LSPINClassifier(**GROUPS)),
    "classes, groups, members": ("groups", two, LSPINClassifier(**GROUPS, n_members=2, bootstrap=True)),
    "classes, linear gates": ("plain", two, LSPINClassifier((8,), gate_hidden_layer_sizes=(), **SHORT, **PRICE)),
    "classes frame": ("frame", two, LSPINClassifier(**SMALL, **PRICE)),
    "classes wide": ("wide", two, LSPINClassifier(**SHORT)),
    "classes wide nonlinear": ("wide", two, LSPINClassifier((8,), **SHORT, **PRICE)),
    "three classes wide": ("wide", three, LSPINClassifier(**SHORT, **PRICE)),
    "classes counts": ("counts", two, LSPINClassifier(**SHORT)),
    "classes counts, ridge": ("counts", two, LSPINClassifier(anchor="ridge", **SHORT, **PRICE)),
    "classes counts nonlinear": ("counts", two, LSPINClassifier((8,), **SHORT, **PRICE)),
    "three classes counts": ("counts", three, LSPINClassifier(**SHORT, **PRICE)),
    "classes, members": ("plain", two, LSPINClassifier(**SMALL, **PRICE, n_members=3, bootstrap=True)),
    "classes, balanced": ("plain", two, LSPINClassifier(**SMALL, **PRICE, class_weight="balanced")),
    "classes, wanted features": ("plain", two, LSPINClassifier(**SMALL, n_features=2)),
    "classes, eval set": ("plain", two, LSPINClassifier(**SMALL, n_restarts=2, patience=3)),
    "classes, labels alike": (
        "plain", three,
        LSPINClassifier(**SMALL, **PRICE, stability=0.006, diversity=0.003, affinity="labels"),
    ),
    "response": ("plain", np.asarray, LSPINRegressor(**SMALL)),
    "response linear": ("plain", np.asarray, LSPINRegressor(**LINEAR, **PRICE)),
    "response frame": ("frame", np.asarray, LSPINRegressor(**SMALL, **PRICE)),
    "response, groups": ("groups", np.asarray, LSPINRegressor(**GROUPS)),
    "response frame, groups": ("groups frame", np.asarray, LSPINRegressor(**GROUPS)),
    "rates, groups": ("groups", rates, LSPINRegressor(**GROUPS, loss="poisson")),
    "response wide": ("wide", np.asarray, LSPINRegressor(**SHORT, **PRICE)),
    "response counts": ("counts", np.asarray, LSPINRegressor(**SHORT, **PRICE)),
    "response, rows alike": ("plain", np.asarray, LSPINRegressor(**SMALL, **PRICE, stability=0.006)),
    "survival": ("plain", times, LSPINCox(**SMALL)),
    "survival linear": ("plain", times, LSPINCox(**LINEAR, **PRICE, ties="breslow")),
    "survival frame": ("frame", times, LSPINCox(**SMALL, **PRICE)),
    "survival wide": ("wide", times, LSPINCox(**SHORT, **PRICE)),
    "survival counts": ("counts", times, LSPINCox(**SHORT, **PRICE)),
    "survival, members": ("plain", times, LSPINCox(**SMALL, **PRICE, n_members=2)),
    "net classes": ("plain", three, rivals.NetClassifier((8,), **BRIEF)),
    "net response": ("frame", np.asarray, rivals.NetRegressor((8,), **BRIEF)),
    "stg classes": ("frame", two, rivals.STGClassifier((8,), **BRIEF)),
    "stg response": ("plain", np.asarray, rivals.STGRegressor((8,), **BRIEF)),
    "invase classes": ("frame", three, rivals.INVASEClassifier((8,), **GATED)),
    "invase response": ("plain", np.asarray, rivals.INVASERegressor((8,), **GATED)),
    "l2x classes": ("plain", three, rivals.L2XClassifier((8,), n_features=2, **GATED)),
    "l2x response": ("frame", np.asarray, rivals.L2XRegressor((8,), n_features=2, **GATED)),
    "realx classes": ("frame", two, rivals.REALXClassifier((8,), **GATED)),
    "realx response": ("plain", np.asarray, rivals.REALXRegressor((8,), **GATED)),
    "evalx classes": ("plain", two, rivals.EvalXClassifier((8,), **BRIEF)),
    "evalx response": ("frame", np.asarray, rivals.EvalXRegressor((8,), **BRIEF)),
    "contextual lasso classes": ("plain", three, rivals.ContextualLassoClassifier((8,), **BRIEF)),
    "contextual lasso response": ("frame", np.asarray, rivals.ContextualLassoRegressor((8,), **BRIEF)),
    "protogate": ("frame", two, rivals.ProtoGateClassifier((6,), **BRIEF)),
    "localized lasso": ("plain", np.asarray, rivals.LocalizedLassoRegressor()),
    "deepsurv": ("frame", times, rivals.DeepSurv((8,), **BRIEF)),
    "stg survival": ("plain", times, rivals.STGCox((8,), **BRIEF)),
    "cox lasso": ("frame", times, rivals.CoxLasso(random_state=0)),
}  # fmt: skip


def fit_case(name):
    table, read, estimator = CASES[name]
    X, response = TABLES[table]()
    y = read(response)
    weight = 1.0 + np.arange(len(response)) % 3 / 2
    if name == "classes, eval set":
        return X[:40], estimator.fit(X[:32], y[:32], eval_set=(X[32:], y[32:]))
    return X, estimator.fit(X, y, sample_weight=weight)


def numbers_of(X, model):
    """What a fitted model says of some rows: every number that a user could see."""
    X = X.iloc[:SHOWN] if isinstance(X, pd.DataFrame) else X[:SHOWN]
    gates = model.gates(X)
    numbers = {"gates": gates.toarray() if sp.issparse(gates) else gates}
    if hasattr(model, "predict_proba"):
        numbers["probabilities"] = model.predict_proba(X)
    else:
        numbers["prediction"] = model.predict(X)
    if hasattr(model, "predict_survival_function"):
        # Only differences of log-hazards are learned; the constant between them is rounding.
        numbers["prediction"] = numbers["prediction"] - numbers["prediction"].mean()
        numbers["survival"] = model.predict_survival_function(X, return_array=True)[:, ::8]
    if hasattr(model, "explain"):
        explanation = model.explain(X)
        numbers["baseline above the mean"] = explanation.baseline - explanation.scores.mean(axis=0)
        numbers["contributions"] = explanation.open_contributions
        numbers["log of the price"] = np.log([max(model.sparsity_, 1e-9)])
        numbers["weight decay"] = np.array([model.weight_decay_])
        numbers["features on the path"] = model.path_["n_features"].to_numpy(float)
    return numbers


@pytest.mark.filterwarnings("ignore:no sparsity was found")
@pytest.mark.parametrize("name", CASES)
def test_every_estimator_says_what_it_said_before(name):
    stored = json.loads(STORED.read_text())[name]
    numbers = numbers_of(*fit_case(name))
    assert set(numbers) == set(stored)
    for what, values in numbers.items():
        before = np.reshape(stored[what], values.shape)
        np.testing.assert_allclose(values, before, rtol=0, atol=TOLERANCE, err_msg=what)


def test_every_estimator_has_a_case():
    seen = {type(estimator).__name__ for _, _, estimator in CASES.values()}
    assert seen == {"LSPINClassifier", "LSPINRegressor", "LSPINCox", *rivals.__all__}


def write_stored(names):
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in names or CASES:
        stored[name] = {what: np.round(v, 5).tolist() for what, v in numbers_of(*fit_case(name)).items()}
    lines = [f"{json.dumps(name)}: {json.dumps(stored[name])}" for name in CASES]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write_stored(sys.argv[1:])

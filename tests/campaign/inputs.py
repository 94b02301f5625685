"""Drawn tables, targets, weights and parameters: each is answered with finite numbers or refused in a sentence."""

import contextlib
import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import lspin.baselines
from campaign.tally import judged
from lspin import LSPINClassifier, LSPINCox, LSPINRegressor

N_ROWS, N_COLUMNS = 24, 3  # one shape, so that all share their programs
RIVALS = [getattr(lspin.baselines, name) for name in sorted(lspin.baselines.__all__)]
OURS = [LSPINClassifier, LSPINRegressor, LSPINCox]
SMALL = {
    "hidden_layer_sizes": (4,),
    "gate_hidden_layer_sizes": (4,),
    "sparsity": 0.01,
    "max_epochs": 3,
    "n_features": 1,
    "random_state": 0,
}
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e300, 1.7e308, 5e-324, 1e-300, 2.0**53 + 2]
ENTRIES = [None, "", "text", "1.5", True, b"bytes", pd.NA, pd.NaT, 10**30, 1j, [1], {}, pd.Timestamp("2020-01-01")]
VALUES = [
    0,
    1,
    -1,
    2,
    0.5,
    1e-9,
    1e9,
    1e300,
    -1e300,
    np.nan,
    np.inf,
    None,
    "auto",
    "odd",
    True,
    (),
    (3,),
    10**20,
    [1],
]


def attempt(rng, tally, seconds=None):
    """Draw an estimator and all that it is given, and see what comes of it."""
    make = OURS[rng.integers(3)] if rng.random() < 0.6 else RIVALS[rng.integers(len(RIVALS))]
    kind = "estimators" if make in OURS else "rivals"
    parameters = draw_parameters(rng, make)
    X, y, weight = draw_table(rng), draw_target(rng, make), draw_weight(rng)
    words = f"{make.__name__}({parameters}) on {type(X).__name__}"
    with judged(tally, kind, words, seconds), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(**parameters)
        model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
        tally.add(kind, use(model, X, draw_table(rng)), words)


def use(model, X, new):
    """What comes of a fitted model: finite numbers for its own rows, and a sentence or such for others."""
    answers = [model.predict(X), model.gates(X)]
    if hasattr(model, "predict_proba"):
        answers.append(model.predict_proba(X))
    if hasattr(model, "predict_cumulative_hazard_function"):
        answers.append(model.predict_cumulative_hazard_function(X, return_array=True))
    with contextlib.suppress(ValueError, TypeError):
        answers.append(model.predict(new))
    if not all(is_finite(answer) for answer in answers):
        return "not finite"
    return "answered"


def is_finite(answer):
    answer = answer.data if sp.issparse(answer) else np.asarray(answer)
    return answer.dtype.kind not in "fc" or bool(np.isfinite(answer).all())


def draw_parameters(rng, make):
    known = inspect.signature(make).parameters
    parameters = {name: value for name, value in SMALL.items() if name in known}
    if "sparsity" in known or make is lspin.baselines.LocalizedLassoRegressor:
        parameters.pop("n_features", None)
    if rng.random() < 0.3:
        skipped = {
            "verbose",
            "n_jobs",
            "n_members",
            "n_restarts",
            "max_epochs",
            "random_state",
            "hidden_layer_sizes",
        }
        name = sorted(set(known) - skipped)[rng.integers(len(set(known) - skipped))]
        parameters[name] = VALUES[rng.integers(len(VALUES))]
    return parameters


def draw_table(rng):
    """The usual table with some cells replaced, in one of many containers."""
    X = np.random.default_rng(0).normal(size=(N_ROWS, N_COLUMNS))
    for _ in range(rng.integers(4) if rng.random() < 0.6 else 0):
        X[rng.integers(N_ROWS), rng.integers(N_COLUMNS)] = ODD[rng.integers(len(ODD))]
    if rng.random() < 0.1:
        X[:, rng.integers(N_COLUMNS)] = ODD[rng.integers(len(ODD))]
    return CONTAINERS[rng.integers(len(CONTAINERS))](X, rng)


def as_odd_frame(X, rng):
    frame = pd.DataFrame(X, columns=list("abc")).astype(object)
    for _ in range(rng.integers(1, 4)):
        frame.iat[rng.integers(N_ROWS), rng.integers(N_COLUMNS)] = ENTRIES[rng.integers(len(ENTRIES))]
    return frame


def as_categories(X, rng):
    frame = pd.DataFrame(X, columns=list("abc"))
    levels = [None, "I", "II", "III"][: rng.integers(2, 5)]
    return frame.assign(b=pd.Categorical([levels[place] for place in rng.integers(len(levels), size=N_ROWS)]))


def as_masked(X, rng):
    return np.ma.masked_array(X, mask=rng.random(X.shape) < 0.1)


CONTAINERS = [
    lambda X, rng: X,
    lambda X, rng: X.astype(object),
    lambda X, rng: np.asfortranarray(X),
    lambda X, rng: X.tolist(),
    lambda X, rng: pd.DataFrame(X, columns=list("abc")),
    lambda X, rng: pl.DataFrame(X, schema=list("abc")),
    lambda X, rng: sp.csr_array(np.nan_to_num(X, posinf=1.0, neginf=-1.0)),
    lambda X, rng: pd.DataFrame(X, columns=list("aab")),
    lambda X, rng: X[: rng.integers(N_ROWS + 1)],
    lambda X, rng: X[:, : rng.integers(N_COLUMNS + 1)],
    lambda X, rng: X.astype("M8[s]") if np.abs(np.nan_to_num(X, posinf=1e20)).max() < 1e9 else X,
    as_odd_frame,
    as_categories,
    as_masked,
]


def draw_target(rng, make):
    """A target of the right kind, now and then damaged or of another kind."""
    plain = np.random.default_rng(1)
    numbers = plain.normal(size=N_ROWS)
    kinds = {
        "classes": (numbers > 0).astype(int),
        "text": np.where(numbers > 0, "yes", "no"),
        "three": plain.integers(3, size=N_ROWS),
        "huge": np.where(numbers > 0, 1e19, 2e19),
        "numbers": numbers,
        "times": {"time": np.exp(numbers), "event": plain.random(N_ROWS) < 0.6},
    }
    name = make.__name__
    own = (
        ["times"]
        if "Cox" in name or name == "DeepSurv"
        else ["numbers"]
        if "Regressor" in name
        else list(kinds)[:4]
    )
    y = kinds[own[rng.integers(len(own))] if rng.random() < 0.9 else list(kinds)[rng.integers(len(kinds))]]
    if rng.random() < 0.3:
        y = damage_target(rng, y)
    return y


def damage_target(rng, y):
    if isinstance(y, dict):
        name = ["time", "event"][rng.integers(2)]
        return {**y, name: damage_target(rng, y[name])}
    odd = [*ODD, *ENTRIES][rng.integers(len(ODD) + len(ENTRIES))]
    y = y.astype(object) if not isinstance(odd, float) or y.dtype.kind != "f" else y.copy()
    y[rng.integers(N_ROWS)] = odd
    return y[: rng.integers(N_ROWS + 1)] if rng.random() < 0.1 else y


def draw_weight(rng):
    if rng.random() < 0.7:
        return None
    weight = rng.random(N_ROWS) if rng.random() < 0.5 else rng.integers(3, size=N_ROWS).astype(float)
    if rng.random() < 0.4:
        weight[rng.integers(N_ROWS)] = ODD[rng.integers(len(ODD))]
    return weight

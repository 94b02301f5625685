"""What the command line does between reading a file and showing a result; results are plain values."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from lspin.columns import Features, Outcome, Remark, read_like, read_outcome, read_survival_outcome, suggest
from lspin.estimators import LSPINClassifier, LSPINCox, LSPINRegressor, load
from lspin.files import Source
from lspin.path import SMALL_TABLE
from lspin.persistence import read_model
from lspin.survival.scores import harrell_concordance

ESTIMATORS: dict[str, Any] = {"classify": LSPINClassifier, "regress": LSPINRegressor, "survive": LSPINCox}
SCORES = {"classify": "accuracy", "regress": "R²", "survive": "concordance"}
N_FOLDS = 5  # each is a fifth of the rows


class Fitted(NamedTuple):
    """A model, what is to be said about it, and whether its fit was cut short."""

    estimator: Any
    summary: dict[str, Any]
    remarks: tuple[Remark, ...]
    interrupted: bool


class Opened(NamedTuple):
    """A model with a new table read as it needs it."""

    estimator: Any
    features: Features
    outcome: Outcome | None  # where the table holds the target too


# Fitting -------------------------------------------------------------------------------------------------------


def fit_table(
    features: Features, outcome: Outcome, settings: dict[str, Any], say: Callable[[str], None]
) -> Fitted:
    """Fit the estimator for the task, and sum up what came of it."""
    estimator = ESTIMATORS[outcome.task](**settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(features.X, outcome.target)
        interrupted = any(str(warning.message).startswith("interrupted") for warning in caught)
        score = held_out_score(estimator)
        if score is None and not interrupted and estimator.n_features is not None:
            say("Fitting again without a fifth of the rows, to see how good it is on those.")
            score = fit_held_out(estimator, features.X, outcome)
    estimator.origin_ = {"columns": outcome.columns, "id": features.id_name, "held_out_score": score}
    texts = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning))
    remarks = tuple(Remark(text, is_warning=True) for text in texts if not text.startswith("interrupted"))
    return Fitted(estimator, summarise(estimator, features.X, outcome, score), remarks, interrupted)


def held_out_score(estimator: Any) -> float | None:
    """The score that the path has for the chosen sparsity; it has none where a number of features was wanted."""
    chosen = chosen_candidate(estimator)
    return None if chosen is None else _finite(chosen["validation_score"])


def fit_held_out(estimator: Any, X: pd.DataFrame, outcome: Outcome) -> float | None:
    """The score of models with the same sparsity on rows they were not fitted on.

    As on the path, small tables are held out part by part, and of larger ones one part.
    """
    if len(X) < 2 * N_FOLDS:
        return None
    strata = outcome.target["event"] if outcome.task == "survive" else outcome.target
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    if outcome.task != "regress" and np.unique(strata, return_counts=True)[1].min() >= N_FOLDS:
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    settings = {
        "n_features": None,
        "sparsity": estimator.sparsity_,
        "n_members": 1,
        "bootstrap": False,
        "verbose": 0,
    }
    scores = []
    try:
        for train, test in list(folds.split(X, strata))[: None if len(X) <= SMALL_TABLE else 1]:
            model = clone(estimator).set_params(**settings).fit(X.iloc[train], outcome.target[train])
            scores.append(model.score(X.iloc[test], outcome.target[test]))
    except (KeyboardInterrupt, ValueError):  # interrupted, or a part without two classes or any event
        return None
    return float(np.mean(scores))


def chosen_candidate(estimator: Any) -> dict[str, Any] | None:
    """The row of the path that was chosen."""
    path = estimator.path_
    here = path[(path["sparsity"] == estimator.sparsity_) & (path["weight_decay"] == estimator.weight_decay_)]
    return None if here.empty else {str(name): value for name, value in here.iloc[0].items()}


def summarise(estimator: Any, X: pd.DataFrame, outcome: Outcome, score: float | None) -> dict[str, Any]:
    """What a person wants to know first about a fitted model."""
    selected = estimator.selected(X)
    counts = selected.sum(axis=1)
    shares = pd.Series(selected.mean(axis=0), X.columns).sort_values(ascending=False, kind="stable")
    low, middle, high = np.quantile(counts, [0.25, 0.5, 0.75])
    return {
        "task": outcome.task,
        "model": describe(estimator),
        "rows": len(X),
        "columns": X.shape[1],
        "score_name": SCORES[outcome.task],
        "held_out_score": score,
        "chance_score": chance_score(outcome),
        "features_per_sample": {"median": middle, "quartiles": [low, high]},
        "features_used": int((shares > 0).sum()),
        "most_used": {str(name): float(share) for name, share in shares[shares > 0].head(10).items()},
        "sparsity": estimator.sparsity_,
    }


def chance_score(outcome: Outcome) -> float:
    """The score of the best prediction that is the same for all rows."""
    if outcome.task == "classify":
        return float(np.unique(outcome.target, return_counts=True)[1].max() / len(outcome.target))
    return 0.5 if outcome.task == "survive" else 0.0


def describe(estimator: Any) -> str:
    """The kind of a fitted model in a few words."""
    kinds = {"LSPINClassifier": "classifier", "LSPINRegressor": "regressor", "LSPINCox": "survival model"}
    layers = estimator.members_[0].networks.prediction
    form = "linear" if len(layers) == 1 else "nonlinear"
    n_members = len(estimator.members_)
    return f"{form} {kinds[type(estimator).__name__]}" + (f", {n_members} members" if n_members > 1 else "")


# Using a model -------------------------------------------------------------------------------------------------


def open_table(
    model: str | Path, source: Source, target: str | None = None, *, needs_target: bool = False
) -> Opened:
    """Load a model and read a table as it needs it, with the target if the table holds it."""
    estimator = load(model)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(f"{model} was fitted on a table without names of columns; use it from Python")
    origin = getattr(estimator, "origin_", {})
    features = read_like(source, [str(name) for name in names], estimator._levels, _text(origin.get("id")))
    outcome = _read_known_outcome(source, origin, task_of(estimator), target)
    if needs_target and outcome is None:
        raise ValueError(
            f"{source.name} lacks the target, which the model was fitted to predict; name it: --target"
        )
    return Opened(estimator, features, outcome)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def task_of(estimator: Any) -> str:
    """The task that a model was fitted for."""
    return next(task for task, kind in ESTIMATORS.items() if type(estimator) is kind)


def _read_known_outcome(source: Source, origin: dict[str, Any], task: str, target: str | None) -> Outcome | None:
    columns = origin.get("columns")
    columns = {k: v for k, v in columns.items() if isinstance(v, str)} if isinstance(columns, dict) else {}
    frame = source.frame
    if task == "survive":
        time, event = columns.get("time"), columns.get("event")
        if time not in frame.columns or event not in frame.columns:
            return None
        happened = f"={columns['happened']}" if "happened" in columns else ""
        return read_survival_outcome(frame, str(time), f"{event}{happened}")
    if target is None and columns.get("target") not in frame.columns:
        return None
    name = target or columns["target"]
    if name in frame.columns and frame[name].isna().all() and target is None:
        return None
    return read_outcome(frame, name, task)


def predict_table(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """One row a sample: its prediction and the features behind it, the one that adds most first."""
    explanation = estimator.explain(X)
    frame = pd.DataFrame({X.index.name or "sample": X.index})
    if task_of(estimator) == "classify":
        probabilities = explanation.probabilities
        frame["prediction"] = estimator.classes_[probabilities.argmax(axis=1)]
        for label, column in zip(estimator.classes_, probabilities.T, strict=True):
            frame[f"probability {label}"] = column
    elif task_of(estimator) == "regress":
        frame["prediction"] = explanation.prediction
    else:
        frame["log-hazard"] = explanation.prediction
        frame["median time"] = median_times(estimator, X)
    sizes = np.abs(explanation.open_contributions).max(axis=1, initial=0.0)
    order = np.lexsort((-sizes, explanation.rows))
    names: list[list[str]] = [[] for _ in range(len(X))]
    for place in order:
        names[explanation.rows[place]].append(str(explanation.feature_names[explanation.columns[place]]))
    return frame.assign(n_features=[len(own) for own in names], features=["; ".join(own) for own in names])


def median_times(estimator: Any, X: pd.DataFrame) -> np.ndarray:
    """When the event has come for half of such samples; missing where follow-up was too short to say."""
    survival = estimator.predict_survival_function(X, return_array=True)
    passed = survival <= 0.5
    times = estimator.unique_times_[passed.argmax(axis=1)]
    return np.where(passed.any(axis=1), times, np.nan)


def score_known(opened: Opened) -> tuple[str, float, int] | None:
    """Name and value of the score on the rows whose target is known, and how many these are."""
    if opened.outcome is None:
        return None
    estimator, (task, target, known, *_) = opened.estimator, opened.outcome
    X = opened.features.X[known]
    if task == "survive":
        try:
            score = harrell_concordance(target, risk=estimator.predict(X)).c_index
        except ValueError:
            return None
    elif len(target) < 2:
        return None
    elif task == "classify":
        score = float(np.mean([str(a) == str(b) for a, b in zip(estimator.predict(X), target, strict=True)]))
    else:
        score = float(estimator.score(X, target))
    return SCORES[task], float(score), len(target)


def pick_samples(X: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The rows of some samples."""
    for name in names:
        if name not in X.index:
            raise ValueError(f"no sample is called {name!r}{suggest(name, [str(n) for n in X.index])}")
    return X[X.index.isin(list(names))]


# Looking at a model --------------------------------------------------------------------------------------------


def model_info(path: str | Path) -> dict[str, Any]:
    """What a model file holds."""
    estimator = load(path)
    chosen = chosen_candidate(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    levels = estimator._levels
    origin = getattr(estimator, "origin_", {})
    columns = [f"x{place}" for place in range(estimator.n_features_in_)] if names is None else names
    return {
        "task": task_of(estimator),
        "model": describe(estimator),
        "version": read_model(path).version,
        "target": origin.get("columns", {}),
        "id": origin.get("id"),
        "classes": estimator.classes_.tolist() if hasattr(estimator, "classes_") else None,
        "columns": [str(name) for name in columns],
        "categories": {str(columns[place]): list(names) for place, names in levels.items()},
        "sparsity": estimator.sparsity_,
        "weight_decay": estimator.weight_decay_,
        "score_name": SCORES[task_of(estimator)],
        "held_out_score": origin.get("held_out_score", held_out_score(estimator)),
        "features_per_sample": None if chosen is None else chosen["n_features"],
        "path": [
            {str(name): _finite(value) for name, value in row.items()}
            for row in estimator.path_.to_dict("records")
        ],
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

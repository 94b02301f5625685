"""What the command line does between reading a file and showing a result; results are plain values."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from lspin.estimators.lspin import LSPINClassifier, LSPINCox, LSPINRegressor, load
from lspin.estimators.saving import read_model
from lspin.explanation import explain
from lspin.fitting.ensemble import FitInterruptedWarning
from lspin.fitting.path import SMALL_TABLE
from lspin.fitting.progress import Progress
from lspin.intake.columns import Features, read_like
from lspin.intake.files import Source
from lspin.intake.outcomes import Outcome, read_outcome, read_survival_outcome
from lspin.intake.remarks import Remark, find_column, suggest
from lspin.survival.units import guess_unit
from lspin.targets.survival import Times

ESTIMATORS: dict[str, Any] = {
    "classify": LSPINClassifier,
    "regress": LSPINRegressor,
    "count": partial(LSPINRegressor, loss="poisson"),
    "survive": LSPINCox,
}
N_FOLDS = 5  # each is a fifth of the rows


class Fitted(NamedTuple):
    """A model, what is to be said about it, and how its fit was cut short, if it was."""

    estimator: Any
    summary: dict[str, Any]
    remarks: tuple[Remark, ...]
    cut_short: str | None  # which model was kept, where the fit was


class Opened(NamedTuple):
    """A model with a new table read as it needs it."""

    estimator: Any
    features: Features
    outcome: Outcome | None  # where the table holds the target too
    left_out: pd.DataFrame  # columns that the fit left out, in all rows

    @property
    def time_unit(self) -> str | None:
        """The unit of survival times, if the name of their column says it."""
        return None if self.outcome is None else guess_unit(self.outcome.columns.get("time", ""))


# Fitting -------------------------------------------------------------------------------------------------------


def fit_table(
    features: Features, outcome: Outcome, settings: dict[str, Any], say: Callable[[str], None]
) -> Fitted:
    """Fit the estimator for the task, and sum up what came of it."""
    own = {} if outcome.pos_label is None else {"pos_label": outcome.pos_label}
    estimator = ESTIMATORS[outcome.task](**settings, **own)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(features.X, outcome.target)
        reasons = [str(w.message) for w in caught if issubclass(w.category, FitInterruptedWarning)]
        cut_short = reasons[0] if reasons else None
        score = held_out_score(estimator)
        helped_to_choose = score is not None
        if score is None and cut_short is None and estimator.n_features is not None:
            say("Fitting again without a fifth of the rows, to see how good it is on those.")
            score = fit_held_out(estimator, features.X, outcome)
    estimator.origin_ = {
        "columns": outcome.columns,
        "id": features.id_name,
        "left_out": [] if features.left_out is None else features.left_out.columns.tolist(),
        "held_out_score": score,
        "helped_to_choose": helped_to_choose,
        "chance_score": estimator.kind_.chance(outcome.target),
    }
    others = [w for w in caught if not issubclass(w.category, FitInterruptedWarning)]
    texts = dict.fromkeys(str(w.message) for w in others if issubclass(w.category, UserWarning))
    remarks = tuple(Remark(text, is_warning=True) for text in texts)
    return Fitted(estimator, summarise(estimator, features.X, outcome), remarks, cut_short)


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
    kind = estimator.kind_
    strata = kind.strata(kind.read_known(kind.entries(outcome.target, trains=False)))
    sizes = np.unique(strata, return_counts=True)[1]
    parting = StratifiedKFold if len(sizes) > 1 and sizes.min() >= N_FOLDS else KFold
    folds = parting(N_FOLDS, shuffle=True, random_state=0)
    settings = {
        "n_features": None,
        "sparsity": estimator.sparsity_,
        "n_members": 1,
        "bootstrap": False,
        "verbose": 0,
    }
    scores = []
    parts = list(folds.split(X, strata))[: None if len(X) <= SMALL_TABLE else 1]
    try:
        warnings.simplefilter("error", FitInterruptedWarning)
        with Progress(len(parts), shown=bool(estimator.verbose)) as progress:
            for train, test in parts:
                model = clone(estimator).set_params(**settings).fit(X.iloc[train], outcome.target[train])
                scores.append(model.score(X.iloc[test], outcome.target[test]))
                progress.finish_fit()
    # Interrupted, or a part without two classes or any event.
    except (KeyboardInterrupt, FitInterruptedWarning, ValueError):
        return None
    return float(np.mean(scores))


def chosen_candidate(estimator: Any) -> dict[str, Any] | None:
    """The row of the path that was chosen."""
    path = estimator.path_
    here = path[(path["sparsity"] == estimator.sparsity_) & (path["weight_decay"] == estimator.weight_decay_)]
    return None if here.empty else {str(name): value for name, value in here.iloc[0].items()}


def summarise(estimator: Any, X: pd.DataFrame, outcome: Outcome) -> dict[str, Any]:
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
        "positive": estimator.kind_.event_label,
        **describe_score(estimator),
        "features_per_sample": {"median": middle, "quartiles": [low, high]},
        "features_used": int((shares > 0).sum()),
        "most_used": {str(name): float(share) for name, share in shares[shares > 0].head(10).items()},
        "start": estimator.start_,
        "sparsity": estimator.sparsity_,
        **describe_context(estimator),
    }


def describe_score(estimator: Any) -> dict[str, Any]:
    """How good a model is on held-out rows, and how good one without features would be."""
    kind, origin = estimator.kind_, getattr(estimator, "origin_", {})
    score = origin.get("held_out_score", held_out_score(estimator))
    chance = origin.get("chance_score", closed_score(estimator))
    return {
        "score_name": kind.score_name,
        "held_out_score": score,
        "helped_to_choose": bool(origin.get("helped_to_choose", score is not None)),
        "chance_score": chance,
        "chance_note": kind.say_chance(chance),
    }


def describe_context(estimator: Any) -> dict[str, Any]:
    """The columns that gates look at and those that a new row needs, where these are not all."""
    context = estimator._context
    return {
        "context": None if context is None else estimator._column_names[context].tolist(),
        "context_only": estimator.members_[0].encoding.context_only,
        "columns_needed": estimator.columns_needed_.tolist() if estimator._may_lack_columns else None,
    }


def describe(estimator: Any) -> str:
    """The kind of a fitted model in a few words."""
    layers = estimator.members_[0].networks.prediction
    form = "linear" if len(layers) == 1 else "nonlinear"
    n_members = len(estimator.members_)
    members = f", {n_members} members" if n_members > 1 else ""
    return f"{form} {estimator.kind_.noun}{_describe_groups(estimator.members_)}{members}"


def _describe_groups(members: Sequence[Any]) -> str:
    """How many groups of rows a model tells apart, if it was made from groups."""
    sizes = {len(member.networks.groups.bias) for member in members if member.networks.groups is not None}
    if not sizes:
        return ""
    if sizes == {1}:
        return " with one rule for all rows"
    return f" with rules for {'up to ' if len(sizes) > 1 else ''}{max(sizes)} groups of rows"


# Using a model -------------------------------------------------------------------------------------------------


def open_table(
    model: str | Path,
    source: Source,
    target: str | None = None,
    *,
    id_name: str | None = None,
    needs_target: bool = False,
) -> Opened:
    """Load a model and read a table as it needs it, with the target if the table holds it."""
    estimator = load(model)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(f"{model} was fitted on a table without names of columns; use it from Python")
    origin = getattr(estimator, "origin_", {})
    # A report compares with models of all columns.
    needed = set(estimator.columns_needed_) if estimator._may_lack_columns and not needs_target else None
    if id_name is not None:
        find_column(id_name, source.frame.columns)
    id_name = id_name or _text(origin.get("id"))
    features = read_like(source, names.tolist(), estimator._levels, id_name, needed=needed)
    outcome = _read_known_outcome(source, origin, estimator.kind_.task, target)
    if needs_target and outcome is None:
        raise ValueError(
            f"{source.name} lacks the target, which the model was fitted to predict; name it: --target"
        )
    aside = {*names, id_name, *source.annotations, *_columns_of_origin(origin).values()}
    left_out = _read_left_out(source.frame, origin, aside | (set() if target is None else {target}))
    return Opened(estimator, features, outcome, left_out)


def _read_left_out(frame: pd.DataFrame, origin: dict[str, Any], aside: set[str | None]) -> pd.DataFrame:
    """Columns that the fit left out for what they are; files of 0.1 do not say which were dropped."""
    known = origin.get("left_out")
    wanted = [name for name in frame.columns if name not in aside]
    return frame[[name for name in wanted if name in known] if isinstance(known, list) else wanted]


def _columns_of_origin(origin: dict[str, Any]) -> dict[str, str]:
    """The names of the target's columns, by their role."""
    columns = origin.get("columns")
    return {k: v for k, v in columns.items() if isinstance(v, str)} if isinstance(columns, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read_known_outcome(source: Source, origin: dict[str, Any], task: str, target: str | None) -> Outcome | None:
    columns = _columns_of_origin(origin)
    frame = source.frame
    if {"time", "event"} <= columns.keys():
        time, event = columns["time"], columns["event"]
        if time not in frame.columns or event not in frame.columns:
            return None
        happened = f"={columns['happened']}" if "happened" in columns else ""
        return read_survival_outcome(frame, time, f"{event}{happened}", notation=source.notation, trains=False)
    if target is None and columns.get("target") not in frame.columns:
        return None
    name = target or columns["target"]
    if name in frame.columns and frame[name].isna().all() and target is None:
        return None
    return read_outcome(frame, name, task, notation=source.notation)


def list_risks(estimator: Any, log_hazard: np.ndarray, times: Sequence[float]) -> dict[str, np.ndarray]:
    """Columns with the risk of the event up to each time; only models of survival times have them."""
    kind = estimator.kind_
    if not times:
        return {}
    if not isinstance(kind, Times):
        raise ValueError(f"--at asks for risks at times, and the model is a {kind.noun}")
    risks = kind.risk(log_hazard, times)
    return {f"risk at {at:g}": column for at, column in zip(sorted(set(times)), risks.T, strict=True)}


def predict_table(
    estimator: Any, features: Features, times: Sequence[float] = (), *, shown: bool = False
) -> pd.DataFrame:
    """One row a sample: its prediction and the features behind it, the one that adds most first.

    ``times`` are those to give the risk of an event at.
    """
    X = features.X
    explanation = explain(estimator, X, shown=shown)
    frame = pd.DataFrame({X.index.name or "sample": X.index})
    if features.given_names is not None:  # as the table has them, for joining with it
        frame = pd.DataFrame({X.index.name: features.given_names, "row": np.arange(1, len(X) + 1)})
    frame = frame.assign(**estimator.kind_.list_predictions(explanation.scores))
    frame = frame.assign(**list_risks(estimator, explanation.scores[:, 0], times))
    sizes = np.abs(explanation.open_contributions).max(axis=1, initial=0.0)
    order = np.lexsort((-sizes, explanation.rows))
    names: list[list[str]] = [[] for _ in range(len(X))]
    for place in order:
        names[explanation.rows[place]].append(str(explanation.feature_names[explanation.columns[place]]))
    return frame.assign(n_features=[len(own) for own in names], features=["; ".join(own) for own in names])


def predict_parts(
    model: str | Path, parts: Iterable[tuple[int, Source]], id_name: str | None, times: Sequence[float]
) -> Iterator[pd.DataFrame]:
    """The same for a table that comes part by part, with rows numbered through all of them."""
    columns = None
    for n_before, source in parts:
        opened = open_table(model, source, id_name=id_name)
        frame = predict_table(opened.estimator, opened.features, times)
        if "row" in frame:  # numbers, or text where they are names
            rows = frame["row"].astype(int) + n_before
            frame["row"] = rows if frame["row"].dtype.kind == "i" else rows.astype(str)
        columns = list(frame) if columns is None else columns
        if list(frame) != columns:
            raise ValueError(f"{source.name} names its samples otherwise than the parts before: give --id")
        yield frame


def score_known(opened: Opened) -> tuple[str, float, int] | None:
    """Name and value of the score on the rows whose target is known, and how many these are."""
    if opened.outcome is None:
        return None
    kind, target = opened.estimator.kind_, opened.outcome.target
    if len(target) < 2:
        return None
    predicted = opened.estimator.predict(opened.features.X[opened.outcome.known])
    if kind.has_classes:  # classes of a file may be text where those of the model are numbers
        target, predicted = (np.array([str(label) for label in labels]) for labels in (target, predicted))
    try:
        score = kind.grade(target, predicted)
    except ValueError:  # no two rows whose times can be compared
        return None
    return kind.score_name, score, len(target)


def pick_samples(features: Features, names: Sequence[str]) -> tuple[pd.DataFrame, list[Remark]]:
    """The rows of some samples, and what to say where a name belongs to several."""
    X, given = features.X, features.given_names
    chosen, remarks = np.zeros(len(X), bool), []
    for name in names:
        here = np.asarray(X.index == name) | (False if given is None else given == name)
        if not here.any():
            raise ValueError(f"no sample is called {name!r}{suggest(name, [str(n) for n in X.index])}")
        if here.sum() > 1:
            shown = ", ".join(repr(label) for label in X.index[here][:5])
            remarks.append(Remark(f"{here.sum()} samples are called {name!r}; shown are {shown}", is_warning=True))
        chosen |= here
    return X[chosen], remarks


# Looking at a model --------------------------------------------------------------------------------------------


def model_info(path: str | Path) -> dict[str, Any]:
    """What a model file holds."""
    estimator = load(path)
    chosen = chosen_candidate(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    levels = estimator._levels
    origin, kind = getattr(estimator, "origin_", {}), estimator.kind_
    columns = [f"x{place}" for place in range(estimator.n_features_in_)] if names is None else names
    return {
        "task": kind.task,
        "model": describe(estimator),
        "version": read_model(path).version,
        "target": origin.get("columns", {}),
        "id": origin.get("id"),
        "classes": None if kind.labels is None else kind.labels.tolist(),
        "positive": kind.event_label,
        "columns": [str(name) for name in columns],
        **describe_context(estimator),
        "categories": {str(columns[place]): list(names) for place, names in levels.items()},
        "start": estimator.start_,
        "sparsity": estimator.sparsity_,
        "weight_decay": estimator.weight_decay_,
        **describe_score(estimator),
        "features_per_sample": None if chosen is None else chosen["n_features"],
        "path": [
            {str(name): _finite(value) for name, value in row.items()}
            for row in estimator.path_.to_dict("records")
        ],
    }


def closed_score(estimator: Any) -> float:
    """The held-out score of the model whose gates are all shut; 0 if the path has none."""
    path = estimator.path_
    closed = path.loc[(path["n_features"] == 0) & path["validation_score"].notna(), "validation_score"]
    return float(closed.iloc[0]) if len(closed) else 0.0


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

"""One HTML file that says what a model learned, how far to trust it, and why each sample got its prediction."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lspin.reporting.hiding import FEWEST_ALIKE
from lspin.reporting.numbers import finite
from lspin.reporting.template import fill_template
from lspin.storage import written_whole
from lspin.survival import read_survival
from lspin.survival.units import guess_unit, read_times
from lspin.tables.reading import is_missing
from lspin.targets import Kind, Times

if TYPE_CHECKING:
    from lspin.reporting.held_out import Comparison
    from lspin.reporting.samples import Cohort


def report(
    estimator: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike = "report.html",
    *,
    eval_set: tuple | list | None = None,
    title: str | None = None,
    target_name: str | None = None,
    shows_samples: bool = True,
    audits: bool = True,
    at: Sequence[float] | None = None,
    time_unit: str | None = None,
    leaderboard: Any = None,
    left_out: Any = None,
    patients: Any = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Path:
    """Write a report on a fitted model to one HTML file that needs no network.

    Parameters
    ----------
    estimator
        A fitted ``LSPINClassifier``, ``LSPINRegressor`` or ``LSPINCox``.
    X, y
        The rows that it was fitted on.
    path
        Where to write the file. It is written whole or not at all.
    eval_set
        Held-out rows ``(X, y)`` to evaluate the model on; they are explained too. Without them, a quarter of
        ``X`` is set aside, and a copy of the model is fitted to the rest and evaluated.
    title, target_name
        Title of the page and name of the target; by default from the name of ``y``.
    shows_samples
        Whether the file contains names, values, gates and predictions of single samples. If not, every number
        summarises at least five samples, so that the file can be shared where patient data cannot.
    audits
        Whether to check the mask by :func:`lspin.audit.audit_leakage`, which is the slowest part.
    at
        Survival only: times to give each patient's risk at, in the unit of ``y``. By default one, three and five
        years as far as samples were followed, or round times where the unit is not known.
    time_unit
        Survival only: unit of the times, ``"days"``, ``"weeks"``, ``"months"``, ``"years"`` or another word. By
        default from the name of their column, such as ``OS_MONTHS``, if ``y`` has names.
    leaderboard
        What :func:`lspin.compare` returned for the same table, to show as a section.
    left_out
        Frame of other columns of the rows of ``X``, which the model does not get, such as dates; those filled in
        one class only are among the data checks. :func:`lspin.read_table` returns them.
    patients
        Whose row each row of ``X`` is, if some have several: these are then set aside together to judge by. By
        default the index of a frame with names that occur several times.
    random_state
        Seed of the held-out rows, the familiar models and the bootstrap.
    verbose
        1 to say on the standard error what is being done.

    Returns
    -------
    pathlib.Path
        The path of the file.
    """
    from lspin.estimators.posing import unwrap_eval_set
    from lspin.fitting.progress import Stages
    from lspin.reporting.headline import describe_headline
    from lspin.reporting.held_out import compare
    from lspin.reporting.reproduce import describe_again
    from lspin.reporting.samples import gather
    from lspin.reporting.times import describe_times
    from lspin.reporting.trust import check_data, check_mask, check_others, describe_trust

    _refuse_unfitted(estimator)
    if leaderboard is not None and not hasattr(leaderboard, "describe"):
        raise TypeError(f"leaderboard must be what lspin.compare returns, not {type(leaderboard).__name__}")
    kind: Kind = estimator.kind_
    X = estimator._settle(X if hasattr(X, "shape") else np.asarray(X), reset=False)
    target_name = _name_target(y, kind) if target_name is None else target_name
    time_unit = _refuse_times(kind, y, at, time_unit)
    target = _read_target(estimator, X, y)
    parts = [(X, target)]
    if left_out is not None and len(left_out) != len(target):
        raise ValueError(f"left_out has {len(left_out)} rows, and X has {len(target)}")
    owners = _read_patients(X if patients is None else patients, len(target), given=patients is not None)
    if eval_set is not None:
        X_test, y_test, *_ = unwrap_eval_set(eval_set)
        X_test = estimator._settle(X_test, reset=False)
        parts.append((X_test, _read_target(estimator, X_test, y_test, name="eval_set's y")))
    told = parts if shows_samples else [part for part in parts if len(part[1]) >= FEWEST_ALIKE]
    if not told:
        raise ValueError(
            f"shows_samples=False promises numbers of at least {FEWEST_ALIKE} samples, and there are {len(target)}"
        )
    stages = Stages(6 if eval_set is None else 5, shown=verbose > 0)
    comparison = compare(
        estimator,
        X,
        target,
        eval_set=parts[1] if eval_set is not None else None,
        random_state=random_state,
        patients=owners,
        begin=stages.begin,
        verbose=verbose,
    )
    stages.begin(f"explaining {sum(len(y) for _, y in parts):,} samples")
    cohort = gather(estimator, parts, shows_samples=shows_samples, shows_progress=verbose > 0)
    stages.begin("finding subgroups and laying out the page")
    content: dict[str, Any] = {
        "title": title or f"What a prediction of {target_name} rests on",
        "target": target_name,
        "shows_samples": shows_samples,
        "model": _describe_model(estimator, cohort, target_name),
        "headline": describe_headline(estimator, cohort, comparison, target_name, shows_samples=shows_samples),
        "judged": _describe_judgement(comparison, shows_samples=shows_samples),
        **_describe_cohort(cohort, shows_samples=shows_samples),
        "again": describe_again(estimator, told, random_state),
    }
    if isinstance(kind, Times):
        content["survival"] = describe_times(cohort, at=at, time_unit=time_unit, shows_samples=shows_samples)
    if leaderboard is not None:
        content["leaderboard"] = leaderboard.describe()
    stages.begin("checking the data")
    checks = check_data(estimator, told, target_name, shows_samples=shows_samples, verbose=verbose)
    if left_out is not None:
        checks["findings"] += check_others(estimator, left_out, target)
    stages.begin("checking the mask")
    audit = {"reason": "The mask was not checked."}
    if audits:
        audit = check_mask(estimator, *parts[-1], verbose=verbose)
    content["trust"] = {
        "checks": checks,
        "audit": audit,
        **describe_trust(estimator, cohort, comparison, shows_samples=shows_samples),
    }
    stages.end()
    with written_whole(path) as file:
        file.write(fill_template(content).encode())
    return Path(path)


# Reading -----------------------------------------------------------------------------------------------------


def _refuse_unfitted(estimator: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    if not (hasattr(estimator, "explain") and hasattr(estimator, "gates")):
        raise TypeError(
            f"report needs an LSPINClassifier, LSPINRegressor or LSPINCox, not {type(estimator).__name__}; of a "
            "pipeline, give the last step and the table that reaches it"
        )
    check_is_fitted(estimator)


def _name_target(y: Any, kind: Kind) -> str:
    name = getattr(y, "name", None)
    if isinstance(kind, Times) and (event := read_survival(y, needs_events=False).event_name) != "event":
        name = event
    return str(name) if name is not None and str(name) else kind.target_word


def _refuse_times(kind: Kind, y: Any, at: Sequence[float] | None, unit: str | None) -> str | None:
    """The unit of the times, if it is known; what speaks of times is an error for another kind of target."""
    if not isinstance(kind, Times):
        if at is not None or unit is not None:
            raise ValueError(f"at and time_unit are about survival times, and the model is a {kind.noun}")
        return None
    if at is not None:
        read_times(at, kind.known_baseline.domain[1])  # an error now rather than after the work
    return guess_unit(str(read_survival(y, needs_events=False).time_name)) if unit is None else unit


def _read_target(estimator: Any, X: Any, y: Any, name: str = "y") -> np.ndarray:
    """The tidy target of the rows; a wrong one is an error."""
    n_rows, n_columns = estimator._check_table(X, reset=False).shape
    if n_columns != X.shape[1]:
        raise ValueError(
            f"a report compares with models of all {n_columns} columns, but the table has {X.shape[1]} of them"
        )
    target = estimator.kind_.tidy(y, name)
    if target.shape != (n_rows,):
        raise ValueError(f"the table has {n_rows} rows, but {name} has the shape {target.shape}")
    return target


def _read_patients(named: Any, n_rows: int, *, given: bool) -> np.ndarray | None:
    """A number for the patient of each row: as given, or as the index of a frame names them."""
    names = np.asarray(named, object) if given else getattr(named, "index", None)
    if names is None or not hasattr(names, "__len__"):
        return None
    if len(names) != n_rows:
        raise ValueError(f"patients has {len(names)} entries, and X has {n_rows} rows")
    words = [f"row {row}" if is_missing(name) or name == "" else f"name {name}" for row, name in enumerate(names)]
    return np.unique(words, return_inverse=True)[1]


# What the sections hold --------------------------------------------------------------------------------------


def _describe_model(estimator: Any, cohort: "Cohort", target_name: str) -> dict[str, Any]:
    kind: Kind = estimator.kind_
    return {
        "name": type(estimator).__name__,
        "start": "networks" if cohort.found is None else "groups",
        "is_linear": len(estimator.members_[0].networks.prediction) == 1,
        "n_members": len(estimator.members_),
        "n_given": cohort.n_given,
        "n_samples": len(cohort.groups),
        "n_held_out": int(cohort.is_held_out.sum()),
        "n_features": int(estimator.n_features_in_),
        "n_selected": len(cohort.features),
        "context": [] if cohort.explanation.context is None else [str(n) for n in cohort.explanation.context],
        "context_only": bool(estimator.context_only),
        "panel": len(estimator.columns_needed_) if len(estimator.panel_path_) else None,
        "median": cohort.summary.median,
        "classes": [] if kind.labels is None else [str(label) for label in kind.labels],
        "event": None if kind.event_label is None else str(kind.event_label),
        "event_words": kind.name_event(target_name),
        "predicts": kind.target_word,
        "scale": kind.scale,
        "scale_words": kind.scale_words,
        "exponential": kind.exponential,
        "raises": kind.name_raised(target_name),
    }


def _describe_judgement(comparison: "Comparison | str", *, shows_samples: bool) -> dict[str, Any]:
    from lspin.reporting.headline import describe_scores
    from lspin.reporting.times import write_curve

    if isinstance(comparison, str):
        return {"reason": comparison}
    return {
        "how": comparison.how,
        "n_train": comparison.n_train,
        "n_test": comparison.n_test,
        "metrics": [metric._asdict() for metric in comparison.metrics],
        "contenders": [
            {
                "name": contender.name,
                "note": contender.note,
                "n_features": contender.n_features,
                "scores": {key: finite(interval) for key, interval in scores.items()},
            }
            for contender, scores in zip(comparison.contenders, comparison.scores, strict=True)
        ],
        "calibration": describe_scores(comparison.calibration_scores),
        "curves": [write_curve(curve, shows_samples=shows_samples) for curve in comparison.curves],
    }


def _describe_cohort(cohort: "Cohort", *, shows_samples: bool) -> dict[str, Any]:
    from lspin.reporting.features import list_features
    from lspin.reporting.samples import lay_out_map, list_samples, uses_the_same
    from lspin.reporting.subgroups import list_groups

    content: dict[str, Any] = {
        "same_for_all": uses_the_same(cohort),
        "features": list_features(cohort, shows_samples=shows_samples),
        "groups": list_groups(cohort, shows_samples=shows_samples),
    }
    if shows_samples:
        content["map"] = lay_out_map(cohort)
        content["samples"] = list_samples(cohort)
    return content

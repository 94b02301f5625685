"""One HTML file that says what a model learned, how far to trust it, and why each sample got its prediction."""

import hashlib
import html
import json
import os
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from lspin.cohort import Cohort
    from lspin.comparison import Comparison

PACKAGES = ("lspin", "jax", "numpy", "scipy", "scikit-learn", "pandas")
MOST_AUDITED = 1000  # rows: the evaluators of the audit are slow
MOST_SUSPICIOUS = 50  # samples that are named


def report(
    estimator: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike = "report.html",
    *,
    eval_set: tuple[Any, Any] | None = None,
    title: str | None = None,
    target_name: str | None = None,
    shows_samples: bool = True,
    audits: bool = True,
    random_state: int = 0,
) -> Path:
    """Write what a fitted model says of a table to one HTML file that needs no network.

    Parameters
    ----------
    estimator
        A fitted ``LSPINClassifier``, ``LSPINRegressor`` or ``LSPINCox``.
    X, y
        The rows that it was fitted on.
    path
        Of the file, which is written whole or not at all.
    eval_set
        Rows ``(X, y)`` that the model has not seen, to judge it by. They are explained too. Without them a
        quarter of ``X`` is set aside, and a copy of the model is fitted to the rest and judged.
    title, target_name
        Words for the page; by default from the name of ``y``.
    shows_samples
        Whether the file holds samples: their names, values, gates and predictions. Without them it holds numbers
        of at least five samples each, and can be sent to where data of patients must not go.
    audits
        Whether to run :func:`lspin.audit.audit_leakage`, the slowest part.
    random_state
        Of the rows set aside, the baselines and the draws behind the intervals.

    Returns
    -------
    The path of the file.

    """
    from lspin.cohort import gather
    from lspin.comparison import compare, kind_of

    _refuse_unfitted(estimator)
    if eval_set is not None and (not isinstance(eval_set, tuple | list) or len(eval_set) != 2):
        raise ValueError("eval_set must be (X, y)")
    kind = kind_of(estimator)
    X = X if hasattr(X, "shape") else np.asarray(X)
    target_name = _name_target(y, kind) if target_name is None else target_name
    target = _read_target(estimator, X, y, kind)
    parts = [(X, target)]
    if eval_set is not None:
        parts.append((eval_set[0], _read_target(estimator, eval_set[0], eval_set[1], kind, name="eval_set's y")))
    comparison = compare(
        estimator, X, target, eval_set=parts[1] if eval_set is not None else None, random_state=random_state
    )
    cohort = gather(estimator, parts)
    content = {
        "title": title or f"What a prediction of {target_name} rests on",
        "kind": kind,
        "target": target_name,
        "shows_samples": shows_samples,
        "model": _describe_model(estimator, cohort),
        "judged": _describe_judgement(comparison),
        **_describe_cohort(estimator, cohort, kind, shows_samples=shows_samples),
        "trust": _describe_trust(estimator, cohort, comparison, parts, shows_samples=shows_samples, audits=audits),
        "again": _describe_again(estimator, parts, random_state),
    }
    return _write(Path(path), fill_template(content))


def fill_template(content: dict[str, Any]) -> str:
    """The page around some content, in which nothing can end the element that holds it."""
    template = files("lspin").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    before, between, after = (piece for part in template.split("{{title}}") for piece in part.split("{{content}}"))
    escaped = html.escape(content["title"]).encode("utf-8", "replace").decode()
    return before + escaped + between + data + after


def _write(path: Path, page: str) -> Path:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(page, encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


# Reading -----------------------------------------------------------------------------------------------------


def _refuse_unfitted(estimator: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    if not (hasattr(estimator, "explain") and hasattr(estimator, "gates")):
        raise TypeError(
            f"report needs an LSPINClassifier, LSPINRegressor or LSPINCox, not {type(estimator).__name__}; of a "
            "pipeline, give the last step and the table that reaches it"
        )
    check_is_fitted(estimator)


def _name_target(y: Any, kind: str) -> str:
    name = getattr(y, "name", None)
    if name is not None and str(name):
        return str(name)
    return {"classification": "the class", "regression": "the response", "survival": "the risk"}[kind]


def _read_target(estimator: Any, X: Any, y: Any, kind: str, name: str = "y") -> np.ndarray:
    """Classes, responses, or times and events of the rows, as an array; wrong ones are an error."""
    from lspin.outcomes import read_response
    from lspin.survival import make_survival, read_survival

    n_rows = estimator._check_table(X, reset=False).shape[0]
    if kind == "survival":
        survival = read_survival(y, needs_events=False)
        target = make_survival(survival.time, survival.event)
    elif kind == "regression":
        target = read_response(y)
    else:
        target = np.asarray(y)
        unknown = sorted(set(target.tolist()) - set(estimator.classes_.tolist()), key=repr)
        if unknown:
            known = ", ".join(repr(label) for label in estimator.classes_[:5].tolist())
            raise ValueError(f"{name} holds {unknown[0]!r}, which is none of the model's classes: {known}")
    if target.shape != (n_rows,):
        raise ValueError(f"the table has {n_rows} rows, but {name} has the shape {target.shape}")
    return target


# What the sections hold --------------------------------------------------------------------------------------


def _describe_model(estimator: Any, cohort: "Cohort") -> dict[str, Any]:
    return {
        "name": type(estimator).__name__,
        "is_linear": len(estimator.members_[0].networks.prediction) == 1,
        "n_members": len(estimator.members_),
        "n_given": cohort.n_given,
        "n_samples": len(cohort.groups),
        "n_held_out": int(cohort.is_held_out.sum()),
        "n_features": int(estimator.n_features_in_),
        "n_selected": len(cohort.features),
        "median": cohort.summary.median,
        "classes": [str(label) for label in getattr(estimator, "classes_", [])],
        "scale": cohort.explanation.scale,
    }


def _describe_judgement(comparison: "Comparison | str") -> dict[str, Any]:
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
                "scores": {key: _finite(interval) for key, interval in scores.items()},
            }
            for contender, scores in zip(comparison.contenders, comparison.scores, strict=True)
        ],
        "curves": [
            {**curve, "times": _finite(curve["times"]), "survival": _finite(curve["survival"])}
            for curve in comparison.curves
        ],
    }


def _finite(numbers: Any) -> list:
    return [float(number) if np.isfinite(number) else None for number in numbers]


def _describe_cohort(estimator: Any, cohort: "Cohort", kind: str, *, shows_samples: bool) -> dict[str, Any]:
    from lspin.cohort import lay_out_map, list_features, list_groups, list_samples

    content: dict[str, Any] = {
        "features": list_features(cohort, shows_samples=shows_samples),
        "groups": list_groups(
            cohort, lambda members: _outcome(cohort, kind, members), shows_samples=shows_samples
        ),
    }
    if shows_samples:
        content["map"] = lay_out_map(cohort)
        content["samples"] = {**list_samples(cohort), "observed": _list_observed(cohort, kind)}
    return content


def _outcome(cohort: "Cohort", kind: str, members: np.ndarray) -> dict[str, Any]:
    """What is predicted for some samples, and what was seen of them."""
    explanation, target = cohort.explanation, cohort.target[members]
    if explanation.classes is not None and explanation.probabilities is not None:
        given = explanation.probabilities[members].mean(axis=0)
        seen = [float((target == label).mean()) for label in explanation.classes]
        return {"predicted": _finite(given), "observed": seen}
    predicted = [float(explanation.prediction[members].mean())]
    seen = [float(target["event"].mean() if kind == "survival" else target.mean())]
    return {"predicted": predicted, "observed": seen}


def _list_observed(cohort: "Cohort", kind: str) -> list:
    target, classes = cohort.target, cohort.explanation.classes
    if classes is not None:
        place_of = {label: place for place, label in enumerate(classes.tolist())}
        return [place_of[label] for label in target.tolist()]
    if kind == "survival":
        return [[time, int(event)] for time, event in zip(target["time"].tolist(), target["event"], strict=True)]
    return _finite(target)


def _describe_trust(
    estimator: Any,
    cohort: "Cohort",
    comparison: "Comparison | str",
    parts: list[tuple[Any, np.ndarray]],
    *,
    shows_samples: bool,
    audits: bool,
) -> dict[str, Any]:
    suspicious = cohort.summary.suspicious
    trust: dict[str, Any] = {
        "audit": _audit(estimator, *parts[-1]) if audits else {"reason": "The audit was not asked for."},
        "limit": float(cohort.summary.limit),
        "n_suspicious": len(suspicious),
        "histogram": _count_open(cohort.summary.n_selected),
    }
    if shows_samples:
        trust["suspicious"] = suspicious[:MOST_SUSPICIOUS].tolist()
    if not isinstance(comparison, str):
        bins = [_finite(row) for row in comparison.calibration["bins"]]
        trust["calibration"] = {**comparison.calibration, "bins": bins}
    if len(estimator.members_) > 1:
        confidence = cohort.explanation.open_confidence
        trust["agreement"] = {
            "mean": float(confidence.mean()) if len(confidence) else None,
            "all": float(np.mean(confidence > 1 - 1e-9)) if len(confidence) else None,
            "half": float(np.mean(confidence >= 0.5)) if len(confidence) else None,
        }
    return trust


def _count_open(n_selected: np.ndarray) -> dict[str, list[int]]:
    """How many samples select how many features, in at most twenty bins."""
    width = max(1, -(-int(n_selected.max() + 1) // 20))
    counts = np.bincount(n_selected // width)
    return {"from": (width * np.arange(len(counts))).tolist(), "count": counts.tolist(), "width": [width]}


def _audit(estimator: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    from sklearn.utils import _safe_indexing
    from threadpoolctl import threadpool_limits

    from lspin.audit import audit_leakage

    if len(y) > MOST_AUDITED:
        rows = np.linspace(0, len(y) - 1, MOST_AUDITED).round().astype(int)
        X, y = _safe_indexing(X, rows), y[rows]
    try:
        with threadpool_limits(1):
            found = audit_leakage(estimator, X, y)
    except ValueError as error:
        return {"reason": f"The leakage audit could not be made: {error}."}
    numbers = {
        name: value for name, value in found._asdict().items() if isinstance(value, float) and np.isfinite(value)
    }
    return {"leaks": found.leaks, "verdict": found.verdict, "n_rows": len(y), **numbers}


# How to do it again ------------------------------------------------------------------------------------------


def _describe_again(estimator: Any, parts: list[tuple[Any, np.ndarray]], random_state: int) -> dict[str, Any]:
    defaults = type(estimator)().get_params()
    settings = {name: _word_setting(value) for name, value in sorted(estimator.get_params().items())}
    return {
        "settings": settings,
        "changed": [name for name, value in settings.items() if value != _word_setting(defaults[name])],
        "learned": {
            "sparsity_": f"{estimator.sparsity_:.6g}",
            "weight_decay_": f"{estimator.weight_decay_:.6g}",
            "n_iter_": str(estimator.n_iter_),
        },
        "seed": None if estimator.random_state is None else _word_setting(estimator.random_state),
        "report_seed": random_state,
        "versions": {"Python": platform.python_version(), **_list_versions()},
        "fingerprints": [
            {"rows": "held out" if place else "training", "shape": list(X.shape), "sha256": fingerprint(X, y)}
            for place, (X, y) in enumerate(parts)
        ],
        "date": date.today().isoformat(),
    }


def _word_setting(value: Any) -> str:
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)


def _list_versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def fingerprint(X: Any, y: Any) -> str:
    """SHA-256 of a table: the names of its columns, its values as numbers or levels, and the target."""
    from lspin.tables import is_frame, read_table

    table, levels = read_table(X if is_frame(X) or sp.issparse(X) else np.asarray(X, np.float64))
    names = list(getattr(X, "columns", range(X.shape[1])))
    digest = hashlib.sha256(json.dumps([[str(name) for name in names], repr(sorted(levels.items()))]).encode())
    for matrix in (table.values, table.missing):
        if sp.issparse(matrix):
            matrix = sp.csr_array(matrix)
            for part in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i8"), matrix.data.astype("<f8")):
                digest.update(part.tobytes())
        elif matrix is not None:
            digest.update(np.ascontiguousarray(matrix, dtype="<f8").tobytes())
    target = np.asarray(y)
    columns = [target[name] for name in target.dtype.names] if target.dtype.names else [target]
    digest.update(json.dumps([[str(entry) for entry in column.tolist()] for column in columns]).encode())
    return digest.hexdigest()

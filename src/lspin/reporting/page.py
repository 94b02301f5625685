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

from lspin.reporting.hiding import FEWEST_ALIKE, merge_bins, thin_curve
from lspin.storage import written_whole
from lspin.targets import Kind

if TYPE_CHECKING:
    from lspin.reporting.held_out import Comparison
    from lspin.reporting.samples import Cohort

PACKAGES = ("lspin", "jax", "numpy", "scipy", "scikit-learn", "pandas")
MOST_AUDITED = 1000  # rows: the evaluators of the audit are slow
MOST_SUSPICIOUS = 50  # samples that are named


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
    random_state
        Seed of the held-out rows, the baselines and the bootstrap.
    verbose
        1 to say on the standard error what is being done.

    Returns
    -------
    pathlib.Path
        The path of the file.
    """
    from lspin.estimators.posing import unwrap_eval_set
    from lspin.fitting.progress import Stages
    from lspin.reporting.held_out import compare
    from lspin.reporting.samples import gather

    _refuse_unfitted(estimator)
    kind: Kind = estimator.kind_
    X = X if hasattr(X, "shape") else np.asarray(X)
    target_name = _name_target(y, kind) if target_name is None else target_name
    target = _read_target(estimator, X, y)
    parts = [(X, target)]
    if eval_set is not None:
        X_test, y_test, *_ = unwrap_eval_set(eval_set)
        parts.append((X_test, _read_target(estimator, X_test, y_test, name="eval_set's y")))
    told = parts if shows_samples else [part for part in parts if len(part[1]) >= FEWEST_ALIKE]
    if not told:
        raise ValueError(
            f"shows_samples=False promises numbers of at least {FEWEST_ALIKE} samples, and there are {len(target)}"
        )
    stages = Stages(5, shown=verbose > 0)
    stages.begin("judging on held-out rows, beside familiar models")
    comparison = compare(
        estimator, X, target, eval_set=parts[1] if eval_set is not None else None, random_state=random_state
    )
    stages.begin(f"explaining {sum(len(y) for _, y in parts):,} samples")
    cohort = gather(estimator, parts, shows_samples=shows_samples)
    stages.begin("finding subgroups and laying out the page")
    content: dict[str, Any] = {
        "title": title or f"What a prediction of {target_name} rests on",
        "target": target_name,
        "shows_samples": shows_samples,
        "model": _describe_model(estimator, cohort, target_name),
        "judged": _describe_judgement(comparison, shows_samples=shows_samples),
        **_describe_cohort(cohort, shows_samples=shows_samples),
        "again": _describe_again(estimator, told, random_state),
    }
    stages.begin("checking the data")
    checks = _check(estimator, told, target_name, shows_samples=shows_samples)
    stages.begin("checking the mask")
    audit = _audit(estimator, *parts[-1]) if audits else {"reason": "The mask was not checked."}
    content["trust"] = {
        "checks": checks,
        "audit": audit,
        **_describe_trust(estimator, cohort, comparison, shows_samples=shows_samples),
    }
    stages.end()
    with written_whole(path) as file:
        file.write(fill_template(content).encode())
    return Path(path)


def fill_template(content: dict[str, Any]) -> str:
    """The page around some content, in which nothing can end the element that holds it."""
    template = files("lspin.reporting").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    before, between, after = (piece for part in template.split("{{title}}") for piece in part.split("{{content}}"))
    escaped = html.escape(content["title"]).encode("utf-8", "replace").decode()
    return before + escaped + between + data + after


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
    return str(name) if name is not None and str(name) else kind.target_word


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
        "predicts": kind.target_word,
        "scale": kind.scale,
        "scale_words": kind.scale_words,
        "exponential": kind.exponential,
        "raises": kind.name_raised(target_name),
    }


def _describe_judgement(comparison: "Comparison | str", *, shows_samples: bool) -> dict[str, Any]:
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
            {**curve, **{name: _finite(curve[name]) for name in ("times", "survival", "ended")}}
            for curve in (comparison.curves if shows_samples else map(thin_curve, comparison.curves))
        ],
    }


def _finite(numbers: Any) -> list:
    return [float(number) if np.isfinite(number) else None for number in numbers]


def _describe_cohort(cohort: "Cohort", *, shows_samples: bool) -> dict[str, Any]:
    from lspin.reporting.samples import lay_out_map, list_features, list_samples
    from lspin.reporting.subgroups import list_groups

    content: dict[str, Any] = {
        "features": list_features(cohort, shows_samples=shows_samples),
        "groups": list_groups(cohort, shows_samples=shows_samples),
    }
    if shows_samples:
        content["map"] = lay_out_map(cohort)
        content["samples"] = list_samples(cohort)
    return content


def _describe_trust(
    estimator: Any,
    cohort: "Cohort",
    comparison: "Comparison | str",
    *,
    shows_samples: bool,
) -> dict[str, Any]:
    suspicious = cohort.summary.suspicious
    is_few = not shows_samples and 0 < len(suspicious) < FEWEST_ALIKE
    histogram = _count_open(cohort.summary.n_selected)
    trust: dict[str, Any] = {
        "limit": float(cohort.summary.limit),
        "n_suspicious": None if is_few else len(suspicious),
        "histogram": histogram if shows_samples else merge_bins(histogram),
    }
    if shows_samples:
        trust["suspicious"] = suspicious[:MOST_SUSPICIOUS].tolist()
    if not isinstance(comparison, str):
        bins = [_finite(row) for row in comparison.calibration["bins"] if row[-1] >= FEWEST_ALIKE]
        trust["calibration"] = {**comparison.calibration, "bins": bins}
    if len(estimator.members_) > 1:
        confidence = cohort.explanation.open_confidence
        trust["agreement"] = {
            "mean": float(confidence.mean()) if len(confidence) else None,
            "all": float(np.mean(confidence > 1 - 1e-9)) if len(confidence) else None,
            "half": float(np.mean(confidence >= 0.5)) if len(confidence) else None,
        }
    return trust


def _check(estimator: Any, parts: list[tuple[Any, np.ndarray]], name: str, *, shows_samples: bool) -> dict:
    """What the data checks say of the training rows, and of held-out rows that are among them."""
    from lspin.checks import check_table

    test = parts[1][0] if len(parts) > 1 else None
    fewest = 1 if shows_samples else FEWEST_ALIKE
    found = check_table(*parts[0], kind=estimator.kind_, target_name=name, test=test, fewest=fewest)
    return {"findings": [finding.text for finding in found.findings], "best": found.best}


def _count_open(n_selected: np.ndarray) -> dict[str, list[int]]:
    """How many samples select how many features, in at most twenty bins."""
    width = max(1, -(-int(n_selected.max() + 1) // 20))
    counts = np.bincount(n_selected // width)
    starts = width * np.arange(len(counts))
    return {"from": starts.tolist(), "to": (starts + width).tolist(), "count": counts.tolist()}


def _audit(estimator: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    from sklearn.utils import _safe_indexing
    from threadpoolctl import threadpool_limits

    from lspin.audit import audit_leakage

    if len(y) < FEWEST_ALIKE:
        return {"reason": f"With {len(y)} rows there are too few to check the mask."}
    if len(y) > MOST_AUDITED:
        rows = np.linspace(0, len(y) - 1, MOST_AUDITED).round().astype(int)
        X, y = _safe_indexing(X, rows), y[rows]
    try:
        with threadpool_limits(1):
            found = audit_leakage(estimator, X, y)
    except ValueError as error:
        return {"reason": f"The mask could not be checked: {error}."}
    numbers = {
        name: value for name, value in found._asdict().items() if isinstance(value, float) and np.isfinite(value)
    }
    verdict = {"leaks": found.leaks, "settled": found.settled, "verdict": found.verdict}
    return {**verdict, "n_rows": len(y), **numbers}


# How to do it again ------------------------------------------------------------------------------------------


def _describe_again(estimator: Any, parts: list[tuple[Any, np.ndarray]], random_state: int) -> dict[str, Any]:
    defaults = type(estimator)().get_params()
    settings = {name: _word_setting(value) for name, value in sorted(estimator.get_params().items())}
    return {
        "settings": settings,
        "changed": [name for name, value in settings.items() if value != _word_setting(defaults[name])],
        "learned": {
            "start_": estimator.start_,
            "sparsity_": f"{estimator.sparsity_:.6g}",
            "weight_decay_": f"{estimator.weight_decay_:.6g}",
            "n_iter_": str(estimator.n_iter_),
        },
        "contest": [
            [row.model, *_finite([row.loss, row.behind, row.standard_error]), bool(row.chosen)]
            for row in estimator.contest_.itertuples()
        ],
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
    return f"an array of shape {value.shape}" if hasattr(value, "shape") else repr(value)


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
    from lspin.tables.reading import as_numbers, list_names, read_table

    table, levels = read_table(as_numbers(X))
    names = list_names(X) or range(X.shape[1])
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

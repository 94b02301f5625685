"""What is needed to fit the same model again: settings, seeds, versions and fingerprints of the tables."""

import hashlib
import json
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp

from lspin.reporting.numbers import finite

PACKAGES = ("lspin", "jax", "numpy", "scipy", "scikit-learn", "pandas")


def describe_again(estimator: Any, parts: list[tuple[Any, np.ndarray]], random_state: int) -> dict[str, Any]:
    """Settings, what was learned, seeds, versions and fingerprints."""
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
            [row.model, *finite([row.loss, row.behind, row.standard_error]), bool(row.chosen)]
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

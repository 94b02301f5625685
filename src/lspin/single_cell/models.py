"""A model that knows its genes: where it is kept in an AnnData object, and in a file."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lspin.estimators import LSPINClassifier
from lspin.estimators import load as load_estimator
from lspin.single_cell.expression import Expression
from lspin.tables.reading import is_anndata

MOST_COLUMNS = 5  # of var that are kept with a model, to know its genes by


def describe_cells(model: LSPINClassifier, expression: Expression, groupby: str) -> None:
    """Keep with a model what its values were and by what other names its genes are known."""
    own = expression.var.loc[model.feature_names_in_]
    known_by = {
        str(name): own[name].astype(str).tolist()
        for name in own.columns
        if isinstance(own[name].iloc[0], str) and not own[name].duplicated().any()
    }
    model.origin_ = {
        "cells": {
            "groupby": groupby,
            "values": expression.form,
            "known_by": dict(list(known_by.items())[:MOST_COLUMNS]),
        }
    }


def pack_model(model: LSPINClassifier) -> np.ndarray:
    """The file of a model as numbers, which an AnnData object can hold and write."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lspin"
        model.save(path)
        return np.frombuffer(path.read_bytes(), np.uint8).copy()


def find_model(source: Any, key: str) -> LSPINClassifier:
    """The model in an AnnData object, in a file, or itself."""
    if isinstance(source, LSPINClassifier):
        return _check(source, "the model")
    if not is_anndata(source):
        return load(source)
    if "model" not in source.uns.get(key, {}):
        raise ValueError(
            f"adata.uns[{key!r}] holds no model: call lspin.single_cell.rank_genes_groups(adata, groupby, "
            f"key_added={key!r}) first"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lspin"
        path.write_bytes(np.asarray(source.uns[key]["model"], np.uint8).tobytes())
        return load(path)


def save(source: Any, path: str | Path, *, key: str = "lspin") -> None:
    """Write the model of an AnnData object to a file of arrays and JSON, with its genes.

    Parameters
    ----------
    source
        AnnData object on which :func:`lspin.single_cell.rank_genes_groups` was called, or a model.
    path
        File to write. :func:`lspin.single_cell.load` reads it; so does :func:`lspin.load`.
    key
        The ``key_added`` of that call.

    """
    find_model(source, key).save(path)


def load(path: str | Path) -> LSPINClassifier:
    """Load a model of cells, for :func:`lspin.single_cell.predict`. No code from the file is run.

    Parameters
    ----------
    path
        File that :func:`lspin.single_cell.save` wrote.

    Returns
    -------
    LSPINClassifier
        The model, which knows its genes.

    """
    return _check(load_estimator(path), str(path))


def _check(model: Any, name: str) -> LSPINClassifier:
    if "cells" not in getattr(model, "origin_", {}):
        raise ValueError(
            f"{name} is no model of cells: lspin.single_cell.rank_genes_groups makes one; models of other tables "
            "are read by lspin.load"
        )
    return model

"""Genes of a model found among those of other cells, by whatever names both have."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.single_cell.expression import list_some, refuse_duplicates

MOST_MISSING = 0.5  # share of the model's genes beyond which there is nothing to predict from
MOST_NAMED = 10


def match_genes(model: Any, var: pd.DataFrame, gene_column: str | None) -> sp.csr_array:
    """A matrix that brings cells to the genes of a model, shape ``(n_genes, n_genes of the model)``.

    Genes are compared by the names of either side, ``var_names`` and text columns of ``var``, whichever agree
    best; versions of Ensembl identifiers do not count. Missing genes are named in a warning.
    """
    wanted = {"its names": model.feature_names_in_.astype(str), **model.origin_["cells"]["known_by"]}
    places = max(
        (_find(names, there) for names in wanted.values() for there in _list_names(var, gene_column)),
        key=lambda found: (found >= 0).sum(),
    )
    missing = model.feature_names_in_[places < 0]
    if len(missing) > MOST_MISSING * len(places):
        raise ValueError(
            f"{len(missing)} of the model's {len(places)} genes are missing ({list_some(missing, MOST_NAMED)}): "
            f"names such as "
            f"{model.feature_names_in_[0]!r} are needed in var_names or in a column of var; gene_column= names it"
        )
    if len(missing):
        warnings.warn(
            f"{len(missing)} of the model's {len(places)} genes are missing and count as not expressed: "
            f"{list_some(missing, MOST_NAMED)}",
            stacklevel=4,
        )
    known = np.flatnonzero(places >= 0)
    return sp.csr_array((np.ones(len(known)), (places[known], known)), shape=(len(var), len(places)))


def _list_names(var: pd.DataFrame, gene_column: str | None) -> list[pd.Index]:
    if gene_column is None:
        texts = [name for name in var.columns if len(var) and isinstance(var[name].iloc[0], str)]
        return [var.index, *(pd.Index(var[name].astype(str)) for name in texts)]
    if gene_column not in var.columns:
        raise ValueError(f"var has no column {gene_column!r}; it has {list_some(var.columns, MOST_NAMED)}")
    return [pd.Index(var[gene_column].astype(str))]


def _find(names: Any, there: pd.Index) -> np.ndarray:
    """Places of names among those that are there, -1 where absent."""
    wanted = pd.Index([_plain(name) for name in names])
    present = pd.Index([_plain(name) for name in there])
    needed = np.flatnonzero(present.isin(wanted))
    refuse_duplicates(present[needed])
    found = present[needed].get_indexer(wanted)
    return np.append(needed, -1)[found]  # the last place stands for absent ones


def _plain(name: Any) -> str:
    """A name without the version of an Ensembl identifier."""
    return re.sub(r"^(ENS\w+)\.\d+$", r"\1", str(name))

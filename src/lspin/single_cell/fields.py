"""What is written to an AnnData object."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.single_cell.annotations import list_names
from lspin.single_cell.training import CellPredictions
from lspin.tables.reading import is_anndata


def prepare_target(adata: Any, *, copy: bool) -> Any:
    """The AnnData object that results are written to, or an error if there is no place for them."""
    if not is_anndata(adata):
        raise TypeError(
            f"adata is of type {type(adata).__name__}, and must be an AnnData object; for other tables there is "
            "lspin.LSPINClassifier"
        )
    if copy and adata.isbacked:
        raise ValueError(
            f"copy=True would copy the file {adata.filename}: leave it out, and results are added to adata in "
            "memory (the file stays as it is), or give adata.to_memory()"
        )
    if copy:
        return adata.copy()
    if adata.is_view:
        whole = "adata.to_memory()" if adata.isbacked else "adata.copy()"
        raise ValueError(f"adata is a view of another object, which has no place for results: give {whole}")
    return adata


def write_cells(
    adata: Any,
    said: CellPredictions,
    names: np.ndarray,
    genes: pd.Index,
    key: str,
    known: np.ndarray | None = None,
) -> None:
    """Write what a model says of each cell; ``genes`` are those of the model, ``known`` the cells it is for."""
    known = np.ones(adata.n_obs, bool) if known is None else known
    labels = said.labels.astype(object)
    labels[~known] = None
    adata.obs[f"{key}_prediction"] = pd.Categorical(labels, categories=names)
    adata.obs[f"{key}_confidence"] = np.where(known, said.confidence, np.nan)
    adata.obs[f"{key}_n_genes"] = np.diff(said.gates.indptr)
    places = list_names(adata.var).get_indexer(genes)
    here = np.flatnonzero(places >= 0)  # values of raw may be of genes that adata has not
    ones = np.ones(len(here), np.float32)
    spread = sp.csr_array((ones, (here, places[here])), shape=(len(genes), adata.n_vars))
    adata.layers[f"{key}_gates"] = sp.csr_matrix(said.gates @ spread)
    adata.var[f"{key}_open"] = np.asarray((said.gates > 0).sum(axis=0)).ravel() @ spread / max(adata.n_obs, 1)

"""Which genes make a cell what it is."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.single_cell.annotations import list_names
from lspin.single_cell.expression import SCALED, find_expression, normalise, take_cells
from lspin.single_cell.models import find_model
from lspin.single_cell.predicting import select_genes
from lspin.single_cell.training import name_genes


def explain_cells(
    adata: Any,
    cells: Any,
    *,
    model: Any = None,
    key: str = "lspin",
    layer: str | None = None,
    use_raw: bool | None = None,
    values: str = "auto",
    gene_column: str | None = None,
) -> pd.DataFrame:
    """Explain cells by their genes: one row for each cell and open gate, the largest contributions first.

    Parameters
    ----------
    adata
        AnnData object on which :func:`lspin.single_cell.rank_genes_groups` was called; with ``model``, any.
    cells
        Names of cells (``obs_names``), one name, positions, or booleans.
    model
        As in :func:`lspin.single_cell.predict`; by default the model in ``adata``.
    key
        The ``key_added`` of the call that made the model.
    layer, use_raw, values, gene_column
        As in :func:`lspin.single_cell.predict`; by default the matrix that the model in ``adata`` was made from.

    Returns
    -------
    pandas.DataFrame
        Columns ``cell``, ``prediction`` (group), ``confidence`` (its probability), ``gene``, ``value``
        (log-normalised), ``gate`` (in (0, 1]) and ``contribution``: what the gene adds to the score of the
        predicted group, relative to the mean over all groups. Contributions and a constant add up to the score.

    """
    found = find_model(adata if model is None else model, key)
    if model is None and layer is None and use_raw is None:
        parameters = adata.uns[key]["params"]
        layer, use_raw = parameters["layer"], bool(parameters["use_raw"])
    expression = find_expression(adata, layer, use_raw, values)
    selector = select_genes(found, expression, gene_column)
    names = list_names(adata.obs)
    places = find_cells(names, cells)
    rows = sp.vstack([take_cells(expression.matrix, place, place + 1) for place in places], format="csr")
    block = normalise(sp.csr_array(rows, dtype=np.float64), expression.form, expression.log_base) @ selector
    table = name_genes(found, block.toarray() if expression.form == SCALED else sp.csr_array(block))
    return _list_reasons(found.explain(table), names[places].to_numpy())


def find_cells(names: pd.Index, cells: Any) -> np.ndarray:
    """Positions of cells that are given by name, by position or by booleans."""
    asked = np.atleast_1d(np.asarray(cells))
    if not asked.any() if asked.dtype == bool else not asked.size:
        raise ValueError("cells names no cell at all: give one name or more, positions, or booleans")
    if asked.dtype == bool:
        if len(asked) != len(names):
            raise ValueError(f"cells holds {len(asked)} booleans, but there are {len(names)} cells")
        return np.flatnonzero(asked)
    if np.issubdtype(asked.dtype, np.integer):
        if len(asked) and (asked.min() < -len(names) or asked.max() >= len(names)):
            raise ValueError(f"cells holds the position {asked.max()}, but there are {len(names)} cells")
        return asked % len(names)
    if not names.is_unique:
        twice = names[names.duplicated()][0]
        raise ValueError(
            f"several cells have one name, such as {twice!r}: adata.obs_names_make_unique() first, or give "
            "positions"
        )
    places = names.get_indexer(pd.Index(asked.astype(str)))
    if (places < 0).any():
        unknown = asked[places < 0]
        raise ValueError(
            f"{len(unknown)} of the {len(asked)} cells asked for are not in obs_names, such as {str(unknown[0])!r}"
        )
    return places


def _list_reasons(explanation: Any, names: np.ndarray) -> pd.DataFrame:
    probabilities = explanation.probabilities
    best = probabilities.argmax(axis=1)
    rows, gained = explanation.rows, explanation.open_contributions
    if explanation.n_outputs == 1:  # the score of the second of two groups
        added = np.where(best[rows] == 1, 0.5, -0.5) * gained[:, 0]
    else:
        added = gained[np.arange(len(rows)), best[rows]] - gained.mean(axis=1)
    reasons = pd.DataFrame(
        {
            "cell": names[rows],
            "prediction": np.asarray(explanation.classes)[best[rows]],
            "confidence": probabilities.max(axis=1)[rows],
            "gene": explanation.feature_names[explanation.columns],
            "value": explanation.open_values,
            "gate": explanation.open_gates,
            "contribution": added,
        }
    )
    order = np.lexsort([-np.abs(added), rows])
    return reasons.iloc[order].reset_index(drop=True)

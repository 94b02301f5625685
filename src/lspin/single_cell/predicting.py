"""Cell types of new cells, with the genes behind each."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.estimators import LSPINClassifier
from lspin.single_cell.expression import SCALED, Expression, describe_values, find_expression, follow_blocks, say
from lspin.single_cell.fields import prepare_target, write_cells
from lspin.single_cell.matching import match_genes
from lspin.single_cell.models import find_model
from lspin.single_cell.training import CellPredictions, join_predictions, predict_cells


def predict(
    adata: Any,
    model: Any,
    *,
    layer: str | None = None,
    use_raw: bool | None = None,
    values: str = "auto",
    gene_column: str | None = None,
    key: str = "lspin",
    key_added: str = "lspin",
    copy: bool = False,
    verbose: int = 0,
) -> Any:
    """Predict the types of new cells.

    Parameters
    ----------
    adata
        New cells, in memory, backed by a file or read lazily. Genes are matched by name: ``var_names`` and text
        columns of ``var`` are compared with those of the model's cells. Missing genes are named in a warning and
        count as not expressed; if more than half are missing, that is an error.
    model
        AnnData object on which :func:`lspin.single_cell.rank_genes_groups` was called, a file that
        :func:`lspin.single_cell.save` wrote, or what :func:`lspin.single_cell.load` returned.
    layer, use_raw, values
        As in :func:`lspin.single_cell.rank_genes_groups`.
    gene_column
        Column of ``var`` with the model's names, where they are not found by themselves.
    key
        The ``key_added`` of the call that made the model, if ``model`` is an AnnData object.
    key_added
        First part of the names of what is written.
    copy
        Whether to return a copy instead of writing to ``adata``.
    verbose
        1 says what the values were taken for, and shows progress and the time left.

    Returns
    -------
    AnnData or None
        The copy, if there is one. These fields are written: ``obs["lspin_prediction"]`` (the type),
        ``obs["lspin_confidence"]`` (its probability), ``obs["lspin_n_genes"]`` (open gates),
        ``layers["lspin_gates"]`` (sparse; genes of the model that ``adata`` has) and ``var["lspin_open"]`` (share
        of the cells whose gate is open).

    """
    found = find_model(model, key)
    adata = prepare_target(adata, copy=copy)
    expression = find_expression(adata, layer, use_raw, values)
    say(describe_values(expression), shown=bool(verbose))
    selector = select_genes(found, expression, gene_column)
    said = read_and_predict(found, expression, selector, shown=bool(verbose))
    rows, columns = selector.nonzero()
    genes = np.full(selector.shape[1], "", object)
    genes[columns] = expression.genes[rows]
    write_cells(adata, said, found.classes_.astype(str), pd.Index(genes), key_added)
    return adata if copy else None


def select_genes(model: LSPINClassifier, expression: Expression, gene_column: str | None) -> sp.csr_array:
    """The genes of a model among those of other cells, whose values must be of the same kind."""
    expected = model.origin_["cells"]["values"]
    if (expression.form == SCALED) != (expected == SCALED):
        raise ValueError(
            f"the model was made from {expected} values, and these are {expression.form} ones: give values of the "
            "same kind by layer= or use_raw="
        )
    return match_genes(model, expression.var, gene_column)


def read_and_predict(
    model: LSPINClassifier, expression: Expression, selector: sp.csr_array, *, shown: bool
) -> CellPredictions:
    """What a model says of all cells, which are read some at a time."""
    parts = []
    for _, block in follow_blocks(expression, done="predicted", shown=shown):
        values = sp.csr_array(block @ selector)
        parts.append(predict_cells(model, values.toarray() if expression.form == SCALED else values))
    return join_predictions(parts)

"""The values of an AnnData object: where they are, what they are, and all of them some cells at a time."""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.fitting.progress import Progress
from lspin.single_cell.annotations import read_annotations

COUNTS, NORMALISED, LOGS, SCALED = "counts", "normalised", "log", "scaled"
FORMS = (COUNTS, NORMALISED, LOGS, SCALED)
MEANINGS = {
    COUNTS: "raw counts: normalised to 10,000 a cell, then log1p",
    NORMALISED: "normalised values without logarithm: log1p",
    LOGS: "log-normalised values: taken as they are",
    SCALED: "scaled values, some of them negative: taken as they are",
}
TARGET_SUM = 1e4  # of a cell's counts, as in most of scanpy's tutorials
LARGEST_LOG = 30.0  # no logarithm of a normalised count is larger, to whatever base
BLOCK_NUMBERS = 2**24  # cells times genes that are in memory at one time
N_LOOKED_AT = 5  # places of the matrix at which it is told what the values are
CELLS_LOOKED_AT = 50  # at each of them


class Expression(NamedTuple):
    """Values of cells and genes, and what they are."""

    matrix: Any  # (n_cells, n_genes): CSR, array, an array of Dask, or on disk
    var: pd.DataFrame  # what is known of the genes; its index are their names
    form: str  # one of FORMS
    log_base: float | None = None  # None: e

    @property
    def genes(self) -> pd.Index:
        """Names of the genes."""
        return self.var.index

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.matrix.shape[0]


def find_expression(adata: Any, layer: str | None, use_raw: bool | None, values: str) -> Expression:
    """The values that are asked for, as scanpy chooses them: a layer, else ``raw`` if there is one, else ``X``."""
    if layer is not None and use_raw:
        raise ValueError(f"layer={layer!r} and use_raw=True ask for two matrices: leave one out")
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"there is no layer {layer!r}; there are {list_some(adata.layers.keys())}")
    if use_raw and adata.raw is None:
        raise ValueError("use_raw=True, but adata.raw is empty")
    if adata.isbacked and not adata.file.is_open:
        raise ValueError(f"the file behind adata, {adata.filename}, is closed: read it again")
    from_raw = use_raw if use_raw is not None else adata.raw is not None and layer is None
    matrix = adata.layers[layer] if layer is not None else adata.raw.X if from_raw else adata.X
    if matrix is None:
        raise ValueError("adata.X is empty: name a layer that holds the values")
    var = read_annotations(adata.raw.var if from_raw else adata.var)
    refuse_duplicates(var.index)
    matrix = _by_rows(matrix)
    form = recognise(matrix) if values == "auto" else values
    if form not in FORMS:
        raise ValueError(f"values={values!r} is none of 'auto', {', '.join(map(repr, FORMS))}")
    return Expression(matrix, var, form, adata.uns.get("log1p", {}).get("base") if form == LOGS else None)


def describe_values(expression: Expression) -> str:
    """What the values were taken for, in a sentence."""
    return f"Values are {MEANINGS[expression.form]}."


def say(sentence: str, *, shown: bool) -> None:
    """Write a sentence to the standard error, if it is to be shown."""
    if shown:
        print(f"lspin: {sentence}", file=sys.stderr, flush=True)


def refuse_duplicates(genes: pd.Index) -> None:
    """Raise an error if two genes have one name."""
    twice = genes[genes.duplicated()].unique()
    if len(twice):
        raise ValueError(
            f"{len(twice)} gene names occur more than once ({list_some(twice)}): "
            "adata.var_names_make_unique() first"
        )


def list_some(names: Any, most: int = 5) -> str:
    """The first of some names, for a message."""
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "") if names else "none"


def _by_rows(matrix: Any) -> Any:
    """The matrix in a form whose cells can be taken some at a time."""
    if sp.issparse(matrix):
        return matrix if matrix.format == "csr" else matrix.tocsr()
    if getattr(matrix, "format", "csr") == "csc":
        raise ValueError(
            "the file stores the values by genes (CSC), so that cells cannot be read one after another: write it "
            "with adata.X = adata.X.tocsr()"
        )
    return matrix


def recognise(matrix: Any) -> str:
    """What the values are, told from some cells here and there: counts, their logarithms, or scaled values."""
    n_cells = matrix.shape[0]
    starts = np.unique(np.linspace(0, max(n_cells - CELLS_LOOKED_AT, 0), N_LOOKED_AT).astype(int))
    seen = np.concatenate([take_cells(matrix, start, start + CELLS_LOOKED_AT).data for start in starts])
    seen = seen[seen != 0]
    if not len(seen):
        raise ValueError("all values that were looked at are 0: is this the right layer?")
    if (seen < 0).any():
        return SCALED
    if (seen == np.round(seen)).all():
        return COUNTS
    return LOGS if seen.max() <= LARGEST_LOG else NORMALISED


def take_cells(matrix: Any, start: int, stop: int) -> sp.csr_array:
    """Some cells that stand together, from memory or from a file."""
    part = matrix[start:stop]
    part = part.compute() if hasattr(part, "compute") else part
    return sp.csr_array(part if sp.issparse(part) else np.asarray(part))


def read_blocks(expression: Expression) -> Iterator[tuple[slice, sp.csr_array]]:
    """All cells, some at a time, with log-normalised values."""
    n_cells, _ = expression.matrix.shape
    size = _count_cells_at_once(expression)
    for start in range(0, n_cells, size):
        block = take_cells(expression.matrix, start, start + size).astype(np.float64)
        block.eliminate_zeros()
        refuse_bad_values(block, expression.genes, start)
        yield slice(start, start + block.shape[0]), normalise(block, expression.form, expression.log_base)


def follow_blocks(expression: Expression, *, done: str, shown: bool) -> Iterator[tuple[slice, sp.csr_array]]:
    """The same with a bar, if it is to be shown, that says what is done with the cells."""
    n_blocks = -(-expression.n_cells // _count_cells_at_once(expression))
    with Progress(n_blocks, shown=shown, unit=f"blocks of cells {done}") as progress:
        yield from progress.follow(read_blocks(expression))


def _count_cells_at_once(expression: Expression) -> int:
    return max(BLOCK_NUMBERS // max(expression.matrix.shape[1], 1), 1)


def refuse_bad_values(block: sp.csr_array, genes: pd.Index, first_cell: int) -> None:
    """Raise an error for a value that is missing or infinite."""
    wrong = np.flatnonzero(~np.isfinite(block.data))
    if len(wrong):
        cell = first_cell + int(np.searchsorted(block.indptr, wrong[0], side="right")) - 1
        gene, value = genes[block.indices[wrong[0]]], block.data[wrong[0]]
        raise ValueError(f"gene {gene!r} is {value:g} in cell {cell}; missing values must be filled beforehand")


def normalise(block: sp.csr_array, form: str, log_base: float | None = None) -> sp.csr_array:
    """Natural logarithms, as ``normalize_total(target_sum=1e4)`` and ``log1p`` give them from counts."""
    if form == COUNTS:
        totals = np.asarray(block.sum(axis=1)).ravel()
        block.data *= np.repeat(TARGET_SUM / np.where(totals > 0, totals, 1.0), np.diff(block.indptr))
    if form in (COUNTS, NORMALISED):
        np.log1p(block.data, out=block.data)
    if log_base is not None:
        block.data *= np.log(log_base)
    return block


def undo_logarithm(data: np.ndarray, form: str) -> np.ndarray:
    """Rates of molecules behind log-normalised values; scaled ones stay as they are."""
    return data if form == SCALED else np.expm1(data)


def gather_genes(expression: Expression, places: np.ndarray, *, shown: bool) -> sp.csr_array:
    """Log-normalised values of some genes, of all cells, in single precision."""
    blocks = follow_blocks(expression, done="read again", shown=shown)
    parts = [block[:, places].astype(np.float32) for _, block in blocks]
    return sp.csr_array(sp.vstack(parts, format="csr"))

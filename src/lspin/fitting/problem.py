"""What all fits of one table have in common, and how it follows from the table and the user's settings."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from lspin.fitting.anchors import naive_bayes_suits
from lspin.fitting.recipe import MANY_COLUMNS, MOST_SOLVED, Recipe
from lspin.tables.encoding import Encoding
from lspin.tables.grid import Rows
from lspin.tables.reading import columns_of_inputs
from lspin.targets.base import Given
from lspin.targets.kind import Kind


@dataclass(frozen=True)
class Problem:
    """All that the fits of one table have in common."""

    rows: Rows
    encoding: Encoding  # of all rows
    kind: Kind
    is_wide: bool
    prediction_layers: tuple[int, ...]
    affinity: str | None  # "rbf", "labels" or "matrix"
    affinity_matrix: np.ndarray | None  # (n, n), over the rows
    stability: float
    diversity: float
    recipe: Recipe
    anchor: str | np.ndarray | None  # "ridge", "naive_bayes", or weights for the values of the table
    weight_decay: float | None  # None: to be chosen
    max_epochs: int | None
    batch_size: int
    patience: float
    tolerance: float  # part of the best model's gain over a constant that fewer features may cost
    on_few: tuple[tuple[int, ...], Recipe] | None = None  # layers and recipe for few columns, where all get others
    n_valid: int = 0  # the most rows any of the fits is judged by

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.rows.target)

    @cached_property
    def highest_price(self) -> float:
        """A sparsity at which no feature is worth its price."""
        return self.kind.highest_price(self.rows)


def is_wide(rows: Rows, encoding: Encoding) -> bool:
    """Whether a table is sparse or has fewer rows than inputs: a plain linear model is then hard to beat.

    Inputs are what models learn from: a categorical column has one for each level.
    """
    return rows.grid.is_sparse or len(rows.target) < min(len(encoding.owners), MOST_SOLVED)


def has_many_columns(encoding: Encoding) -> bool:
    """Whether a table has hundreds of inputs, as pictures do."""
    return len(encoding.owners) > MANY_COLUMNS


# Anchors -----------------------------------------------------------------------------------------------------


def suitable_anchor(rows: Rows, kind: Kind) -> str | None:
    """The linear model that is a good start for a wide table."""
    values, is_small = rows.grid.values, len(rows.target) < MOST_SOLVED
    are_counts = rows.grid.is_sparse and kind.has_classes and (values.data >= 0).all()
    if are_counts and (not is_small or naive_bayes_suits(values, rows, kind)):
        return "naive_bayes"
    return "ridge" if is_small else None


def check_anchor(anchor: Any, rows: Rows, encoding: Encoding, kind: Kind) -> str | np.ndarray:
    """An anchor as the user asks for it, or an error that says why it does not suit the table."""
    if not isinstance(anchor, str):
        return _read_coefficients(anchor, encoding, kind)
    if anchor == "naive_bayes":
        _refuse_naive_bayes(rows, kind)
    elif len(rows.target) >= MOST_SOLVED:
        raise ValueError(
            f"anchor='ridge' is for tables of fewer than {MOST_SOLVED} distinct rows, and this one has "
            f"{len(rows.target)}: give coefficients of your own, such as those of sklearn's Ridge"
        )
    return anchor


def _read_coefficients(anchor: Any, encoding: Encoding, kind: Kind) -> np.ndarray:
    """Coefficients in units of the table as weights in units of the outputs, shape ``(n_inputs, n_outputs)``."""
    weights = np.atleast_2d(np.asarray(anchor, np.float64))
    expected = (kind.n_outputs, len(columns_of_inputs(encoding.n_columns, encoding.levels)))
    if weights.shape != expected:
        raise ValueError(f"anchor has the shape {weights.shape}, but coef_ has {expected}")
    if not np.isfinite(weights).all():
        raise ValueError("anchor holds a coefficient that is not finite")
    return weights.T / kind.unit


def _refuse_naive_bayes(rows: Rows, kind: Kind) -> None:
    if not kind.has_classes:
        raise ValueError("anchor='naive_bayes' needs classes; for a continuous target use 'ridge'")
    values = rows.grid.values
    if values.min() < 0:
        column = int(np.flatnonzero(np.asarray((values < 0).sum(axis=0)).ravel())[0])
        raise ValueError(
            f"anchor='naive_bayes' needs counts, but column {column} holds negative values; use 'ridge'"
        )


# Affinities --------------------------------------------------------------------------------------------------


def read_affinity(affinity: str | Callable | Any, given: Given) -> tuple[str, np.ndarray | None]:
    """The kind of affinity and, where it is a function or a matrix, its values for the rows."""
    if isinstance(affinity, str):
        if affinity == "labels" and not given.kind.has_classes:
            raise ValueError("affinity='labels' needs classes; for a continuous target use 'rbf'")
        return affinity, None
    if callable(affinity):
        chosen = _safe_indexing(given.X, given.rows.source)
        return "matrix", _check_matrix(affinity(chosen, chosen), len(given.rows.source))
    places = given.kept[given.rows.source]
    return "matrix", _check_matrix(affinity, given.n_rows)[np.ix_(places, places)]


def _check_matrix(values: Any, n_rows: int) -> np.ndarray:
    matrix = np.asarray(values, np.float64)
    if matrix.shape != (n_rows, n_rows):
        raise ValueError(f"affinity has the shape {matrix.shape} where {(n_rows, n_rows)} is needed")
    wrong = np.argwhere(~np.isfinite(matrix) | (matrix < 0))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"affinity must be finite and not negative: it is {matrix[row, column]:g} in row {row}, "
            f"column {column}"
        )
    return matrix

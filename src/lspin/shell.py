"""What every estimator of the package shares: how a table, a target and weights are read and checked."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from lspin.outcomes import list_target, read_weights
from lspin.tables import Levels, Rows, Table, is_frame, merge_rows, read_table


class Given(NamedTuple):
    """A table with its target as the user gave it, and what was read of it."""

    X: Any  # rows of positive weight
    kept: np.ndarray  # their places among all rows
    n_rows: int  # all rows
    rows: Rows
    levels: Levels


class TableEstimator(BaseEstimator):
    """An estimator for tables as people have them: names, categories, missing values, weights.

    Estimators differ in how a target is listed and read (``_list_target``, ``_read_target``, and
    ``_read_known_target`` once classes are known), in what is learned of it (``_learn_target``, and
    ``_complete`` from the fitted model's outputs), in how rows are adjusted to that (``_adjust``), in the number
    of outputs (``_count_outputs``) and the loss (``_loss``), and in how outputs become predictions
    (``_decide``): see :mod:`lspin.targets`. A fitted one knows the levels of its categories (``_levels``).
    """

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Given:
        """Read and check a table to learn from; rows that are alike become one."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._check_table(X, reset=True)
        y = self._list_target(y, trains=True)
        check_consistent_length(X, y)
        weights = read_weights(sample_weight, X)
        kept = np.flatnonzero(weights)
        if len(kept) < len(weights):
            X = _safe_indexing(X, kept)
        target = self._read_target(y[kept])
        table, levels = read_table(X)
        rows = merge_rows(self._store(table, levels), target, weights[kept])
        if len(rows.target) < 2:
            raise ValueError(
                f"n_samples=1: the table has one distinct row of positive weight ({len(weights)} in all), and "
                "at least two are needed"
            )
        return Given(X, kept, len(weights), rows, levels)

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """The table with names and number of columns checked; arrays become arrays of floats."""
        if is_frame(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        kinds = [np.float64, np.float32]  # others become the first
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=kinds, ensure_all_finite=False)

    def _list_target(self, y: Any, *, trains: bool) -> np.ndarray:
        """One entry a row, of rows to train on or to judge by."""
        return list_target(y)

    def _complete(self, rows: Rows, outputs: np.ndarray) -> None:
        """Learn what needs the outputs of the fitted model for the rows it was fitted on."""

    def _store(self, table: Table, levels: Levels) -> Table:
        """The table in the form that the estimator works on, dense or sparse."""
        return table

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        return read_table(self._check_table(X, reset=False), self._levels)[0]

    # What scikit-learn asks.

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags

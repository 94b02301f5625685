"""What every estimator of the package shares: how a table, a target and weights are read and checked."""

import warnings
from abc import abstractmethod
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import (
    _check_feature_names,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from lspin.tables.grid import Grid, Rows
from lspin.tables.labels import read_weights
from lspin.tables.merging import merge_rows
from lspin.tables.reading import Levels, is_frame, read_table, split_names, unmask
from lspin.targets.kind import Kind

MOST = 2**31  # what the compiled loop can count to
SMALL = 2  # bytes of the integers that stay what they are, such as those of pixels


class Given(NamedTuple):
    """A table with its target as the user gave it, and what was read of it."""

    X: Any  # rows of positive weight
    kept: np.ndarray  # their places among all rows
    n_rows: int  # all rows
    rows: Rows
    levels: Levels
    kind: Kind  # with what the rows tell of it


class TableEstimator(BaseEstimator):
    """An estimator for tables as people have them: names, categories, missing values, weights.

    A subclass says which kind of target it predicts (``_kind``), how a table is stored (``_store``) and what its
    model gives for a table (``_outputs``). A fitted one has ``kind_``, and knows the levels of its categories.
    """

    kind_: Kind
    origin_: dict[str, Any]  # names of the target and of the samples, if the table was read from a file

    @abstractmethod
    def _kind(self) -> Kind:
        """The kind of target, of which nothing has been learned yet."""

    @abstractmethod
    def _outputs(self, X: Any) -> np.ndarray:
        """Outputs of the fitted model for a table, shape ``(n, n_outputs)``."""

    @property
    @abstractmethod
    def _levels(self) -> Levels:
        """Levels of the categorical columns that the model was fitted on."""

    def _validate_params(self) -> None:
        """Check the parameters; a whole number that no program can count to is an error by its name too."""
        for name, value in self.get_params(deep=False).items():
            for part in value if isinstance(value, tuple | list) else [value]:
                if isinstance(part, Integral) and abs(int(part)) >= MOST and name != "random_state":
                    n_bits = int(part).bit_length()
                    raise ValueError(f"{name} must be below {MOST:,}; it is a number of {n_bits} bits")
        super()._validate_params()

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Given:
        """Read and check a table to learn from; equal rows become one."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._check_table(X, reset=True)
        kind = self._kind()
        entries = kind.entries(y, trains=True)
        check_consistent_length(X, entries)
        weights = read_weights(sample_weight, X)
        kept = np.flatnonzero(weights)
        if len(kept) < len(weights):
            X = _safe_indexing(X, kept)
        kind, target = kind.read(entries[kept], _name_of(y))
        table, levels = read_table(X)
        rows = merge_rows(self._store(table, levels), target, weights[kept])
        if len(rows.target) < 2:
            raise ValueError(
                f"n_samples=1: the table has one distinct row of positive weight ({len(weights)} in all), and "
                "at least two are needed"
            )
        return Given(X, kept, len(weights), rows, levels, kind.learn(rows, self._column_names))

    def _learn_from(self, kind: Kind, rows: Rows, outputs: np.ndarray) -> None:
        """Show what was learned of the target, once the model gives outputs for its training rows."""
        self.kind_ = kind.finish(rows, outputs)
        for name, value in self.kind_.attributes.items():
            setattr(self, name, value)

    @property
    def _column_names(self) -> Any:
        """Names of the columns, or their positions."""
        return getattr(self, "feature_names_in_", np.arange(self.n_features_in_))

    @property
    def _shown_names(self) -> Any:
        """Names of the columns, or ``x0``, ``x1`` and so on."""
        return getattr(self, "feature_names_in_", [f"x{column}" for column in range(self.n_features_in_)])

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """The table with names and number of columns checked; arrays become arrays of floats or small integers."""
        X, names = split_names(X)
        if is_frame(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        kinds: list[Any] = [np.float64, np.float32]  # others become the first
        if isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.dtype.itemsize <= SMALL:
            kinds.append(X.dtype)
        with warnings.catch_warnings():
            if sp.issparse(X):  # it can hold no names, so that their absence tells nothing
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            X = validate_data(
                self, unmask(X), reset=reset, accept_sparse="csr", dtype=kinds, ensure_all_finite=False
            )
        if names is not None:
            _check_feature_names(self, pd.DataFrame(columns=names), reset=reset)
        return X

    def _store(self, table: Grid, levels: Levels) -> Grid:
        """The table in the form that the estimator works on, dense or sparse."""
        return table

    def _read(self, X: Any) -> Grid:
        check_is_fitted(self)
        return read_table(self._check_table(X, reset=False), self._levels)[0]

    # What scikit-learn asks.

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def _name_of(y: Any) -> str:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else ""

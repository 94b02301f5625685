"""What the estimators share: reading X and y, letting the engine fit, gates, saving."""

import warnings
from collections.abc import Callable
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
)

from lspin.explanation import Explanation, explain
from lspin.fitting import HISTORY
from lspin.inference import Member, Outcome, predict_member, predict_members, predict_outcome
from lspin.members import Plan, Solution, solve
from lspin.model import list_weights
from lspin.outcomes import read_weights
from lspin.parameters import CONSTRAINTS, restored, storable
from lspin.path import Candidate
from lspin.persistence import SavedModel, write_model
from lspin.preparation import Problem
from lspin.recipes import MOST_SOLVED, NONLINEAR, WIDE, Recipe, is_wide, recipe_for, suitable_anchor
from lspin.shell import Given, TableEstimator
from lspin.tables import (
    Encoding,
    Levels,
    Rows,
    Table,
    columns_of_inputs,
    learn_encoding,
    read_table,
    store_sparsely,
)


class LSPINBase(TransformerMixin, TableEstimator):
    """All that classifier and regressor share."""

    _learned: ClassVar[dict[str, type]] = {
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "sparsity_": float,
        "weight_decay_": float,
        "path_": pd.DataFrame,
        "history_": pd.DataFrame,
        "n_iter_": int,
        "n_starts_": int,
    }
    _parameter_constraints: ClassVar[dict] = CONSTRAINTS

    # Names of target and samples, set by who read the table from a file, for whoever reads the next one.
    origin_: dict[str, Any]

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] | str = "auto",
        *,
        gate_hidden_layer_sizes: tuple[int, ...] | None = None,
        sparsity: float | str = "auto",
        n_features: int | None = None,
        stability: float = 0.0,
        diversity: float = 0.0,
        affinity: str | Callable | np.ndarray = "rbf",
        gate_exchange: float | None = None,
        noise_scale: float | None = None,
        learning_rate: float | None = None,
        zero_is_absent: bool = False,
        anchor: str | np.ndarray | None = "auto",
        weight_decay: float | str = "auto",
        max_epochs: int | None = None,
        batch_size: int = 128,
        validation_fraction: float = 0.2,
        patience: int | None = None,
        n_restarts: int | str = "auto",
        n_members: int = 1,
        bootstrap: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.gate_hidden_layer_sizes = gate_hidden_layer_sizes
        self.sparsity = sparsity
        self.n_features = n_features
        self.stability = stability
        self.diversity = diversity
        self.affinity = affinity
        self.gate_exchange = gate_exchange
        self.noise_scale = noise_scale
        self.learning_rate = learning_rate
        self.zero_is_absent = zero_is_absent
        self.anchor = anchor
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_restarts = n_restarts
        self.n_members = n_members
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple | None = None) -> Self:
        """Learn which features each row needs, and to predict from those.

        Parameters
        ----------
        X
            Table of shape ``(n_samples, n_columns)``: a pandas or polars frame, an array or a sparse matrix.
            Categorical columns get one gate each; missing values are allowed, and their gate is shut.
        y
            Target, shape ``(n_samples,)``.
        sample_weight
            Weight of each row. A row of weight 2 is the same as the row given twice.
        eval_set
            Rows to choose the sparsity by, ``(X, y)`` or ``(X, y, sample_weight)``, instead of rows held out
            from ``X``. The model chosen is then kept as it is.

        """
        self.__dict__.pop("members_", None)
        self._validate_params()
        self._check_together()
        given = self._take(X, y, sample_weight)
        problem, valid = self._pose(given, eval_set)
        plan = Plan(
            sparsity=None if self.sparsity == "auto" else float(self.sparsity),
            n_features=self.n_features,
            validation_fraction=self.validation_fraction,
            n_restarts=self._count_restarts(problem),
            n_members=self.n_members,
            bootstrap=self.bootstrap,
            n_jobs=self.n_jobs,
            shows_progress=bool(self.verbose),
        )
        self._keep(solve(problem, valid, plan, check_random_state(self.random_state)))
        self._complete(given.rows, predict_outcome(self.members_, given.rows.table).outputs)
        return self

    def _keep(self, solution: Solution) -> None:
        if not solution.fits:
            raise KeyboardInterrupt
        self.sparsity_ = solution.sparsity
        self.weight_decay_ = solution.weight_decay
        self.path_ = pd.DataFrame(solution.path, columns=list(Candidate._fields))
        histories = [pd.DataFrame(fit.history, columns=list(HISTORY)) for fit in solution.fits]
        self.history_ = pd.concat(histories, keys=range(len(histories)), names=["member", "epoch"]).reset_index()
        self.n_iter_ = max(len(history) for history in histories)
        self.n_starts_ = solution.n_starts
        self.members_ = [fit.member for fit in solution.fits]
        self._warn(solution)

    def _warn(self, solution: Solution) -> None:
        if solution.interrupted:
            warnings.warn(
                f"interrupted: kept the best so far, {len(solution.fits)} of {self.n_members} members",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif (wanted := self.n_features) is not None:
            nearest = min((row.n_features for row in solution.path), key=lambda n: abs(n - wanted))
            if abs(nearest - wanted) > 1:
                warnings.warn(
                    f"no sparsity was found at which the median row opens {wanted} gates; "
                    f"the nearest reached is {nearest:g}, at sparsity={solution.sparsity:.3g}",
                    ConvergenceWarning,
                    stacklevel=4,
                )

    def _check_together(self) -> None:
        for name in ("hidden_layer_sizes", "gate_hidden_layer_sizes"):
            sizes = getattr(self, name) or ()
            if sizes != "auto" and not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
                raise ValueError(f"{name} must hold whole numbers of at least 1, got {sizes!r}")
        if self.n_features is not None and self.sparsity != "auto":
            raise ValueError(
                f"n_features={self.n_features} asks for a price to be found, and sparsity={self.sparsity} "
                "gives one: leave sparsity at 'auto' or n_features at None"
            )
        if self.bootstrap and self.n_members == 1:
            raise ValueError("bootstrap=True draws other rows for each member: it needs n_members > 1")

    def _pose(self, given: Given, eval_set: tuple | None) -> tuple[Problem, Rows | None]:
        """The problem that a table poses, and the rows of the evaluation set."""
        merged, levels = given.rows, given.levels
        encoding = learn_encoding(merged, levels, self.n_features_in_)
        if self.n_features is not None and self.n_features > encoding.n_features:
            raise ValueError(
                f"n_features={self.n_features}, but only {encoding.n_features} of the {self.n_features_in_} "
                "columns vary"
            )
        self._learn_target(merged)
        rows = self._adjust(merged)
        layers = self._prediction_layers(rows, len(encoding.owners))
        anchor = self._read_anchor(layers, rows, encoding)
        affinity, matrix = self._read_affinity(given)
        problem = Problem(
            rows=rows,
            levels=levels,
            n_columns=self.n_features_in_,
            features=encoding.features,
            loss=self._loss,
            n_outputs=self._count_outputs(),
            prediction_layers=layers,
            affinity=affinity,
            affinity_matrix=matrix,
            stability=float(self.stability),
            diversity=float(self.diversity),
            recipe=self._recipe(layers, anchor, rows, len(encoding.owners)),
            anchor=anchor,
            weight_decay=None if self.weight_decay == "auto" else float(self.weight_decay),
            max_epochs=None if self.max_epochs is None else int(self.max_epochs),
            batch_size=int(self.batch_size),
            patience=np.inf if self.patience is None else float(self.patience),
        )
        return problem, self._read_eval_set(eval_set, levels, encoding)

    def _count_restarts(self, problem: Problem) -> int:
        """As asked for; else more for a small table, where a start costs little and counts for much."""
        n_rows = len(problem.rows.target)
        most = 8 if problem.prediction_layers else 64
        if is_wide(problem.rows, len(problem.features)):
            most = 2  # what the gates look at leaves little to chance
        return max(2, min(most, 1000 // n_rows)) if self.n_restarts == "auto" else int(self.n_restarts)

    def _prediction_layers(self, rows: Rows, n_inputs: int) -> tuple[int, ...]:
        if isinstance(self.hidden_layer_sizes, str):
            return () if is_wide(rows, n_inputs) else (200, 200)
        return tuple(int(size) for size in self.hidden_layer_sizes)

    def _read_anchor(self, layers: tuple[int, ...], rows: Rows, encoding: Encoding) -> str | np.ndarray | None:
        """The anchor as asked for, or the one that suits the table."""
        if isinstance(self.anchor, str) and self.anchor == "auto":
            needs_one = not layers and is_wide(rows, len(encoding.owners))
            return suitable_anchor(rows, self._loss, self._count_outputs()) if needs_one else None
        if self.anchor is None:
            return None
        if layers:
            raise ValueError(f"an anchor is for a linear predictor: set hidden_layer_sizes=() instead of {layers}")
        if isinstance(self.anchor, str):
            if self.anchor == "naive_bayes":
                self._refuse_naive_bayes(rows)
            elif len(rows.target) >= MOST_SOLVED:
                raise ValueError(
                    f"anchor='ridge' is for tables of fewer than {MOST_SOLVED} distinct rows, and this one has "
                    f"{len(rows.target)}: give coefficients of your own, such as those of sklearn's Ridge"
                )
            return self.anchor
        weights = np.atleast_2d(np.asarray(self.anchor, np.float64))
        expected = (self._count_outputs(), len(columns_of_inputs(self.n_features_in_, encoding.levels)))
        if weights.shape != expected:
            raise ValueError(f"anchor has the shape {weights.shape} where that of coef_ is needed, {expected}")
        if not np.isfinite(weights).all():
            raise ValueError("anchor holds a coefficient that is not finite")
        return self._adjust_anchor(weights).T

    def _adjust_anchor(self, weights: np.ndarray) -> np.ndarray:
        """Coefficients in units of the target that the model is fitted to."""
        return weights

    def _refuse_naive_bayes(self, rows: Rows) -> None:
        if self._loss != "cross_entropy":
            raise ValueError("anchor='naive_bayes' needs classes; for a continuous target use 'ridge'")
        values = rows.table.values
        if values.min() < 0:
            column = int(np.flatnonzero(np.asarray((values < 0).sum(axis=0)).ravel())[0])
            raise ValueError(
                f"anchor='naive_bayes' needs counts, but column {column} holds negative values; use 'ridge'"
            )

    def _store(self, table: Table, levels: Levels) -> Table:
        if not self.zero_is_absent:
            return table
        _refuse_levels(levels, getattr(self, "feature_names_in_", None))
        return store_sparsely(table)

    def _read_eval_set(self, eval_set: tuple | None, levels: Levels, encoding: Encoding) -> Rows | None:
        if eval_set is None:
            return None
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise ValueError("eval_set must be (X, y) or (X, y, sample_weight)")
        X, y, *rest = eval_set
        X, y = self._check_table(X, reset=False), self._list_target(y, trains=False)
        check_consistent_length(X, y)
        weights = read_weights(rest[0] if rest else None, X)
        table, _ = read_table(X, levels)
        if encoding.zero_is_absent:
            table = store_sparsely(table)
        return self._adjust(Rows(table, self._read_known_target(y), weights, np.arange(len(weights))))

    def _read_affinity(self, given: Given) -> tuple[str | None, np.ndarray | None]:
        """The kind of affinity and, where it is a function or a matrix, its values for the rows."""
        if self.stability == 0 and self.diversity == 0:
            return None, None
        if isinstance(self.affinity, str):
            if self.affinity == "labels" and self._loss != "cross_entropy":
                raise ValueError("affinity='labels' needs classes; for a continuous target use 'rbf'")
            return self.affinity, None
        if callable(self.affinity):
            chosen = _safe_indexing(given.X, given.rows.source)
            matrix = np.asarray(self.affinity(chosen, chosen), np.float64)
            expected = (len(given.rows.source), len(given.rows.source))
        else:
            matrix = np.asarray(self.affinity, np.float64)
            expected = (given.n_rows, given.n_rows)
        if matrix.shape != expected:
            raise ValueError(f"affinity has the shape {matrix.shape} where {expected} is needed")
        wrong = np.argwhere(~np.isfinite(matrix) | (matrix < 0))
        if len(wrong):
            row, column = wrong[0]
            raise ValueError(
                f"affinity must be finite and not negative: it is {matrix[row, column]:g} in row {row}, "
                f"column {column}"
            )
        if callable(self.affinity):
            return "matrix", matrix
        places = given.kept[given.rows.source]
        return "matrix", matrix[np.ix_(places, places)]

    def _recipe(
        self, layers: tuple[int, ...], anchor: str | np.ndarray | None, rows: Rows, n_inputs: int
    ) -> Recipe:
        """The recipe for the predictor, with what the user set instead of its own."""
        sizes = self.gate_hidden_layer_sizes
        gating_layers = None if sizes is None else tuple(int(size) for size in sizes)
        chosen: dict[str, Any] = {
            "gating_layers": gating_layers,
            "noise_scale": self.noise_scale,
            "learning_rate": self.learning_rate,
            "exchange": self.gate_exchange,
        }
        recipe = recipe_for(layers, gating_layers, anchor, rows, n_inputs, self._loss)
        if (anchor is None) == (recipe.anchoring > 0):
            # What is drawn to an anchor does not decay to 0, and the other way round.
            other = WIDE if anchor is not None else NONLINEAR
            recipe = recipe._replace(anchoring=other.anchoring, decays=other.decays)
        return recipe._replace(**{name: value for name, value in chosen.items() if value is not None})

    # Using a fitted model.

    @property
    def _levels(self) -> Levels:
        return self.members_[0].encoding.levels

    def _predict(self, X: Any) -> Outcome:
        table = self._read(X)
        return predict_outcome(self.members_, table)

    def predict_with_gates(self, X: Any, gates: np.ndarray) -> np.ndarray:
        """What would be predicted under other gates than the model's own.

        Parameters
        ----------
        X
            Table.
        gates
            In [0, 1], shape ``(n_samples, n_columns)``; each member of an ensemble gets the same. Those of
            missing values are shut.

        """
        table = self._read(X)
        foreign = sp.csr_array(gates) if sp.issparse(gates) else np.asarray(gates, np.float64)
        expected = (table.values.shape[0], self.n_features_in_)
        if foreign.shape != expected:
            raise ValueError(f"gates have the shape {foreign.shape} where X asks for {expected}")
        if foreign.size and not (foreign.min() >= 0 and foreign.max() <= 1):
            raise ValueError(f"gates must lie in [0, 1]; they range from {foreign.min():g} to {foreign.max():g}")
        return self._decide(predict_outcome(self.members_, table, foreign).outputs)

    def gates(self, X: Any) -> np.ndarray:
        """How far each feature's gate is open for each row: shape ``(n_samples, n_columns)``, in [0, 1].

        With several members, the mean of their gates.
        """
        table = self._read(X)
        return _as_given(predict_members(self.members_, table).gates, table)

    def selected(self, X: Any) -> np.ndarray:
        """Which features each row's prediction can see: true where a gate of any member is open."""
        return self.gates(X) > 0

    def selection_frequency(self, X: Any) -> np.ndarray:
        """The share of the members that open a gate: how sure a selection is."""
        table = self._read(X)
        opened = [(predict_member(member, table).gates > 0) * 1.0 for member in self.members_]
        return _as_given(sum(opened[1:], start=opened[0]) / len(opened), table)

    def explain(self, X: Any) -> Explanation:
        """Which features each row's prediction rests on, and what each of them adds to it."""
        check_is_fitted(self)
        return explain(self, X)

    def transform(self, X: Any) -> Any:
        """The table with every value multiplied by its gate, in the units of the table.

        A categorical column becomes one column a level, 1 times the gate where the row has that level.
        Missing values become 0.
        """
        table = self._read(X)
        gates = _as_given(predict_members(self.members_, table).gates, table)
        gates = gates[:, columns_of_inputs(self.n_features_in_, self._levels)]
        return sp.csr_array(table.values.multiply(gates)) if sp.issparse(table.values) else table.values * gates

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that :meth:`transform` returns."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(
            [
                name if column not in self._levels else f"{name}_{level}"
                for column, name in enumerate(names)
                for level in self._levels.get(column, (None,))
            ],
            dtype=object,
        )

    @property
    def _linear_member(self) -> Member:
        """The member whose coefficients can be shown."""
        check_is_fitted(self)
        if len(self.members_[0].networks.prediction) > 1 or len(self.members_) > 1:
            raise AttributeError(
                "coefficients exist for a single linear predictor only: hidden_layer_sizes=() and n_members=1"
            )
        return self.members_[0]

    @property
    def _coefficients(self) -> np.ndarray:
        """Weights in units of the table, shape ``(n_outputs, n_inputs)``; 0 for columns that do not vary."""
        member = self._linear_member
        column_of = columns_of_inputs(self.n_features_in_, self._levels)
        weights = np.zeros((member.networks.prediction[0].weights.shape[1], len(column_of)))
        weights[:, np.isin(column_of, member.encoding.features)] = (
            member.networks.prediction[0].weights / member.encoding.scale[:, None]
        ).T
        return weights

    @property
    def center_(self) -> np.ndarray:
        """The value of each input at which it contributes nothing: ``coef_`` acts on the distance to it."""
        member = self._linear_member
        column_of = columns_of_inputs(self.n_features_in_, self._levels)
        center = np.zeros(len(column_of))
        center[np.isin(column_of, member.encoding.features)] = member.encoding.center
        return center

    # Saving.

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file of arrays and JSON, to be read by :func:`lspin.load`."""
        check_is_fitted(self)
        learned = {name: value for name in self._learned if (value := getattr(self, name, None)) is not None}
        write_model(
            path,
            SavedModel(
                kind=type(self).__name__,
                version=version("lspin"),
                parameters={name: storable(name, value) for name, value in self.get_params().items()},
                attributes=learned,
                members=self.members_,
                origin=getattr(self, "origin_", {}),
            ),
        )

    @classmethod
    def _restore(cls, saved: SavedModel) -> Self:
        """The estimator that a file describes, or an error if its parts do not fit together."""
        estimator = cls(**{name: restored(value) for name, value in saved.parameters.items()})
        estimator._validate_params()
        for name, kind in cls._learned.items():
            value = saved.attributes.get(name)
            if value is None and name == "feature_names_in_":
                continue
            if not isinstance(value, kind) or (isinstance(value, np.ndarray) and value.ndim != 1):
                raise ValueError(f"its {name} is {value!r}")
            setattr(estimator, name, value)
        estimator._refuse_mismatch(saved.members)
        estimator.members_ = saved.members
        if saved.origin:
            estimator.origin_ = saved.origin
        return estimator

    def _refuse_mismatch(self, members: list[Member]) -> None:
        """Raise an error if loaded members do not fit the rest of the file."""
        n_outputs = {len(member.networks.prediction[-1].bias) for member in members}
        n_columns = {member.encoding.n_columns for member in members}
        if n_outputs != {self._count_outputs()} or n_columns != {self.n_features_in_}:
            raise ValueError("its members do not fit its columns or its classes")
        if not all(np.isfinite(part).all() for member in members for part in list_weights(member.networks)):
            raise ValueError("a weight of its networks is not finite")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(f"it has {len(names)} names for {self.n_features_in_} columns")

    # What scikit-learn asks.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")


def _refuse_levels(levels: Levels, names: np.ndarray | None) -> None:
    if levels:
        column = min(levels)
        name = column if names is None else names[column]
        raise ValueError(f"zero_is_absent=True is for tables of numbers, but column {name!r} is categorical")


def _as_given(gates: Any, table: Table) -> Any:
    """Gates in the form of the table they belong to: dense for a dense one, whatever the model was fitted on."""
    return gates.toarray() if sp.issparse(gates) and not sp.issparse(table.values) else gates

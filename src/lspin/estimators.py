"""The estimators: scikit-learn shells that read X and y, let the engine fit, and turn outputs into answers."""

import warnings
from collections.abc import Callable
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from lspin.fitting import HISTORY, Problem, Recipe, recipe_for
from lspin.inference import Member, Prediction, predict_member, predict_members
from lspin.losses import complete_scores
from lspin.members import Plan, Solution, solve
from lspin.path import Candidate
from lspin.persistence import SavedModel, read_model, write_model
from lspin.tables import (
    SMALLEST,
    Levels,
    Rows,
    Table,
    columns_of_inputs,
    is_frame,
    learn_encoding,
    merge_rows,
    read_labels,
    read_response,
    read_table,
    read_weights,
    refuse_constant,
)


class _LSPIN(TransformerMixin, BaseEstimator):
    """All that classifier and regressor share.

    They differ in how a target is read (``_read_target``, and ``_read_known_target`` once classes are known),
    in what is learned of it (``_learn_target``), in how rows are adjusted to that (``_adjust``), in the loss,
    and in how outputs become predictions.
    """

    _learned: ClassVar[dict[str, type]] = {
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "sparsity_": float,
        "weight_decay_": float,
        "path_": pd.DataFrame,
        "history_": pd.DataFrame,
        "n_iter_": int,
    }
    _parameter_constraints: ClassVar[dict] = {
        "hidden_layer_sizes": [tuple, list],
        "gate_hidden_layer_sizes": [None, tuple, list],
        "sparsity": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "n_features": [None, Interval(Integral, 1, None, closed="left")],
        "stability": [Interval(Real, 0, None, closed="left")],
        "diversity": [Interval(Real, 0, None, closed="left")],
        "affinity": [StrOptions({"rbf", "labels"}), callable, "array-like"],
        "gate_exchange": [None, Interval(Real, 0, 1, closed="both")],
        "noise_scale": [None, Interval(Real, 0, None, closed="neither")],
        "learning_rate": [None, Interval(Real, 0, None, closed="neither")],
        "weight_decay": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_epochs": [None, Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [None, Interval(Integral, 1, None, closed="left")],
        "n_restarts": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
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
        problem, valid = self._pose(X, y, sample_weight, eval_set)
        plan = Plan(
            sparsity=None if self.sparsity == "auto" else float(self.sparsity),
            n_features=self.n_features,
            validation_fraction=self.validation_fraction,
            n_restarts=self._count_restarts(len(problem.rows.target)),
            n_members=self.n_members,
            bootstrap=self.bootstrap,
            n_jobs=self.n_jobs,
            shows_progress=bool(self.verbose),
        )
        return self._keep(solve(problem, valid, plan, check_random_state(self.random_state)))

    def _keep(self, solution: Solution) -> Self:
        if not solution.fits:
            raise KeyboardInterrupt
        self.sparsity_ = solution.sparsity
        self.weight_decay_ = solution.weight_decay
        self.path_ = pd.DataFrame(solution.path, columns=list(Candidate._fields))
        histories = [pd.DataFrame(fit.history, columns=list(HISTORY)) for fit in solution.fits]
        self.history_ = pd.concat(histories, keys=range(len(histories)), names=["member", "epoch"]).reset_index()
        self.n_iter_ = max(len(history) for history in histories)
        self.members_ = [fit.member for fit in solution.fits]
        self._warn(solution)
        return self

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
            if not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
                raise ValueError(f"{name} must hold whole numbers of at least 1, got {sizes!r}")
        if self.n_features is not None and self.sparsity != "auto":
            raise ValueError(
                f"n_features={self.n_features} asks for a price to be found, and sparsity={self.sparsity} "
                "gives one: leave sparsity at 'auto' or n_features at None"
            )
        if self.bootstrap and self.n_members == 1:
            raise ValueError("bootstrap=True draws other rows for each member: it needs n_members > 1")

    def _pose(self, X: Any, y: Any, sample_weight: Any, eval_set: tuple | None) -> tuple[Problem, Rows | None]:
        """The problem that a table poses, and the rows of the evaluation set."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._check_table(X, reset=True)
        check_consistent_length(X, y)
        weights = read_weights(sample_weight, X)
        kept = np.flatnonzero(weights)
        X, y = _safe_indexing(X, kept), np.asarray(y)[kept]
        target = self._read_target(y)
        table, levels = read_table(X)
        merged = merge_rows(table, target, weights[kept])
        if len(merged.target) < 2:
            raise ValueError(
                f"n_samples=1: the table has one distinct row of positive weight ({len(weights)} in all), and "
                "at least two are needed"
            )
        encoding = learn_encoding(merged, levels, self.n_features_in_)
        if self.n_features is not None and self.n_features > encoding.n_features:
            raise ValueError(
                f"n_features={self.n_features}, but only {encoding.n_features} of the {self.n_features_in_} "
                "columns vary"
            )
        self._learn_target(merged)
        rows = self._adjust(merged)
        affinity, matrix = self._read_affinity(X, kept, rows.source, len(weights))
        problem = Problem(
            rows=rows,
            levels=levels,
            n_columns=self.n_features_in_,
            features=encoding.features,
            loss=self._loss,
            n_outputs=self._count_outputs(),
            prediction_layers=tuple(int(size) for size in self.hidden_layer_sizes),
            affinity=affinity,
            affinity_matrix=matrix,
            stability=float(self.stability),
            diversity=float(self.diversity),
            recipe=self._recipe(len(rows.target)),
            weight_decay=None if self.weight_decay == "auto" else float(self.weight_decay),
            max_epochs=None if self.max_epochs is None else int(self.max_epochs),
            batch_size=int(self.batch_size),
            patience=np.inf if self.patience is None else float(self.patience),
        )
        return problem, self._read_eval_set(eval_set, levels)

    def _count_restarts(self, n_rows: int) -> int:
        """As asked for; else more for a small table, where a start costs little and counts for much."""
        return max(1, min(16, 200 // n_rows)) if self.n_restarts == "auto" else int(self.n_restarts)

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """The table with names and number of columns checked; arrays become arrays of floats."""
        if is_frame(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)

    def _read_eval_set(self, eval_set: tuple | None, levels: Levels) -> Rows | None:
        if eval_set is None:
            return None
        if not isinstance(eval_set, tuple | list) or len(eval_set) not in (2, 3):
            raise ValueError("eval_set must be (X, y) or (X, y, sample_weight)")
        X, y, *rest = eval_set
        X = self._check_table(X, reset=False)
        check_consistent_length(X, y)
        weights = read_weights(rest[0] if rest else None, X)
        table, _ = read_table(X, levels)
        return self._adjust(Rows(table, self._read_known_target(y), weights, np.arange(len(weights))))

    def _read_affinity(
        self, X: Any, kept: np.ndarray, source: np.ndarray, n_given: int
    ) -> tuple[str | None, np.ndarray | None]:
        """The kind of affinity and, where it is a function or a matrix, its values for the rows."""
        if self.stability == 0 and self.diversity == 0:
            return None, None
        if isinstance(self.affinity, str):
            if self.affinity == "labels" and self._loss != "cross_entropy":
                raise ValueError("affinity='labels' needs classes; for a continuous target use 'rbf'")
            return self.affinity, None
        if callable(self.affinity):
            chosen = _safe_indexing(X, source)
            matrix = np.asarray(self.affinity(chosen, chosen), np.float64)
            expected = (len(source), len(source))
        else:
            matrix = np.asarray(self.affinity, np.float64)
            expected = (n_given, n_given)
        if matrix.shape != expected:
            raise ValueError(f"affinity has the shape {matrix.shape} where {expected} is needed")
        wrong = np.argwhere(~np.isfinite(matrix) | (matrix < 0))
        if len(wrong):
            row, column = wrong[0]
            raise ValueError(
                f"affinity must be finite and not negative: it is {matrix[row, column]:g} in row {row}, "
                f"column {column}"
            )
        rows = source if callable(self.affinity) else kept[source]
        return "matrix", matrix if callable(self.affinity) else matrix[np.ix_(rows, rows)]

    def _recipe(self, n_rows: int) -> Recipe:
        """The recipe for the predictor, with what the user set instead of its own."""
        layers = self.gate_hidden_layer_sizes
        chosen: dict[str, Any] = {
            "gating_layers": None if layers is None else tuple(int(size) for size in layers),
            "noise_scale": self.noise_scale,
            "learning_rate": self.learning_rate,
            "exchange": self.gate_exchange,
        }
        recipe = recipe_for(tuple(self.hidden_layer_sizes), n_rows)
        return recipe._replace(**{name: value for name, value in chosen.items() if value is not None})

    # Using a fitted model.

    @property
    def _levels(self) -> Levels:
        return self.members_[0].encoding.levels

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        return read_table(self._check_table(X, reset=False), self._levels)[0]

    def _predict(self, X: Any) -> Prediction:
        table = self._read(X)
        return predict_members(self.members_, table)

    def gates(self, X: Any) -> np.ndarray:
        """How far each feature's gate is open for each row: shape ``(n_samples, n_columns)``, in [0, 1].

        With several members, the mean of their gates.
        """
        return self._predict(X).gates

    def selected(self, X: Any) -> np.ndarray:
        """Which features each row's prediction can see: true where a gate of any member is open."""
        return self.gates(X) > 0

    def selection_frequency(self, X: Any) -> np.ndarray:
        """The share of the members that open a gate: how sure a selection is."""
        table = self._read(X)
        return np.mean([predict_member(member, table).gates > 0 for member in self.members_], axis=0)

    def transform(self, X: Any) -> Any:
        """The table with every value multiplied by its gate, in the units of the table.

        A categorical column becomes one column a level, 1 times the gate where the row has that level.
        Missing values become 0.
        """
        table = self._read(X)
        gates = predict_members(self.members_, table).gates
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
        if len(self.hidden_layer_sizes) or len(self.members_) > 1:
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
                parameters={name: _storable(name, value) for name, value in self.get_params().items()},
                attributes=learned,
                members=self.members_,
            ),
        )

    @classmethod
    def _restore(cls, saved: SavedModel) -> Self:
        """The estimator that a file describes, or an error if its parts do not fit together."""
        estimator = cls(**{name: _restored(value) for name, value in saved.parameters.items()})
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
        return estimator

    def _refuse_mismatch(self, members: list[Member]) -> None:
        """Raise an error if loaded members do not fit the rest of the file."""
        n_outputs = {len(member.networks.prediction[-1].bias) for member in members}
        n_columns = {member.encoding.n_columns for member in members}
        if n_outputs != {self._count_outputs()} or n_columns != {self.n_features_in_}:
            raise ValueError("its members do not fit its columns or its classes")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and len(names) != self.n_features_in_:
            raise ValueError(f"it has {len(names)} names for {self.n_features_in_} columns")

    # What scikit-learn asks.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


class LSPINClassifier(ClassifierMixin, _LSPIN):
    """PLACEHOLDER."""

    _loss = "cross_entropy"
    _learned: ClassVar[dict[str, type]] = {**_LSPIN._learned, "classes_": np.ndarray}
    _parameter_constraints: ClassVar[dict] = {
        **_LSPIN._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
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
        weight_decay: float | str = "auto",
        max_epochs: int | None = None,
        batch_size: int = 128,
        validation_fraction: float = 0.2,
        patience: int | None = None,
        n_restarts: int | str = "auto",
        n_members: int = 1,
        bootstrap: bool = False,
        class_weight: dict | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            gate_hidden_layer_sizes=gate_hidden_layer_sizes,
            sparsity=sparsity,
            n_features=n_features,
            stability=stability,
            diversity=diversity,
            affinity=affinity,
            gate_exchange=gate_exchange,
            noise_scale=noise_scale,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            batch_size=batch_size,
            validation_fraction=validation_fraction,
            patience=patience,
            n_restarts=n_restarts,
            n_members=n_members,
            bootstrap=bootstrap,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def _read_target(self, y: Any) -> np.ndarray:
        self.classes_, codes = read_labels(y)
        return codes

    def _read_known_target(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        unknown = sorted(set(y.tolist()) - set(self.classes_.tolist()), key=repr)
        if unknown:
            raise ValueError(f"eval_set holds the class {unknown[0]!r}, which the training rows do not")
        return np.searchsorted(self.classes_, y)

    def _learn_target(self, rows: Rows) -> None:
        self._class_factors = np.ones(len(self.classes_))
        if self.class_weight is not None:
            self._class_factors = compute_class_weight(
                self.class_weight,
                classes=self.classes_,
                y=self.classes_[rows.target],
                sample_weight=rows.weight,
            )
            if not (np.isfinite(self._class_factors) & (self._class_factors >= 0)).all():
                raise ValueError(f"class_weight must hold finite numbers of at least 0, got {self.class_weight}")
            if not self._class_factors.any():
                raise ValueError(f"class_weight={self.class_weight} leaves no class to learn from")

    def _count_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _adjust(self, rows: Rows) -> Rows:
        return rows._replace(weight=rows.weight * self._class_factors[rows.target])

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores before the softmax: one a row for two classes, else one a row and class."""
        outputs = self._predict(X).outputs
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``."""
        return softmax(complete_scores(self._predict(X).outputs), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        outputs = self._predict(X).outputs
        return self.classes_[complete_scores(outputs).argmax(axis=1)]

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of the table; a row's own are these times its gates."""
        return self._coefficients

    @property
    def intercept_(self) -> np.ndarray:
        """Scores of a row whose gates are all shut."""
        return self._linear_member.networks.prediction[0].bias


class LSPINRegressor(RegressorMixin, _LSPIN):
    """PLACEHOLDER."""

    _loss = "squared_error"
    _learned: ClassVar[dict[str, type]] = {**_LSPIN._learned, "target_mean_": float, "target_scale_": float}

    def _read_target(self, y: Any) -> np.ndarray:
        target = read_response(y)
        refuse_constant(target)
        return target

    def _read_known_target(self, y: Any) -> np.ndarray:
        return read_response(y)

    def _learn_target(self, rows: Rows) -> None:
        largest = np.abs(rows.target).max()  # squares of numbers near the largest float would overflow
        mean = np.average(rows.target / largest, weights=rows.weight)
        spread = np.sqrt(np.average((rows.target / largest - mean) ** 2, weights=rows.weight))
        self.target_mean_ = float(mean * largest)
        self.target_scale_ = float(max(spread * largest, SMALLEST))

    def _count_outputs(self) -> int:
        return 1

    def _adjust(self, rows: Rows) -> Rows:
        return rows._replace(target=(rows.target - self.target_mean_) / self.target_scale_)

    def predict(self, X: Any) -> np.ndarray:
        """The expected response of each row."""
        outputs = self._predict(X).outputs[:, 0]
        return self.target_mean_ + self.target_scale_ * outputs

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of table and target; a row's own: these times its gates."""
        return self._coefficients[0] * self.target_scale_

    @property
    def intercept_(self) -> float:
        """Prediction for a row whose gates are all shut."""
        bias = self._linear_member.networks.prediction[0].bias[0]
        return float(self.target_mean_ + self.target_scale_ * bias)


ESTIMATORS: dict[str, type[_LSPIN]] = {kind.__name__: kind for kind in (LSPINClassifier, LSPINRegressor)}


def load(path: str | Path) -> Any:
    """Read a model that ``save`` wrote; nothing in the file is run as code."""
    saved = read_model(path)
    if saved.kind not in ESTIMATORS:
        raise ValueError(f"{path} holds a {saved.kind!r}, which this version does not know")
    try:
        return ESTIMATORS[saved.kind]._restore(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be loaded as a model: {error}") from error


def _storable(name: str, value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    if name == "affinity" and not isinstance(value, str):
        warnings.warn(
            "affinity is a function or a matrix and is not saved; it serves fitting only",
            UserWarning,
            stacklevel=3,
        )
        return "rbf"
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, dict):  # JSON would turn the classes into text
        return {"pairs": [[_storable(name, part) for part in pair] for pair in value.items()]}
    if isinstance(value, tuple | list):
        return [_storable(name, part) for part in value]
    return value


def _restored(value: Any) -> Any:
    """A parameter as it was before :func:`_storable`; lists become tuples."""
    if isinstance(value, dict):
        return dict(value["pairs"])
    return tuple(value) if isinstance(value, list) else value

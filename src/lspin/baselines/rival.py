"""What the rivals share: a table in, weights learned, gates and predictions of each row in NumPy."""

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from lspin.inference import Prediction, row_blocks
from lspin.model import shut_missing, spread_gates
from lspin.preparation import Examples
from lspin.shell import TableEstimator
from lspin.tables import Levels, Table, encode, learn_encoding, take_table

if TYPE_CHECKING:
    from lspin.descent import Method

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")

FEWEST_EPOCHS = 10  # of training, where the number of epochs is not given


class Rival(TableEstimator):
    """A method that selects features, with the vocabulary of LSPIN.

    A subclass says how its weights are learned (``_learn``), how it opens gates (``_open``) and what it makes of
    inputs behind gates (``_score``), all on standardised inputs. A sparse matrix is read as the dense table with
    the same numbers.
    """

    _parameter_constraints: ClassVar[dict] = {
        "hidden_layer_sizes": [tuple, list],
        "gate_hidden_layer_sizes": [tuple, list],
        "learning_rate": [POSITIVE],
        "weight_decay": [NOT_NEGATIVE],
        "max_epochs": [COUNT, None],
        "batch_size": [COUNT],
        "random_state": ["random_state"],
    }
    _n_steps = 2000  # of training, where the number of epochs is not given

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X
            Table of shape ``(n_samples, n_columns)``: a pandas or polars frame, an array or a sparse matrix.
            Categorical columns have one gate each; missing values are allowed, and their gate is shut.
        y
            Target, shape ``(n_samples,)``.
        sample_weight
            Weight of each row. A row of weight 2 is the same as the row given twice.

        """
        self.__dict__.pop("weights_", None)
        self._validate_params()
        self._check_sizes()
        given = self._take(X, y, sample_weight)
        encoding = self.encoding_ = learn_encoding(given.rows, given.levels, self.n_features_in_)
        self._check_width(encoding.n_features)
        self._learn_target(given.rows)
        rows = self._adjust(given.rows)
        inputs, shut = encode(rows.table, encoding)
        examples = Examples(inputs, shut, rows.target, rows.weight / rows.weight.mean())
        self.weights_ = self._learn(examples, check_random_state(self.random_state))
        self._complete(given.rows, self._predict_table(given.rows.table).outputs)
        return self

    def _check_sizes(self) -> None:
        for name in ("hidden_layer_sizes", "gate_hidden_layer_sizes"):
            sizes = getattr(self, name, ())
            if not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
                raise ValueError(f"{name} must hold whole numbers of at least 1, got {sizes!r}")

    def _check_width(self, n_features: int) -> None:
        """Refuse settings that do not suit the number of columns that vary."""
        wanted = getattr(self, "n_features", None)
        if wanted is not None and wanted > n_features:
            raise ValueError(
                f"n_features={wanted}, but X has {n_features} feature(s) that vary among its "
                f"{self.n_features_in_} columns"
            )

    def _store(self, table: Table, levels: Levels) -> Table:
        if not table.is_sparse:
            return table
        return Table(table.values.toarray(), None if table.missing is None else table.missing.toarray())

    # What a method is.

    @abstractmethod
    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Any:
        """The weights of the method."""

    @abstractmethod
    def _open(self, inputs: np.ndarray) -> np.ndarray:
        """Gates of rows in [0, 1], shape ``(n, n_features)``."""

    @abstractmethod
    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """Outputs of shape ``(n, n_outputs)`` for inputs behind gates, one gate an input."""

    # What methods have to work with.

    def _descend(
        self, method: "Method", start: Any, examples: Examples, strengths: Any, rng: np.random.RandomState
    ) -> Any:
        """Weights that minimise the objective of a method, in double precision."""
        from lspin.descent import Pace, descend

        batch_size = min(int(self.batch_size), len(examples.target))
        epochs = self.max_epochs or max(self._n_steps // max(len(examples.target) // batch_size, 1), FEWEST_EPOCHS)
        pace = Pace(float(self.learning_rate), float(self.weight_decay), int(epochs), int(self.batch_size))
        done = descend(method, start, examples, pace, strengths, int(rng.randint(2**31 - 1)))
        self.n_iter_ = len(done.losses)
        if done.interrupted:
            warnings.warn(
                f"interrupted: kept the weights after {self.n_iter_} of {epochs} epochs",
                ConvergenceWarning,
                stacklevel=4,
            )
        return done.weights

    def _sizes(self, name: str, n_in: int, n_out: int) -> tuple[int, ...]:
        """Widths of all layers of a network, the hidden ones by the name of their parameter."""
        return (n_in, *(int(size) for size in getattr(self, name)), n_out)

    @property
    def _owners(self) -> tuple[int, ...] | None:
        """Which gate each input has, where several share one: hashable, since it fixes a program."""
        owners = self.encoding_.shared_owners
        return None if owners is None else tuple(owners.tolist())

    # Using a fitted model.

    @property
    def _levels(self) -> Levels:
        return self.encoding_.levels

    def _predict(self, X: Any, foreign: np.ndarray | None = None) -> Prediction:
        """Gates and outputs; foreign gates take the place of the method's own."""
        return self._predict_table(self._store(self._read(X), {}), foreign)

    def _predict_table(self, table: Table, foreign: np.ndarray | None = None) -> Prediction:
        encoding = self.encoding_
        n_rows = table.n_rows
        gates, outputs = np.zeros((n_rows, encoding.n_columns)), np.empty((n_rows, self._count_outputs()))
        for block in row_blocks(n_rows, table.values.shape[1]):
            inputs, missing = encode(take_table(table, block), encoding)
            opened = self._open(inputs) if foreign is None else foreign[block, encoding.features]
            gates[block, encoding.features] = opened = shut_missing(opened, missing)
            outputs[block] = self._score(inputs, spread_gates(opened, encoding.shared_owners))
        return Prediction(gates, outputs)

    def gates(self, X: Any) -> np.ndarray:
        """How far each feature is let through for each row: shape ``(n_samples, n_columns)``, in [0, 1]."""
        return self._predict(X).gates

    def selected(self, X: Any) -> np.ndarray:
        """Which features each row's prediction can see."""
        return self.gates(X) > 0

    def predict_with_gates(self, X: Any, gates: np.ndarray) -> np.ndarray:
        """What would be predicted under other gates, shape ``(n_samples, n_columns)``, than the method's own."""
        foreign = np.asarray(gates, np.float64)
        expected = (self._read(X).values.shape[0], self.n_features_in_)
        if foreign.shape != expected:
            raise ValueError(f"gates have the shape {foreign.shape} where X asks for {expected}")
        return self._decide(self._predict(X, foreign).outputs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

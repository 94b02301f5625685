"""What the rivals share: a table in, weights learned, gates and predictions of each row in NumPy."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from lspin.core.arrays import Array, bucket_size, pad
from lspin.core.losses import RowLoss
from lspin.core.model import shut_missing
from lspin.core.rows import place_dense, spread_gates
from lspin.fitting.ensemble import FitInterruptedWarning
from lspin.fitting.fit import HISTORY
from lspin.fitting.prediction import Prediction, check_gates, row_blocks
from lspin.fitting.preparation import Examples
from lspin.fitting.progress import Progress
from lspin.tables.encoding import encode, learn_encoding
from lspin.tables.grid import Grid, take_grid
from lspin.tables.reading import Levels
from lspin.targets.base import TableEstimator
from lspin.targets.settings import COUNT, FRACTION, NOT_NEGATIVE, POSITIVE, Setting, declare

if TYPE_CHECKING:
    from lspin.core.training import Method, Trained, TrainingRows

LEARNING_RATE = Setting([POSITIVE], "Learning rate of Adam at the start of a cosine schedule.", is_general=True)
WEIGHT_DECAY = Setting(
    [NOT_NEGATIVE], "Part of each weight that decays in a step of learning rate 1.", is_general=True
)
MAX_EPOCHS = Setting([COUNT, None], "Passes over the rows; by default about 2,000 steps.", is_general=True)
BATCH_SIZE = Setting([COUNT], "Rows per step.", is_general=True)
PATIENCE = Setting(
    [COUNT, None],
    "Epochs without a lower loss on held-out rows after which training ends; the best epoch is kept. By default "
    "no rows are held out, and training runs to its end.",
    is_general=True,
)
VALIDATION_FRACTION = Setting([FRACTION], "Part of the rows held out if there is a patience.", is_general=True)
RANDOM_STATE = Setting(["random_state"], "Seed. The same seed gives the same fit.", is_general=True)
VERBOSE = Setting(["verbose"], "1 shows a progress bar.", is_general=True)

FEWEST_EPOCHS = 10  # of training, where the number of epochs is not given


class Tuning(NamedTuple):
    """What a compiled program is given at every step."""

    strengths: Any  # numbers of the method's own
    learning_rate: float
    weight_decay: float
    owners: Any  # which gate an input has, where several share one


@dataclass(frozen=True)
class Descent:
    """What the rivals' methods have in common: steps of Adam along a cosine, and one phase."""

    @property
    def room(self) -> int | None:
        """Rivals take dense rows."""
        return None

    @property
    def settles(self) -> float:
        """Any epoch may be the best."""
        return 0.0

    def update(self, weights: Any, directions: Any, progress: Array, tuning: Tuning) -> Any:
        """One step; matrices decay, vectors do not."""
        rate = tuning.learning_rate * 0.5 * (1 + progress.__array_namespace__().cos(pi * progress))
        decay = rate * tuning.weight_decay
        return map_arrays(
            lambda part, direction: part * (1 - decay * (part.ndim == 2)) - rate * direction, weights, directions
        )

    def price(self, tuning: Tuning) -> float:
        """The best epoch is the one with the lowest loss."""
        return 0.0


def map_arrays(change: Callable[..., Array], *trees: Any) -> Any:
    """The same nested tuples with each array changed."""
    first = trees[0]
    if not isinstance(first, tuple):
        return None if first is None else change(*trees)
    parts = [map_arrays(change, *branches) for branches in zip(*trees, strict=True)]
    return first._make(parts) if hasattr(first, "_make") else tuple(parts)


def take_examples(examples: Examples, rows: np.ndarray) -> Examples:
    """Some of the rows."""
    inputs, shut, target, weight = examples
    return Examples(inputs[rows], None if shut is None else shut[rows], target[rows], weight[rows])


def place_examples(examples: Examples, padded: int) -> "TrainingRows":
    """The rows in single precision, padded to a number of rows."""
    from lspin.core.training import TrainingRows

    return TrainingRows(
        values=place_dense(examples.inputs, padded),
        context=None,
        shut=None if examples.shut is None else pad(examples.shut, padded),
        target=pad(examples.target, padded),
        weight=pad(examples.weight, padded),
        affinity=None,
        n_rows=np.int32(len(examples.target)),
    )


class Rival(TableEstimator):
    """A method that selects features, with the vocabulary of LSPIN.

    A subclass says how its weights are learned (``_learn``), how it opens gates (``_open``) and what it makes of
    inputs behind gates (``_score``), all on standardised inputs. A sparse matrix is read as the dense table with
    the same numbers.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the method to a table.

        Parameters
        ----------
        X
            Table of shape ``(n_samples, n_columns)``: a pandas or polars frame, an array or a sparse matrix.
            Categorical columns get one gate each; missing values are allowed, and their gate is shut.
        y
            Target, shape ``(n_samples,)``.
        sample_weight
            Weight of each row, shape ``(n_samples,)``. A row of weight 2 equals the row given twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.__dict__.pop("weights_", None)
        self._validate_params()
        self._check_sizes()
        given = self._take(X, y, sample_weight)
        encoding = self.encoding_ = learn_encoding(given.rows, given.levels, self.n_features_in_)
        self._check_width(encoding.n_features)
        self.kind_ = given.kind
        rows = given.kind.adjust(given.rows)
        inputs, shut = encode(rows.grid, encoding)
        examples = Examples(inputs, shut, rows.target, rows.weight / rows.weight.mean())
        self.weights_ = self._learn(examples)
        self._learn_from(given.kind, given.rows, self._predict_table(given.rows.grid).outputs)
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

    def _store(self, table: Grid, levels: Levels) -> Grid:
        if not table.is_sparse:
            return table
        return Grid(table.values.toarray(), None if table.missing is None else table.missing.toarray())

    # What a method is.

    @abstractmethod
    def _learn(self, examples: Examples) -> Any:
        """The weights of the method."""

    @abstractmethod
    def _open(self, inputs: np.ndarray) -> np.ndarray:
        """Gates of rows in [0, 1], shape ``(n, n_features)``."""

    @abstractmethod
    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        """Outputs of shape ``(n, n_outputs)`` for inputs behind gates, one gate an input."""

    # Using a fitted model.

    @property
    def _levels(self) -> Levels:
        return self.encoding_.levels

    def _outputs(self, X: Any) -> np.ndarray:
        return self._predict(X).outputs

    def _predict(self, X: Any, foreign: np.ndarray | None = None) -> Prediction:
        """Gates and outputs; foreign gates take the place of the method's own."""
        return self._predict_table(self._store(self._read(X), {}), foreign)

    def _predict_table(self, table: Grid, foreign: np.ndarray | None = None) -> Prediction:
        encoding = self.encoding_
        n_rows = table.n_rows
        gates, outputs = np.zeros((n_rows, encoding.n_columns)), np.empty((n_rows, self.kind_.n_outputs))
        for block in row_blocks(n_rows, table.values.shape[1]):
            inputs, missing = encode(take_grid(table, block), encoding)
            opened = self._open(inputs) if foreign is None else foreign[block, encoding.features]
            gates[block, encoding.features] = opened = shut_missing(opened, missing)
            outputs[block] = self._score(inputs, spread_gates(opened, encoding.shared_owners))
        return Prediction(gates, outputs)

    def gates(self, X: Any) -> np.ndarray:
        """Gates of each row, in [0, 1], shape ``(n_samples, n_columns)``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Gates, shape ``(n_samples, n_columns)``.
        """
        return self._predict(X).gates

    def selected(self, X: Any) -> np.ndarray:
        """Selected features of each row (the gate is open), shape ``(n_samples, n_columns)``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Booleans, shape ``(n_samples, n_columns)``.
        """
        return self.gates(X) > 0

    def predict_with_gates(self, X: Any, gates: np.ndarray) -> np.ndarray:
        """Predict with given gates, shape ``(n_samples, n_columns)``, instead of the method's own.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.
        gates
            Gates in [0, 1], shape ``(n_samples, n_columns)``.

        Returns
        -------
        numpy.ndarray
            Predictions, as :meth:`predict` returns them.
        """
        foreign = np.asarray(gates, np.float64)
        expected = (self._read(X).values.shape[0], self.n_features_in_)
        check_gates(foreign, expected)
        return self.kind_.decide(self._predict(X, foreign).outputs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")


@declare()
class TrainedRival(Rival):
    """A rival that is trained by gradient descent."""

    learning_rate: float = LEARNING_RATE(0.005)
    weight_decay: float = WEIGHT_DECAY(0.0)
    max_epochs: int | None = MAX_EPOCHS(None)
    batch_size: int = BATCH_SIZE(128)
    patience: int | None = PATIENCE(None)
    validation_fraction: float = VALIDATION_FRACTION(0.2)
    random_state: int | np.random.RandomState | None = RANDOM_STATE(None)
    verbose: int = VERBOSE(0)

    _n_steps: ClassVar[int] = 2000  # of training, where the number of epochs is not given

    def _learn(self, examples: Examples) -> Any:
        return self._train(examples, check_random_state(self.random_state))

    @abstractmethod
    def _train(self, examples: Examples, rng: np.random.RandomState) -> Any:
        """The weights of the method."""

    def _descend(
        self, method: "Method", start: Any, examples: Examples, strengths: Any, rng: np.random.RandomState
    ) -> Any:
        """Weights that minimise the objective of a method, in double precision."""
        from lspin.core.training import refuse_divergence, train

        seed = int(rng.randint(2**31 - 1))
        learned, held_out = self._hold_out(examples, seed)
        padded = bucket_size(len(learned.target))
        batch_size = min(int(self.batch_size), padded)
        n_batches = max(len(learned.target) // min(int(self.batch_size), len(learned.target)), 1)
        epochs = int(self.max_epochs or max(self._n_steps // n_batches, FEWEST_EPOCHS))
        tuning = Tuning(
            strengths, float(self.learning_rate), float(self.weight_decay), self.encoding_.shared_owners
        )
        with Progress(1, shown=bool(self.verbose)) as progress:
            trained = train(
                method,
                start,
                place_examples(learned, padded),
                place_examples(held_out, -(-bucket_size(max(len(held_out.target), 1)) // batch_size) * batch_size),
                tuning,
                max_epochs=epochs,
                patience=np.inf if self.patience is None else float(self.patience),
                batch_size=batch_size,
                seed=seed,
                report=progress.report,
            )
            progress.finish_fit()
        refuse_divergence(trained, f"try a smaller learning_rate (it was {self.learning_rate:g})")
        self._tell(trained, epochs)
        return map_arrays(lambda part: np.asarray(part, np.float64), trained.weights)

    def _hold_out(self, examples: Examples, seed: int) -> tuple[Examples, Examples]:
        """Rows to learn from, and rows to stop early by: none unless there is a patience."""
        if self.patience is None:
            return examples, take_examples(examples, np.arange(0))
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(examples.target))
        n_held_out = max(round(self.validation_fraction * len(order)), 1)
        return take_examples(examples, np.sort(order[n_held_out:])), take_examples(
            examples, np.sort(order[:n_held_out])
        )

    def _tell(self, trained: "Trained", epochs: int) -> None:
        """Show how training went, and say if it was cut short."""
        self.n_iter_ = len(trained.history)
        self.history_ = pd.DataFrame(trained.history, columns=list(HISTORY))
        if trained.interrupted:
            warnings.warn(
                f"interrupted: kept the weights after {self.n_iter_} of {epochs} epochs",
                FitInterruptedWarning,
                stacklevel=6,
            )

    def _sizes(self, name: str, n_in: int, n_out: int) -> tuple[int, ...]:
        """Widths of all layers of a network, the hidden ones by the name of their parameter."""
        return (n_in, *(int(size) for size in getattr(self, name)), n_out)

    @property
    def _row_loss(self) -> RowLoss:
        """The loss row by row, for methods that need it; they have no survival form."""
        loss = self.kind_.loss
        assert isinstance(loss, RowLoss)
        return loss

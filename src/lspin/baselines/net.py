"""The network without gates: what a predictor makes of all features."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.baselines.rival import Rival
from lspin.losses import average_loss
from lspin.model import Batch
from lspin.networks import Layers, apply_layers, init_layers
from lspin.noise import Array
from lspin.preparation import Examples
from lspin.targets import ClassTarget, ResponseTarget


class Nothing(NamedTuple):
    """No strengths: there is nothing to tune."""


@dataclass(frozen=True)
class Plain:
    """What fixes the program of a network without gates."""

    loss: str

    def objective(self, weights: Layers, batch: Batch, key: Array, progress: Array, strengths: Nothing) -> Array:
        """The loss of a batch."""
        outputs = apply_layers(weights, batch.values, "silu")
        return average_loss(self.loss, outputs, batch.target, batch.shares)


class Net(Rival):
    """A fully connected network; linear with ``hidden_layer_sizes=()``."""

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
        *,
        learning_rate: float = 0.005,
        weight_decay: float = 0.0,
        max_epochs: int | None = None,
        batch_size: int = 128,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Layers:
        sizes = self._sizes("hidden_layer_sizes", examples.inputs.shape[1], self._count_outputs())
        start = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        return self._descend(Plain(self._loss), start, examples, Nothing(), rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return np.ones((len(inputs), self.encoding_.n_features))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_, gates * inputs, "silu")


class NetClassifier(ClassTarget, Net):
    """Classifier by a fully connected network; unlike LSPIN it sees every feature of every row.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the hidden layers; ``()`` is logistic regression.
    learning_rate
        Of Adam, at the start of a cosine.
    weight_decay
        Part of each weight that decays in a step of learning rate 1.
    max_epochs
        Passes over the rows; by default about 2,000 steps.
    batch_size
        Rows of a step.
    random_state
        Seed: the same seed gives the same fit.

    """


class NetRegressor(ResponseTarget, Net):
    """Regressor by a fully connected network; unlike LSPIN it sees every feature of every row.

    See :class:`NetClassifier` for the parameters; ``hidden_layer_sizes=()`` is linear regression.
    """

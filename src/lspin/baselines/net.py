"""The network without gates: what a predictor makes of all features."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.baselines.rival import Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.losses import Loss
from lspin.core.networks import Layers, apply_layers, init_layers
from lspin.core.rows import Batch
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier, Regressor
from lspin.targets.settings import LAYERS, Setting, declare, first


class Nothing(NamedTuple):
    """No strengths: there is nothing to tune."""


@dataclass(frozen=True)
class Plain(Descent):
    """A network without gates."""

    loss: Loss
    n_features: int

    def objective(
        self, weights: Layers, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """The loss of a batch; a row uses all features."""
        loss = self.judge(weights, batch, tuning)
        return loss, loss.__array_namespace__().full_like(loss, self.n_features)

    def judge(self, weights: Layers, batch: Batch, tuning: Tuning) -> Array:
        """The loss of a batch."""
        outputs = apply_layers(weights, batch.inputs, "silu")
        return self.loss.average(outputs, batch.target, batch.shares)


@declare()
class Net(TrainedRival):
    """A fully connected network; linear with ``hidden_layer_sizes=()``."""

    hidden_layer_sizes: tuple[int, ...] = first(
        Setting(LAYERS, "Widths of the hidden layers; `()` is a linear model."), default=(200, 200)
    )

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Layers:
        sizes = self._sizes("hidden_layer_sizes", examples.inputs.shape[1], self.kind_.n_outputs)
        start = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        return self._descend(Plain(self.kind_.loss, self.encoding_.n_features), start, examples, Nothing(), rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return np.ones((len(inputs), self.encoding_.n_features))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_, gates * inputs, "silu")


@declare()
class NetClassifier(Classifier, Net):
    """Classifier by a fully connected network. Unlike LSPIN, it uses all features of every row."""


@declare()
class NetRegressor(Regressor, Net):
    """Regressor by a fully connected network. Unlike LSPIN, it uses all features of every row."""

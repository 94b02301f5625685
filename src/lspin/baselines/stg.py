"""STG: stochastic gates that are the same for all rows.

Yamada, Lindenbaum, Negahban and Kluger, «Feature selection using stochastic gates», ICML 2020.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.baselines.rival import Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.gates import open_probability, sample_gates, settle_gates
from lspin.core.losses import Loss
from lspin.core.model import shut_missing
from lspin.core.networks import Layers, apply_layers, init_layers
from lspin.core.noise import normal
from lspin.core.rows import Batch, spread_gates
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier, Regressor
from lspin.targets.settings import LAYERS, NOT_NEGATIVE, POSITIVE, Setting, declare, first


class Weights(NamedTuple):
    """What STG learns."""

    means: Array  # (n_features,), of the gates, before the shift by one half
    prediction: Layers


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float
    noise_scale: float


@dataclass(frozen=True)
class GlobalGates(Descent):
    """Gates that all rows share, before a predictor."""

    loss: Loss

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """The loss under sampled gates, and the price of the gates that are expected to be open."""
        strengths: Strengths = tuning.strengths
        noise = normal(key, (len(batch.target), len(weights.means)))
        loss = self.lose(weights, sample_gates(weights.means, noise, strengths.noise_scale), batch, tuning)
        price = strengths.sparsity * open_probability(weights.means, strengths.noise_scale).sum()
        return loss + price, (weights.means > -0.5).astype(loss.dtype).sum()

    def judge(self, weights: Weights, batch: Batch, tuning: Tuning) -> Array:
        """The loss behind gates without noise."""
        return self.lose(weights, settle_gates(weights.means)[None], batch, tuning)

    def lose(self, weights: Weights, gates: Array, batch: Batch, tuning: Tuning) -> Array:
        """The loss of a batch behind gates."""
        seen = spread_gates(shut_missing(gates, batch.shut), tuning.owners)
        outputs = apply_layers(weights.prediction, seen * batch.inputs, "silu")
        return self.loss.average(outputs, batch.target, batch.shares)


@declare()
class STG(TrainedRival):
    """A predictor behind one vector of stochastic gates."""

    hidden_layer_sizes: tuple[int, ...] = first(
        Setting(LAYERS, "Widths of the predictor's hidden layers; `()` is linear STG."), default=(200, 200)
    )
    sparsity: float = Setting([NOT_NEGATIVE], "Price of an open gate, in units of the loss.")(0.03)
    noise_scale: float = Setting([POSITIVE], "Standard deviation of the gates' noise.")(0.5)

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        sizes = self._sizes("hidden_layer_sizes", examples.inputs.shape[1], self.kind_.n_outputs)
        layers = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        start = Weights(np.zeros(self.encoding_.n_features, np.float32), layers)
        strengths = Strengths(float(self.sparsity), float(self.noise_scale))
        return self._descend(GlobalGates(self.kind_.loss), start, examples, strengths, rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        gates = settle_gates(self.weights_.means)
        return np.broadcast_to(gates, (len(inputs), len(gates)))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


@declare()
class STGClassifier(Classifier, STG):
    """Classifier with stochastic gates. Unlike in LSPIN, all rows have the same gates.

    References
    ----------
    Yamada, Lindenbaum, Negahban and Kluger, «Feature selection using stochastic gates», ICML 2020.

    """


@declare()
class STGRegressor(Regressor, STG):
    """Regressor with stochastic gates. Unlike in LSPIN, all rows have the same gates.

    See :class:`STGClassifier` for the reference.
    """

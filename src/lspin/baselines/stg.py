"""STG: stochastic gates that are the same for all rows.

Yamada, Lindenbaum, Negahban and Kluger, «Feature selection using stochastic gates», ICML 2020.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.rival import NOT_NEGATIVE, POSITIVE, Rival
from lspin.gates import open_probability, sample_gates, settle_gates
from lspin.losses import average_loss
from lspin.model import Batch, shut_missing, spread_gates
from lspin.networks import Layers, apply_layers, init_layers
from lspin.noise import Array, normal
from lspin.preparation import Examples
from lspin.targets import ClassTarget, ResponseTarget


class Weights(NamedTuple):
    """What STG learns."""

    means: Array  # (n_features,), of the gates, before the shift by one half
    prediction: Layers


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float
    noise_scale: float


@dataclass(frozen=True)
class GlobalGates:
    """What fixes the program."""

    loss: str
    owners: tuple[int, ...] | None

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, strengths: Strengths
    ) -> Array:
        """The loss under sampled gates, and the price of the gates that are expected to be open."""
        noise = normal(key, (len(batch.target), len(weights.means)))
        gates = shut_missing(sample_gates(weights.means, noise, strengths.noise_scale), batch.shut)
        seen = spread_gates(gates, None if self.owners is None else np.array(self.owners))
        outputs = apply_layers(weights.prediction, seen * batch.values, "silu")
        loss = average_loss(self.loss, outputs, batch.target, batch.shares)
        return loss + strengths.sparsity * open_probability(weights.means, strengths.noise_scale).sum()


class STG(Rival):
    """A predictor behind one vector of stochastic gates."""

    _parameter_constraints: ClassVar[dict] = {
        **Rival._parameter_constraints,
        "sparsity": [NOT_NEGATIVE],
        "noise_scale": [POSITIVE],
    }

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
        *,
        sparsity: float = 0.03,
        noise_scale: float = 0.5,
        learning_rate: float = 0.005,
        weight_decay: float = 0.0,
        max_epochs: int | None = None,
        batch_size: int = 128,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.sparsity = sparsity
        self.noise_scale = noise_scale
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        sizes = self._sizes("hidden_layer_sizes", examples.inputs.shape[1], self._count_outputs())
        layers = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        start = Weights(np.zeros(self.encoding_.n_features, np.float32), layers)
        strengths = Strengths(float(self.sparsity), float(self.noise_scale))
        return self._descend(GlobalGates(self._loss, self._owners), start, examples, strengths, rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        gates = settle_gates(self.weights_.means)
        return np.broadcast_to(gates, (len(inputs), len(gates)))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


class STGClassifier(ClassTarget, STG):
    """Classifier behind stochastic gates; unlike LSPIN's they are the same for all rows.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the predictor's hidden layers; ``()`` is linear STG.
    sparsity
        Price of an open gate, in units of the loss.
    noise_scale
        Standard deviation of the gates' noise.
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

    References
    ----------
    Yamada, Lindenbaum, Negahban and Kluger, «Feature selection using stochastic gates», ICML 2020.

    """


class STGRegressor(ResponseTarget, STG):
    """Regressor behind stochastic gates; unlike LSPIN's they are the same for all rows.

    See :class:`STGClassifier` for the parameters and the reference.
    """

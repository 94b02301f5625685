"""INVASE: a selector that learns by trial and error, judged against a network that sees everything.

Yoon, Jordon and van der Schaar, «INVASE: instance-wise variable selection using neural networks», ICLR 2019.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.draws import draw_mask, log_likelihood, sigmoid
from lspin.baselines.rival import LEARNING_RATE, MAX_EPOCHS, Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.losses import RowLoss
from lspin.core.model import shut_missing
from lspin.core.networks import Layers, apply_layers, init_layers
from lspin.core.rows import Batch, spread_gates
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier, Regressor
from lspin.targets.settings import LAYERS, NOT_NEGATIVE, Setting, declare, first


class Weights(NamedTuple):
    """What INVASE learns."""

    selector: Layers  # to the log-odds of each feature
    prediction: Layers  # from the features that are drawn
    critic: Layers  # from all features: what the loss is measured against


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float


@dataclass(frozen=True)
class ActorCritic(Descent):
    """A selector that is rewarded where the predictor behind it comes near the critic."""

    loss: RowLoss

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """A number whose gradient is that of the paper's three losses, each in its own weights.

        Notes
        -----
        Features are drawn, so the selector's slope comes from the log-probability of the draw, times how much
        worse the prediction is than the critic's. The price of the expected number of features needs no draw.

        """
        from jax.lax import stop_gradient

        odds = apply_layers(weights.selector, batch.inputs, "tanh")
        chances = shut_missing(sigmoid(odds), batch.shut)
        mask = stop_gradient(draw_mask(key, chances))
        losses = self.lose(weights, mask, batch, tuning)
        critics = self.loss.by_row(apply_layers(weights.critic, batch.inputs, "silu"), batch.target)
        likelihood = shut_missing(log_likelihood(odds, mask), batch.shut).sum(axis=1)
        n_drawn = chances.sum(axis=1)
        actor = stop_gradient(losses - critics) * likelihood + tuning.strengths.sparsity * n_drawn
        return ((actor + losses + critics) * batch.shares).sum(), (n_drawn * batch.shares).sum()

    def judge(self, weights: Weights, batch: Batch, tuning: Tuning) -> Array:
        """The loss with the features that are likelier drawn than not."""
        odds = apply_layers(weights.selector, batch.inputs, "tanh")
        mask = shut_missing((odds > 0).astype(odds.dtype), batch.shut)
        return (self.lose(weights, mask, batch, tuning) * batch.shares).sum()

    def lose(self, weights: Weights, mask: Array, batch: Batch, tuning: Tuning) -> Array:
        """Loss of each row behind a mask."""
        seen = spread_gates(mask, tuning.owners)
        return self.loss.by_row(apply_layers(weights.prediction, seen * batch.inputs, "silu"), batch.target)


@declare()
class INVASE(TrainedRival):
    """A selector, a predictor behind it and a critic."""

    hidden_layer_sizes: tuple[int, ...] = first(
        Setting(LAYERS, "Widths of the hidden layers of the predictor, and of the critic that sees all features."),
        default=(200, 200),
    )
    gate_hidden_layer_sizes: tuple[int, ...] = Setting(LAYERS, "Widths of the selector's hidden layers.")(
        (100, 100)
    )
    sparsity: float = Setting([NOT_NEGATIVE], "Price of a selected feature, in units of the loss.")(0.03)
    learning_rate: float = LEARNING_RATE(0.002)
    max_epochs: int | None = MAX_EPOCHS._replace(help="Passes over the rows; by default about 5,000 steps.")(None)

    _n_steps: ClassVar[int] = 5000

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        n_inputs, n_features = examples.inputs.shape[1], self.encoding_.n_features
        predictor = self._sizes("hidden_layer_sizes", n_inputs, self.kind_.n_outputs)
        start = Weights(
            init_layers(draw, self._sizes("gate_hidden_layer_sizes", n_inputs, n_features), scale=1.0),
            init_layers(draw, predictor, scale=1.0),
            init_layers(draw, predictor, scale=1.0),
        )
        method = ActorCritic(self._row_loss)
        return self._descend(method, start, examples, Strengths(float(self.sparsity)), rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return (apply_layers(self.weights_.selector, inputs, "tanh") > 0).astype(np.float64)

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


@declare()
class INVASEClassifier(Classifier, INVASE):
    """Classifier that selects features for each row. Unlike in LSPIN, gates are 0 or 1, learned by REINFORCE.

    References
    ----------
    Yoon, Jordon and van der Schaar, «INVASE: instance-wise variable selection using neural networks», ICLR 2019.

    """


@declare()
class INVASERegressor(Regressor, INVASE):
    """Regressor that selects features for each row. Unlike in LSPIN, gates are 0 or 1, learned by REINFORCE.

    See :class:`INVASEClassifier` for the reference.
    """

"""INVASE: a selector that learns by trial and error, judged against a network that sees everything.

Yoon, Jordon and van der Schaar, «INVASE: instance-wise variable selection using neural networks», ICLR 2019.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.draws import draw_mask, log_likelihood, sigmoid
from lspin.baselines.rival import NOT_NEGATIVE, Rival
from lspin.losses import LOSSES
from lspin.model import Batch, shut_missing, spread_gates
from lspin.networks import Layers, apply_layers, init_layers
from lspin.noise import Array
from lspin.preparation import Examples
from lspin.targets import ClassTarget, ResponseTarget


class Weights(NamedTuple):
    """What INVASE learns."""

    selector: Layers  # to the log-odds of each feature
    prediction: Layers  # from the features that are drawn
    critic: Layers  # from all features: what the loss is measured against


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float


@dataclass(frozen=True)
class ActorCritic:
    """What fixes the program."""

    loss: str
    owners: tuple[int, ...] | None

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, strengths: Strengths
    ) -> Array:
        """A number whose gradient is that of the paper's three losses, each in its own weights.

        Notes
        -----
        Features are drawn, so the selector's slope comes from the log-probability of the draw, times how much
        worse the prediction is than the critic's. The price of the expected number of features needs no draw.

        """
        from jax.lax import stop_gradient

        odds = apply_layers(weights.selector, batch.values, "tanh")
        chances = shut_missing(sigmoid(odds), batch.shut)
        mask = stop_gradient(draw_mask(key, chances))
        seen = spread_gates(mask, None if self.owners is None else np.array(self.owners))
        losses = LOSSES[self.loss](apply_layers(weights.prediction, seen * batch.values, "silu"), batch.target)
        critics = LOSSES[self.loss](apply_layers(weights.critic, batch.values, "silu"), batch.target)
        likelihood = shut_missing(log_likelihood(odds, mask), batch.shut).sum(axis=1)
        actor = stop_gradient(losses - critics) * likelihood + strengths.sparsity * chances.sum(axis=1)
        return ((actor + losses + critics) * batch.shares).sum()


class INVASE(Rival):
    """A selector, a predictor behind it and a critic."""

    _parameter_constraints: ClassVar[dict] = {**Rival._parameter_constraints, "sparsity": [NOT_NEGATIVE]}
    _n_steps = 5000

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
        *,
        gate_hidden_layer_sizes: tuple[int, ...] = (100, 100),
        sparsity: float = 0.03,
        learning_rate: float = 0.002,
        weight_decay: float = 0.0,
        max_epochs: int | None = None,
        batch_size: int = 128,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.gate_hidden_layer_sizes = gate_hidden_layer_sizes
        self.sparsity = sparsity
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        n_inputs, n_features = examples.inputs.shape[1], self.encoding_.n_features
        predictor = self._sizes("hidden_layer_sizes", n_inputs, self._count_outputs())
        start = Weights(
            init_layers(draw, self._sizes("gate_hidden_layer_sizes", n_inputs, n_features), scale=1.0),
            init_layers(draw, predictor, scale=1.0),
            init_layers(draw, predictor, scale=1.0),
        )
        method = ActorCritic(self._loss, self._owners)
        return self._descend(method, start, examples, Strengths(float(self.sparsity)), rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return (apply_layers(self.weights_.selector, inputs, "tanh") > 0).astype(np.float64)

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


class INVASEClassifier(ClassTarget, INVASE):
    """Classifier whose features are drawn row by row; unlike LSPIN's gates they are 0 or 1, learned by REINFORCE.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the hidden layers of the predictor, and of the critic that sees all features.
    gate_hidden_layer_sizes
        Widths of the selector's hidden layers.
    sparsity
        Price of a selected feature, in units of the loss.
    learning_rate
        Of Adam, at the start of a cosine.
    weight_decay
        Part of each weight that decays in a step of learning rate 1.
    max_epochs
        Passes over the rows; by default about 5,000 steps.
    batch_size
        Rows of a step.
    random_state
        Seed: the same seed gives the same fit.

    References
    ----------
    Yoon, Jordon and van der Schaar, «INVASE: instance-wise variable selection using neural networks», ICLR 2019.

    """


class INVASERegressor(ResponseTarget, INVASE):
    """Regressor whose features are drawn row by row; unlike LSPIN's gates they are 0 or 1, learned by REINFORCE.

    See :class:`INVASEClassifier` for the parameters and the reference.
    """

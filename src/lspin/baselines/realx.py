"""REAL-X: a selector judged by a predictor that learned from features hidden at random; that one alone is EVAL-X.

Jethani, Sudarshan, Aphinyanaphongs and Ranganath, «Have we learned to explain? How interpretability methods can
learn to encode predictions in their interpretations», AISTATS 2021.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.draws import draw_mask, log_likelihood, log_odds, sigmoid
from lspin.baselines.net import Net, Nothing
from lspin.baselines.rival import LEARNING_RATE, MAX_EPOCHS, Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.losses import RowLoss
from lspin.core.model import shut_missing
from lspin.core.networks import Layers, apply_layers, init_layers
from lspin.core.noise import split_key, uniform
from lspin.core.rows import Batch, spread_gates
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier, Regressor
from lspin.targets.settings import LAYERS, NOT_NEGATIVE, POSITIVE, Setting, declare, first


@dataclass(frozen=True)
class RandomMasks(Descent):
    """EVAL-X: a predictor that learns with features hidden at random."""

    loss: RowLoss
    n_features: int

    def objective(
        self, weights: Layers, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """The loss with every feature hidden by the toss of a coin."""
        xp = batch.target.__array_namespace__()
        mask = draw_mask(key, xp.full((len(batch.target), self.n_features), 0.5))
        loss = (self.lose(weights, mask, batch, tuning) * batch.shares).sum()
        return loss, mask.sum(axis=1) @ batch.shares

    def judge(self, weights: Layers, batch: Batch, tuning: Tuning) -> Array:
        """The loss with all features."""
        mask = batch.target.__array_namespace__().ones((len(batch.target), self.n_features))
        return (self.lose(weights, mask, batch, tuning) * batch.shares).sum()

    def lose(self, weights: Layers, mask: Array, batch: Batch, tuning: Tuning) -> Array:
        """Loss of each row behind a mask."""
        seen = spread_gates(shut_missing(mask, batch.shut), tuning.owners)
        return self.loss.by_row(apply_layers(weights, seen * batch.inputs, "silu"), batch.target)


class Weights(NamedTuple):
    """What REAL-X learns."""

    selector: Layers  # to the log-odds of each feature
    prediction: Layers


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float
    temperature: float


@dataclass(frozen=True)
class Rebar(Descent):
    """REAL-X: a selector before EVAL-X."""

    evaluator: RandomMasks

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """A number whose gradient is EVAL-X's in the predictor, and REBAR's in the selector.

        Notes
        -----
        REBAR (Tucker et al. 2017) draws a mask and relaxes it to one that can be differentiated: once as it was
        drawn, once drawn again given the mask. The loss of the second is taken off the slope that comes from
        the log-probability of the mask, and added again by way of both relaxations: the slope is not biased,
        and varies less.

        """
        from jax import tree
        from jax.lax import stop_gradient

        random_key, first_key, second_key = split_key(key, 3)
        odds = apply_layers(weights.selector, batch.inputs, "tanh")
        mask, relaxed, again = relax(first_key, second_key, odds, tuning.strengths.temperature)
        frozen = tree.map(stop_gradient, weights.prediction)
        drawn, first, second = (self.evaluator.lose(frozen, m, batch, tuning) for m in (mask, relaxed, again))
        likelihood = shut_missing(log_likelihood(odds, mask), batch.shut).sum(axis=1)
        n_drawn = shut_missing(sigmoid(odds), batch.shut).sum(axis=1)
        slope = stop_gradient(drawn - second) * likelihood + first - second
        selector = ((slope + tuning.strengths.sparsity * n_drawn) * batch.shares).sum()
        evaluator, _ = self.evaluator.objective(weights.prediction, batch, random_key, progress, tuning)
        return selector + evaluator, (n_drawn * batch.shares).sum()

    def judge(self, weights: Weights, batch: Batch, tuning: Tuning) -> Array:
        """The loss with the features that are likelier drawn than not."""
        odds = apply_layers(weights.selector, batch.inputs, "tanh")
        losses = self.evaluator.lose(weights.prediction, (odds > 0).astype(odds.dtype), batch, tuning)
        return (losses * batch.shares).sum()


def relax(first_key: Array, second_key: Array, odds: Array, temperature: Array) -> tuple[Array, Array, Array]:
    """A drawn mask, the relaxation it comes from, and another one that would have given the same mask."""
    from jax.lax import stop_gradient

    chances, first = sigmoid(odds), uniform(first_key, odds.shape)
    mask = stop_gradient((first > 1 - chances).astype(odds.dtype))
    within = uniform(second_key, odds.shape)
    # Uniform over (1 - chances, 1) where the mask is 1, over (0, 1 - chances) where it is 0.
    second = mask * (1 - chances + within * chances) + (1 - mask) * within * (1 - chances)
    relaxed, again = (sigmoid((odds + log_odds(noise)) / temperature) for noise in (first, second))
    return mask, relaxed, again


@declare()
class EvalX(Net):
    """A network that has learned with features hidden at random."""

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Layers:
        sizes = self._sizes("hidden_layer_sizes", examples.inputs.shape[1], self.kind_.n_outputs)
        start = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        method = RandomMasks(self._row_loss, self.encoding_.n_features)
        return self._descend(method, start, examples, Nothing(), rng)


@declare()
class REALX(TrainedRival):
    """A selector before EVAL-X."""

    hidden_layer_sizes: tuple[int, ...] = first(
        Setting(LAYERS, "Widths of the predictor's hidden layers."), default=(200, 200)
    )
    gate_hidden_layer_sizes: tuple[int, ...] = Setting(LAYERS, "Widths of the selector's hidden layers.")(
        (100, 100)
    )
    sparsity: float = Setting([NOT_NEGATIVE], "Price of a selected feature, in units of the loss.")(0.01)
    temperature: float = Setting(
        [POSITIVE], "How far the relaxed masks, which only lower the variance of the slope, are from 0 and 1."
    )(0.1)
    learning_rate: float = LEARNING_RATE(0.003)
    max_epochs: int | None = MAX_EPOCHS._replace(help="Passes over the rows; by default about 5,000 steps.")(None)

    _n_steps: ClassVar[int] = 5000

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        n_inputs, n_features = examples.inputs.shape[1], self.encoding_.n_features
        start = Weights(
            init_layers(draw, self._sizes("gate_hidden_layer_sizes", n_inputs, n_features), scale=1.0),
            init_layers(draw, self._sizes("hidden_layer_sizes", n_inputs, self.kind_.n_outputs), scale=1.0),
        )
        strengths = Strengths(float(self.sparsity), float(self.temperature))
        method = Rebar(RandomMasks(self._row_loss, n_features))
        return self._descend(method, start, examples, strengths, rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return (apply_layers(self.weights_.selector, inputs, "tanh") > 0).astype(np.float64)

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


@declare()
class REALXClassifier(Classifier, REALX):
    """Classifier with a selector. Unlike in LSPIN, the predictor is trained on random masks, never on the gates.

    References
    ----------
    Jethani, Sudarshan, Aphinyanaphongs and Ranganath, «Have we learned to explain? How interpretability methods
    can learn to encode predictions in their interpretations», AISTATS 2021.

    """


@declare()
class REALXRegressor(Regressor, REALX):
    """Regressor with a selector. Unlike in LSPIN, the predictor is trained on random masks, never on the gates.

    See :class:`REALXClassifier` for the reference.
    """


@declare()
class EvalXClassifier(Classifier, EvalX):
    """Classifier for rows with hidden features, to judge the selections of other methods. It selects none.

    A NaN is a hidden value, and ``predict_with_gates(X, mask)`` predicts from the features of a mask. It can be
    the evaluator of :func:`lspin.audit.audit_leakage`.

    References
    ----------
    Jethani, Sudarshan, Aphinyanaphongs and Ranganath, «Have we learned to explain? How interpretability methods
    can learn to encode predictions in their interpretations», AISTATS 2021.

    """


@declare()
class EvalXRegressor(Regressor, EvalX):
    """Regressor for rows with hidden features, to judge the selections of other methods. It selects none.

    See :class:`EvalXClassifier` for what it can do and the reference.
    """

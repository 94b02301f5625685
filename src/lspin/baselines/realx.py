"""REAL-X: a selector judged by a predictor that learned from features hidden at random; that one alone is EVAL-X.

Jethani, Sudarshan, Aphinyanaphongs and Ranganath, «Have we learned to explain? How interpretability methods can
learn to encode predictions in their interpretations», AISTATS 2021.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.draws import draw_mask, log_likelihood, log_odds, sigmoid
from lspin.baselines.net import Net, Nothing
from lspin.baselines.rival import NOT_NEGATIVE, POSITIVE, Rival
from lspin.losses import LOSSES
from lspin.model import Batch, shut_missing, spread_gates
from lspin.networks import Layers, apply_layers, init_layers
from lspin.noise import Array, split_key, uniform
from lspin.preparation import Examples
from lspin.targets import ClassTarget, ResponseTarget


@dataclass(frozen=True)
class RandomMasks:
    """What fixes the program of EVAL-X."""

    loss: str
    owners: tuple[int, ...] | None
    n_features: int

    def objective(self, weights: Layers, batch: Batch, key: Array, progress: Array, strengths: Nothing) -> Array:
        """The loss with every feature hidden by the toss of a coin."""
        xp = batch.target.__array_namespace__()
        mask = draw_mask(key, xp.full((len(batch.target), self.n_features), 0.5))
        return (self.lose(weights, mask, batch) * batch.shares).sum()

    def lose(self, weights: Layers, mask: Array, batch: Batch) -> Array:
        """Loss of each row behind a mask."""
        seen = spread_gates(shut_missing(mask, batch.shut), None if self.owners is None else np.array(self.owners))
        return LOSSES[self.loss](apply_layers(weights, seen * batch.values, "silu"), batch.target)


class Weights(NamedTuple):
    """What REAL-X learns."""

    selector: Layers  # to the log-odds of each feature
    prediction: Layers


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float
    temperature: float


@dataclass(frozen=True)
class Rebar:
    """What fixes the program of REAL-X."""

    evaluator: RandomMasks

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, strengths: Strengths
    ) -> Array:
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
        odds = apply_layers(weights.selector, batch.values, "tanh")
        mask, relaxed, again = relax(first_key, second_key, odds, strengths.temperature)
        frozen = tree.map(stop_gradient, weights.prediction)
        drawn, first, second = (self.evaluator.lose(frozen, m, batch) for m in (mask, relaxed, again))
        likelihood = shut_missing(log_likelihood(odds, mask), batch.shut).sum(axis=1)
        price = strengths.sparsity * shut_missing(sigmoid(odds), batch.shut).sum(axis=1)
        slope = stop_gradient(drawn - second) * likelihood + first - second
        selector = ((slope + price) * batch.shares).sum()
        return selector + self.evaluator.objective(weights.prediction, batch, random_key, progress, Nothing())


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


class EvalX(Net):
    """A network that has learned with features hidden at random."""

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Layers:
        sizes = self._sizes("hidden_layer_sizes", examples.inputs.shape[1], self._count_outputs())
        start = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        method = RandomMasks(self._loss, self._owners, self.encoding_.n_features)
        return self._descend(method, start, examples, Nothing(), rng)


class REALX(Rival):
    """A selector before EVAL-X."""

    _parameter_constraints: ClassVar[dict] = {
        **Rival._parameter_constraints,
        "sparsity": [NOT_NEGATIVE],
        "temperature": [POSITIVE],
    }
    _n_steps = 5000

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
        *,
        gate_hidden_layer_sizes: tuple[int, ...] = (100, 100),
        sparsity: float = 0.01,
        temperature: float = 0.1,
        learning_rate: float = 0.003,
        weight_decay: float = 0.0,
        max_epochs: int | None = None,
        batch_size: int = 128,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.gate_hidden_layer_sizes = gate_hidden_layer_sizes
        self.sparsity = sparsity
        self.temperature = temperature
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        n_inputs, n_features = examples.inputs.shape[1], self.encoding_.n_features
        start = Weights(
            init_layers(draw, self._sizes("gate_hidden_layer_sizes", n_inputs, n_features), scale=1.0),
            init_layers(draw, self._sizes("hidden_layer_sizes", n_inputs, self._count_outputs()), scale=1.0),
        )
        strengths = Strengths(float(self.sparsity), float(self.temperature))
        method = Rebar(RandomMasks(self._loss, self._owners, n_features))
        return self._descend(method, start, examples, strengths, rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return (apply_layers(self.weights_.selector, inputs, "tanh") > 0).astype(np.float64)

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


class REALXClassifier(ClassTarget, REALX):
    """Classifier whose selector serves a predictor of random masks; unlike LSPIN's it never learns from the gates.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the predictor's hidden layers.
    gate_hidden_layer_sizes
        Widths of the selector's hidden layers.
    sparsity
        Price of a selected feature, in units of the loss.
    temperature
        How far the relaxed masks, which only lower the variance of the slope, are from 0 and 1.
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
    Jethani, Sudarshan, Aphinyanaphongs and Ranganath, «Have we learned to explain? How interpretability methods
    can learn to encode predictions in their interpretations», AISTATS 2021.

    """


class REALXRegressor(ResponseTarget, REALX):
    """Regressor whose selector serves a predictor of random masks; unlike LSPIN's it never learns from the gates.

    See :class:`REALXClassifier` for the parameters and the reference.
    """


class EvalXClassifier(ClassTarget, EvalX):
    """Classifier for rows of which any feature may be hidden; unlike LSPIN it selects none, but judges others.

    Not-a-number hides a value, and ``predict_with_gates(X, mask)`` predicts from the features of a mask. It can be
    the evaluator of :func:`lspin.audit.audit_leakage`.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the hidden layers.
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
    Jethani, Sudarshan, Aphinyanaphongs and Ranganath, «Have we learned to explain? How interpretability methods
    can learn to encode predictions in their interpretations», AISTATS 2021.

    """


class EvalXRegressor(ResponseTarget, EvalX):
    """Regressor for rows of which any feature may be hidden; unlike LSPIN it selects none, but judges others.

    See :class:`EvalXClassifier` for what it can do, the parameters and the reference.
    """

"""L2X: the given number of features, row by row, that say most about what a model of all features predicts.

Chen, Song, Wainwright and Jordan, «Learning to explain: an information-theoretic perspective on model
interpretation», ICML 2018.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.net import Nothing, Plain
from lspin.baselines.rival import COUNT, POSITIVE, Rival
from lspin.losses import complete_scores, squared_error
from lspin.model import Batch, shut_missing, spread_gates
from lspin.networks import Layers, apply_layers, init_layers
from lspin.noise import Array, uniform
from lspin.preparation import Examples
from lspin.targets import ClassTarget, ResponseTarget

NEVER = -1e9  # the score of a value that is missing


class Weights(NamedTuple):
    """What L2X learns, beside the model that it explains."""

    explainer: Layers  # to the score of each feature
    prediction: Layers  # from the features that are drawn to what the model says


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    temperature: float


@dataclass(frozen=True)
class Explaining:
    """What fixes the program."""

    loss: str
    owners: tuple[int, ...] | None
    n_features: int  # that are drawn

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, strengths: Strengths
    ) -> Array:
        """How far the predictor behind drawn features is from the model, whose outputs are the target."""
        from jax.lax import stop_gradient, top_k

        scores = apply_layers(weights.explainer, batch.values, "tanh")
        if batch.shut is not None:
            scores = scores + NEVER * batch.shut
        drawn = draw_features(key, scores, self.n_features, strengths.temperature)
        highest = stop_gradient(scores >= top_k(scores, self.n_features)[0][:, -1:]).astype(drawn.dtype)
        # Draws repeat themselves, so the predictor would hardly ever meet as many features as it will be shown.
        distance = self.compare(weights.prediction, drawn, batch) + self.compare(
            weights.prediction, highest, batch
        )
        return (distance * batch.shares).sum()

    def compare(self, weights: Layers, gates: Array, batch: Batch) -> Array:
        """Distance of each row's outputs behind gates from the model's."""
        seen = spread_gates(
            shut_missing(gates, batch.shut), None if self.owners is None else np.array(self.owners)
        )
        return DISTANCES[self.loss](apply_layers(weights, seen * batch.values, "silu"), batch.target)


def draw_features(key: Array, scores: Array, count: int, temperature: Array) -> Array:
    """The largest, feature by feature, of so many relaxed draws of one feature by its score."""
    from jax.nn import softmax

    xp = scores.__array_namespace__()
    # Neither 0 nor 1, where the logarithm of a logarithm is infinite.
    chances = xp.clip(uniform(key, (count, *scores.shape)), 2.0**-24, 1 - 2.0**-24)
    gumbel = -xp.log(-xp.log(chances))
    return softmax((scores + gumbel) / temperature, axis=-1).max(axis=0)


def soft_cross_entropy(outputs: Array, model: Array) -> Array:
    """Cross-entropy of each row's classes with the probabilities that the scores of a model give them."""
    from jax.nn import log_softmax, softmax

    return -(softmax(complete_scores(model)) * log_softmax(complete_scores(outputs))).sum(axis=1)


DISTANCES = {
    "cross_entropy": soft_cross_entropy,
    "squared_error": lambda outputs, model: squared_error(outputs, model[:, 0]),
}


class L2X(Rival):
    """A model of all features, an explainer, and a predictor behind it."""

    _parameter_constraints: ClassVar[dict] = {
        **Rival._parameter_constraints,
        "n_features": [COUNT],
        "temperature": [POSITIVE],
    }
    _n_steps = 1500

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (200, 200),
        *,
        gate_hidden_layer_sizes: tuple[int, ...] = (100, 100),
        n_features: int = 4,
        temperature: float = 0.1,
        learning_rate: float = 0.002,
        weight_decay: float = 0.0,
        max_epochs: int | None = None,
        batch_size: int = 128,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.gate_hidden_layer_sizes = gate_hidden_layer_sizes
        self.n_features = n_features
        self.temperature = temperature
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        n_inputs, n_features = examples.inputs.shape[1], self.encoding_.n_features
        predictor = self._sizes("hidden_layer_sizes", n_inputs, self._count_outputs())
        model = init_layers(draw, predictor, scale=1.0)
        model = self._descend(Plain(self._loss), model, examples, Nothing(), rng)
        explained = examples._replace(target=apply_layers(model, examples.inputs, "silu"))
        start = Weights(
            init_layers(draw, self._sizes("gate_hidden_layer_sizes", n_inputs, n_features), scale=1.0),
            init_layers(draw, predictor, scale=1.0),
        )
        method = Explaining(self._loss, self._owners, int(self.n_features))
        return self._descend(method, start, explained, Strengths(float(self.temperature)), rng)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return mark_highest(apply_layers(self.weights_.explainer, inputs, "tanh"), int(self.n_features))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return apply_layers(self.weights_.prediction, gates * inputs, "silu")


def mark_highest(scores: np.ndarray, count: int) -> np.ndarray:
    """1 for so many highest scores of each row, else 0; of equal ones the first."""
    marked = np.zeros(scores.shape)
    np.put_along_axis(marked, np.argsort(-scores, axis=1, kind="stable")[:, :count], 1.0, axis=1)
    return marked


class L2XClassifier(ClassTarget, L2X):
    """Classifier that explains another one by a fixed number of features; LSPIN's number differs row by row.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the hidden layers of the model, which sees all features, and of the predictor that explains it.
    gate_hidden_layer_sizes
        Widths of the explainer's hidden layers.
    n_features
        Features of each row.
    temperature
        How far the relaxed draws of features are from 0 and 1.
    learning_rate
        Of Adam, at the start of a cosine.
    weight_decay
        Part of each weight that decays in a step of learning rate 1.
    max_epochs
        Passes over the rows, both of the model and of its explanation; by default about 1,500 steps.
    batch_size
        Rows of a step.
    random_state
        Seed: the same seed gives the same fit.

    Notes
    -----
    Departs from its paper in one thing: the predictor also learns from the features of highest score, which is
    what it is shown when it predicts. On the set Syn1 that finds 66 % of the features instead of 41.

    References
    ----------
    Chen, Song, Wainwright and Jordan, «Learning to explain: an information-theoretic perspective on model
    interpretation», ICML 2018.

    """


class L2XRegressor(ResponseTarget, L2X):
    """Regressor that explains another one by a fixed number of features; LSPIN's number differs row by row.

    See :class:`L2XClassifier` for the parameters and the reference.
    """

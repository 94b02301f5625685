"""L2X: the given number of features, row by row, that say most about what a model of all features predicts.

Chen, Song, Wainwright and Jordan, «Learning to explain: an information-theoretic perspective on model
interpretation», ICML 2018.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from lspin.baselines.net import Nothing, Plain
from lspin.baselines.rival import LEARNING_RATE, MAX_EPOCHS, Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.losses import RowLoss
from lspin.core.model import shut_missing
from lspin.core.networks import Layers, apply_layers, init_layers
from lspin.core.noise import uniform
from lspin.core.rows import Batch, spread_gates
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier, Regressor
from lspin.targets.settings import COUNT, LAYERS, POSITIVE, Setting, declare, first

NEVER = -1e9  # the score of a value that is missing


class Weights(NamedTuple):
    """What L2X learns, beside the model that it explains."""

    explainer: Layers  # to the score of each feature
    prediction: Layers  # from the features that are drawn to what the model says


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    temperature: float


@dataclass(frozen=True)
class Explaining(Descent):
    """An explainer that draws features, and a predictor that comes near a model from these."""

    loss: RowLoss
    n_features: int  # that are drawn

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """How far the predictor behind drawn features is from the model, whose outputs are the target."""
        scores = self.rate(weights, batch)
        drawn = draw_features(key, scores, self.n_features, tuning.strengths.temperature)
        # Draws repeat themselves, so the predictor would hardly ever meet as many features as it will be shown.
        distance = self.compare(weights, drawn, batch, tuning) + self.compare(
            weights, self.mark(scores), batch, tuning
        )
        loss = (distance * batch.shares).sum()
        return loss, loss.__array_namespace__().full_like(loss, self.n_features)

    def judge(self, weights: Weights, batch: Batch, tuning: Tuning) -> Array:
        """The distance from the model with the features of highest score."""
        distance = self.compare(weights, self.mark(self.rate(weights, batch)), batch, tuning)
        return (distance * batch.shares).sum()

    def rate(self, weights: Weights, batch: Batch) -> Array:
        """The score of each feature."""
        scores = apply_layers(weights.explainer, batch.inputs, "tanh")
        return scores if batch.shut is None else scores + NEVER * batch.shut

    def mark(self, scores: Array) -> Array:
        """1 for the features of highest score, to which no gradient flows."""
        from jax.lax import stop_gradient, top_k

        return stop_gradient(scores >= top_k(scores, self.n_features)[0][:, -1:]).astype(scores.dtype)

    def compare(self, weights: Weights, gates: Array, batch: Batch, tuning: Tuning) -> Array:
        """Distance of each row's outputs behind gates from the model's, which are the target."""
        seen = spread_gates(shut_missing(gates, batch.shut), tuning.owners)
        return self.loss.against_model(apply_layers(weights.prediction, seen * batch.inputs, "silu"), batch.target)


def draw_features(key: Array, scores: Array, count: int, temperature: Array) -> Array:
    """The largest, feature by feature, of so many relaxed draws of one feature by its score."""
    from jax.nn import softmax

    xp = scores.__array_namespace__()
    # Neither 0 nor 1, where the logarithm of a logarithm is infinite.
    chances = xp.clip(uniform(key, (count, *scores.shape)), 2.0**-24, 1 - 2.0**-24)
    gumbel = -xp.log(-xp.log(chances))
    return softmax((scores + gumbel) / temperature, axis=-1).max(axis=0)


@declare()
class L2X(TrainedRival):
    """A model of all features, an explainer, and a predictor behind it."""

    hidden_layer_sizes: tuple[int, ...] = first(
        Setting(
            LAYERS, "Widths of the hidden layers of the model of all features and of the one that explains it."
        ),
        default=(200, 200),
    )
    gate_hidden_layer_sizes: tuple[int, ...] = Setting(LAYERS, "Widths of the explainer's hidden layers.")(
        (100, 100)
    )
    n_features: int = Setting([COUNT], "Features of each row.")(4)
    temperature: float = Setting([POSITIVE], "How far the relaxed draws of features are from 0 and 1.")(0.1)
    learning_rate: float = LEARNING_RATE(0.002)
    max_epochs: int | None = MAX_EPOCHS._replace(
        help="Passes over the rows, of the model and of its explanation each; by default about 1,500 steps."
    )(None)

    _n_steps: ClassVar[int] = 1500

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        n_inputs, n_features = examples.inputs.shape[1], self.encoding_.n_features
        predictor = self._sizes("hidden_layer_sizes", n_inputs, self.kind_.n_outputs)
        model = init_layers(draw, predictor, scale=1.0)
        model = self._descend(Plain(self.kind_.loss, n_features), model, examples, Nothing(), rng)
        explained = examples._replace(target=apply_layers(model, examples.inputs, "silu"))
        start = Weights(
            init_layers(draw, self._sizes("gate_hidden_layer_sizes", n_inputs, n_features), scale=1.0),
            init_layers(draw, predictor, scale=1.0),
        )
        method = Explaining(self._row_loss, int(self.n_features))
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


@declare()
class L2XClassifier(Classifier, L2X):
    """Classifier that explains another one by a fixed number of features per row. In LSPIN the number varies.

    Notes
    -----
    One difference from the paper: the predictor is also trained on the features with the highest scores, because
    it predicts from these. On Syn1 this finds 66 % of the features instead of 41 %.

    References
    ----------
    Chen, Song, Wainwright and Jordan, «Learning to explain: an information-theoretic perspective on model
    interpretation», ICML 2018.

    """


@declare()
class L2XRegressor(Regressor, L2X):
    """Regressor that explains another one by a fixed number of features per row. In LSPIN the number varies.

    See :class:`L2XClassifier` for the reference.
    """

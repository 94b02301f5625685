"""The contextual lasso: a network turns the context of a row into sparse coefficients of a linear model.

Thompson, Dezfouli and Kohn, «The contextual lasso: sparse linear models via deep neural networks», NeurIPS 2023.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lspin.baselines.rival import BATCH_SIZE, WEIGHT_DECAY, Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.losses import RowLoss
from lspin.core.networks import Layers, apply_layers, init_layers
from lspin.core.rows import Batch
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier, Regressor
from lspin.targets.settings import LAYERS, POSITIVE, Setting, declare, first

TIGHTENING = 0.5  # part of the run in which the radius shrinks
N_NEWTON = 15  # steps towards the threshold; 500,000 sizes of four laws took at most 12


class Weights(NamedTuple):
    """What the contextual lasso learns."""

    layers: Layers  # from the context to the coefficients
    intercept: Array  # (n_outputs,)
    threshold: Array | None = None  # that of all training rows, once they have been learned from


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    radius: float
    first_radius: float  # at the start, where no coefficient is shrunk


@dataclass(frozen=True)
class Projected(Descent):
    """Linear models whose coefficients come from a network and are projected onto a radius."""

    loss: RowLoss
    context: tuple[int, ...]  # inputs that the network sees

    def objective(
        self, weights: Weights, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """The loss of linear models whose coefficients are projected onto the radius."""
        dense = (1 - progress / TIGHTENING).clip(0.0, 1.0)
        radius = tuning.strengths.radius ** (1 - dense) * tuning.strengths.first_radius**dense
        slopes = self.project(weights, batch, radius)
        is_used = (slopes != 0).any(axis=2).astype(slopes.dtype)
        return self.lose(weights, slopes, batch), (is_used.sum(axis=1) * batch.shares).sum()

    def judge(self, weights: Weights, batch: Batch, tuning: Tuning) -> Array:
        """The loss on the radius that is asked for."""
        return self.lose(weights, self.project(weights, batch, tuning.strengths.radius), batch)

    def project(self, weights: Weights, batch: Batch, radius: Array) -> Array:
        """Sparse coefficients of a batch, shape ``(n, n_inputs, n_outputs)``."""
        slopes = propose_slopes(weights, batch.inputs, np.array(self.context))
        total = batch.shares.__array_namespace__().maximum(batch.shares.sum(), 1e-9)
        return shrink(slopes, find_threshold(slopes, batch.shares / total, radius))

    def lose(self, weights: Weights, slopes: Array, batch: Batch) -> Array:
        """The loss of a batch; missing values are 0, so that their coefficients count for nothing."""
        outputs = weights.intercept + (slopes * batch.inputs[:, :, None]).sum(axis=1)
        return self.loss.average(outputs, batch.target, batch.shares)


def propose_slopes(weights: Weights, inputs: Array, context: np.ndarray) -> Array:
    """Coefficients as the network has them, not sparse yet: shape ``(n, n_inputs, n_outputs)``."""
    slopes = apply_layers(weights.layers, inputs[:, context], "silu")
    return slopes.reshape(*inputs.shape, len(weights.intercept))


def find_threshold(slopes: Array, shares: Array, radius: Array) -> Array:
    """By how much coefficients shrink in the projection onto those of a mean size of the radius.

    Parameters
    ----------
    slopes
        Shape ``(n, n_inputs, n_outputs)``.
    shares
        Each row's share of the mean, shape ``(n,)``.
    radius
        Sum of the absolute coefficients of a row, in the mean over rows.

    Notes
    -----
    The projection onto the ball ``sum_i shares_i |slopes_i|_1 <= radius``, near by distances of the same shares,
    subtracts one threshold from all sizes. It is found by Newton's steps from 0: the sizes above the last one ask
    for ``(sum of shares x sizes - radius) / sum of shares``, which never is too much. That is exact once no size
    falls below any more, and needs no sort, which would take a third of a fit's time.

    """
    xp = slopes.__array_namespace__()
    sizes = xp.abs(slopes)
    counts = xp.broadcast_to(xp.reshape(shares, (-1, 1, 1)), slopes.shape)
    threshold = xp.zeros_like(sizes[0, 0, 0])
    for _ in range(N_NEWTON):
        above = counts * (sizes > threshold)
        asked = ((above * sizes).sum() - radius) / xp.maximum(above.sum(), 1e-30)
        threshold = xp.maximum(asked, 0.0)
    return threshold


def shrink(slopes: Array, threshold: Array) -> Array:
    """Soft thresholding."""
    xp = slopes.__array_namespace__()
    return xp.sign(slopes) * xp.maximum(xp.abs(slopes) - threshold, 0.0)


@declare()
class ContextualLasso(TrainedRival):
    """Linear models whose coefficients depend on the context."""

    hidden_layer_sizes: tuple[int, ...] = first(
        Setting(LAYERS, "Widths of the hidden layers of the network from the context to the coefficients."),
        default=(100, 100),
    )
    radius: float = Setting(
        [POSITIVE],
        "Sum of the absolute coefficients of a row, averaged over rows, in units of standardised columns.",
    )(2.0)
    context: Sequence[int | str] | None = Setting(
        ["array-like", None],
        "Names or positions of the columns that the network sees; by default all. All columns have coefficients.",
    )(None)
    weight_decay: float = WEIGHT_DECAY(2.0)
    batch_size: int = BATCH_SIZE._replace(help="Rows of a step. The radius holds for each batch.")(128)

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        n_outputs, n_inputs = self.kind_.n_outputs, examples.inputs.shape[1]
        self.context_ = self._find_context()
        sizes = self._sizes("hidden_layer_sizes", len(self.context_), n_inputs * n_outputs)
        layers = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        start = Weights(layers, np.zeros(n_outputs, np.float32))
        program = Projected(self._row_loss, tuple(self.context_.tolist()))
        shares = examples.weight / examples.weight.sum()
        first = shares @ np.abs(propose_slopes(start, examples.inputs, self.context_)).sum(axis=(1, 2))
        strengths = Strengths(float(self.radius), float(max(first, self.radius)))
        weights = self._descend(program, start, examples, strengths, rng)
        slopes = propose_slopes(weights, examples.inputs, self.context_)
        return weights._replace(threshold=find_threshold(slopes, shares, self.radius))

    def _find_context(self) -> np.ndarray:
        """Places of the inputs that belong to the columns of the context."""
        if self.context is None:
            return np.arange(len(self.encoding_.owners))
        names = list(getattr(self, "feature_names_in_", []))
        columns = [names.index(one) if one in names else one for one in self.context]
        if not all(isinstance(one, int | np.integer) and 0 <= one < self.n_features_in_ for one in columns):
            raise ValueError(f"context must hold names or numbers of columns, got {self.context!r}")
        places = np.flatnonzero(np.isin(self.encoding_.features[self.encoding_.owners], columns))
        if len(places) == 0:
            raise ValueError(f"none of the columns of the context, {self.context!r}, varies")
        return places

    def _slopes(self, inputs: np.ndarray) -> np.ndarray:
        """Sparse coefficients of rows, with the threshold of the training rows."""
        return shrink(propose_slopes(self.weights_, inputs, self.context_), self.weights_.threshold)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        gates = np.zeros((self.encoding_.n_features, len(inputs)))
        np.maximum.at(gates, self.encoding_.owners, (self._slopes(inputs) != 0).any(axis=2).T)
        return gates.T

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        return self.weights_.intercept + (self._slopes(inputs) * (gates * inputs)[:, :, None]).sum(axis=1)


@declare()
class ContextualLassoClassifier(Classifier, ContextualLasso):
    """Classifier with a sparse linear model for each row.

    A gate is open if the coefficient is not 0. Unlike in LSPIN, gates are not separate factors.

    Notes
    -----
    In training, the coefficients of a batch are projected onto the radius, which shrinks all of them by one
    threshold. After training, the threshold is computed once on all training rows, and new rows use it. A
    coefficient that is 0 for all rows has no gradient and cannot return. The paper therefore fits a path of radii
    from dense to sparse, each fit starting from the last; here the radius shrinks during the first half of a
    single run. The intercept is the same for all rows: an intercept that depends on all columns could predict
    without any coefficient.

    References
    ----------
    Thompson, Dezfouli and Kohn, «The contextual lasso: sparse linear models via deep neural networks»,
    NeurIPS 2023.

    """


@declare()
class ContextualLassoRegressor(Regressor, ContextualLasso):
    """Regressor with a sparse linear model for each row.

    See :class:`ContextualLassoClassifier` for the reference.
    """

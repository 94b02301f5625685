"""ProtoGate: gates of each row, and a vote of the nearest training rows behind their own gates.

Jiang, Margeloiu, Simidjievski and Jamnik, «ProtoGate: prototype-based neural networks with global-to-local feature
selection for tabular biomedical data», ICML 2024.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from lspin.baselines.rival import BATCH_SIZE, WEIGHT_DECAY, Descent, TrainedRival, Tuning
from lspin.core.arrays import Array
from lspin.core.gates import sample_gates, settle_gates
from lspin.core.model import shut_missing
from lspin.core.networks import Layers, apply_layers, init_layers, tanh
from lspin.core.noise import normal
from lspin.core.penalties import sparsity_penalty, squared_distances
from lspin.core.rows import Batch, spread_gates
from lspin.fitting.prediction import row_blocks
from lspin.fitting.preparation import Examples
from lspin.targets import Classifier
from lspin.targets.settings import COUNT, LAYERS, NOT_NEGATIVE, POSITIVE, Setting, declare, first

PSEUDOCOUNT = 0.5  # votes that every class has from the start, so that no probability is 0


class Weights(NamedTuple):
    """What ProtoGate learns."""

    gating: Layers
    prototypes: np.ndarray  # (n, n_inputs), training rows behind their gates
    codes: np.ndarray  # (n,), their classes
    counts: np.ndarray  # (n,), their weights, mean 1


class Strengths(NamedTuple):
    """Numbers that may change between fits without compiling again."""

    sparsity: float
    global_sparsity: float
    noise_scale: float
    temperature: float


@dataclass(frozen=True)
class Prototypes(Descent):
    """Gates behind which the nearest rows of a batch should be of one class."""

    n_neighbors: int

    def objective(
        self, gating: Layers, batch: Batch, key: Array, progress: Array, tuning: Tuning
    ) -> tuple[Array, Array]:
        """How many of a row's nearest rows in the batch are of another class, and what gates cost."""
        strengths: Strengths = tuning.strengths
        means = gate_means(gating, batch.inputs)
        gates = sample_gates(means, normal(key, means.shape), strengths.noise_scale)
        loss = self.lose(gates, batch, tuning)
        loss += strengths.sparsity * sparsity_penalty(means, strengths.noise_scale, batch.shares[:, None])
        loss += strengths.global_sparsity * abs(gating[0].weights).sum()
        is_open = shut_missing((means > -0.5).astype(means.dtype), batch.shut)
        return loss, (is_open.sum(axis=1) * batch.shares).sum()

    def judge(self, gating: Layers, batch: Batch, tuning: Tuning) -> Array:
        """The share of other classes among the nearest rows of the batch, behind gates without noise."""
        return self.lose(settle_gates(gate_means(gating, batch.inputs)), batch, tuning)

    def lose(self, gates: Array, batch: Batch, tuning: Tuning) -> Array:
        """How many of a row's nearest rows in the batch are of another class."""
        gated = spread_gates(shut_missing(gates, batch.shut), tuning.owners) * batch.inputs
        # A row is no prototype of its own.
        counts = (batch.shares * batch.n_rows)[None] * (1 - np.eye(len(gated), dtype=np.float32))
        near = soft_nearest(squared_distances(gated), counts, self.n_neighbors, tuning.strengths.temperature)
        differs = batch.target[:, None] != batch.target
        return ((near * differs).sum(axis=1) * batch.shares).sum()


def gate_means(gating: Layers, inputs: Array) -> Array:
    """Mean of every gate before the shift by one half, in (-1, 1)."""
    return tanh(apply_layers(gating, inputs, "tanh"))


def soft_nearest(distances: Array, counts: Array, n_neighbors: int, temperature: Array) -> Array:
    """How far each column is among the nearest of each row: the first ranks of a relaxed sort, averaged.

    Parameters
    ----------
    distances
        Shape ``(n, m)``.
    counts
        How often each column is there for each row, shape ``(n, m)``; 0 where it is not.
    n_neighbors
        How many are asked.
    temperature
        Towards 0 this becomes the exact vote of the nearest.

    Returns
    -------
    Shares of shape ``(n, m)``, each row's sum 1.

    Notes
    -----
    NeuralSort (Grover et al. 2019): rank ``i`` of ``N`` items of size ``s`` is the softmax of ``((N + 1 - 2 i) s_j
    - sum_k |s_j - s_k|) / temperature``. An item that is there several times counts as often in the sum and in the
    softmax.

    """
    import jax
    import jax.numpy as jnp

    totals = counts.sum(axis=1, keepdims=True)
    spreads = (jnp.abs(distances[:, :, None] - distances[:, None]) * counts[:, None]).sum(axis=2)
    there = jnp.where(counts > 0, jnp.log(jnp.maximum(counts, 1e-30)), -jnp.inf)
    # Fewer rows than are asked: the last rank stands in.
    ranks = jnp.minimum(jnp.arange(1, n_neighbors + 1)[:, None, None], jnp.maximum(totals, 1.0))
    scores = -(totals + 1 - 2 * ranks) * distances - spreads
    return jax.nn.softmax(scores / temperature + there, axis=2).mean(axis=0)


def count_votes(distances: np.ndarray, counts: np.ndarray, codes: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Votes of the nearest for each class, shape ``(n, n_classes)``: together as many as are asked.

    A column that is there twice has two votes; the last one asked has what is left.
    """
    order = np.argsort(distances, axis=1, kind="stable")
    before = np.cumsum(counts[order], axis=1) - counts[order]
    votes = np.clip(n_neighbors - before, 0.0, counts[order])
    return np.stack([(votes * (codes[order] == code)).sum(axis=1) for code in range(codes.max() + 1)], axis=1)


@declare()
class ProtoGateClassifier(Classifier, TrainedRival):
    """Classifier by a vote of the nearest training rows, after gating.

    Unlike LSPIN, it has no prediction network: the gated values of a row are compared with those of other rows.

    Notes
    -----
    The loss is the share of other classes among the nearest rows of the batch, with a relaxed sort. The fitted
    model uses the exact nearest of all training rows. Every class starts with half a vote, so that no probability
    is 0 or 1.

    References
    ----------
    Jiang, Margeloiu, Simidjievski and Jamnik, «ProtoGate: prototype-based neural networks with global-to-local
    feature selection for tabular biomedical data», ICML 2024.

    """

    gate_hidden_layer_sizes: tuple[int, ...] = first(
        Setting(LAYERS, "Widths of the hidden layers of the gating network."), default=(200,)
    )
    sparsity: float = Setting([NOT_NEGATIVE], "Price of an open gate, the paper's local sparsity.")(0.001)
    global_sparsity: float = Setting(
        [NOT_NEGATIVE],
        "Price of the absolute weights of the gating network's first layer, which all rows share.",
    )(1e-4)
    n_neighbors: int = Setting([COUNT], "How many training rows vote.")(5)
    temperature: float = Setting([POSITIVE], "Temperature of the relaxed sort in training.")(4.0)
    noise_scale: float = Setting([POSITIVE], "Standard deviation of the gates' noise.")(0.5)
    weight_decay: float = WEIGHT_DECAY(1.0)
    batch_size: int = BATCH_SIZE._replace(
        help="Rows of a step, which are queries and prototypes alike; time grows with the cube of it."
    )(64)

    def _train(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        sizes = self._sizes("gate_hidden_layer_sizes", examples.inputs.shape[1], self.encoding_.n_features)
        start = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        strengths = Strengths(*(float(getattr(self, name)) for name in Strengths._fields))
        gating = self._descend(Prototypes(int(self.n_neighbors)), start, examples, strengths, rng)
        gates = shut_missing(settle_gates(gate_means(gating, examples.inputs)), examples.shut)
        prototypes = spread_gates(gates, self.encoding_.shared_owners) * examples.inputs
        return Weights(gating, prototypes, examples.target.astype(int), examples.weight)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return settle_gates(gate_means(self.weights_.gating, inputs))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        known = self.weights_
        votes = np.empty((len(inputs), len(self.kind_.labels)))
        for block in row_blocks(len(inputs), len(known.codes)):
            distances = cdist(gates[block] * inputs[block], known.prototypes, "sqeuclidean")
            votes[block] = count_votes(distances, known.counts, known.codes, self.n_neighbors)
        scores = np.log(votes + PSEUDOCOUNT)
        return scores if len(self.kind_.labels) > 2 else scores[:, 1:] - scores[:, :1]

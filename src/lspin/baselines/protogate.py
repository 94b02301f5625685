"""ProtoGate: gates of each row, and a vote of the nearest training rows behind their own gates.

Jiang, Margeloiu, Simidjievski and Jamnik, «ProtoGate: prototype-based neural networks with global-to-local feature
selection for tabular biomedical data», ICML 2024.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from lspin.baselines.rival import COUNT, NOT_NEGATIVE, POSITIVE, Rival
from lspin.gates import sample_gates, settle_gates
from lspin.inference import row_blocks
from lspin.model import Batch, shut_missing, spread_gates
from lspin.networks import Layers, apply_layers, init_layers, tanh
from lspin.noise import Array, normal
from lspin.penalties import sparsity_penalty, squared_distances
from lspin.preparation import Examples
from lspin.targets import ClassTarget

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
class Prototypes:
    """What fixes the program."""

    n_neighbors: int
    owners: tuple[int, ...] | None

    def objective(self, gating: Layers, batch: Batch, key: Array, progress: Array, strengths: Strengths) -> Array:
        """How many of a row's nearest rows in the batch are of another class, and what gates cost."""
        means = gate_means(gating, batch.values)
        noise = normal(key, means.shape)
        gates = shut_missing(sample_gates(means, noise, strengths.noise_scale), batch.shut)
        gated = spread_gates(gates, None if self.owners is None else np.array(self.owners)) * batch.values
        # A row is no prototype of its own.
        counts = (batch.shares * batch.n_rows)[None] * (1 - np.eye(len(gated), dtype=np.float32))
        near = soft_nearest(squared_distances(gated), counts, self.n_neighbors, strengths.temperature)
        differs = batch.target[:, None] != batch.target
        loss = ((near * differs).sum(axis=1) * batch.shares).sum()
        loss += strengths.sparsity * sparsity_penalty(means, strengths.noise_scale, batch.shares[:, None])
        return loss + strengths.global_sparsity * abs(gating[0].weights).sum()


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


class ProtoGateClassifier(ClassTarget, Rival):
    """Classifier by the nearest training rows behind gates.

    Unlike LSPIN it has no prediction network: a row and its neighbours are compared as their gates leave them.

    Parameters
    ----------
    gate_hidden_layer_sizes
        Widths of the hidden layers of the gating network.
    sparsity
        Price of an open gate, the paper's local sparsity.
    global_sparsity
        Price of the absolute weights of the gating network's first layer, which all rows share.
    n_neighbors
        How many training rows vote.
    temperature
        Of the relaxed sort in training.
    noise_scale
        Standard deviation of the gates' noise.
    learning_rate
        Of Adam, at the start of a cosine.
    weight_decay
        Part of each weight that decays in a step of learning rate 1.
    max_epochs
        Passes over the rows; by default about 2,000 steps.
    batch_size
        Rows of a step, which are queries and prototypes alike; time grows with the cube of it.
    random_state
        Seed: the same seed gives the same fit.

    Notes
    -----
    The loss is the share of other classes among the nearest, by a relaxed sort. A fitted model asks the nearest of
    all training rows exactly. Every class has half a vote from the start, so that no probability is 0 or 1.

    References
    ----------
    Jiang, Margeloiu, Simidjievski and Jamnik, «ProtoGate: prototype-based neural networks with global-to-local
    feature selection for tabular biomedical data», ICML 2024.

    """

    _parameter_constraints: ClassVar[dict] = {
        **Rival._parameter_constraints,
        "sparsity": [NOT_NEGATIVE],
        "global_sparsity": [NOT_NEGATIVE],
        "n_neighbors": [COUNT],
        "temperature": [POSITIVE],
        "noise_scale": [POSITIVE],
    }

    def __init__(
        self,
        gate_hidden_layer_sizes: tuple[int, ...] = (200,),
        *,
        sparsity: float = 0.001,
        global_sparsity: float = 1e-4,
        n_neighbors: int = 5,
        temperature: float = 4.0,
        noise_scale: float = 0.5,
        learning_rate: float = 0.005,
        weight_decay: float = 1.0,
        max_epochs: int | None = None,
        batch_size: int = 64,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.gate_hidden_layer_sizes = gate_hidden_layer_sizes
        self.sparsity = sparsity
        self.global_sparsity = global_sparsity
        self.n_neighbors = n_neighbors
        self.temperature = temperature
        self.noise_scale = noise_scale
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _learn(self, examples: Examples, rng: np.random.RandomState) -> Weights:
        sizes = self._sizes("gate_hidden_layer_sizes", examples.inputs.shape[1], self.encoding_.n_features)
        start = init_layers(np.random.default_rng(rng.randint(2**31 - 1)), sizes, scale=1.0)
        strengths = Strengths(*(float(getattr(self, name)) for name in Strengths._fields))
        gating = self._descend(Prototypes(int(self.n_neighbors), self._owners), start, examples, strengths, rng)
        gates = shut_missing(settle_gates(gate_means(gating, examples.inputs)), examples.shut)
        prototypes = spread_gates(gates, self.encoding_.shared_owners) * examples.inputs
        return Weights(gating, prototypes, examples.target.astype(int), examples.weight)

    def _open(self, inputs: np.ndarray) -> np.ndarray:
        return settle_gates(gate_means(self.weights_.gating, inputs))

    def _score(self, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
        known = self.weights_
        votes = np.empty((len(inputs), len(self.classes_)))
        for block in row_blocks(len(inputs), len(known.codes)):
            distances = cdist(gates[block] * inputs[block], known.prototypes, "sqeuclidean")
            votes[block] = count_votes(distances, known.counts, known.codes, self.n_neighbors)
        scores = np.log(votes + PSEUDOCOUNT)
        return scores if len(self.classes_) > 2 else scores[:, 1:] - scores[:, :1]

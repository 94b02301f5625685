"""LSPIN for groups that are far apart: gates without hidden layer, little noise, no foreign gates.

The unequal example wants it; docs/method.md says why.
"""

from benchmarks.method import Method
from benchmarks.methods.lspin import fit_path
from benchmarks.protocol import Budget, Fitted, Samples

SETTINGS = {
    "gate_hidden_layer_sizes": (), "noise_scale": 0.4, "gate_exchange": 0.0, "weight_decay": 0.0, "n_restarts": 5,
}  # fmt: skip
EPOCHS = 300


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_path(train, valid, seed, budget, **SETTINGS, max_epochs=budget.epochs or EPOCHS)


METHOD = Method(fit)

"""LLSPIN: our linear predictor behind gates."""

from benchmarks.methods.lspin import fit_path
from benchmarks.protocol import Budget, Fitted, Samples


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_path(train, valid, seed, budget, hidden_layer_sizes=())

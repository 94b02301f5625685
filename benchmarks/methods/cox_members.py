"""Ours for survival with both predictors and five members, at the setting that does best with one member."""

from typing import Any

from benchmarks.method import Method, Sweep
from benchmarks.protocol import Budget
from lspin import LSPINCox

PRICES = (0.0005, 0.001, 0.002, 0.004, 0.012)  # of a feature, in nats an event
PREDICTORS: tuple[dict[str, Any], ...] = (
    {"hidden_layer_sizes": (32, 32), "weight_decay": 1.0},
    {"hidden_layer_sizes": (32, 32), "weight_decay": 3.0},
    {"hidden_layer_sizes": (32, 32), "weight_decay": 10.0},
    {"hidden_layer_sizes": (), "weight_decay": 3.0},
)
SWEEP = tuple({"sparsity": price, **predictor} for price in PRICES for predictor in PREDICTORS)


def make(settings: dict[str, Any], seed: int, budget: Budget) -> LSPINCox:
    return LSPINCox(**settings, max_epochs=budget.epochs, random_state=seed)


METHOD = Method(cox=Sweep(SWEEP, make, n_members=5))

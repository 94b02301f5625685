"""Ours for survival with both predictors and five members, at the setting that does best with one member."""

from typing import Any

from benchmarks.cohorts import PRICES
from benchmarks.protocol import Budget
from lspin import LSPINCox

N_MEMBERS = 5
PREDICTORS = (
    {"hidden_layer_sizes": (200, 200), "weight_decay": 3.0},
    {"hidden_layer_sizes": (200, 200), "weight_decay": 10.0},
    {"hidden_layer_sizes": (), "weight_decay": 3.0},
)
COX_SWEEP: tuple[dict[str, Any], ...] = tuple(
    {"sparsity": price, **predictor} for price in PRICES for predictor in PREDICTORS
)


def make_cox(settings: dict[str, Any], seed: int, budget: Budget) -> LSPINCox:
    return LSPINCox(**settings, max_epochs=budget.epochs, random_state=seed)

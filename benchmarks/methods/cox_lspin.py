"""Ours for survival, with a nonlinear predictor; swept over the price of a feature."""

from typing import Any

from benchmarks.protocol import Budget
from lspin import LSPINCox

COX_SWEEP = tuple({"sparsity": price} for price in (0.0003, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06))
WEIGHT_DECAY = 3.0  # what the default chose on all inner splits of METABRIC


def make_cox(settings: dict[str, Any], seed: int, budget: Budget) -> LSPINCox:
    return LSPINCox((200, 200), **settings, weight_decay=WEIGHT_DECAY, max_epochs=budget.epochs, random_state=seed)

"""STG for survival, linear; swept over the price of a feature."""

from typing import Any

from benchmarks.protocol import Budget
from lspin.baselines import STGCox

COX_SWEEP = tuple({"sparsity": price} for price in (0.0003, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06))


def make_cox(settings: dict[str, Any], seed: int, budget: Budget) -> STGCox:
    return STGCox((), **settings, max_epochs=budget.epochs, random_state=seed)

"""Ours for survival as it comes: the price is chosen from the training rows, nothing is swept."""

from typing import Any

from benchmarks.method import Method, Sweep
from benchmarks.protocol import Budget
from lspin import LSPINCox


def make(settings: dict[str, Any], seed: int, budget: Budget) -> LSPINCox:
    return LSPINCox(**settings, max_epochs=budget.epochs, random_state=seed)


METHOD = Method(cox=Sweep(({},), make))

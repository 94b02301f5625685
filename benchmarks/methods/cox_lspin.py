"""Ours for survival, with a nonlinear predictor; swept over the price of a feature and the weight decay."""

from typing import Any

from benchmarks.cohorts import sweep_prices
from benchmarks.method import Method, Sweep
from benchmarks.protocol import Budget
from lspin import LSPINCox


def make(settings: dict[str, Any], seed: int, budget: Budget) -> LSPINCox:
    return LSPINCox((200, 200), **settings, max_epochs=budget.epochs, random_state=seed)


METHOD = Method(cox=Sweep(sweep_prices(decays=(1.0, 3.0, 10.0)), make))

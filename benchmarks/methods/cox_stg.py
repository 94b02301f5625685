"""STG for survival, nonlinear; swept over the price of a feature and the weight decay."""

from typing import Any

from benchmarks.cohorts import sweep_prices
from benchmarks.method import Method, Sweep
from benchmarks.protocol import Budget
from lspin.baselines import STGCox


def make(settings: dict[str, Any], seed: int, budget: Budget) -> STGCox:
    return STGCox((32, 32), **settings, max_epochs=budget.epochs, random_state=seed)


METHOD = Method(cox=Sweep(sweep_prices(decays=(1.0, 3.0, 10.0)), make))

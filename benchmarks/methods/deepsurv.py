"""DeepSurv: a network of all features; it does not select. Swept over its size and weight decay."""

from itertools import product
from typing import Any

from benchmarks.method import Method, Sweep
from benchmarks.protocol import Budget
from lspin.baselines import DeepSurv

SWEEP = tuple(
    {"hidden_layer_sizes": layers, "weight_decay": decay}
    for layers, decay in product(((32, 32), (200, 200)), (0.0, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0))
)


def make(settings: dict[str, Any], seed: int, budget: Budget) -> DeepSurv:
    return DeepSurv(**settings, max_epochs=budget.epochs, random_state=seed)


METHOD = Method(cox=Sweep(SWEEP, make))

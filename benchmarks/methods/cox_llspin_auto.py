"""Ours for survival with a linear predictor and else as it comes: nothing is swept."""

from typing import Any

from benchmarks.protocol import Budget
from lspin import LSPINCox

COX_SWEEP: tuple[dict[str, Any], ...] = ({},)


def make_cox(settings: dict[str, Any], seed: int, budget: Budget) -> LSPINCox:
    return LSPINCox((), **settings, max_epochs=budget.epochs, random_state=seed)

"""Logistic regression with an L2 penalty: one linear model of all features."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.wide import final_step, scale_columns, spread_grid

# Scaled columns count for more, so they want a stronger penalty.
WIDE_GRID = (
    *spread_grid(np.logspace(-4, 0.5, 10).round(6).tolist(), "C", scale=True),
    *spread_grid(np.logspace(-1.5, 3, 10).round(6).tolist(), "C", scale=False),
)


def make_wide(task: Task, C: float, scale: bool) -> Any:
    return scale_columns(task, LogisticRegression(C=C, max_iter=500), scale=scale)


def select_wide(model: Any) -> np.ndarray:
    return (final_step(model).coef_ != 0).any(axis=0)


METHOD = Method(wide=Wide(Grid(WIDE_GRID, make_wide), select_wide))

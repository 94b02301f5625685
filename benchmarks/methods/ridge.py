"""Ridge, and logistic regression with an L2 penalty for classes: one linear model of all features."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
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


def make_cross_validated(wanted: Wanted) -> Pipeline:
    """On standardised columns, the penalty chosen by cross-validation: of a response by leaving one row out."""
    if wanted.is_regression:
        return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 5, 15)))
    model = LogisticRegressionCV(
        l1_ratios=(0.0,), Cs=8, cv=3, max_iter=500, scoring=wanted.criterion, use_legacy_attributes=False
    )
    return make_pipeline(StandardScaler(), model)


METHOD = Method(wide=Wide(Grid(WIDE_GRID, make_wide), select_wide), everyday=Everyday(make_cross_validated))

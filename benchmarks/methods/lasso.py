"""LASSO, and logistic regression with an L1 penalty for classes: one sparse linear model for all samples.

Selected are the features whose coefficient is not 0, for every sample: the paper does not say so, but the F1 it
prints for E3, 0.625, is that of all eleven features selected.
"""

from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, select_everywhere, tune
from benchmarks.wide import final_step, scale_columns, spread_grid

# The paper's ranges: of the linear example for a response, of Table 1 for classes.
PENALTY = {"alpha": FloatDistribution(1e-3, 0.5, log=True)}
STRENGTH = {"C": FloatDistribution(1e-2, 1e3, log=True)}
WIDE_GRID = (
    *spread_grid(np.logspace(-1.5, 3, 10).round(6).tolist(), "C", scale=True),
    *spread_grid(np.logspace(-0.5, 4, 10).round(6).tolist(), "C", scale=False),
)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        if train.is_regression:
            return Lasso(**settings, max_iter=10_000)
        return LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=seed, max_iter=1000, **settings)

    space = PENALTY if train.is_regression else STRENGTH
    return tune(
        make, space, train, valid, budget, seed, select=lambda model, X: select_everywhere(model.coef_ != 0, X)
    )


def make_wide(task: Task, C: float, scale: bool) -> Any:
    model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, random_state=task.seed, max_iter=1000)
    return scale_columns(task, OneVsRestClassifier(model), scale=scale)


def select_wide(model: Any) -> np.ndarray:
    """Features with a coefficient for some class."""
    return np.any([one.coef_[0] != 0 for one in final_step(model).estimators_], axis=0)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide), select_wide))

"""Linear support vectors: with an L1 penalty for classes; as a regression for a response.

The paper counts its linear SVC among the methods that select features, so the penalty is L1 and features with a
coefficient that is not 0 are selected. Support vector regression has no such penalty and does not select. On wide
tables the penalty here is L2, which uses all features and does best; ``linear_svc_capped`` is the one with few.
"""

from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from sklearn.svm import LinearSVC, LinearSVR

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, select_everywhere, tune
from benchmarks.wide import final_step, scale_columns, spread_grid

SPACE = {"C": FloatDistribution(1e-2, 1e3, log=True)}  # the paper's, for its small tables
WIDE_GRID = (
    *spread_grid(np.logspace(-5, -0.5, 10).round(6).tolist(), "C", scale=True),
    *spread_grid(np.logspace(-3, 1.5, 10).round(6).tolist(), "C", scale=False),
)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        if train.is_regression:
            return LinearSVR(**settings, random_state=seed, max_iter=5000)
        return LinearSVC(penalty="l1", dual=False, **settings, random_state=seed, max_iter=2000)

    select = None if train.is_regression else lambda model, X: select_everywhere(model.coef_ != 0, X)
    return tune(make, SPACE, train, valid, budget, seed, select=select)


def make_wide(task: Task, C: float, scale: bool) -> Any:
    # On TOX-171 the dual takes minutes unless columns are scaled, and the primal does if they are.
    return scale_columns(task, LinearSVC(C=C, dual=scale, random_state=task.seed), scale=scale)


def select_wide(model: Any) -> np.ndarray:
    return (final_step(model).coef_ != 0).any(axis=0)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide), select_wide))

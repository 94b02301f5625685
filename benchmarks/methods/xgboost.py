"""XGBoost: boosted trees.

Selected are the features with an importance above 0, for every sample; the paper does not say how it counts them.
"""

from itertools import product
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
from benchmarks.protocol import Budget, Fitted, Samples, select_important, tune

# Number and depth of the trees as in the paper; the learning rate is ours to add.
SPACE = {
    "n_estimators": IntDistribution(1, 500),
    "max_depth": IntDistribution(1, 10),
    "learning_rate": FloatDistribution(0.01, 0.5, log=True),
}
WIDE_GRID = tuple(
    {"max_depth": depth, "learning_rate": rate, "colsample_bytree": share}
    for depth, rate, share in product((1, 4), (0.1, 0.3), (0.1, 0.3))
)
TREES = 100


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    from xgboost import XGBClassifier, XGBRegressor

    def make(**settings: Any) -> Any:
        kind = XGBRegressor if train.is_regression else XGBClassifier
        return kind(**settings, n_jobs=1, random_state=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=select_important)


def make_wide(task: Task, **settings: Any) -> Any:
    from xgboost import XGBClassifier

    n_trees = TREES if task.budget.epochs is None else 10
    return XGBClassifier(
        n_estimators=n_trees, tree_method="exact", **settings, n_jobs=1, random_state=task.seed
    )  # histograms of thousands of columns take three times as long


def select_wide(model: Any) -> np.ndarray:
    return model.feature_importances_ > 0


def make_untuned(wanted: Wanted) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBRegressor if wanted.is_regression else XGBClassifier
    n_trees = 300 if wanted.budget.epochs is None else 10
    return kind(n_estimators=n_trees, max_depth=4, learning_rate=0.1, n_jobs=1, random_state=0)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide), select_wide), everyday=Everyday(make_untuned))

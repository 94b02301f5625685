"""LightGBM: boosted trees that grow leaf by leaf.

Selected are the features with an importance above 0, for every sample, as for XGBoost.
"""

from itertools import product
from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.method import Grid, Method, Task, Wide, require_package
from benchmarks.protocol import Budget, Fitted, Samples, select_important, tune

SPACE = {
    "n_estimators": IntDistribution(1, 500),
    "num_leaves": IntDistribution(2, 64, log=True),
    "learning_rate": FloatDistribution(0.01, 0.5, log=True),
    "min_child_samples": IntDistribution(1, 50, log=True),
}
WIDE_GRID = tuple(
    {"num_leaves": leaves, "learning_rate": rate, "colsample_bytree": share}
    for leaves, rate, share in product((2, 16), (0.1, 0.3), (0.1, 0.3))
)
TREES, FEWEST = 100, 5  # trees; rows of a leaf, where there are a few dozen in all
QUIET = {"n_jobs": 1, "verbose": -1}


def require() -> None:
    require_package("lightgbm", '"lspin[bench]"')


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    from lightgbm import LGBMClassifier, LGBMRegressor

    def make(**settings: Any) -> Any:
        kind = LGBMRegressor if train.is_regression else LGBMClassifier
        return kind(**settings, **QUIET, random_state=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=select_important)


def make_wide(task: Task, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier

    n_trees = TREES if task.budget.epochs is None else 10
    return LGBMClassifier(
        n_estimators=n_trees, min_child_samples=FEWEST, **settings, **QUIET, random_state=task.seed
    )


def select_wide(model: Any) -> np.ndarray:
    return model.feature_importances_ > 0


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide), select_wide), require=require)

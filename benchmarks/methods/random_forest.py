"""Random forest: the paper's search ranges.

Selected are the features with an importance above 0, for every sample: the paper does not say so, but the F1 it
prints on E1 to E5 is exactly that of all features selected, which is what this gives for any forest of some size.
"""

from itertools import product
from typing import Any

import numpy as np
from optuna.distributions import IntDistribution
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
from benchmarks.protocol import Budget, Fitted, Samples, select_important, tune

SPACE = {
    "n_estimators": IntDistribution(1, 500),
    "max_depth": IntDistribution(1, 30),
    "min_samples_split": IntDistribution(2, 10),
}
WIDE_GRID = tuple(
    {"max_features": share, "min_samples_leaf": leaf} for share, leaf in product(("sqrt", 0.05, 0.2), (1, 3))
)
TREES = 300


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        kind = RandomForestRegressor if train.is_regression else RandomForestClassifier
        return kind(**settings, random_state=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=select_important)


def make_wide(task: Task, **settings: Any) -> RandomForestClassifier:
    n_trees = TREES if task.budget.epochs is None else 10
    return RandomForestClassifier(n_trees, **settings, random_state=task.seed)


def select_wide(model: RandomForestClassifier) -> np.ndarray:
    return model.feature_importances_ > 0


def make_untuned(wanted: Wanted) -> RandomForestClassifier | RandomForestRegressor:
    kind = RandomForestRegressor if wanted.is_regression else RandomForestClassifier
    n_trees = TREES if wanted.budget.epochs is None else 10
    return kind(n_trees, max_features=0.33, random_state=0)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide), select_wide), everyday=Everyday(make_untuned))

"""Random forest: the paper's search ranges.

Selected are the features with an importance above 0, for every sample: the paper does not say so, but the F1 it
prints on E1 to E5 is exactly that of all features selected, which is what this gives for any forest of some size.
"""

from typing import Any

from optuna.distributions import IntDistribution
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.protocol import Budget, Fitted, Samples, select_important, tune

SPACE = {
    "n_estimators": IntDistribution(1, 500),
    "max_depth": IntDistribution(1, 30),
    "min_samples_split": IntDistribution(2, 10),
}


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        kind = RandomForestRegressor if train.is_regression else RandomForestClassifier
        return kind(**settings, random_state=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=select_important)

"""XGBoost: boosted trees.

Selected are the features with an importance above 0, for every sample; the paper does not say how it counts them.
"""

from typing import Any

from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.protocol import Budget, Fitted, Samples, select_important, tune

# Number and depth of the trees as in the paper; the learning rate is ours to add.
SPACE = {
    "n_estimators": IntDistribution(1, 500),
    "max_depth": IntDistribution(1, 10),
    "learning_rate": FloatDistribution(0.01, 0.5, log=True),
}


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    from xgboost import XGBClassifier, XGBRegressor

    def make(**settings: Any) -> Any:
        kind = XGBRegressor if train.is_regression else XGBClassifier
        return kind(**settings, n_jobs=1, random_state=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=select_important)

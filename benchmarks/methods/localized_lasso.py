"""Localized LASSO: linear weights of each sample, alike for neighbours; for a response only."""

from typing import Any

from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.method import Method
from benchmarks.protocol import Budget, Fitted, Samples, tune
from lspin.baselines import LocalizedLassoRegressor

SPACE = {
    "network": FloatDistribution(1e-3, 3.0, log=True),
    "exclusive": FloatDistribution(1e-5, 1.0, log=True),
    "n_neighbors": IntDistribution(1, 10),
}
FIRST = {"network": 0.1, "exclusive": 1e-3, "n_neighbors": 3}  # the estimator's own


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        return LocalizedLassoRegressor(**settings)

    return tune(make, SPACE, train, valid, budget, seed, first=FIRST, select=lambda model, X: model.selected(X))


METHOD = Method(fit, for_classes=False)

"""RANSAC: one linear model for the largest part of the samples that agree with it; it does not select."""

from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from sklearn.linear_model import LinearRegression, RANSACRegressor

from benchmarks.method import Method
from benchmarks.protocol import Budget, Fitted, Samples, tune

# How many samples make a first guess, and how far an inlier may be off, in standard deviations of the response.
SPACE = {
    "min_samples": FloatDistribution(0.3, 1.0),
    "residual_threshold": FloatDistribution(0.01, 2.0, log=True),
}


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    scale = float(np.std(train.y))

    def make(min_samples: float, residual_threshold: float) -> Any:
        return RANSACRegressor(
            LinearRegression(),
            min_samples=min_samples,
            residual_threshold=residual_threshold * scale,
            random_state=seed,
        )

    return tune(make, SPACE, train, valid, budget, seed)


METHOD = Method(fit, for_classes=False)

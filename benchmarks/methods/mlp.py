"""A fully connected network of all features; it does not select."""

import math
from typing import Any

from optuna.distributions import FloatDistribution
from sklearn.neural_network import MLPClassifier, MLPRegressor

from benchmarks.protocol import Budget, Fitted, Samples, tune

LAYERS = (200, 200)  # the paper's prediction network of Table 1
STEPS, BATCH = 3000, 128
SPACE = {
    "learning_rate_init": FloatDistribution(3e-4, 3e-2, log=True),
    "alpha": FloatDistribution(1e-6, 1.0, log=True),
}


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    batch_size = min(BATCH, len(train.y))
    epochs = budget.epochs or math.ceil(STEPS / math.ceil(len(train.y) / batch_size))

    def make(**settings: Any) -> Any:
        kind = MLPRegressor if train.is_regression else MLPClassifier
        return kind(
            hidden_layer_sizes=LAYERS, **settings, batch_size=batch_size, max_iter=epochs, random_state=seed
        )

    return tune(make, SPACE, train, valid, budget, seed)

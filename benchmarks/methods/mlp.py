"""A fully connected network of all features; it does not select."""

import math
from itertools import product
from typing import Any

from optuna.distributions import FloatDistribution
from sklearn.neural_network import MLPClassifier, MLPRegressor

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from benchmarks.wide import scale_columns

LAYERS = (200, 200)  # the paper's prediction network of Table 1
STEPS, BATCH = 1000, 128
SMALL = 200  # rows: up to here L-BFGS, which scikit-learn recommends for small tables
WEIGHTS = {"alpha": FloatDistribution(1e-6, 1.0, log=True)}
RATES = {"learning_rate_init": FloatDistribution(3e-4, 3e-2, log=True)}
WIDE_LAYERS = (100,)
WIDE_GRID = tuple(
    {"alpha": alpha, "scale": scale} for alpha, scale in product((1e-4, 1e-2, 1.0, 10.0), (True, False))
)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    is_small = len(train.y) <= SMALL
    batch_size = min(BATCH, len(train.y))
    epochs = budget.epochs or (200 if is_small else math.ceil(STEPS / math.ceil(len(train.y) / batch_size)))

    def make(**settings: Any) -> Any:
        kind = MLPRegressor if train.is_regression else MLPClassifier
        return kind(
            hidden_layer_sizes=LAYERS,
            solver="lbfgs" if is_small else "adam",
            batch_size=batch_size,
            max_iter=epochs,
            random_state=seed,
            **settings,
        )

    return tune(make, WEIGHTS if is_small else WEIGHTS | RATES, train, valid, budget, seed)


def make_wide(task: Task, alpha: float, scale: bool) -> Any:
    model = MLPClassifier(
        WIDE_LAYERS,
        alpha=alpha,
        batch_size=min(BATCH, len(task.train.y)),
        max_iter=task.budget.epochs or 100,
        random_state=task.seed,
    )
    return scale_columns(task, model, scale=scale)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)))

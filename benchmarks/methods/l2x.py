"""L2X: a fixed number of features a row that explain a network of all features; the number is tuned."""

from typing import Any

from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from benchmarks.wide import spread_grid
from lspin.baselines import L2XClassifier, L2XRegressor

MOST = 7  # features a row: the paper's range
RATES = FloatDistribution(5e-4, 1e-2, log=True)
DECAYS = FloatDistribution(0.01, 10.0, log=True)
FIRST = {"n_features": 4, "learning_rate": 0.002, "weight_decay": 0.01}  # the default, nearly
WIDE_LAYERS, WIDE_GATING = (100,), (100,)
WIDE_GRID = tuple(spread_grid((1, 5, 10, 20, 40), "n_features"))


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    most = min(MOST, train.X.shape[1])

    def make(**settings: Any) -> Any:
        kind = L2XRegressor if train.is_regression else L2XClassifier
        return kind(max_epochs=budget.epochs, random_state=seed, **settings)

    space = {"n_features": IntDistribution(1, most), "learning_rate": RATES, "weight_decay": DECAYS}
    first = FIRST | {"n_features": min(FIRST["n_features"], most)}
    return tune(make, space, train, valid, budget, seed, select=lambda model, X: model.selected(X), first=first)


def make_wide(task: Task, n_features: int) -> L2XClassifier:
    return L2XClassifier(
        WIDE_LAYERS,
        gate_hidden_layer_sizes=WIDE_GATING,
        n_features=min(n_features, task.train.X.shape[1]),
        max_epochs=task.budget.epochs,
        random_state=task.seed,
    )


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)))

"""REAL-X: a selector before a predictor of randomly hidden features; its hard mask times the input predicts."""

from typing import Any

from optuna.distributions import FloatDistribution

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from benchmarks.wide import spread_grid
from lspin.baselines import REALXClassifier, REALXRegressor

SPACE = {
    "sparsity": FloatDistribution(1e-3, 0.1, log=True),
    "learning_rate": FloatDistribution(5e-4, 1e-2, log=True),
}
FIRST = {"sparsity": 0.01, "learning_rate": 0.003}  # the default
BATCH = 32  # rows: on development seeds as good as 128, in a third of the time
WIDE_LAYERS, WIDE_GATING = (100,), (100,)
WIDE_GRID = tuple(spread_grid((0.03, 0.01, 0.003, 0.001, 0.0003), "sparsity"))


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        kind = REALXRegressor if train.is_regression else REALXClassifier
        return kind(batch_size=BATCH, max_epochs=budget.epochs, random_state=seed, **settings)

    return tune(make, SPACE, train, valid, budget, seed, select=lambda model, X: model.selected(X), first=FIRST)


def make_wide(task: Task, **settings: Any) -> REALXClassifier:
    return REALXClassifier(
        WIDE_LAYERS,
        gate_hidden_layer_sizes=WIDE_GATING,
        max_epochs=task.budget.epochs,
        random_state=task.seed,
        **settings,
    )


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)))

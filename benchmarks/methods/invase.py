"""INVASE: features drawn row by row, learned by REINFORCE against a network of all features."""

from typing import Any

from optuna.distributions import FloatDistribution

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from benchmarks.wide import spread_grid
from lspin.baselines import INVASEClassifier, INVASERegressor

SPACE = {
    "sparsity": FloatDistribution(3e-3, 0.3, log=True),
    "learning_rate": FloatDistribution(5e-4, 1e-2, log=True),
}
FIRST = {"sparsity": 0.03, "learning_rate": 0.002}  # the default
BATCH = 32  # rows: on development seeds as good as 128, in a third of the time
WIDE_LAYERS, WIDE_GATING = (100,), (100,)
WIDE_GRID = tuple(spread_grid((0.1, 0.03, 0.01, 0.003, 0.001), "sparsity"))


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        kind = INVASERegressor if train.is_regression else INVASEClassifier
        return kind(batch_size=BATCH, max_epochs=budget.epochs, random_state=seed, **settings)

    return tune(make, SPACE, train, valid, budget, seed, select=lambda model, X: model.selected(X), first=FIRST)


def make_wide(task: Task, **settings: Any) -> INVASEClassifier:
    return INVASEClassifier(
        WIDE_LAYERS,
        gate_hidden_layer_sizes=WIDE_GATING,
        learning_rate=0.005,
        max_epochs=task.budget.epochs,
        random_state=task.seed,
        **settings,
    )


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)))

"""STG: stochastic gates that are the same for all rows, before a nonlinear predictor."""

from typing import Any

from optuna.distributions import FloatDistribution

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from benchmarks.wide import spread_grid
from lspin.baselines import STGClassifier, STGRegressor

NONLINEAR, WIDE_LAYERS = (200, 200), (100,)
WIDE_RATE = 0.05  # all gates are to shut within 2,000 steps
SPACE = {
    "sparsity": FloatDistribution(1e-3, 0.3, log=True),
    "learning_rate": FloatDistribution(5e-4, 2e-2, log=True),
}
WIDE_GRID = tuple(spread_grid((0.1, 0.03, 0.01, 0.003, 0.001), "sparsity"))


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_layers(train, valid, seed, budget, NONLINEAR)


def fit_layers(train: Samples, valid: Samples, seed: int, budget: Budget, layers: tuple[int, ...]) -> Fitted:
    def make(**settings: Any) -> Any:
        kind = STGRegressor if train.is_regression else STGClassifier
        return kind(layers, max_epochs=budget.epochs, random_state=seed, **settings)

    return tune(make, SPACE, train, valid, budget, seed, select=lambda model, X: model.selected(X))


def make_wide(task: Task, sparsity: float) -> STGClassifier:
    return STGClassifier(
        WIDE_LAYERS,
        sparsity=sparsity,
        learning_rate=WIDE_RATE,
        max_epochs=task.budget.epochs,
        random_state=task.seed,
    )


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)))

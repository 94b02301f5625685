"""Linear STG: stochastic gates that are the same for all rows, before a linear predictor."""

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.methods.stg import WIDE_GRID, WIDE_RATE, fit_layers
from benchmarks.protocol import Budget, Fitted, Samples
from lspin.baselines import STGClassifier


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_layers(train, valid, seed, budget, ())


def make_wide(task: Task, sparsity: float) -> STGClassifier:
    return STGClassifier(
        (), sparsity=sparsity, learning_rate=WIDE_RATE, max_epochs=task.budget.epochs, random_state=task.seed
    )


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)))

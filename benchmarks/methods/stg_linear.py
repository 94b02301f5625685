"""Linear STG: stochastic gates that are the same for all rows, before a linear predictor."""

from benchmarks.methods.stg import WIDE_GRID, WIDE_RATE, fit_layers
from benchmarks.protocol import Budget, Fitted, Samples
from benchmarks.wide import Task
from lspin.baselines import STGClassifier

__all__ = ["WIDE_GRID", "fit", "make_wide"]


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_layers(train, valid, seed, budget, ())


def make_wide(task: Task, sparsity: float) -> STGClassifier:
    return STGClassifier(
        (), sparsity=sparsity, learning_rate=WIDE_RATE, max_epochs=task.budget.epochs, random_state=task.seed
    )

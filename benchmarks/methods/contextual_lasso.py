"""The contextual lasso: a network makes sparse coefficients of each sample; all features are the context."""

from itertools import product
from typing import Any

from optuna.distributions import FloatDistribution

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from lspin.baselines import ContextualLassoClassifier, ContextualLassoRegressor

SPACE = {
    "radius": FloatDistribution(0.3, 10.0, log=True),
    "learning_rate": FloatDistribution(1e-3, 2e-2, log=True),
    "weight_decay": FloatDistribution(0.1, 5.0, log=True),
}
FIRST = {"radius": 2.0, "learning_rate": 0.005, "weight_decay": 2.0}  # the estimator's own
WIDE_LAYERS, WIDE_EPOCHS, WIDE_RATE = (50,), 100, 0.02  # a network with an output for each of thousands of columns
WIDE_GRID = tuple(
    {"radius": radius, "weight_decay": decay} for radius, decay in product((10.0, 3.0, 1.0, 0.3), (2.0, 0.2))
)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    kind = ContextualLassoRegressor if train.is_regression else ContextualLassoClassifier

    def make(**settings: Any) -> Any:
        return kind(max_epochs=budget.epochs, random_state=seed, **settings)

    return tune(make, SPACE, train, valid, budget, seed, first=FIRST, select=lambda model, X: model.selected(X))


def make_wide(task: Task, **settings: Any) -> Any:
    epochs = task.budget.epochs or WIDE_EPOCHS
    return ContextualLassoClassifier(
        WIDE_LAYERS, learning_rate=WIDE_RATE, max_epochs=epochs, random_state=task.seed, **settings
    )


def make_default(wanted: Wanted) -> ContextualLassoClassifier | ContextualLassoRegressor:
    """The estimator as it comes."""
    kind = ContextualLassoRegressor if wanted.is_regression else ContextualLassoClassifier
    return kind(max_epochs=wanted.budget.epochs, random_state=0)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)), everyday=Everyday(make_default))

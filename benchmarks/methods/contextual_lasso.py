"""The contextual lasso: a network makes sparse coefficients of each sample; all features are the context."""

from itertools import product
from typing import Any, Self

import numpy as np
from optuna.distributions import FloatDistribution

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune, validation_loss
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

# On development tables of groups the larger one is better by far (share .30 against -.04), on others the smaller.
RADII = (2.0, 15.0)


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


class ChosenRadius:
    """The estimator as it comes; of a wide table, a quarter of the rows chooses the radius."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        if len(X) >= X.shape[1]:
            self._model = self._make(RADII[0]).fit(X, y)
            return self
        held_out = np.arange(len(X)) % 4 == 0
        kept = Samples(X[held_out], y[held_out], "held out", self._wanted.is_regression)
        losses = {r: validation_loss(self._make(r).fit(X[~held_out], y[~held_out]), kept) for r in RADII}
        self._model = self._make(min(RADII, key=losses.__getitem__)).fit(X, y)
        return self

    def _make(self, radius: float) -> ContextualLassoClassifier | ContextualLassoRegressor:
        kind = ContextualLassoRegressor if self._wanted.is_regression else ContextualLassoClassifier
        return kind(radius=radius, max_epochs=self._wanted.budget.epochs, random_state=0)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._model.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self._model.predict_proba(X)

    def selected(self, X: np.ndarray) -> np.ndarray:
        return self._model.selected(X)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)), everyday=Everyday(ChosenRadius))

"""Networks that were trained beforehand on made-up tables: they read the training rows and need no tuning."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from benchmarks.protocol import Budget, Fitted, Samples, quiet_torch, tune
from benchmarks.wide import as_dense


class Pretrained:
    """A library's model, made by ``make``, without a word and on dense tables."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def fit(self, X: Any, y: np.ndarray) -> Self:
        with quiet_torch():
            self._model = self._make()
            self._model.fit(as_dense(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        with quiet_torch():
            return self._model.predict(as_dense(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        with quiet_torch():
            return self._model.predict_proba(as_dense(X))


def fit_pretrained(make: Callable[[], Any], train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    """One fit is the whole budget."""
    return tune(lambda: Pretrained(make), {}, train, valid, budget._replace(fits=1), seed)

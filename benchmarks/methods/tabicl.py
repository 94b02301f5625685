"""TabICL (Qu et al. 2025): a network trained beforehand on made-up tables; it does not select.

It needs no tuning, and reads the training rows whenever it predicts. Its weights are free (BSD) and come from a
hub; here they are used where present, and never fetched.
"""

from typing import Any, Self

import numpy as np

from benchmarks.protocol import (
    Budget,
    Fitted,
    Samples,
    UnavailableError,
    quiet_torch,
    require_package,
    tune,
)
from benchmarks.wide import Task, as_dense

WIDE_GRID: tuple[dict[str, Any], ...] = ({},)
HUB = "jingang/TabICL"
WEIGHTS = ("tabicl-classifier-v2-20260212.ckpt", "tabicl-regressor-v2-20260212.ckpt")


def require() -> None:
    require_package("tabicl", "tabicl")
    from huggingface_hub import try_to_load_from_cache

    for name in WEIGHTS:
        if not isinstance(try_to_load_from_cache(HUB, name), str):
            raise UnavailableError(
                f"the weights are not present: {name}; get them with: hf download {HUB} {' '.join(WEIGHTS)}"
            )


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    require()
    return tune(
        lambda: TabICL(seed, is_regression=train.is_regression), {}, train, valid, budget._replace(fits=1), seed
    )


def make_wide(task: Task) -> "TabICL":
    require()
    return TabICL(task.seed, is_regression=False)


class TabICL:
    """The library's model on one thread and without a word."""

    def __init__(self, seed: int, *, is_regression: bool) -> None:
        self._seed, self._is_regression = seed, is_regression

    def fit(self, X: Any, y: np.ndarray) -> Self:
        with quiet_torch():
            from tabicl import TabICLClassifier, TabICLRegressor

            kind = TabICLRegressor if self._is_regression else TabICLClassifier
            self._model = kind(
                device="cpu",
                allow_auto_download=False,
                checkpoint_version=WEIGHTS[int(self._is_regression)],
                random_state=self._seed,
                n_jobs=1,
            )
            self._model.fit(as_dense(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        with quiet_torch():
            return self._model.predict(as_dense(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        with quiet_torch():
            return self._model.predict_proba(as_dense(X))

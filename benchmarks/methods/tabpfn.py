"""TabPFN (Hollmann et al. 2025): a network trained beforehand on made-up tables; it does not select.

It needs no tuning, and reads the training rows whenever it predicts. Its weights come from Prior Labs, who ask
for a licence to be accepted and allow no commercial use; here they are used where present, and never fetched.
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


def require() -> None:
    require_package("tabpfn", "tabpfn")
    for path in find_weights():
        if not path.exists():
            raise UnavailableError(
                f"the weights are not present: {path}; accept the licence at https://ux.priorlabs.ai, set "
                "TABPFN_TOKEN and fit a TabPFNClassifier once, or name their folder in TABPFN_MODEL_CACHE_DIR"
            )


def find_weights() -> list[Any]:
    """Where the weights for classes and for a response are, if they are here."""
    with quiet_torch():
        from tabpfn.model_loading import resolve_model_path
        from tabpfn.settings import settings

    version = settings.tabpfn.model_version.value
    return [resolve_model_path(None, kind, version)[0][0] for kind in ("classifier", "regressor")]


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    require()
    return tune(
        lambda: TabPFN(seed, is_regression=train.is_regression), {}, train, valid, budget._replace(fits=1), seed
    )


def make_wide(task: Task) -> "TabPFN":
    require()
    return TabPFN(task.seed, is_regression=False)


class TabPFN:
    """The library's model on one thread and without a word."""

    def __init__(self, seed: int, *, is_regression: bool) -> None:
        self._seed, self._is_regression = seed, is_regression

    def fit(self, X: Any, y: np.ndarray) -> Self:
        with quiet_torch():
            from tabpfn import TabPFNClassifier, TabPFNRegressor

            kind = TabPFNRegressor if self._is_regression else TabPFNClassifier
            # A table of more columns or rows than it was trained for is judged like any other.
            self._model = kind(device="cpu", ignore_pretraining_limits=True, random_state=self._seed)
            self._model.fit(as_dense(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        with quiet_torch():
            return self._model.predict(as_dense(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        with quiet_torch():
            return self._model.predict_proba(as_dense(X))

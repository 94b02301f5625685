"""A random survival forest (scikit-survival), on all features and on those that matter most to it.

Forests do not select; so that it can be held against methods that do, it is fitted again on the features whose
permutation lowers the concordance of its own training rows most.
"""

from functools import lru_cache
from typing import Any, Self

import numpy as np

from benchmarks.method import Method, Sweep, require_package
from benchmarks.protocol import Budget, select_everywhere

SWEEP = tuple(
    {"n_features": count, "min_samples_leaf": leaf} for count in (None, 10, 5, 3, 2, 1) for leaf in (15, 50)
)
N_TREES, N_REPEATS = 100, 3


def require() -> None:
    require_package("sksurv", "scikit-survival")


def grow(X: np.ndarray, y: np.ndarray, leaf: int, seed: int, *, has_curves: bool = True) -> Any:
    """A forest; without curves, only of risks, it is the same and predicts much faster."""
    from sksurv.ensemble import RandomSurvivalForest

    forest = RandomSurvivalForest(N_TREES, min_samples_leaf=leaf, low_memory=not has_curves, random_state=seed)
    return forest.fit(X, y)


@lru_cache(maxsize=2)
def rank_features(
    values: bytes, outcomes: bytes, shape: tuple[int, int], dtype: np.dtype, leaf: int, seed: int
) -> np.ndarray:
    """Features by what their permutation costs, the dearest first; once for all settings of a sweep."""
    from sklearn.inspection import permutation_importance

    X, y = np.frombuffer(values).reshape(shape), np.frombuffer(outcomes, dtype)
    forest = grow(X, y, leaf, seed, has_curves=False)
    found = permutation_importance(forest, X, y, n_repeats=N_REPEATS, random_state=seed)
    return np.argsort(-found.importances_mean)


class Forest:
    """A forest on some of the features."""

    def __init__(self, n_features: int | None, min_samples_leaf: int, seed: int) -> None:
        self._n_features, self._leaf, self._seed = n_features, min_samples_leaf, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self._kept = np.ones(X.shape[1], bool)
        if self._n_features is not None and self._n_features < X.shape[1]:
            ranked = rank_features(X.tobytes(), y.tobytes(), X.shape, y.dtype, self._leaf, self._seed)
            self._kept = np.isin(np.arange(X.shape[1]), ranked[: self._n_features])
        self._forest = grow(X[:, self._kept], y, self._leaf, self._seed)
        self.unique_times_ = self._forest.unique_times_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._forest.predict(X[:, self._kept])

    def predict_survival_function(self, X: np.ndarray, *, return_array: bool) -> np.ndarray:
        return self._forest.predict_survival_function(X[:, self._kept], return_array=return_array)

    def selected(self, X: np.ndarray) -> np.ndarray:
        return select_everywhere(self._kept, X)


def make(settings: dict[str, Any], seed: int, budget: Budget) -> Forest:
    return Forest(**settings, seed=seed)


METHOD = Method(cox=Sweep(SWEEP, make), require=require)

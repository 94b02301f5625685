"""What an analyst would do by hand: principal components, k-means, a lasso in each cluster; k by held-out rows.

Selected are the features that the lasso of a row's cluster uses.
"""

from typing import Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.method import Everyday, Method, Wanted
from benchmarks.methods import lasso
from benchmarks.protocol import accuracy_or_r2

MOST = 4  # clusters


class ClusterLasso:
    """A sparse linear model for each cluster of rows."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Choose the number of clusters on a quarter of the rows, then fit all rows."""
        held_out = np.arange(len(X)) % 4 == 0
        best = max(range(1, MOST + 1), key=lambda number: self._judge(number, X, y, held_out))
        try:
            return self._fit_clusters(best, X, y)
        except ValueError:  # among all rows a cluster of one class
            return self._fit_clusters(1, X, y)

    def _judge(self, number: int, X: np.ndarray, y: np.ndarray, held_out: np.ndarray) -> float:
        try:
            self._fit_clusters(number, X[~held_out], y[~held_out])
        except ValueError:  # a cluster of one class
            return -np.inf
        return accuracy_or_r2(self.predict(X[held_out]), y[held_out], is_regression=self._wanted.is_regression)

    def _fit_clusters(self, number: int, X: np.ndarray, y: np.ndarray) -> Self:
        self._divide: Pipeline | None = None
        places = np.zeros(len(X), int)
        if number > 1:
            self._divide = make_pipeline(
                StandardScaler(), PCA(number - 1, random_state=0), KMeans(number, n_init=10, random_state=0)
            )
            places = self._divide.fit_predict(X)
        fresh = (lasso.make_cross_validated(self._wanted) for _ in range(number))
        self._models = [model.fit(X[places == place], y[places == place]) for place, model in enumerate(fresh)]
        return self

    def _pick(self, X: np.ndarray, of_each: list[np.ndarray]) -> np.ndarray:
        """For each row what the model of its cluster says."""
        return np.stack(of_each)[self.divide(X), np.arange(len(X))]

    def divide(self, X: np.ndarray) -> np.ndarray:
        """The cluster of each row, shape ``(n,)``."""
        return np.zeros(len(X), int) if self._divide is None else self._divide.predict(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._pick(X, [model.predict(X) for model in self._models])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self._pick(X, [model.predict_proba(X) for model in self._models])

    def selected(self, X: np.ndarray) -> np.ndarray:
        return self._pick(X, [np.tile(lasso.select_linear(model), (len(X), 1)) for model in self._models])


METHOD = Method(everyday=Everyday(ClusterLasso))

"""Cox regression with an L1 penalty (scikit-survival's Coxnet), swept over its path."""

from typing import Any, Self

import numpy as np

from benchmarks.method import Method, Sweep, require_package
from benchmarks.protocol import Budget, select_everywhere

SWEEP = tuple({"part": round(part, 4)} for part in np.geomspace(0.01, 0.9, 20))  # of the least that selects none


def require() -> None:
    require_package("sksurv", "scikit-survival")


class CoxLasso:
    """A model at one point of the path."""

    def __init__(self, part: float) -> None:
        self._part = part

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        from sksurv.linear_model import CoxnetSurvivalAnalysis

        path = CoxnetSurvivalAnalysis(l1_ratio=1.0, n_alphas=2, alpha_min_ratio=0.5).fit(X, y)
        alpha = self._part * path.alphas_[0]
        self._model = CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=[alpha], fit_baseline_model=True).fit(X, y)
        self.unique_times_ = self._model.unique_times_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._model.predict(X)

    def predict_survival_function(self, X: np.ndarray, *, return_array: bool) -> np.ndarray:
        return self._model.predict_survival_function(X, return_array=return_array)

    def selected(self, X: np.ndarray) -> np.ndarray:
        return select_everywhere(self._model.coef_ != 0, X)


def make(settings: dict[str, Any], seed: int, budget: Budget) -> CoxLasso:
    return CoxLasso(**settings)


METHOD = Method(cox=Sweep(SWEEP, make), require=require)

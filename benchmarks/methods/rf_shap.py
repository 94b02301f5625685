"""Random forest explained by SHAP (Lundberg et al. 2020): that of ``random_forest``, with features row by row.

Selected are the features of a row with the largest Shapley values, as many as the forest's predictions need
(``Explained`` says how that is found). The forest itself sees everything: unlike our gates, the selection tells of
a prediction and has no part in it.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.attributions import Explained, Explanation
from benchmarks.method import Grid, Method, Task, Wide, require_package
from benchmarks.methods import random_forest
from benchmarks.methods.random_forest import SPACE, WIDE_GRID
from benchmarks.protocol import Budget, Fitted, Samples, tune


def require() -> None:
    require_package("shap", '"lspin[bench]"')


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    kind = RandomForestRegressor if train.is_regression else RandomForestClassifier

    def make(**settings: Any) -> Explained:
        forest = kind(**settings, random_state=seed)
        return Explained(forest, explain, valid=valid, is_regression=train.is_regression, seed=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=Explained.selected)


def make_wide(task: Task, **settings: Any) -> Explained:
    forest = random_forest.make_wide(task, **settings)
    return Explained(forest, explain, valid=task.valid, is_regression=False, seed=task.seed)


def explain(forest: Any, X: np.ndarray) -> Explanation:
    """Shapley values of a response, or of the share of each class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its colour maps use what matplotlib is about to drop
        from shap import TreeExplainer

    explainer = TreeExplainer(forest)
    values = explainer.shap_values(X, check_additivity=False)
    parts = values if values.ndim == 3 else values[:, :, None]
    return Explanation(parts, np.ravel(explainer.expected_value), np.eye(X.shape[1], dtype=bool))


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)), require=require)

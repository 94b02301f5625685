"""LASSO, and logistic regression with an L1 penalty for classes: one sparse linear model for all samples.

Selected are the features whose coefficient is not 0, for every sample: the paper does not say so, but the F1 it
prints for E3, 0.625, is that of all eleven features selected.
"""

from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, LogisticRegressionCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
from benchmarks.protocol import Budget, Fitted, Samples, select_everywhere, tune
from benchmarks.wide import final_step, scale_columns, spread_grid

# The paper's ranges: of the linear example for a response, of Table 1 for classes.
PENALTY = {"alpha": FloatDistribution(1e-3, 0.5, log=True)}
STRENGTH = {"C": FloatDistribution(1e-2, 1e3, log=True)}
WIDE_GRID = (
    *spread_grid(np.logspace(-1.5, 3, 10).round(6).tolist(), "C", scale=True),
    *spread_grid(np.logspace(-0.5, 4, 10).round(6).tolist(), "C", scale=False),
)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        if train.is_regression:
            return Lasso(**settings, max_iter=10_000)
        return LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=seed, max_iter=1000, **settings)

    space = PENALTY if train.is_regression else STRENGTH
    return tune(
        make, space, train, valid, budget, seed, select=lambda model, X: select_everywhere(model.coef_ != 0, X)
    )


def make_wide(task: Task, C: float, scale: bool) -> Any:
    model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, random_state=task.seed, max_iter=1000)
    return scale_columns(task, OneVsRestClassifier(model), scale=scale)


def select_wide(model: Any) -> np.ndarray:
    """Features with a coefficient for some class."""
    return np.any([one.coef_[0] != 0 for one in final_step(model).estimators_], axis=0)


def make_cross_validated(wanted: Wanted) -> Pipeline:
    """On standardised columns, the penalty chosen by three-fold cross-validation."""
    if wanted.n_classes is None:
        return make_pipeline(StandardScaler(), LassoCV(cv=3))
    # The quicker solver does two classes only; the other one takes more passes.
    solver: dict[str, Any] = (
        {"solver": "liblinear"} if wanted.n_classes == 2 else {"solver": "saga", "max_iter": 1000}
    )
    model = LogisticRegressionCV(
        l1_ratios=(1.0,),
        Cs=8,
        cv=3,
        scoring=wanted.criterion,
        random_state=0,
        use_legacy_attributes=False,
        **solver,
    )
    return make_pipeline(StandardScaler(), model)


def select_linear(model: Pipeline) -> np.ndarray:
    """Features with a coefficient, of a response or of some class."""
    return (np.atleast_2d(final_step(model).coef_) != 0).any(axis=0)


METHOD = Method(
    fit,
    wide=Wide(Grid(WIDE_GRID, make_wide), select_wide),
    everyday=Everyday(make_cross_validated, select_linear),
)

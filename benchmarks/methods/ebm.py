"""Explainable boosting machine (Nori et al. 2019): a sum of curves of one feature, and of some pairs.

Selected are the features of a row's largest terms, as many terms as the predictions need (``Explained`` says how
that is found). Unlike ours, its curves are the same for every sample, and what depends on a group is left to the
pairs. Not for the wide tables, where it would boost thousands of columns in turn.

Learning is faster and rounds are fewer than the library's default, which takes most of a minute on E1.
"""

from typing import Any

import numpy as np
from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.attributions import Explained, Explanation
from benchmarks.method import Method, require_package
from benchmarks.protocol import Budget, Fitted, Samples, tune

SPACE = {
    "interactions": IntDistribution(0, 30),
    "max_leaves": IntDistribution(2, 4),
    "learning_rate": FloatDistribution(0.02, 0.3, log=True),
    "min_samples_leaf": IntDistribution(1, 20, log=True),
}
FIRST = {"interactions": 10, "max_leaves": 3, "learning_rate": 0.1, "min_samples_leaf": 4}
ROUNDS = 300
FIXED = {
    "outer_bags": 4,
    "early_stopping_rounds": 20,
    "smoothing_rounds": 20,
    "interaction_smoothing_rounds": 10,
    "max_interaction_bins": 16,
    "n_jobs": 1,
}


def require() -> None:
    require_package("interpret", '"lspin[bench]"')


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingRegressor if train.is_regression else ExplainableBoostingClassifier

    def make(**settings: Any) -> Explained:
        model = kind(**settings, **FIXED, max_rounds=budget.epochs or ROUNDS, random_state=seed)
        return Explained(model, explain, valid=valid, is_regression=train.is_regression, seed=seed)

    return tune(make, SPACE, train, valid, budget, seed, select=Explained.selected, first=FIRST)


def explain(model: Any, X: np.ndarray) -> Explanation:
    """The terms of a response, or of the log-odds of the second class or of every class."""
    terms = model.eval_terms(X)
    parts = terms if terms.ndim == 3 else terms[:, :, None]
    features = np.zeros((parts.shape[1], X.shape[1]), bool)
    for term, members in enumerate(model.term_features_):
        features[term, list(members)] = True
    return Explanation(parts, np.ravel(model.intercept_), features)


METHOD = Method(fit, require=require)

"""Linear support vectors: with an L1 penalty for classes; as a regression for a response.

The paper counts its linear SVC among the methods that select features, so the penalty is L1 and features with a
coefficient that is not 0 are selected. Support vector regression has no such penalty and does not select.
"""

from typing import Any

from optuna.distributions import FloatDistribution
from sklearn.svm import LinearSVC, LinearSVR

from benchmarks.protocol import Budget, Fitted, Samples, select_everywhere, tune

SPACE = {"C": FloatDistribution(1e-2, 1e3, log=True)}  # the paper's, for its small tables


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        if train.is_regression:
            return LinearSVR(**settings, random_state=seed, max_iter=5000)
        return LinearSVC(penalty="l1", dual=False, **settings, random_state=seed, max_iter=2000)

    select = None if train.is_regression else lambda model, X: select_everywhere(model.coef_ != 0, X)
    return tune(make, SPACE, train, valid, budget, seed, select=select)

"""The problem that an estimator makes of a table, for tests that look inside a fit."""

from lspin import LSPINRegressor
from lspin.estimators import posing


def pose(X, y, estimator=None, sample_weight=None):
    """What all fits of a table have in common."""
    estimator = LSPINRegressor() if estimator is None else estimator
    estimator._validate_params()
    return posing.pose(estimator, estimator._take(X, y, sample_weight))

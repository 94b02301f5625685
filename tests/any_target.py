"""Survival estimators for scikit-learn's checks, which know plain targets only."""

import numpy as np

from lspin import LSPINCox
from lspin.baselines import CoxLasso, DeepSurv, STGCox
from lspin.targets import Times


def as_survival(y):
    """Plain targets as times, all of which ended in an event."""
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.names is not None:
        return y
    numbers = y.astype(float) if y.dtype.kind != "O" else np.unique(y, return_inverse=True)[1]
    return 1 + numbers - numbers.min(), np.ones(len(y), bool)


class AnyTimes(Times):
    def entries(self, y, *, trains):
        return super().entries(as_survival(y), trains=trains)

    def grade(self, y, predicted, weight=None):
        return super().grade(as_survival(y), predicted, weight)


class AnyTarget:
    def _kind(self):
        return AnyTimes(self.ties)


class AnyLSPINCox(AnyTarget, LSPINCox):
    pass


class AnyDeepSurv(AnyTarget, DeepSurv):
    pass


class AnyCoxLasso(AnyTarget, CoxLasso):
    pass


class AnySTGCox(AnyTarget, STGCox):
    pass

"""Survival estimators for scikit-learn's checks, which know plain targets only."""

import numpy as np

from lspin import LSPINCox
from lspin.baselines import DeepSurv, STGCox


class AnyTarget:
    """Takes plain targets for times, all of which ended in an event."""

    def _list_target(self, y, *, trains):
        y = np.asarray(y)
        if y.ndim == 1 and y.dtype.names is None:
            numbers = y.astype(float) if y.dtype.kind != "O" else np.unique(y, return_inverse=True)[1]
            y = (1 + numbers - numbers.min(), np.ones(len(y), bool))
        return super()._list_target(y, trains=trains)

    def score(self, X, y, sample_weight=None):
        signed = self._list_target(y, trains=False)
        return super().score(X, (np.abs(signed), signed > 0), sample_weight)


class AnyLSPINCox(AnyTarget, LSPINCox):
    pass


class AnyDeepSurv(AnyTarget, DeepSurv):
    pass


class AnySTGCox(AnyTarget, STGCox):
    pass

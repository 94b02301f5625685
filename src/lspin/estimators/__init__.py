"""The estimators that scikit-learn's users see, their settings, saving and loading."""

from lspin.estimators.lspin import LSPINClassifier, LSPINCox, LSPINRegressor, load

__all__ = ["LSPINClassifier", "LSPINCox", "LSPINRegressor", "load"]

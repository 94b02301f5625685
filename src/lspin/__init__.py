"""Locally sparse neural networks for tabular data: every prediction with the few features behind it."""

from lspin.estimators import LSPINClassifier, LSPINCox, LSPINRegressor, load
from lspin.report import report

__version__ = "0.1.0"

__all__ = ["LSPINClassifier", "LSPINCox", "LSPINRegressor", "load", "report"]

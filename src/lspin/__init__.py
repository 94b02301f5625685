"""Locally sparse neural networks for tabular data: every prediction with the few features behind it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lspin.comparison.board import compare
    from lspin.estimators import LSPINClassifier, LSPINCox, LSPINRegressor, load
    from lspin.intake.table import read_table
    from lspin.reporting.page import report

__version__ = "0.2.0"

__all__ = ["LSPINClassifier", "LSPINCox", "LSPINRegressor", "compare", "load", "read_table", "report"]


def __getattr__(name: str) -> Any:
    """A public name when it is first asked for: help on the command line must not wait for scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'lspin' has no attribute {name!r}")
    homes = {
        "compare": "lspin.comparison.board",
        "read_table": "lspin.intake.table",
        "report": "lspin.reporting.page",
    }
    module = homes.get(name, "lspin.estimators")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]

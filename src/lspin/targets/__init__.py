"""Kinds of target (classes, a response, counts, survival times), and the methods of estimators of each kind.

A kind is one file. Other rooms ask the object and never the name of a loss.
"""

from typing import Any

import numpy as np

from lspin.targets.classes import Classes, Classifier
from lspin.targets.counts import Counts
from lspin.targets.kind import Kind
from lspin.targets.response import Regressor, Response
from lspin.targets.survival import SurvivalModel, Times

__all__ = [
    "KINDS",
    "Classes",
    "Classifier",
    "Counts",
    "Kind",
    "Regressor",
    "Response",
    "SurvivalModel",
    "Times",
    "kind_of",
]

KINDS: dict[str, type[Kind]] = {kind.task: kind for kind in (Classes, Response, Counts, Times)}


def kind_of(estimator: Any) -> Kind:
    """Kind of target of a fitted estimator. Estimators of other packages are recognised by their attributes."""
    known = getattr(estimator, "kind_", None)
    if isinstance(known, Kind):
        return known
    if hasattr(estimator, "classes_"):
        return Classes(classes=np.asarray(estimator.classes_))
    return Times() if hasattr(estimator, "predict_survival_function") else Response()

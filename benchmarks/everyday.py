"""Methods as most people use them: training rows alone in, a model out.

A method for these tables has the part ``everyday`` in its record; ``method.py`` says what that is.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.method import Everyday, Wanted, demand, load_method
from benchmarks.protocol import CpuTimer, accuracy_or_r2, rate_probabilities
from benchmarks.runs import Case


def load_everyday(name: str) -> Everyday:
    """How a method does tables without validation rows."""
    return demand(load_method(name).everyday, name, "tables without validation rows")


def suits_all(method: str, case: Case) -> bool:
    """These methods can do every table whose kind of target they can learn."""
    return True


def fit_everyday(offered: Everyday, X: Any, y: np.ndarray, wanted: Wanted) -> tuple[Any, float]:
    """A fitted model, and the seconds of processor time that it took, its choice of settings included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that warns is judged like any other
        with CpuTimer() as timer:
            model = offered.make(wanted).fit(X, y)
    return model, timer.seconds


def score_model(model: Any, X: Any, y: np.ndarray, wanted: Wanted) -> dict[str, float]:
    """Accuracy or R²; for classes also log loss and calibration error, for two the area under the curve."""
    scores = {"score": accuracy_or_r2(model.predict(X), y, is_regression=wanted.is_regression)}
    if wanted.n_classes is None:
        return scores
    probabilities = np.asarray(model.predict_proba(X))
    scores |= rate_probabilities(probabilities, y)
    if wanted.n_classes == 2:
        scores["auc"] = roc_auc_score(y, probabilities[:, 1])
    return scores

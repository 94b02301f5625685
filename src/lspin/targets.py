"""Kinds of target: how classes or a response are read, weighed and scaled, and how outputs become predictions."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight

from lspin.losses import complete_scores
from lspin.tables import SMALLEST, Rows, read_labels, read_response, refuse_constant


class ClassTarget(ClassifierMixin):
    """Classes: one score each, or one for two."""

    _loss = "cross_entropy"

    def _read_target(self, y: Any) -> np.ndarray:
        self.classes_, codes = read_labels(y)
        return codes

    def _read_known_target(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        unknown = sorted(set(y.tolist()) - set(self.classes_.tolist()), key=repr)
        if unknown:
            raise ValueError(f"eval_set holds the class {unknown[0]!r}, which the training rows do not")
        return np.searchsorted(self.classes_, y)

    def _learn_target(self, rows: Rows) -> None:
        self._class_factors = np.ones(len(self.classes_))
        given = getattr(self, "class_weight", None)
        if given is not None:
            self._class_factors = compute_class_weight(
                given,
                classes=self.classes_,
                y=self.classes_[rows.target],
                sample_weight=rows.weight,
            )
            if not (np.isfinite(self._class_factors) & (self._class_factors >= 0)).all():
                raise ValueError(f"class_weight must hold finite numbers of at least 0, got {given}")
            if not self._class_factors.any():
                raise ValueError(f"class_weight={given} leaves no class to learn from")

    def _count_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _adjust(self, rows: Rows) -> Rows:
        return rows._replace(weight=rows.weight * self._class_factors[rows.target])

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores before the softmax: one a row for two classes, else one a row and class."""
        outputs = self._predict(X).outputs
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``."""
        return softmax(complete_scores(self._predict(X).outputs), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        return self._decide(self._predict(X).outputs)

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        return self.classes_[complete_scores(outputs).argmax(axis=1)]


class ResponseTarget(RegressorMixin):
    """A number: standardised for fitting."""

    _loss = "squared_error"

    def _read_target(self, y: Any) -> np.ndarray:
        target = read_response(y)
        refuse_constant(target)
        return target

    def _read_known_target(self, y: Any) -> np.ndarray:
        return read_response(y)

    def _learn_target(self, rows: Rows) -> None:
        largest = np.abs(rows.target).max()  # squares of numbers near the largest float would overflow
        mean = np.average(rows.target / largest, weights=rows.weight)
        spread = np.sqrt(np.average((rows.target / largest - mean) ** 2, weights=rows.weight))
        self.target_mean_ = float(mean * largest)
        self.target_scale_ = float(max(spread * largest, SMALLEST))

    def _count_outputs(self) -> int:
        return 1

    def _adjust(self, rows: Rows) -> Rows:
        return rows._replace(target=(rows.target - self.target_mean_) / self.target_scale_)

    def predict(self, X: Any) -> np.ndarray:
        """The expected response of each row."""
        return self._decide(self._predict(X).outputs)

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        return self.target_mean_ + self.target_scale_ * outputs[:, 0]

"""Kinds of target: how classes, a response or times are read, weighed and scaled, and what outputs mean."""

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight

from lspin.losses import complete_scores
from lspin.outcomes import read_labels, read_response, refuse_constant
from lspin.survival import (
    StepFunction,
    breslow_hazard,
    find_time_columns,
    harrell_concordance,
    read_survival,
    survival_probability,
)
from lspin.survival.targets import sign_times, split_times
from lspin.tables import SMALLEST, Rows, gather


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


class SurvivalTarget(BaseEstimator):
    """A time to an event, perhaps censored: the output is a log-hazard.

    Inside, a target is one signed number a row: the time, negative where it was censored. For fitting it becomes
    its rank, for only the order counts.
    """

    _survival_learned: ClassVar[dict[str, type]] = {
        "unique_times_": np.ndarray,
        "cumulative_baseline_hazard_": np.ndarray,
    }

    @property
    def _loss(self) -> str:
        return f"cox_{self.ties}"

    def _list_target(self, y: Any, *, trains: bool) -> np.ndarray:
        return sign_times(read_survival(y, needs_events=trains))

    def _read_target(self, y: np.ndarray) -> np.ndarray:
        if not (y > 0).any():
            raise ValueError(f"all {len(y)} samples of positive weight are censored: there is no event to learn")
        return y

    def _read_known_target(self, y: np.ndarray) -> np.ndarray:
        return y

    def _learn_target(self, rows: Rows) -> None:
        if rows.table.is_sparse or rows.table.values.shape[1] != self.n_features_in_:
            return  # levels of categories are no times
        values, missing, _ = gather(rows.table)
        numbers = values if missing is None else np.where(missing, np.nan, values)
        names = getattr(self, "feature_names_in_", np.arange(values.shape[1]))
        for place in find_time_columns(numbers, np.abs(rows.target)):
            warnings.warn(
                f"column {names[place]!r} rises or falls with the time without exception: is it the time itself? "
                "Then it must not be a feature",
                UserWarning,
                stacklevel=5,
            )

    def _count_outputs(self) -> int:
        return 1

    def _adjust(self, rows: Rows) -> Rows:
        _, ranks = np.unique(np.abs(rows.target), return_inverse=True)
        return rows._replace(target=np.sign(rows.target) * (1.0 + ranks))

    def _complete(self, rows: Rows, outputs: np.ndarray) -> None:
        survival = split_times(rows.target)
        baseline = breslow_hazard(survival, log_hazard=outputs[:, 0], weight=rows.weight)
        self.unique_times_, self.cumulative_baseline_hazard_ = baseline.x, baseline.y

    def predict(self, X: Any) -> np.ndarray:
        """The risk of each row, higher is worse: the logarithm of its hazard over the baseline's."""
        return self._decide(self._predict(X).outputs)

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        return outputs[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance of the risks with times and events."""
        return harrell_concordance(y, risk=self.predict(X), weight=sample_weight).c_index

    def predict_cumulative_hazard_function(self, X: Any, *, return_array: bool = False) -> np.ndarray:
        """Cumulative hazard of each row over time.

        Parameters
        ----------
        X
            Table.
        return_array
            Whether to return numbers at ``unique_times_``, shape ``(n_samples, n_times)``, instead of an array of
            step functions with ``x`` and ``y``.

        """
        hazards = np.exp(self.predict(X))[:, None] * self.cumulative_baseline_hazard_
        return hazards if return_array else self._list_steps(hazards, before=0.0)

    def predict_survival_function(self, X: Any, *, return_array: bool = False) -> np.ndarray:
        """Probability of each row to be without the event, over time; see the cumulative hazard's."""
        risk = self.predict(X)
        baseline = StepFunction(self.unique_times_, self.cumulative_baseline_hazard_, before=0.0)
        survival = survival_probability(baseline, log_hazard=risk)
        return survival if return_array else self._list_steps(survival, before=1.0)

    def _list_steps(self, curves: np.ndarray, *, before: float) -> np.ndarray:
        steps = np.empty(len(curves), dtype=object)
        steps[:] = [StepFunction(self.unique_times_, curve, before=before) for curve in curves]
        return steps

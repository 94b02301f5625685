"""Survival times: a time to an event or to censoring; the output is a log-hazard.

A target is one signed number a row: the time, negative where it was censored. For fitting it becomes its rank,
because the partial likelihood depends on the order of the times alone.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from lspin.core.losses import CoxLoss
from lspin.survival import (
    StepFunction,
    breslow_hazard,
    cumulative_hazard,
    find_time_columns,
    harrell_concordance,
    make_survival,
    read_survival,
    survival_probability,
)
from lspin.survival.curves import martingale_residuals
from lspin.survival.targets import sign_times, split_times
from lspin.survival.units import read_times
from lspin.tables.grid import Rows, gather
from lspin.targets.base import TableEstimator
from lspin.targets.kind import Kind, Peer, ratio_of
from lspin.targets.survival_judge import TimesJudge, say_median

HIGHEST_PRICE = 0.5  # nats an event


@dataclass(frozen=True, eq=False)
class Times(Kind):
    """Times to an event, perhaps censored."""

    task: ClassVar[str] = "survive"
    noun: ClassVar[str] = "survival model"
    target_word: ClassVar[str] = "the risk"
    scale: ClassVar[str] = "log-hazard"
    scale_words: ClassVar[str] = "the log-hazard"
    score_name: ClassVar[str] = "concordance"
    forecast_word: ClassVar[str] = "risks"
    loss_unit: ClassVar[str] = "nats an event"
    ratio: ClassVar[str | None] = "hazard ratio"
    exponential: ClassVar[str | None] = "hazard ratio"
    tells_little: ClassVar[bool] = True
    learned_types: ClassVar[Mapping[str, type]] = {
        "unique_times_": np.ndarray,
        "cumulative_baseline_hazard_": np.ndarray,
        "mean_log_hazard_": float,
    }

    ties: str = "efron"
    baseline: StepFunction | None = None  # cumulative hazard of a log-hazard of 0
    mean: float | None = None  # log-hazard of the training rows; not in files of version 0.1

    @property
    def known_baseline(self) -> StepFunction:
        """The baseline hazard, once the model is fitted."""
        assert self.baseline is not None
        return self.baseline

    # Reading.

    def entries(self, y: Any, *, trains: bool) -> np.ndarray:
        """Signed times; training rows need an event."""
        return sign_times(read_survival(y, needs_events=trains))

    def read(self, entries: np.ndarray, name: str = "") -> tuple[Self, np.ndarray]:
        """The signed times; rows that are all censored are an error."""
        if not (entries > 0).any():
            raise ValueError(
                f"all {len(entries)} samples of positive weight are censored: there is no event to learn from"
            )
        return self, entries

    def read_known(self, entries: np.ndarray) -> np.ndarray:
        """The signed times."""
        return entries

    def tidy(self, y: Any, name: str = "y") -> np.ndarray:
        """A structured array with the fields ``event`` and ``time``."""
        survival = read_survival(y, needs_events=False)
        return make_survival(survival.time, survival.event)

    def learn(self, rows: Rows, names: Sequence[Any]) -> Self:
        """Nothing, but warn of columns that follow the time."""
        if rows.grid.is_sparse or rows.grid.values.shape[1] != len(names):
            return self  # levels of categories are no times
        values, missing, _ = gather(rows.grid)
        numbers = values if missing is None else np.where(missing, np.nan, values)
        for place in find_time_columns(numbers, np.abs(rows.target)):
            warnings.warn(
                f"column {names[place]!r} rises or falls with the time without exception: is it the time itself? "
                "Then it must not be a feature",
                UserWarning,
                stacklevel=4,
            )
        return self

    def adjust(self, rows: Rows) -> Rows:
        """Signed ranks of the times."""
        _, ranks = np.unique(np.abs(rows.target), return_inverse=True)
        return rows._replace(target=np.sign(rows.target) * (1.0 + ranks))

    def finish(self, rows: Rows, outputs: np.ndarray) -> Self:
        """The baseline hazard by Breslow, and the mean log-hazard."""
        baseline = breslow_hazard(split_times(rows.target), log_hazard=outputs[:, 0], weight=rows.weight)
        return replace(self, baseline=baseline, mean=float(np.average(outputs[:, 0], weights=rows.weight)))

    @property
    def attributes(self) -> dict[str, Any]:
        """Times of the training rows, the cumulative baseline hazard at these, and the mean log-hazard."""
        curve = self.known_baseline
        return {
            "unique_times_": curve.x,
            "cumulative_baseline_hazard_": curve.y,
            "mean_log_hazard_": self.mean,
        }

    def restore(self, attributes: Mapping[str, Any]) -> Self:
        """With the baseline hazard and the mean log-hazard of a file."""
        times, hazards = attributes["unique_times_"], attributes["cumulative_baseline_hazard_"]
        _refuse_falling(times, hazards)
        mean = attributes.get("mean_log_hazard_")
        if mean is not None and not np.isfinite(mean):
            raise ValueError(f"its mean log-hazard is {mean:g}")
        return replace(self, baseline=StepFunction(times, hazards, before=0.0), mean=mean)

    # Fitting.

    @property
    def loss(self) -> CoxLoss:
        """The Cox partial likelihood."""
        return CoxLoss(self.ties)

    def constant(self, rows: Rows) -> np.ndarray:
        """The baseline: 0."""
        return np.zeros(1)

    def highest_price(self, rows: Rows) -> float:
        """Half a nat an event: only differences of a partial likelihood count, and real cohorts gain less."""
        return HIGHEST_PRICE

    def strata(self, target: np.ndarray) -> np.ndarray:
        """Events and censored rows."""
        return target > 0

    def regressand(self, rows: Rows) -> np.ndarray:
        """Martingale residuals of a model without features."""
        return martingale_residuals(split_times(rows.target), weight=rows.weight)[:, None]

    def information(self, rows: Rows) -> float:
        """Weight of the events."""
        return float(rows.weight[rows.target > 0].sum())

    def score(self, outputs: Sequence[np.ndarray], parts: Sequence[Rows]) -> float:
        """Mean concordance over the parts; those in which no pair of rows can be compared do not count."""
        scores, weights = [], []
        for part, rows in zip(outputs, parts, strict=True):
            try:
                found = harrell_concordance(split_times(rows.target), risk=part[:, 0], weight=rows.weight)
            except ValueError:
                continue
            scores.append(found.c_index)
            weights.append(rows.weight.sum())
        return float(np.average(scores, weights=weights)) if scores else float("nan")

    def standard_error(self, score: float, target: np.ndarray) -> float:
        """That of a share of the events."""
        return float(np.sqrt(score * (1 - score) / max(int((target > 0).sum()), 1)))

    # Using outputs.

    def decide(self, outputs: np.ndarray) -> np.ndarray:
        """Log-hazards."""
        return outputs[:, 0]

    def grade(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """Harrell's concordance."""
        return harrell_concordance(y, risk=predicted, weight=weight).c_index

    def align(self, scores: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Log-hazards with the mean hazard of the ``own`` ones: their constant is arbitrary."""
        return scores + logsumexp(own, axis=0) - logsumexp(scores, axis=0)

    def survival(self, log_hazard: np.ndarray) -> np.ndarray:
        """Probability to be without the event at the times of the baseline, shape ``(n, n_times)``."""
        return survival_probability(self.known_baseline, log_hazard=log_hazard)

    def risk(self, log_hazard: np.ndarray, times: Sequence[float]) -> np.ndarray:
        """Probability of the event up to each time, shape ``(n, n_times)``."""
        baseline = self.known_baseline
        at = read_times(times, baseline.domain[1])
        return 1 - survival_probability(baseline, log_hazard=log_hazard, times=at)

    @property
    def reference(self) -> float:
        """The mean of the training rows: a log-hazard of 0 is no sample in particular."""
        return 0.0 if self.mean is None else self.mean

    # Words and tables.

    def name_told(self, output: int) -> str:
        """The log-hazard relative to the mean, where that is known."""
        return self.scale if self.mean is None else f"{self.scale} over cohort's mean"

    def say(self, scores: np.ndarray) -> str:
        """The hazard as a multiple of the cohort's (geometric) mean."""
        if self.mean is None:
            return f"log-hazard {scores[0]:+.2f}"
        return f"{ratio_of(scores[0] - self.mean):.2f} times the cohort's mean hazard"

    def list_predictions(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """The log-hazard, its ratio to the cohort's mean, and the time by which half of such have the event."""
        passed = self.survival(scores[:, 0]) <= 0.5
        times = self.known_baseline.x[passed.argmax(axis=1)]
        ratio = {} if self.mean is None else {"hazard ratio": ratio_of(scores[:, 0] - self.mean)}
        median = np.where(passed.any(axis=1), times, np.nan)
        return {"log-hazard": scores[:, 0], **ratio, "median time": median}

    def ask(self, target_name: str, target: np.ndarray) -> str:
        """How soon, and how many had the event."""
        share = 100 * np.mean(target > 0)
        named = "" if target_name == self.target_word else f" ({target_name})"
        return (
            f"How soon does the event{named} come for each sample? {share:.0f} % of the {len(target):,} samples "
            "had it, the others are censored."
        )

    def chance(self, target: np.ndarray) -> float:
        """A random order."""
        return 0.5

    def say_chance(self, chance: float) -> str:
        """The ends of the scale."""
        return "1 is perfect, 0.5 no better than chance"

    def name_raised(self, target_name: str) -> str | None:
        """The risk."""
        return "the risk"

    def summarise(self, scores: np.ndarray, target: np.ndarray, *, fewest: int = 1) -> dict[str, Any]:
        """Mean log-hazard, share of events and median survival."""
        predicted, observed = float(scores[:, 0].mean()), float((target > 0).mean())
        said = f"{observed:.0%} had the event, "
        return {
            "predicted": [predicted],
            "observed": [observed],
            "said": said + say_median(split_times(target), fewest),
        }

    def list_observed(self, target: np.ndarray) -> Sequence[Any]:
        """Time, and 1 for an event."""
        survival = split_times(target)
        return [[time, int(event)] for time, event in zip(survival.time.tolist(), survival.event, strict=True)]

    # Judging.

    def evaluand(self, tidy: np.ndarray) -> np.ndarray:
        """Martingale residuals."""
        return martingale_residuals(tidy)

    def judge(self, train: np.ndarray, test: np.ndarray) -> TimesJudge:
        """Concordance and the integrated Brier score."""
        return TimesJudge(train, test, last=float(self.known_baseline.x[-1]))

    def peers(self, train: np.ndarray, random_state: int) -> Sequence[Peer]:
        """None: scikit-learn has no survival models."""
        return ()


def _refuse_falling(times: np.ndarray, hazards: np.ndarray) -> None:
    """Raise an error if a file holds what is no baseline hazard."""
    fits = times.shape == hazards.shape and len(times) > 0 and np.isfinite([times, hazards]).all()
    if not fits or times[0] < 0 or (np.diff(times) <= 0).any() or (np.diff(hazards, prepend=0) < 0).any():
        raise ValueError("its baseline hazard does not rise with the time")


class SurvivalModel(TableEstimator):
    """Methods of estimators for survival times."""

    kind_: Times
    unique_times_: np.ndarray
    cumulative_baseline_hazard_: np.ndarray
    mean_log_hazard_: float | None
    ties: str

    def _kind(self) -> Times:
        return Times(self.ties)

    def predict(self, X: Any) -> np.ndarray:
        """The log-hazard of each row; higher is worse.

        The hazard ratio to the cohort's mean, which pages and the command line tell, is
        ``exp(predict(X) - mean_log_hazard_)``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Log-hazards, shape ``(n_samples,)``.
        """
        return self._outputs(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance of the predicted risks with times and events.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.
        y
            Times and events; see :func:`lspin.survival.read_survival`.
        sample_weight
            Weight of each row.

        Returns
        -------
        float
            The concordance; 0.5 is chance.
        """
        risk = self.predict(X)
        return self.kind_.grade(y, risk, sample_weight)

    def predict_cumulative_hazard_function(self, X: Any, *, return_array: bool = False) -> np.ndarray:
        """Cumulative hazard of each row over time.

        Parameters
        ----------
        X
            Table.
        return_array
            Whether to return numbers at ``unique_times_``, shape ``(n_samples, n_times)``, instead of an array of
            step functions with ``x`` and ``y``.

        Returns
        -------
        numpy.ndarray
            One step function for each row, or an array of numbers.
        """
        risk = self.predict(X)
        hazards = cumulative_hazard(self.kind_.known_baseline, log_hazard=risk)
        return hazards if return_array else self._list_steps(hazards, before=0.0)

    def predict_survival_function(self, X: Any, *, return_array: bool = False) -> np.ndarray:
        """Probability of no event over time, for each row.

        Parameters
        ----------
        X
            Table.
        return_array
            As in :meth:`predict_cumulative_hazard_function`.

        Returns
        -------
        numpy.ndarray
            One step function for each row, or an array of numbers.
        """
        risk = self.predict(X)
        survival = self.kind_.survival(risk)
        return survival if return_array else self._list_steps(survival, before=1.0)

    def predict_risk(self, X: Any, times: Sequence[float]) -> np.ndarray:
        """Probability of the event up to each time, shape ``(n_samples, n_times)``.

        Parameters
        ----------
        X
            Table.
        times
            Rising times within those of the training rows, in their unit: ``[12, 36, 60]`` for one, three and
            five years where times are in months.

        Returns
        -------
        numpy.ndarray
            Probabilities.
        """
        risk = self.predict(X)
        return self.kind_.risk(risk, times)

    def _list_steps(self, curves: np.ndarray, *, before: float) -> np.ndarray:
        steps = np.empty(len(curves), dtype=object)
        steps[:] = [StepFunction(self.unique_times_, curve, before=before) for curve in curves]
        return steps

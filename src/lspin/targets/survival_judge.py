"""How good log-hazards and survival curves are on held-out rows, and what to say about it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lspin.survival import (
    StepFunction,
    calibration_at,
    harrell_concordance,
    integrated_brier_score,
    median_survival,
    read_survival,
    survival_probability,
)
from lspin.survival.outline import choose_ticks, outline_curve
from lspin.targets.calibration import CalibrationScore, compare_survival, cox_slope
from lspin.targets.intervals import SMALLEST_BIN, Interval, bootstrap
from lspin.targets.kind import Forecast, Judge, Metric
from lspin.targets.verdicts import AREAS, Verdict, grade, word_interval, word_number, word_verdict

N_TIMES = 20  # at which survival is judged
THIRDS = ("lowest risk", "middle risk", "highest risk")  # as predicted


class TimesJudge(Judge):
    """Scores of log-hazards and survival curves."""

    def __init__(self, train: np.ndarray, test: np.ndarray, *, last: float) -> None:
        self.train, self.test = train, test
        seen = test["time"][test["event"]]
        self.times = np.unique(np.quantile(seen, np.linspace(0.1, 0.8, N_TIMES))) if len(seen) else np.empty(0)
        self.times = self.times[self.times < min(test["time"].max(), train["time"].max(), last)]
        self.times = self.times[self.times > 0]
        self.metrics = [Metric("c_index", "concordance (Harrell's C)", "high", 0.5)]
        if len(self.times) > 1:
            self.metrics.append(Metric("brier", "integrated Brier score", "low", None))

    def forecast(self, model: Any, X: Any) -> Forecast:
        """Log-hazards, and survival at the times that are judged."""
        risk = model.predict(X)
        hazard = StepFunction(model.unique_times_, model.cumulative_baseline_hazard_, before=0.0)
        return Forecast(risk, survival_probability(hazard, log_hazard=risk, times=self.times))

    def score(self, forecast: Forecast, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Both with the bootstrap's interval; draws without a pair to compare are left out."""

        def concordance(rows: np.ndarray) -> float:
            return harrell_concordance(self.test[rows], risk=forecast.predicted[rows]).c_index

        def brier(rows: np.ndarray) -> float:
            given = None if forecast.survival is None else forecast.survival[rows]
            return integrated_brier_score(self.test[rows], survival=given, times=self.times, train=self.train)

        measures: dict[str, Callable[[np.ndarray], float]] = {"c_index": concordance, "brier": brier}
        return {metric.key: bootstrap(measures[metric.key], draws) for metric in self.metrics}

    def calibrate(self, forecast: Forecast) -> dict[str, Any]:
        """Predicted and observed survival at the middle one of the times."""
        if len(self.times) < 2 or forecast.survival is None:
            return {"x": "", "y": "", "limits": [0, 1], "bins": []}
        place = len(self.times) // 2
        n_groups = max(1, min(5, len(self.test) // (2 * SMALLEST_BIN)))
        found = calibration_at(
            self.test, survival=forecast.survival[:, place], at=self.times[place], n_groups=n_groups
        )
        rows = zip(found.predicted, found.observed, found.lower, found.upper, found.size, strict=True)
        at = f"time {word_number(self.times[place])}"
        return {
            "x": f"predicted survival at {at}",
            "y": f"observed survival at {at}",
            "limits": [0, 1],
            "bins": [row for row in rows if np.isfinite(row[1])],
        }

    def list_curves(self, forecast: Forecast) -> list[dict[str, Any]]:
        """Survival by thirds of the predicted risk, on a grid, so that no step is one sample's time.

        Rows of equal risk stay together, so the parts may differ in size, or be one.
        """
        thirds = np.searchsorted(np.quantile(forecast.predicted, [1 / 3, 2 / 3]), forecast.predicted)
        ticks = choose_ticks(self.test["time"])
        names = THIRDS if len(np.unique(thirds)) > 1 else ("all rows",)
        parts = [(name, self.test[thirds == third]) for third, name in enumerate(names)]
        return [
            outline_curve(name, own, ticks) | {"median": say_median(own, SMALLEST_BIN), "ticks": ticks}
            for name, own in parts
            if len(own) >= SMALLEST_BIN
        ]

    def check_calibration(self, forecast: Forecast) -> list[CalibrationScore]:
        """Of the risk at the middle one of the times, and of the log-hazard."""
        slope = cox_slope(self.test, forecast.predicted)
        if not len(self.times) or forecast.survival is None:
            return [slope]
        place = len(self.times) // 2
        return [compare_survival(self.test, forecast.survival[:, place], self.times[place]), slope]

    def say(self, scores: dict[str, Interval], name: str) -> Verdict:
        """By the concordance."""
        found = scores["c_index"]
        if not np.isfinite(found.value):
            return Verdict("Whether the model orders samples by their risk cannot be said: too few events.", None)
        said = word_interval("concordance", found)
        what = "ordering samples by their risk"
        return word_verdict(what, said, level=grade(found.value, AREAS), beats_chance=found.lower > 0.5)


def say_median(y: Any, fewest: int = 1) -> str:
    """Median survival with its interval, in words.

    Where it must not be one sample's time, ``fewest`` event times around each number are averaged.
    """
    survival = read_survival(y, needs_events=False)
    found = median_survival(survival)
    if np.isinf(found.median):
        return "median survival not reached"
    seen = np.sort(survival.time[survival.event])
    if len(seen) < fewest:
        return "median survival not told: it rests on too few events"
    median, lower, upper = (_blur(at, seen, fewest) for at in found)
    bounds = f"from {lower}, no upper limit" if np.isinf(found.upper) else f"{lower} to {upper}"
    return f"median survival {'about ' if fewest > 1 else ''}{median} ({bounds})"


def _blur(at: float, seen: np.ndarray, fewest: int) -> str:
    """An event time, or the mean of some around it."""
    if np.isinf(at):
        return ""
    first = int(np.clip(np.searchsorted(seen, at) - fewest // 2, 0, len(seen) - fewest))
    return word_number(seen[first : first + fewest].mean())

"""Counts: a rate is predicted, with the Poisson deviance as loss; the output is a log rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import d2_tweedie_score

from lspin.core.losses import LARGEST_LOG_RATE, POISSON, RowLoss
from lspin.tables.grid import Rows
from lspin.targets.intervals import Interval, bootstrap
from lspin.targets.kind import Forecast, Metric, Peer, ratio_of
from lspin.targets.response import Response, ResponseJudge
from lspin.targets.verdicts import word_number

SMALLEST_RATE = 1e-12


@dataclass(frozen=True, eq=False)
class Counts(Response):
    """Numbers of at least 0, counts above all, fitted in units of their mean."""

    task: ClassVar[str] = "count"
    noun: ClassVar[str] = "model of counts"
    target_word: ClassVar[str] = "the count"
    scale: ClassVar[str] = "log-rate"
    scale_words: ClassVar[str] = "the log rate"
    score_name: ClassVar[str] = "D²"
    loss_unit: ClassVar[str] = "nats a mean count"
    ratio: ClassVar[str | None] = "rate ratio"
    exponential: ClassVar[str | None] = "expected count"
    learned_types: ClassVar[Mapping[str, type]] = {"target_mean_": float}

    # Reading.

    def read(self, entries: np.ndarray, name: str = "") -> tuple[Self, np.ndarray]:
        """The counts; a constant and a negative number are errors."""
        kind, target = super().read(entries, name)
        return kind, _refuse_negative(target)

    def read_known(self, entries: np.ndarray) -> np.ndarray:
        """The counts."""
        return _refuse_negative(super().read_known(entries))

    def tidy(self, y: Any, name: str = "y") -> np.ndarray:
        """The counts."""
        return _refuse_negative(super().tidy(y, name))

    def learn(self, rows: Rows, names: Sequence[Any]) -> Self:
        """The weighted mean."""
        return replace(self, mean=float(np.average(rows.target, weights=rows.weight)))

    def adjust(self, rows: Rows) -> Rows:
        """Counts in units of their mean."""
        return rows._replace(target=rows.target / self.mean)

    @property
    def attributes(self) -> dict[str, Any]:
        """The mean."""
        return {"target_mean_": self.mean}

    def restore(self, attributes: Mapping[str, Any]) -> Self:
        """With the mean of a file."""
        mean = attributes["target_mean_"]
        if not 0 < mean < np.inf:
            raise ValueError(f"its counts have the mean {mean:g}")
        return replace(self, mean=mean)

    # Fitting.

    @property
    def loss(self) -> RowLoss:
        """Half the Poisson deviance."""
        return POISSON

    def constant(self, rows: Rows) -> np.ndarray:
        """The logarithm of the mean."""
        return np.log([np.average(rows.target, weights=rows.weight)])

    def regressand(self, rows: Rows) -> np.ndarray:
        """Counts above their mean: the first step of Newton's method towards the log rate."""
        return rows.target[:, None] - 1.0

    def expect(self, outputs: np.ndarray) -> np.ndarray:
        """The rate above the mean."""
        return np.exp(np.clip(outputs, None, LARGEST_LOG_RATE)) - 1.0

    def _constant_loss(self, target: np.ndarray, weight: np.ndarray) -> float:
        outputs = np.log([[max(np.average(target, weights=weight), SMALLEST_RATE)]])
        return float(np.average(self.loss.by_row(np.repeat(outputs, len(target), axis=0), target), weights=weight))

    # Using outputs.

    @property
    def unit(self) -> float:
        """Log rates have no unit."""
        return 1.0

    @property
    def origin(self) -> float:
        """The logarithm of the mean count."""
        return float(np.log(self.mean))

    def decide(self, outputs: np.ndarray) -> np.ndarray:
        """The expected count."""
        return self.mean * ratio_of(outputs[:, 0])

    def grade(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """D², the part of the Poisson deviance that is explained."""
        rates = np.maximum(predicted, SMALLEST_RATE)
        return float(d2_tweedie_score(y, rates, power=1, sample_weight=weight))

    # Words and tables.

    def say(self, scores: np.ndarray) -> str:
        """The expected count."""
        return f"expected count {word_number(ratio_of(scores[0]), 4)}"

    def list_predictions(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """The expected count."""
        return {"prediction": ratio_of(scores[:, 0])}

    def ask(self, target_name: str, target: np.ndarray) -> str:
        """How many, with mean and spread."""
        return (
            f"How many {target_name} are to be expected for each sample? Over the {len(target):,} samples "
            f"the mean is {word_number(target.mean())} and the standard deviation {word_number(target.std())}."
        )

    def name_raised(self, target_name: str) -> str | None:
        """The rate."""
        return f"the rate of {target_name}"

    def summarise(self, scores: np.ndarray, target: np.ndarray, *, fewest: int = 1) -> dict[str, Any]:
        """Mean expected count and mean count."""
        return super().summarise(ratio_of(scores), target)

    # Judging.

    def judge(self, train: np.ndarray, test: np.ndarray) -> "CountsJudge":
        """D² and the mean absolute error."""
        return CountsJudge(test)

    def peers(self, train: np.ndarray, random_state: int) -> Sequence[Peer]:
        """Poisson regression and boosted trees."""
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import PoissonRegressor

        trees = HistGradientBoostingRegressor(
            loss="poisson", max_bins=63, early_stopping=False, random_state=random_state
        )
        return [
            Peer("Poisson regression", "ridge penalty 1", PoissonRegressor(max_iter=1000), is_linear=True),
            Peer("boosted trees", "scikit-learn's defaults, Poisson loss", trees, is_linear=False),
        ]


class CountsJudge(ResponseJudge):
    """Scores of predicted rates."""

    def __init__(self, test: np.ndarray) -> None:
        self.test = test
        self.metrics = [
            Metric("d2", "D² (deviance)", "high", 0.0),
            Metric("mae", "mean absolute error", "low", None),
        ]

    def score(self, forecast: Forecast, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Both with the bootstrap's interval."""
        y, given = self.test, np.maximum(forecast.predicted, SMALLEST_RATE)
        return {
            "d2": bootstrap(lambda rows: d2_tweedie_score(y[rows], given[rows], power=1), draws),
            "mae": bootstrap(lambda rows: np.abs(y[rows] - given[rows]).mean(), draws),
        }


def _refuse_negative(target: np.ndarray) -> np.ndarray:
    below = np.flatnonzero(target < 0)
    if len(below):
        raise ValueError(
            f"loss='poisson' needs counts, but the target is negative in {len(below)} of {len(target)} rows "
            f"({target[below[0]]:g} in row {below[0]})"
        )
    return target

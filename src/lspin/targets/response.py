"""A response: one number, standardised for fitting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from lspin.core.losses import SQUARED_ERROR, RowLoss
from lspin.tables.encoding import SMALLEST
from lspin.tables.grid import Rows
from lspin.tables.labels import read_response, refuse_constant
from lspin.targets.base import TableEstimator
from lspin.targets.calibration import CalibrationScore, linear_slope, mean_error
from lspin.targets.intervals import Interval, bootstrap, equal_bins
from lspin.targets.kind import Forecast, Judge, Kind, Metric, Peer
from lspin.targets.verdicts import SHARES, Verdict, grade, word_interval, word_number, word_verdict

LARGEST = 1e305  # of a response: predictions are a mean and a few standard deviations
SQUARABLE = 1e150  # numbers beyond which sums of squares overflow


@dataclass(frozen=True, eq=False)
class Response(Kind):
    """A number to be predicted."""

    task: ClassVar[str] = "regress"
    noun: ClassVar[str] = "regressor"
    target_word: ClassVar[str] = "the response"
    scale: ClassVar[str] = "response"
    scale_words: ClassVar[str] = "the response"
    score_name: ClassVar[str] = "R²"
    loss_unit: ClassVar[str] = "parts of the variance"
    learned_types: ClassVar[Mapping[str, type]] = {"target_mean_": float, "target_scale_": float}

    mean: float = 0.0
    spread: float = 1.0

    # Reading.

    def read(self, entries: np.ndarray, name: str = "") -> tuple[Self, np.ndarray]:
        """The numbers; a constant is an error."""
        target = read_response(entries)
        refuse_constant(target)
        largest = int(np.abs(target).argmax())
        if abs(target[largest]) > LARGEST:
            raise ValueError(
                f"the target holds {target[largest]:g} (row {largest}), and predictions beyond {LARGEST:g} could "
                "not be represented; divide it by a power of ten"
            )
        return self, target

    def read_known(self, entries: np.ndarray) -> np.ndarray:
        """The numbers."""
        return read_response(entries)

    def tidy(self, y: Any, name: str = "y") -> np.ndarray:
        """The numbers."""
        return read_response(y)

    def learn(self, rows: Rows, names: Sequence[Any]) -> Self:
        """Weighted mean and standard deviation."""
        largest = np.abs(rows.target).max()  # squares of numbers near the largest float would overflow
        mean = np.average(rows.target / largest, weights=rows.weight)
        spread = np.sqrt(np.average((rows.target / largest - mean) ** 2, weights=rows.weight))
        return replace(self, mean=float(mean * largest), spread=float(max(spread * largest, SMALLEST)))

    def adjust(self, rows: Rows) -> Rows:
        """The standardised response."""
        return rows._replace(target=(rows.target - self.mean) / self.spread)

    @property
    def attributes(self) -> dict[str, Any]:
        """Mean and standard deviation."""
        return {"target_mean_": self.mean, "target_scale_": self.spread}

    def restore(self, attributes: Mapping[str, Any]) -> Self:
        """With the mean and standard deviation of a file."""
        mean, spread = attributes["target_mean_"], attributes["target_scale_"]
        if not np.isfinite([mean, spread]).all() or spread <= 0:
            raise ValueError(f"its response has the mean {mean:g} and the standard deviation {spread:g}")
        return replace(self, mean=mean, spread=spread)

    # Fitting.

    @property
    def loss(self) -> RowLoss:
        """Squared error."""
        return SQUARED_ERROR

    def constant(self, rows: Rows) -> np.ndarray:
        """The mean."""
        return np.array([np.average(rows.target, weights=rows.weight)])

    def score(self, outputs: Sequence[np.ndarray], parts: Sequence[Rows]) -> float:
        """The part of the loss of a constant that is explained, over all parts: R² for squared errors."""
        weights = [rows.weight.sum() for rows in parts]
        losses = [
            float(self.loss.average(part, rows.target, rows.weight / total)) if total else 0.0
            for part, rows, total in zip(outputs, parts, weights, strict=True)
        ]
        whole = [np.concatenate([getattr(rows, name) for rows in parts]) for name in ("target", "weight")]
        total = self._constant_loss(*whole)
        return 1 - float(np.average(losses, weights=weights)) / total if total > 0 else float("nan")

    def _constant_loss(self, target: np.ndarray, weight: np.ndarray) -> float:
        return float(np.average((target - np.average(target, weights=weight)) ** 2, weights=weight))

    # Using outputs.

    @property
    def unit(self) -> float:
        """One standard deviation."""
        return self.spread

    @property
    def origin(self) -> float:
        """The mean."""
        return self.mean

    def decide(self, outputs: np.ndarray) -> np.ndarray:
        """The expected response."""
        with np.errstate(over="ignore"):  # of rows far from all others
            predicted = self.mean + self.spread * outputs[:, 0]
        return np.clip(predicted, -np.finfo(np.float64).max, np.finfo(np.float64).max)

    def grade(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """R²."""
        unit = _unit_of(y, predicted)
        return float(r2_score(np.asarray(y, np.float64) / unit, predicted / unit, sample_weight=weight))

    # Words and tables.

    def say(self, scores: np.ndarray) -> str:
        """The predicted number."""
        return f"predicted {word_number(scores[0], 4)}"

    def list_predictions(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """The expected response."""
        return {"prediction": scores[:, 0]}

    def ask(self, target_name: str, target: np.ndarray) -> str:
        """Which number, with its mean and spread."""
        return (
            f"How high is {target_name} for each sample? Over the {len(target):,} samples its mean is "
            f"{word_number(target.mean())} and its standard deviation {word_number(target.std())}."
        )

    def chance(self, target: np.ndarray) -> float:
        """The mean explains nothing."""
        return 0.0

    def say_chance(self, chance: float) -> str:
        """The ends of the scale."""
        return "1 is perfect, 0 no better than the mean"

    def name_raised(self, target_name: str) -> str | None:
        """The response itself."""
        return target_name

    def summarise(self, scores: np.ndarray, target: np.ndarray, *, fewest: int = 1) -> dict[str, Any]:
        """Mean prediction and mean response."""
        predicted, observed = float(scores[:, 0].mean()), float(target.mean())
        said = f"predicted {word_number(predicted)} on average, observed {word_number(observed)}"
        return {"predicted": [predicted], "observed": [observed], "said": said}

    # Judging.

    def evaluand(self, tidy: np.ndarray) -> np.ndarray:
        """The response itself."""
        return tidy.astype(np.float64)

    def judge(self, train: np.ndarray, test: np.ndarray) -> "ResponseJudge":
        """R² and the mean absolute error."""
        return ResponseJudge(test)

    def peers(self, train: np.ndarray, random_state: int) -> Sequence[Peer]:
        """The lasso and boosted trees."""
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import LassoCV

        lasso = LassoCV(eps=1e-2, alphas=20, cv=3, tol=1e-3, random_state=random_state)
        trees = HistGradientBoostingRegressor(max_bins=63, early_stopping=False, random_state=random_state)
        return [
            Peer("lasso", "strength by cross-validation", lasso, is_linear=True),
            Peer("boosted trees", "scikit-learn's defaults", trees, is_linear=False),
        ]


def _unit_of(y: Any, predicted: np.ndarray) -> float:
    """What to divide numbers by whose squares would overflow."""
    largest = max(np.abs(np.asarray(y, np.float64)).max(initial=0.0), np.abs(predicted).max(initial=0.0))
    return float(largest) if largest > SQUARABLE else 1.0


class ResponseJudge(Judge):
    """Scores of predicted numbers."""

    def __init__(self, test: np.ndarray) -> None:
        self.test = test
        self.metrics = [Metric("r2", "R²", "high", 0.0), Metric("mae", "mean absolute error", "low", None)]

    def forecast(self, model: Any, X: Any) -> Forecast:
        """The predicted numbers."""
        return Forecast(model.predict(X))

    def score(self, forecast: Forecast, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Both with the bootstrap's interval."""
        y, errors = self.test, self.test - forecast.predicted
        return {
            "r2": bootstrap(lambda rows: _divide(np.mean(errors[rows] ** 2), y[rows].var()), draws, 1.0, -1.0),
            "mae": bootstrap(lambda rows: np.abs(errors[rows]).mean(), draws),
        }

    def calibrate(self, forecast: Forecast) -> dict[str, Any]:
        """The mean response of rows with similar predictions."""
        y, given, bins = self.test, forecast.predicted, []
        for rows in equal_bins(given):
            width = 1.96 * y[rows].std(ddof=1) / np.sqrt(len(rows))
            mean = y[rows].mean()
            bins.append((float(given[rows].mean()), mean, mean - width, mean + width, len(rows)))
        return {"x": "predicted", "y": "observed, mean of the bin", "limits": None, "bins": bins}

    def check_calibration(self, forecast: Forecast) -> list[CalibrationScore]:
        """The mean error, and the slope of the response on the prediction."""
        y, given = self.test.astype(np.float64), forecast.predicted
        return [mean_error(y, given), linear_slope(y, given)]

    def say(self, scores: dict[str, Interval], name: str) -> Verdict:
        """By the part of the variance that is explained."""
        explained = scores[self.metrics[0].key]
        said = word_interval(self.metrics[0].name, explained)
        if not np.isfinite(explained.value):
            return Verdict(
                f"Whether the model predicts {name} well cannot be said: held-out rows do not vary.", None
            )
        level = grade(explained.value, SHARES)
        return word_verdict(f"predicting {name}", said, level=level, beats_chance=explained.lower > 0)


def _divide(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan


class Regressor(RegressorMixin, TableEstimator):
    """Methods of regressors."""

    kind_: Response
    target_mean_: float
    target_scale_: float

    def _kind(self) -> Response:
        return Response()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions; of counts D², the part of the Poisson deviance that is explained.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.
        y
            True responses.
        sample_weight
            Weight of each row.

        Returns
        -------
        float
            The part explained; 1 is perfect, 0 is a constant.
        """
        predicted = self.predict(X)
        return self.kind_.grade(y, predicted, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The expected response of each row.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Responses, shape ``(n_samples,)``; of counts, the expected number.
        """
        outputs = self._outputs(X)  # says if the model is not fitted, before anything else of it is asked
        return self.kind_.decide(outputs)

"""What distinguishes classes, a response, counts and survival times: the names that every kind of target has.

A kind is a frozen record. It starts with the settings of an estimator, and each step of reading and fitting
returns a copy that knows more: ``read`` learns the classes, ``learn`` scales and weights, ``finish`` the baseline
hazard.

A target comes in two forms. *Tidy* is what users see: an array of classes, of numbers, or with the fields
``event`` and ``time``. *Numbers* are what models learn: class codes, the response, or times with a negative sign
where they were censored.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lspin.core.losses import Loss
from lspin.survival.curves import LARGEST_LOG_HAZARD
from lspin.tables.grid import Rows
from lspin.tables.labels import list_target
from lspin.targets.calibration import CalibrationScore
from lspin.targets.intervals import Interval
from lspin.targets.verdicts import Verdict


def ratio_of(log_ratio: Any) -> Any:
    """A rate or a ratio of hazards or rates from its logarithm, finite however large that is."""
    return np.exp(np.minimum(log_ratio, LARGEST_LOG_HAZARD))


class Metric(NamedTuple):
    """Name of a score, and whether high or low is better."""

    key: str
    name: str
    better: str  # "high" or "low"
    chance: float | None  # the score of the best constant prediction


class Forecast(NamedTuple):
    """Predictions of a model for some rows."""

    predicted: np.ndarray  # (n, n_classes) probabilities, (n,) responses or (n,) log-hazards
    survival: np.ndarray | None = None  # (n, n_times)


class Peer(NamedTuple):
    """A familiar model of scikit-learn for numeric inputs, to be compared with."""

    name: str
    note: str
    model: Any
    is_linear: bool  # a linear model uses the inputs whose coefficients are not 0; missing values must be filled


class Judge(ABC):
    """Scores and calibration of forecasts for held-out rows."""

    metrics: list[Metric]

    @abstractmethod
    def forecast(self, model: Any, X: Any) -> Forecast:
        """Predictions of a fitted model for rows."""

    @abstractmethod
    def score(self, forecast: Forecast, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Every metric with its confidence interval; ``draws`` are bootstrap samples of the rows."""

    @abstractmethod
    def calibrate(self, forecast: Forecast) -> dict[str, Any]:
        """Words ``x`` and ``y``, ``limits`` of the axes, ``bins`` (predicted, observed, lower, upper, size)."""

    @abstractmethod
    def check_calibration(self, forecast: Forecast) -> list[CalibrationScore]:
        """Calibration in a few numbers: right on average, and spread as the outcomes are."""

    @abstractmethod
    def say(self, scores: dict[str, Interval], name: str) -> Verdict:
        """How well a model does, in a sentence; ``name`` is that of the target."""

    def list_curves(self, forecast: Forecast) -> list[dict[str, Any]]:
        """Survival curves by thirds of the risk, where there are times."""
        return []


@dataclass(frozen=True, eq=False)
class Kind(ABC):
    """One kind of target; all code that depends on the kind asks this object."""

    task: ClassVar[str]  # as on the command line
    noun: ClassVar[str]  # what a model of this kind is called
    target_word: ClassVar[str]  # what is predicted, where the user gives no name
    scale: ClassVar[str]  # what outputs are measured in
    scale_words: ClassVar[str]  # the same in a sentence
    score_name: ClassVar[str]
    loss_unit: ClassVar[str]  # of the sparsity
    forecast_word: ClassVar[str] = "predictions"  # what is calibrated or not
    ratio: ClassVar[str | None] = None  # what the exponential of a contribution is called, if it has a name
    exponential: ClassVar[str | None] = None  # what the exponential of a score is, if it has a name
    has_classes: ClassVar[bool] = False
    tells_little: ClassVar[bool] = False  # whether a row tells much less than a class label does
    learned_types: ClassVar[Mapping[str, type]]  # of the attributes that an estimator shows and a file holds

    # Reading.

    def entries(self, y: Any, *, trains: bool) -> np.ndarray:
        """The target as an array with one entry per row; ``trains`` tells training rows from rows to evaluate."""
        return list_target(y)

    @abstractmethod
    def read(self, entries: np.ndarray, name: str = "") -> tuple[Self, np.ndarray]:
        """The kind with the classes it has learned, and the target of the training rows as numbers.

        The ``name`` of the target tells which of two answers is the event: of ``alive``, it is no.
        """

    @abstractmethod
    def read_known(self, entries: np.ndarray) -> np.ndarray:
        """The target of rows to evaluate, as numbers."""

    @abstractmethod
    def tidy(self, y: Any, name: str = "y") -> np.ndarray:
        """The target of rows to evaluate in its tidy form; invalid values are an error."""

    def learn(self, rows: Rows, names: Sequence[Any]) -> Self:
        """The kind with what it learns from the training rows, such as scales; ``names`` are the columns'."""
        return self

    @abstractmethod
    def adjust(self, rows: Rows) -> Rows:
        """Training rows as the model sees them: weighted by class, standardised, or ranked."""

    def finish(self, rows: Rows, outputs: np.ndarray) -> Self:
        """The kind with what it learns from the fitted model's outputs for the training rows."""
        return self

    @property
    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """What the kind has learned, as attributes of the estimator."""

    @abstractmethod
    def restore(self, attributes: Mapping[str, Any]) -> Self:
        """The kind with the attributes that were saved in a file."""

    @property
    def labels(self) -> np.ndarray | None:
        """The classes in sorted order; ``None`` if the target has none."""
        return None

    @property
    def event_label(self) -> Any:
        """The one of two classes that scores speak for; ``None`` if there are not two classes."""
        return None

    # Fitting.

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What is minimised."""

    @property
    def n_outputs(self) -> int:
        """Number of outputs of the prediction network."""
        return 1

    @abstractmethod
    def constant(self, rows: Rows) -> np.ndarray:
        """Outputs of the best constant prediction, shape ``(n_outputs,)``."""

    def highest_price(self, rows: Rows) -> float:
        """A sparsity at which no feature is worth its price: the loss of the best constant prediction."""
        outputs = np.tile(self.constant(rows), (len(rows.target), 1))
        return float(self.loss.average(outputs, rows.target, rows.weight / rows.weight.sum()))

    def strata(self, target: np.ndarray) -> np.ndarray:
        """Groups to stratify splits by, given the target as numbers."""
        return np.zeros(len(target))

    def regressand(self, rows: Rows) -> np.ndarray:
        """Target of a ridge regression, shape ``(n, n_outputs)``."""
        return rows.target[:, None]

    def expect(self, outputs: np.ndarray) -> np.ndarray:
        """The regressand that outputs lead one to expect, shape ``(n, n_outputs)``."""
        return outputs

    @property
    def output_unit(self) -> float:
        """Factor from the predictions of this ridge regression to outputs."""
        return 1.0

    def information(self, rows: Rows) -> float:
        """Total weight of the informative rows (of survival times, those with an event)."""
        return float(rows.weight.sum())

    @abstractmethod
    def score(self, outputs: Sequence[np.ndarray], parts: Sequence[Rows]) -> float:
        """Score of the outputs for held-out parts of the rows; NaN if there is none."""

    def standard_error(self, score: float, target: np.ndarray) -> float:
        """Standard error of a score on these rows; infinite if it is not known."""
        return float("inf")

    # Using outputs. Scores are outputs in units of the user's target, towards the event of two classes.

    @property
    def unit(self) -> float:
        """Size of an output of 1 on the user's scale."""
        return 1.0

    @property
    def origin(self) -> float:
        """Value of an output of 0 on the user's scale."""
        return 0.0

    @property
    def direction(self) -> float:
        """-1 if the event is the first of two classes, since outputs speak for the second; else 1."""
        return 1.0

    def as_scores(self, outputs: np.ndarray) -> np.ndarray:
        """Scores from the outputs of a model."""
        return self.origin + self.as_terms(outputs)

    def as_terms(self, parts: np.ndarray) -> np.ndarray:
        """Parts of a score from parts of an output."""
        return self.direction * self.unit * parts

    @abstractmethod
    def decide(self, outputs: np.ndarray) -> np.ndarray:
        """Predictions as users see them, shape ``(n,)``."""

    @abstractmethod
    def grade(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """Score of predictions, given the tidy target."""

    def probabilities(self, scores: np.ndarray) -> np.ndarray | None:
        """Probability of each class, shape ``(n, n_classes)``; ``None`` if the target has no classes."""
        return None

    def align(self, scores: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Scores of one member so that they can be compared with the ``own`` scores of all, on the same rows."""
        return scores

    def headline(self, scores: np.ndarray, own: np.ndarray) -> np.ndarray:
        """One number per sample: the score, or the probability of the class that the ``own`` scores prefer."""
        return scores[:, 0]

    @property
    def reference(self) -> float:
        """The score that others are told relative to: 0, but the cohort's mean where scores have no zero."""
        return 0.0

    # Words and tables.

    def name_output(self, output: int) -> str:
        """Name of one of the outputs, in words."""
        return self.scale

    def name_told(self, output: int) -> str:
        """Name of one of the outputs less the ``reference``."""
        return self.name_output(output)

    @abstractmethod
    def say(self, scores: np.ndarray) -> str:
        """The prediction of one sample in words, given its scores of shape ``(n_outputs,)``."""

    @abstractmethod
    def list_predictions(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Columns of a table of predictions."""

    @abstractmethod
    def ask(self, target_name: str, target: np.ndarray) -> str:
        """What a model was asked, in words that tell of no single sample; ``target`` holds numbers."""

    @abstractmethod
    def chance(self, target: np.ndarray) -> float:
        """The score of the best constant prediction."""

    @abstractmethod
    def say_chance(self, chance: float) -> str:
        """The score of the best constant prediction, in words."""

    def name_event(self, target_name: str) -> str | None:
        """What is predicted of two classes, in words that stand alone; ``None`` for all else."""
        return None

    @abstractmethod
    def name_raised(self, target_name: str) -> str | None:
        """What a positive contribution increases, in words; ``None`` if each class has its own score."""

    @abstractmethod
    def summarise(self, scores: np.ndarray, target: np.ndarray, *, fewest: int = 1) -> dict[str, Any]:
        """Mean ``predicted`` and ``observed`` outcome of some samples, and both in words (``said``).

        ``fewest`` is how many samples must stand behind each number.
        """

    def list_observed(self, target: np.ndarray) -> Sequence[Any]:
        """Outcomes of samples for the report, given the target as numbers."""
        return target.tolist()

    # Judging.

    @abstractmethod
    def evaluand(self, tidy: np.ndarray) -> np.ndarray:
        """What the evaluators of the leakage audit predict: class codes or a number."""

    @abstractmethod
    def judge(self, train: np.ndarray, test: np.ndarray) -> Judge:
        """The judge of held-out rows, given the tidy targets of training rows and of held-out rows."""

    @abstractmethod
    def peers(self, train: np.ndarray, random_state: int) -> Sequence[Peer]:
        """Familiar models to compare with; empty if scikit-learn has none for this kind."""

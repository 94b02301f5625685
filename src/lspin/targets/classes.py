"""Classes: one score each, or one for two classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight

from lspin.core.losses import CROSS_ENTROPY, RowLoss, complete_scores
from lspin.survival.words import find_event, name_class
from lspin.tables.grid import Rows
from lspin.tables.labels import read_labels
from lspin.targets.base import TableEstimator
from lspin.targets.calibration import CalibrationScore, compare_shares, logistic_slope
from lspin.targets.intervals import Interval, area_under_curve, bootstrap, equal_bins, wilson_interval
from lspin.targets.kind import Forecast, Judge, Kind, Metric, Peer
from lspin.targets.verdicts import AREAS, SHARES, Verdict, grade, word_interval, word_verdict

LOGITS_OF_A_CLASS = 2.0  # what a ridge that tells +1 from -1 counts on the scale of a logit
SMALLEST_PROBABILITY = 1e-15
LEAST_GAIN = 0.05  # of a constant's log loss, that probabilities of a good ranking must save
MODERATELY = 2  # the grade from which a ranking is good: then, a calibrated model saves more


@dataclass(frozen=True, eq=False)
class Classes(Kind):
    """Labels to be told apart."""

    task: ClassVar[str] = "classify"
    noun: ClassVar[str] = "classifier"
    target_word: ClassVar[str] = "the class"
    scale: ClassVar[str] = "logit"
    scale_words: ClassVar[str] = "the log-odds"
    score_name: ClassVar[str] = "accuracy"
    loss_unit: ClassVar[str] = "nats"
    ratio: ClassVar[str | None] = "odds ratio"
    forecast_word: ClassVar[str] = "probabilities"
    has_classes: ClassVar[bool] = True
    learned_types: ClassVar[Mapping[str, Any]] = {"classes_": np.ndarray, "pos_label_": str | int | float}

    class_weight: Any = None
    pos_label: Any = None  # the event, as the user asks for it
    classes: np.ndarray | None = None  # in sorted order
    event: int | None = None  # place of the event among two classes
    factors: np.ndarray | None = None  # weight of each class

    @property
    def labels(self) -> np.ndarray:
        """The classes, once they are known."""
        assert self.classes is not None
        return self.classes

    # Reading.

    @property
    def event_label(self) -> Any:
        """The one of two classes that scores speak for."""
        return self.labels.tolist()[self._event] if len(self.labels) == 2 else None

    @property
    def _event(self) -> int:
        return 1 if self.event is None else self.event

    def read(self, entries: np.ndarray, name: str = "") -> tuple[Self, np.ndarray]:
        """Classes in sorted order, and codes."""
        classes, codes = read_labels(entries)
        return replace(self, classes=classes, event=choose_event(classes, self.pos_label, name)), codes

    def read_known(self, entries: np.ndarray) -> np.ndarray:
        """Codes; an unknown class is an error."""
        return np.searchsorted(self.labels, self._refuse_unknown(np.asarray(entries), "eval_set"))

    def tidy(self, y: Any, name: str = "y") -> np.ndarray:
        """Labels; an unknown class is an error."""
        return self._refuse_unknown(np.asarray(y), name)

    def _refuse_unknown(self, labels: np.ndarray, name: str) -> np.ndarray:
        unknown = sorted(set(labels.tolist()) - set(self.labels.tolist()), key=repr)
        if unknown:
            known = ", ".join(repr(label) for label in self.labels[:5].tolist())
            raise ValueError(f"{name} holds the class {unknown[0]!r}; the model knows {known}")
        return labels

    def learn(self, rows: Rows, names: Sequence[Any]) -> Self:
        """The weight of each class."""
        if self.class_weight is None:
            return replace(self, factors=np.ones(len(self.labels)))
        factors = compute_class_weight(
            self.class_weight, classes=self.labels, y=self.labels[rows.target], sample_weight=rows.weight
        )
        if not (np.isfinite(factors) & (factors >= 0)).all():
            raise ValueError(f"class_weight must hold finite numbers of at least 0, got {self.class_weight}")
        if not factors.any():
            raise ValueError(f"class_weight={self.class_weight} leaves no class to learn from")
        return replace(self, factors=factors)

    def adjust(self, rows: Rows) -> Rows:
        """Rows weighted by their class."""
        assert self.factors is not None
        return rows._replace(weight=rows.weight * self.factors[rows.target])

    @property
    def attributes(self) -> dict[str, Any]:
        """The classes, and which of two is the event."""
        return {"classes_": self.labels, "pos_label_": self.event_label}

    def restore(self, attributes: Mapping[str, Any]) -> Self:
        """With the classes of a file."""
        classes = attributes["classes_"]
        if len(classes) < 2 or not np.array_equal(classes, np.unique(classes)):
            raise ValueError(f"its {len(classes)} classes are no two or more in sorted order")
        return replace(self, classes=classes, event=choose_event(classes, attributes.get("pos_label_")))

    # Fitting.

    @property
    def loss(self) -> RowLoss:
        """Cross-entropy."""
        return CROSS_ENTROPY

    @property
    def n_outputs(self) -> int:
        """One for two classes, else one a class."""
        return 1 if len(self.labels) == 2 else len(self.labels)

    def constant(self, rows: Rows) -> np.ndarray:
        """Log-frequencies of the classes."""
        shares = rows.weight / rows.weight.sum()
        frequencies = np.bincount(rows.target.astype(int), weights=shares, minlength=len(self.labels))
        # A class may weigh nothing, or be left out of a bootstrap sample.
        logits = np.log(np.maximum(frequencies, SMALLEST_PROBABILITY))
        return logits if self.n_outputs > 1 else logits[1:] - logits[:1]

    def strata(self, target: np.ndarray) -> np.ndarray:
        """The classes."""
        return target

    def regressand(self, rows: Rows) -> np.ndarray:
        """+1 for a class and -1 for the others: one output for two classes, else one a class."""
        codes = np.arange(self.n_outputs) if self.n_outputs > 1 else np.array([1])
        return np.where(rows.target[:, None] == codes, 1.0, -1.0)

    def expect(self, outputs: np.ndarray) -> np.ndarray:
        """The mean of these codes by the probabilities."""
        return 2 * softmax(complete_scores(outputs), axis=1)[:, -self.n_outputs :] - 1

    @property
    def output_unit(self) -> float:
        """Logits that a ridge of these codes stands for."""
        return LOGITS_OF_A_CLASS * (1 if self.n_outputs > 1 else 2)

    def score(self, outputs: Sequence[np.ndarray], parts: Sequence[Rows]) -> float:
        """Weighted accuracy over all parts."""
        decided = complete_scores(np.concatenate(outputs)).argmax(axis=1)
        target, weight = (np.concatenate([getattr(rows, name) for rows in parts]) for name in ("target", "weight"))
        return float(np.average(decided == target, weights=weight))

    def standard_error(self, score: float, target: np.ndarray) -> float:
        """That of a share."""
        return float(np.sqrt(score * (1 - score) / max(len(target), 1)))

    # Using outputs.

    def decide(self, outputs: np.ndarray) -> np.ndarray:
        """The likeliest class."""
        return self.labels[complete_scores(outputs).argmax(axis=1)]

    def grade(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """Accuracy."""
        return float(accuracy_score(y, predicted, sample_weight=weight))

    @property
    def direction(self) -> float:
        """-1 if the event is the first of two classes."""
        return 1.0 if self._event == 1 else -1.0

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Softmax of the scores, in the order of the classes."""
        return softmax(self.direction * complete_scores(scores), axis=1)

    def headline(self, scores: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The probability of the class that is likeliest by the ``own`` scores."""
        likeliest = (self.direction * complete_scores(own)).argmax(axis=1)
        return self.probabilities(scores)[np.arange(len(likeliest)), likeliest]

    # Words and tables.

    def name_output(self, output: int) -> str:
        """The log-odds of the event of two classes, or the score of a class."""
        return f"log-odds of {self.event_label}" if self.n_outputs == 1 else f"score of {self.labels[output]}"

    def say(self, scores: np.ndarray) -> str:
        """The likeliest class with its probability."""
        (probabilities,) = self.probabilities(scores[None])
        likely = int(probabilities.argmax())
        return f"{self.labels[likely]} with probability {probabilities[likely]:.2f}"

    def list_predictions(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """The likeliest class, and the probability of each."""
        probabilities = self.probabilities(scores)
        columns = {"prediction": self.labels[probabilities.argmax(axis=1)]}
        named = zip(self.labels, probabilities.T, strict=True)
        return columns | {f"probability {label}": column for label, column in named}

    def ask(self, target_name: str, target: np.ndarray) -> str:
        """Which class, and how many samples are of the event or of the commonest one."""
        shares = np.bincount(target.astype(int), minlength=len(self.labels)) / len(target)
        if self.n_outputs == 1:
            event, other = (self.labels[place] for place in (self._event, 1 - self._event))
            named = name_class(event, target_name)
            rather = f" rather than {other} ({target_name})" if named == str(event) else ""
            return (
                f"How likely is {named}{rather} for each sample? The event, {named}, is observed in "
                f"{100 * shares[self._event]:.0f} % of the {len(target):,} samples."
            )
        common = int(shares.argmax())
        return (
            f"Which of {len(self.labels)} classes ({target_name}) is each sample? The commonest, "
            f"{self.labels[common]}, makes up {100 * shares[common]:.0f} % of the {len(target):,} samples."
        )

    def chance(self, target: np.ndarray) -> float:
        """The share of the commonest class."""
        return float(np.unique(target, return_counts=True)[1].max() / len(target))

    def say_chance(self, chance: float) -> str:
        """The share of the commonest class."""
        return f"majority class: {chance:.3f}"

    def name_event(self, target_name: str) -> str | None:
        """The event of two classes, with the name of the target where its label says nothing alone."""
        return name_class(self.event_label, target_name) if self.n_outputs == 1 else None

    def name_raised(self, target_name: str) -> str | None:
        """The odds of the event of two classes."""
        return f"the odds of {self.name_event(target_name)}" if self.n_outputs == 1 else None

    def summarise(self, scores: np.ndarray, target: np.ndarray, *, fewest: int = 1) -> dict[str, Any]:
        """Mean probabilities and shares of the classes."""
        given = self.probabilities(scores).mean(axis=0)
        shares = np.bincount(target.astype(int), minlength=len(self.labels)) / len(target)
        likely = int(given.argmax())
        said = f"{self.labels[likely]} predicted {given[likely]:.0%}, observed {shares[likely]:.0%}"
        return {"predicted": given.tolist(), "observed": shares.tolist(), "said": said}

    # Judging.

    def evaluand(self, tidy: np.ndarray) -> np.ndarray:
        """Codes of the classes that occur."""
        return np.unique(tidy, return_inverse=True)[1]

    def judge(self, train: np.ndarray, test: np.ndarray) -> "ClassJudge":
        """Accuracy, log loss and, for two classes, the area under the ROC curve."""
        return ClassJudge(self.labels, test, event=self._event)

    def peers(self, train: np.ndarray, random_state: int) -> Sequence[Peer]:
        """L1-logistic regression and boosted trees; none if a class has one row only."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegressionCV
        from sklearn.multiclass import OneVsRestClassifier

        fewest = int(np.unique(train, return_counts=True)[1].min())
        if fewest < 2:
            return []
        sparse = LogisticRegressionCV(
            Cs=np.logspace(-2, 1, 6),
            l1_ratios=(1.0,),
            solver="liblinear",
            cv=min(3, fewest),
            scoring="neg_log_loss",
            use_legacy_attributes=False,
            random_state=random_state,
        )
        linear = sparse if len(self.labels) == 2 else OneVsRestClassifier(sparse)
        trees = HistGradientBoostingClassifier(max_bins=63, early_stopping=False, random_state=random_state)
        return [
            Peer("L1-logistic regression", "strength by cross-validation", linear, is_linear=True),
            Peer("boosted trees", "scikit-learn's defaults", trees, is_linear=False),
        ]


def choose_event(classes: np.ndarray, asked: Any = None, name: str = "") -> int | None:
    """Place of the event among two classes; none if there are more.

    It is the class that is asked for, else the one whose word says that something happened (yes, 1, died,
    malignant; of a target called ``alive``, no), else the second in sorted order.
    """
    labels = classes.tolist()
    if len(labels) > 2:
        if asked is not None:
            raise ValueError(f"pos_label={asked!r} is for two classes, and the target holds {len(labels)}")
        return None
    if asked is None:
        asked = find_event(labels, name)
        return 1 if asked is None else labels.index(asked)
    # True equals 1, but text that says 1 does not.
    places = [place for place, label in enumerate(labels) if label == asked]
    if not places:
        raise ValueError(f"pos_label={asked!r} is none of the classes {labels[0]!r} and {labels[1]!r}")
    return places[0]


class ClassJudge(Judge):
    """Scores of probabilities."""

    def __init__(self, labels: np.ndarray, test: np.ndarray, *, event: int = 1) -> None:
        self.labels = labels
        self.event = event
        self.codes = np.searchsorted(labels, test)
        chance = float(np.unique(test, return_counts=True)[1].max() / len(test))
        self.metrics = [Metric("accuracy", "accuracy", "high", chance)]
        if len(labels) == 2:
            self.metrics.insert(0, Metric("auc", "area under the ROC curve", "high", 0.5))
        shares = np.unique(test, return_counts=True)[1] / len(test)
        self.metrics.append(Metric("log_loss", "log loss", "low", float(-(shares * np.log(shares)).sum())))

    def forecast(self, model: Any, X: Any) -> Forecast:
        """Probabilities of all classes, 0 for those that the model does not know."""
        full = np.zeros((X.shape[0], len(self.labels)))
        full[:, np.searchsorted(self.labels, model.classes_)] = model.predict_proba(X)
        return Forecast(full)

    def score(self, forecast: Forecast, draws: list[np.ndarray]) -> dict[str, Interval]:
        """Accuracy with Wilson's interval, the others with the bootstrap's."""
        given = forecast.predicted
        right = given.argmax(axis=1) == self.codes
        losses = -np.log(np.maximum(given[np.arange(len(given)), self.codes], SMALLEST_PROBABILITY))
        scores = {
            "accuracy": wilson_interval(int(right.sum()), len(right)),
            "log_loss": bootstrap(lambda rows: losses[rows].mean(), draws),
        }
        if len(self.labels) == 2:
            happened, sure = (self.codes == self.event).astype(int), given[:, self.event]
            scores["auc"] = bootstrap(lambda rows: area_under_curve(happened[rows], sure[rows]), draws)
        return scores

    def calibrate(self, forecast: Forecast) -> dict[str, Any]:
        """How often a class occurs that is given some probability."""
        given = forecast.predicted
        if len(self.labels) == 2:
            name = str(self.labels[self.event])
            sure, happened = given[:, self.event], self.codes == self.event
            words = {"x": f"predicted probability of {name}", "y": f"share that is {name}"}
        else:
            sure, happened = given.max(axis=1), given.argmax(axis=1) == self.codes
            words = {"x": "probability of the likeliest class", "y": "share that is right"}
        bins = [
            (float(sure[rows].mean()), *wilson_interval(int(happened[rows].sum()), len(rows)), len(rows))
            for rows in equal_bins(sure)
        ]
        return {**words, "limits": [0, 1], "bins": bins}

    def check_calibration(self, forecast: Forecast) -> list[CalibrationScore]:
        """Of the event's probability, or of the likeliest class's."""
        given = forecast.predicted
        if len(self.labels) > 2:
            return [compare_shares(given.argmax(axis=1) == self.codes, given.max(axis=1))]
        sure, happened = given[:, self.event], self.codes == self.event
        return [compare_shares(happened, sure), logistic_slope(happened, sure)]

    def say(self, scores: dict[str, Interval], name: str) -> Verdict:
        """By the area under the ROC curve, or by how many of a constant's errors are avoided."""
        if len(self.labels) == 2:
            area = scores["auc"]
            event, other = (name_class(self.labels[place], name) for place in (self.event, 1 - self.event))
            what = f"telling {event} from {other}"
            if not np.isfinite(area.value):
                return Verdict(
                    f"Whether the model is good at {what} cannot be said: the held-out rows are all alike.", None
                )
            said = word_interval("area under the ROC curve", area)
            level, beats_chance = grade(area.value, AREAS), area.lower > 0.5
            hollow = self._say_hollow(scores)
            if hollow and beats_chance and level >= MODERATELY:
                found = word_verdict(f"ranking {event} above {other}", said, level=level, beats_chance=True)
                return Verdict(f"{found.text.removesuffix('.')}, but {hollow}.", 1)
            return word_verdict(what, said, level=level, beats_chance=beats_chance)
        accuracy, chance = scores["accuracy"], self.metrics[0].chance or 0.0
        said = f"{word_interval('accuracy', accuracy)}; the commonest class alone {chance:.2f}"
        level = grade((accuracy.value - chance) / max(1 - chance, 1e-9), SHARES)
        what = f"telling the {len(self.labels)} classes of {name} apart"
        return word_verdict(what, said, level=level, beats_chance=accuracy.lower > chance)

    def _say_hollow(self, scores: dict[str, Interval]) -> str:
        """What to say where the probabilities gain next to nothing over the same for all, or nothing."""
        constant, found = self.metrics[-1].chance or 0.0, scores.get("log_loss")
        if found is None or not found.value > (1 - LEAST_GAIN) * constant:
            return ""
        return (
            "its probabilities are hardly better than the same for every sample "
            f"(log loss {found.value:.2f}, of a constant {constant:.2f})"
        )


class Classifier(ClassifierMixin, TableEstimator):
    """Methods of classifiers."""

    kind_: Classes
    classes_: np.ndarray

    def _kind(self) -> Classes:
        return Classes(getattr(self, "class_weight", None), getattr(self, "pos_label", None))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores before the softmax: shape ``(n,)`` for two classes, else ``(n, n_classes)``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Scores; of two classes, those of the second.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Probabilities, shape ``(n_samples, n_classes)``.
        """
        outputs = self._outputs(X)  # says if the model is not fitted, before anything else of it is asked
        return self.kind_.probabilities(self.kind_.as_scores(outputs))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row.

        Parameters
        ----------
        X
            Table with the columns that the model was fitted on.

        Returns
        -------
        numpy.ndarray
            Classes, shape ``(n_samples,)``.
        """
        outputs = self._outputs(X)
        return self.kind_.decide(outputs)

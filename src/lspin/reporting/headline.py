"""What stands first on the page: the question, the verdict, calibration in words, rivals, and one example."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lspin.reporting.numbers import finite
from lspin.targets.calibration import CalibrationScore
from lspin.targets.intervals import Interval
from lspin.targets.verdicts import Verdict

if TYPE_CHECKING:
    from lspin.reporting.held_out import Comparison
    from lspin.reporting.samples import Cohort

FEW_FEATURES = 6  # that an example can be explained by at a glance
WIDE = 0.5  # of an interval whose ideal is 1
VAGUE = 4.0  # width of a slope's interval from which its number would only frighten
LEAD = 0.05  # of a constant's loss, by which a rival's must be lower to be named
FLAT = 3.0  # slope from which predictions barely differ
LEAST_FAULT = 0.05  # distance of a slope or a ratio from its ideal that matters to a reader
EXAMPLE_RANK = 0.75  # of its prediction: high enough to be interesting, and no extreme


def describe_headline(
    estimator: Any, cohort: "Cohort", comparison: "Comparison | str", target_name: str, *, shows_samples: bool
) -> dict[str, Any]:
    """The first screen: what was asked, how well it went, and what to look at first."""
    kind = estimator.kind_
    asked = kind.ask(target_name, cohort.target)
    if cohort.n_given > len(cohort.target):
        asked += f" The page holds {len(cohort.target):,} of {cohort.n_given:,} samples."
    told: dict[str, Any] = {"asked": asked, "example": choose_example(cohort) if shows_samples else None}
    if isinstance(comparison, str):
        return {**told, "verdict": f"How good the model is was not judged. {comparison}", "grade": None}
    verdict = comparison.judge.say(comparison.scores[0], target_name)
    if not len(cohort.features):
        verdict = Verdict("No feature was found to help: the model predicts the same for every sample.", 0)
    return {
        **told,
        "verdict": verdict.text,
        "grade": verdict.grade,
        "calibration": say_calibration(
            comparison.calibration_scores, kind.forecast_word, is_constant=comparison.is_constant
        ),
        "rivals": say_rivals(comparison),
    }


def describe_scores(scores: list[CalibrationScore]) -> list[dict[str, Any]]:
    """Numbers of the calibration, for the page."""
    return [
        score._asdict()
        | {"interval": finite(score.interval), "is_vague": is_vague(score), "is_off": _is_off(score)}
        for score in scores
    ]


def say_calibration(scores: list[CalibrationScore], what: str, *, is_constant: bool = False) -> str:
    """Whether predictions can be taken as they are, in a sentence."""
    known = {score.key: score for score in scores if np.isfinite(score.interval.value)}
    words = {
        known.get("ratio", known.get("bias")): ("too high on average", "too low on average"),
        known.get("slope"): ("too extreme", _word_cautious(known.get("slope"))),
    }
    faults = [pair[_side(score)] for score, pair in words.items() if score is not None and _is_off(score)]
    if not known:
        return f"Whether its {what} can be taken as they are cannot be said from these rows."
    if faults:
        return f"Its {what} are {' and '.join(faults)}."
    if is_constant:
        return "It predicts the same for every sample: nothing is off on average, and nothing is told apart."
    wide = [
        score
        for score in known.values()
        if score.key != "bias" and score.interval.upper - score.interval.lower > WIDE
    ]
    if wide:
        return f"Nothing speaks against its {what}, but the rows are too few to be sure."
    return f"Its {what} can be taken as they are."


def _is_off(score: CalibrationScore) -> bool:
    """Whether the interval leaves out the ideal, by more than rounding hides."""
    found = score.interval
    is_far = score.key == "bias" or abs(found.value - score.ideal) >= LEAST_FAULT
    return bool(is_far and np.isfinite(found.value) and not found.lower <= score.ideal <= found.upper)


def _word_cautious(slope: CalibrationScore | None) -> str:
    is_flat = slope is not None and slope.interval.value >= FLAT
    return "far too cautious: they barely differ from sample to sample" if is_flat else "too cautious"


def is_vague(score: CalibrationScore) -> bool:
    """Whether the rows are too few to tell how large a slope is; they may tell that it is above or below 1."""
    return bool(score.key == "slope" and score.interval.upper - score.interval.lower > VAGUE)


def _side(score: CalibrationScore) -> int:
    return int(score.interval.value > score.ideal)


def say_rivals(comparison: "Comparison") -> str | None:
    """How familiar models do beside this one, and how many features each needs, in a sentence."""
    metric = comparison.metrics[0]
    own = comparison.scores[0][metric.key]
    if not np.isfinite(own.value):
        return None
    parts = []
    for contender, scores in list(zip(comparison.contenders, comparison.scores, strict=True))[1:]:
        rival = scores[metric.key]
        if not np.isfinite(rival.value) or not contender.n_features:
            continue
        word = word_rival(rival, own, metric.better)
        parts.append(f"{contender.name} is {word} ({rival.value:.2f}) with {_word_count(contender.n_features)}")
    own_name = "The copy that was judged" if comparison.is_copy else "The model"
    used = _word_count(comparison.contenders[0].n_features)
    said = "; ".join([f"{own_name} uses {used} for the median sample", *parts]) + "."
    return said + _say_ahead(comparison)


def _say_ahead(comparison: "Comparison") -> str:
    """Rivals whose probabilities are better by more than rounding hides, whatever the ranking says."""
    found = ""
    for metric in comparison.metrics[1:]:
        if metric.better == "high" or not metric.chance:
            continue
        own = comparison.scores[0][metric.key].value
        rivals = zip(comparison.contenders[1:], comparison.scores[1:], strict=True)
        values = {contender.name: scores[metric.key].value for contender, scores in rivals}
        ahead = [f"{name} ({value:.2f})" for name, value in values.items() if own - value > LEAD * metric.chance]
        if ahead:
            verb = "leads" if len(ahead) == 1 else "lead"
            found += f" By {metric.name}, {' and '.join(ahead)} {verb} it ({own:.2f})."
    return found


def word_rival(rival: Interval, own: Interval, better: str) -> str:
    """Whether a rival is better; about as good if either's interval holds the other's score."""
    if rival.lower <= own.value <= rival.upper or own.lower <= rival.value <= own.upper:
        return "about as good"
    return "better" if (rival.value > own.value) == (better == "high") else "less good"


def _word_count(n_features: float | None) -> str:
    return f"{n_features:g} feature{'' if n_features == 1 else 's'}" if n_features else "no feature"


def _agrees(cohort: "Cohort") -> np.ndarray:
    """Whether the right class is predicted, or a number nearer than for half of the samples; true of times."""
    kind, scores = cohort.explanation.kind, cohort.explanation.scores
    predicted = kind.list_predictions(scores).get("prediction")
    if predicted is None:
        return np.ones(len(scores), bool)
    if kind.labels is not None:
        return predicted == kind.labels[cohort.target.astype(int)]
    error = np.abs(predicted - cohort.target)
    return error <= np.median(error)


def choose_example(cohort: "Cohort") -> int | None:
    """A sample to show first: not seen in the fit if possible, few features, a high but common prediction.

    It is one that the model gets about right: it shows how to read a prediction. Scores show how often it errs.
    """
    explanation = cohort.explanation
    n_open = np.bincount(explanation.rows, minlength=len(explanation.sample_names))
    wanted = np.ones(len(n_open), bool)
    for condition in (cohort.is_held_out, n_open > 0, n_open <= FEW_FEATURES, _agrees(cohort)):
        if (wanted & condition).any():
            wanted &= condition
    score = explanation.scores.max(axis=1)
    places = np.flatnonzero(wanted)
    return int(places[np.abs(score[places] - np.quantile(score[places], EXAMPLE_RANK)).argmin()])

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
        "calibration": say_calibration(comparison.calibration_scores, kind.forecast_word),
        "rivals": say_rivals(comparison),
    }


def describe_scores(scores: list[CalibrationScore]) -> list[dict[str, Any]]:
    """Numbers of the calibration, for the page."""
    return [score._asdict() | {"interval": finite(score.interval)} for score in scores]


def say_calibration(scores: list[CalibrationScore], what: str) -> str:
    """Whether predictions can be taken as they are, in a sentence."""
    known = {score.key: score for score in scores if np.isfinite(score.interval.value)}
    level = known.get("ratio", known.get("bias"))
    faults = []
    if level is not None and level.interval.upper < level.ideal:
        faults.append("too high on average")
    if level is not None and level.interval.lower > level.ideal:
        faults.append("too low on average")
    if "slope" in known and known["slope"].interval.upper < 1:
        faults.append("too extreme")
    if "slope" in known and known["slope"].interval.lower > 1:
        faults.append("too cautious")
    if not known:
        return f"Whether its {what} can be taken as they are cannot be said from these rows."
    if faults:
        return f"Its {what} are {' and '.join(faults)}."
    wide = [
        score
        for score in known.values()
        if score.key != "bias" and score.interval.upper - score.interval.lower > WIDE
    ]
    if wide:
        return f"Nothing speaks against its {what}, but the rows are too few to be sure."
    return f"Its {what} can be taken as they are."


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
    used = _word_count(comparison.contenders[0].n_features)
    return f"It uses {used} for the median sample; {'; '.join(parts)}." if parts else f"It uses {used}."


def word_rival(rival: Interval, own: Interval, better: str) -> str:
    """Whether a rival is better; about as good if either's interval holds the other's score."""
    if rival.lower <= own.value <= rival.upper or own.lower <= rival.value <= own.upper:
        return "about as good"
    return "better" if (rival.value > own.value) == (better == "high") else "less good"


def _word_count(n_features: float | None) -> str:
    n_features = 0 if n_features is None else n_features
    return f"{n_features:g} feature" + ("" if n_features == 1 else "s")


def choose_example(cohort: "Cohort") -> int | None:
    """A sample to show first: not seen in the fit if possible, few features, a high but common prediction."""
    explanation = cohort.explanation
    n_open = np.bincount(explanation.rows, minlength=len(explanation.sample_names))
    wanted = np.ones(len(n_open), bool)
    for condition in (cohort.is_held_out, n_open > 0, n_open <= FEW_FEATURES):
        if (wanted & condition).any():
            wanted &= condition
    score = explanation.scores.max(axis=1)
    places = np.flatnonzero(wanted)
    return int(places[np.abs(score[places] - np.quantile(score[places], EXAMPLE_RANK)).argmin()])

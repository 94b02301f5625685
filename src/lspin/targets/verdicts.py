"""Numbers in words: how good a score is, in a sentence for people who read nothing else."""

from typing import NamedTuple

from lspin.targets.intervals import Interval

WORDS = ("hardly {}", "only weakly {}", "{} moderately well", "{} well", "{} very well")
AREAS = (0.6, 0.7, 0.8, 0.9)  # of an area under the ROC curve and of a concordance, which agree by convention
SHARES = (0.05, 0.2, 0.5, 0.8)  # of what can be explained


class Verdict(NamedTuple):
    """A sentence, and how good the news is: 0 (bad) to 4, or nothing where it is not known."""

    text: str
    grade: int | None


def grade(value: float, limits: tuple[float, ...]) -> int:
    """How many of the limits a value reaches."""
    return sum(value >= limit for limit in limits)


def word_number(value: float, digits: int = 3) -> str:
    """A number with so many digits, in full up to a milliard: 5110, not 5.11e+03."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def word_interval(name: str, interval: Interval) -> str:
    """A score with its interval, in words."""
    return f"{name} {interval.value:.2f}, 95 % interval {interval.lower:.2f} to {interval.upper:.2f}"


def word_verdict(what: str, said: str, *, level: int, beats_chance: bool) -> Verdict:
    """The sentence; where the interval holds chance, that is the news."""
    if not beats_chance:
        return Verdict(f"On rows it has not seen, the model may be no better than chance at {what} ({said}).", 0)
    verbs = {"telling": "tells", "predicting": "predicts", "ordering": "orders", "ranking": "ranks"}
    first, rest = what.split(" ", 1)
    done = WORDS[level].format(f"{verbs[first]} {rest}")
    return Verdict(f"On rows it has not seen, the model {done} ({said}).", level)

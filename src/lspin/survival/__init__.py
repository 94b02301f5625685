"""Times to events, some of them censored: reading them, estimating curves, and judging risks and curves.

A ``y`` is whatever :func:`read_survival` takes. A risk (higher is worse, its scale does not matter), a log-hazard
and a probability to survive are different things, so each is given by its name and none is ever guessed.
"""

from lspin.survival.curves import StepFunction, SurvivalCurve, breslow_hazard, kaplan_meier, survival_probability
from lspin.survival.targets import Survival, find_time_columns, make_survival, read_survival

__all__ = [
    "StepFunction",
    "Survival",
    "SurvivalCurve",
    "breslow_hazard",
    "find_time_columns",
    "kaplan_meier",
    "make_survival",
    "read_survival",
    "survival_probability",
]

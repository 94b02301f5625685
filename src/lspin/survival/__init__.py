"""Times to events, some of them censored: reading them, estimating curves, and judging risks and curves.

A ``y`` is whatever :func:`read_survival` takes. A risk (higher is worse, its scale does not matter), a log-hazard
and a probability to survive are different things, so each is given by its name and none is ever guessed.
"""

from lspin.survival.curves import (
    StepFunction,
    SurvivalCurve,
    breslow_hazard,
    kaplan_meier,
    survival_probability,
)
from lspin.survival.scores import (
    Calibration,
    Concordance,
    DynamicAUC,
    brier_score,
    calibration_at,
    dynamic_auc,
    harrell_concordance,
    integrated_brier_score,
    uno_concordance,
)
from lspin.survival.targets import Survival, find_time_columns, make_survival, read_survival

__all__ = [
    "Calibration",
    "Concordance",
    "DynamicAUC",
    "StepFunction",
    "Survival",
    "SurvivalCurve",
    "breslow_hazard",
    "brier_score",
    "calibration_at",
    "dynamic_auc",
    "find_time_columns",
    "harrell_concordance",
    "integrated_brier_score",
    "kaplan_meier",
    "make_survival",
    "read_survival",
    "survival_probability",
    "uno_concordance",
]

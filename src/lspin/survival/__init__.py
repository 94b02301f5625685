"""Survival data with censoring: reading times and events, estimating curves, scoring risks and curves.

``y`` is anything that :func:`read_survival` accepts. A risk (higher is worse; its scale does not matter), a
log-hazard and a survival probability are different things. Each is passed by its name, and none is guessed.
"""

from lspin.survival.curves import (
    MedianSurvival,
    StepFunction,
    SurvivalCurve,
    breslow_hazard,
    cumulative_hazard,
    kaplan_meier,
    median_survival,
    number_at_risk,
    survival_probability,
)
from lspin.survival.proportionality import Proportionality, check_proportionality, schoenfeld_residuals
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
    "MedianSurvival",
    "Proportionality",
    "StepFunction",
    "Survival",
    "SurvivalCurve",
    "breslow_hazard",
    "brier_score",
    "calibration_at",
    "check_proportionality",
    "cumulative_hazard",
    "dynamic_auc",
    "find_time_columns",
    "harrell_concordance",
    "integrated_brier_score",
    "kaplan_meier",
    "make_survival",
    "median_survival",
    "number_at_risk",
    "read_survival",
    "schoenfeld_residuals",
    "survival_probability",
    "uno_concordance",
]

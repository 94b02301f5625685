"""Figures of gates, selections, subgroups, single predictions, the sparsity path, survival and model quality.

Every function draws on ``ax``, or on new axes if there are none, and returns the axes. They need matplotlib:
``pip install 'lspin[plots]'``.
"""

from lspin.plots.comparison import leaderboard
from lspin.plots.gates import feature_frequency, gate_map, gates_on_image, set_frequency
from lspin.plots.groups import subgroups
from lspin.plots.quality import (
    calibration,
    panel_path,
    predicted_against_true,
    sparsity_path,
    waterfall,
)
from lspin.plots.survival import patient_survival, survival_by_group, survival_curves

__all__ = [
    "calibration",
    "feature_frequency",
    "gate_map",
    "gates_on_image",
    "leaderboard",
    "panel_path",
    "patient_survival",
    "predicted_against_true",
    "set_frequency",
    "sparsity_path",
    "subgroups",
    "survival_by_group",
    "survival_curves",
    "waterfall",
]

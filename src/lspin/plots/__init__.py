"""Figures of gates, selections, subgroups, single predictions, the sparsity path and the quality of a model.

Every function draws on ``ax``, or on new axes if there are none, and returns the axes. They need matplotlib:
``pip install 'lspin[plots]'``.
"""

from lspin.plots.gates import feature_frequency, gate_map, gates_on_image, set_frequency
from lspin.plots.groups import subgroups
from lspin.plots.quality import (
    calibration,
    panel_path,
    predicted_against_true,
    sparsity_path,
    survival_curves,
    waterfall,
)

__all__ = [
    "calibration",
    "feature_frequency",
    "gate_map",
    "gates_on_image",
    "panel_path",
    "predicted_against_true",
    "set_frequency",
    "sparsity_path",
    "subgroups",
    "survival_curves",
    "waterfall",
]

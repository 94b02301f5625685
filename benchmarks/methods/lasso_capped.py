"""Logistic regression with an L1 penalty strong enough for fewer than 50 features, as in the paper.

The grid is fine, and in multiples of the least C that lets a feature in, which differs between tables by far.
"""

from typing import Any

import numpy as np

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.methods import lasso
from benchmarks.methods.lasso import select_wide
from benchmarks.wide import CAP, least_strength, spread_grid

MULTIPLES = np.geomspace(1.3, 30, 10).round(3).tolist()
WIDE_GRID = (*spread_grid(MULTIPLES, "multiple", scale=True), *spread_grid(MULTIPLES, "multiple", scale=False))


def make_wide(task: Task, multiple: float, scale: bool) -> Any:
    return lasso.make_wide(task, C=multiple * least_strength(task, "log", scale=scale), scale=scale)


METHOD = Method(wide=Wide(Grid(WIDE_GRID, make_wide), select_wide, most_features=CAP))

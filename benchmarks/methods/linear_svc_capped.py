"""Linear support vectors with an L1 penalty strong enough for fewer than 50 features, as in the paper."""

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.methods.linear_svc import select_wide
from benchmarks.wide import CAP, least_strength, scale_columns, spread_grid

MULTIPLES = np.geomspace(1.3, 30, 10).round(3).tolist()  # of the least C that lets a feature in
WIDE_GRID = (*spread_grid(MULTIPLES, "multiple", scale=True), *spread_grid(MULTIPLES, "multiple", scale=False))


def make_wide(task: Task, multiple: float, scale: bool) -> Any:
    strength = multiple * least_strength(task, "squared_hinge", scale=scale)
    model = LinearSVC(penalty="l1", dual=False, C=strength, random_state=task.seed, max_iter=2000)
    return scale_columns(task, model, scale=scale)


METHOD = Method(wide=Wide(Grid(WIDE_GRID, make_wide), select_wide, most_features=CAP))

"""Rows as points, with groups that are known."""

import numpy as np

from lspin.structure.divisions import Cloud


def make_cloud(values, outputs=None, owners=None, weight=None):
    """Values brought to mean 0 and variance 1, column by column, as points."""
    values = np.asarray(values, float)
    n_rows, n_inputs = values.shape
    outputs = np.zeros(n_rows) if outputs is None else np.asarray(outputs, float)
    weight = np.ones(n_rows) if weight is None else np.asarray(weight, float)
    return Cloud(
        values=(values - values.mean(axis=0)) / values.std(axis=0),
        owners=np.arange(n_inputs) if owners is None else np.asarray(owners),
        outputs=(outputs - outputs.mean())[:, None] / max(outputs.std(), 1e-12),
        weight=weight / weight.mean(),
    )


def draw_groups(seed=0, n_rows=300, n_columns=8):
    """Two clouds, apart in the first three columns; columns 3 and 4 count in one, column 5 in the other.

    Returns the values, the response and the group of each row.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(n_rows) % 2
    values = rng.normal(size=(n_rows, n_columns))
    values[:, :3] += 3 * group[:, None]
    rule = np.where(group == 0, values[:, 3] - values[:, 4], 1 + 1.5 * values[:, 5])
    return values, rule + 0.1 * rng.normal(size=n_rows), group

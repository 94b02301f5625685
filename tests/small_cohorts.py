"""Survival cohorts drawn from a Cox model with known coefficients."""

import numpy as np

COEF = np.array([0.8, -0.5, 0.3])


def draw_cohort(n_times, *, n=240, seed=0):
    """Columns, times and events; the times rounded to so many values, the risks to one digit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    time, censoring = rng.exponential(np.exp(-X @ COEF)), rng.exponential(1.5, n)
    seen = np.minimum(np.minimum(time, censoring), 4.0)
    if n_times is not None:
        seen = np.ceil(seen / 4.0 * n_times)
    return X, seen, (time <= censoring) & (seen < seen.max())

"""Survival of patients who are explained alike
============================================

Survival of patients who are explained alike: groups by their gate patterns, each with its own curve.

The cohort is simulated: a marker tells two diseases apart, and another gene is the dangerous one in each. Since
the risk is known here, the model learns it directly.
"""

import matplotlib.pyplot as plt
import numpy as np

from lspin import LSPINRegressor, plots


def kaplan_meier(time: np.ndarray, event: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times of events, and the share that survives each."""
    times = np.unique(time[event])
    deaths = np.array([(event & (time == t)).sum() for t in times])
    at_risk = np.array([(time >= t).sum() for t in times])
    return times, np.cumprod(1 - deaths / at_risk)


rng = np.random.default_rng(0)
X = rng.normal(size=(400, 12))
X[:, 0] = np.sign(X[:, 0])
risk = np.where(X[:, 0] > 0, 1.2 * X[:, 1] + 0.8, 1.2 * X[:, 2] - 0.8)
death, end_of_study = rng.exponential(np.exp(-risk)), rng.uniform(0.5, 4, 400)
time, event = np.minimum(death, end_of_study), death <= end_of_study

model = LSPINRegressor((50,), sparsity=0.05, n_restarts=2, max_epochs=200, random_state=0).fit(X, risk)
explanation = model.explain(X)
groups, signatures = explanation.groups(), explanation.signatures()
curves = {
    f"{', '.join(features)} (n = {size})": kaplan_meier(time[groups == group], event[groups == group])
    for group, size, features in zip(signatures.index, signatures["size"], signatures["features"], strict=True)
}
plots.survival_curves(curves)
plt.show()

"""Survival of patients who are explained alike
============================================

Survival of patients who are explained alike: groups by their gate patterns, each with its own curve.

The cohort is simulated: a marker tells two diseases apart, and another gene is the dangerous one in each. Since
the risk is known here, the model learns it directly.
"""

import matplotlib.pyplot as plt
import numpy as np

from lspin import LSPINRegressor, plots

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 12))
X[:, 0] = np.sign(X[:, 0])
risk = np.where(X[:, 0] > 0, 1.2 * X[:, 1] + 0.8, 1.2 * X[:, 2] - 0.8)
death, end_of_study = rng.exponential(np.exp(-risk)), rng.uniform(0.5, 4, 400)
time, event = np.minimum(death, end_of_study), death <= end_of_study

model = LSPINRegressor((50,), sparsity=0.05, n_restarts=2, max_epochs=200, random_state=0).fit(X, risk)
explanation = model.explain(X)
groups, signatures = explanation.groups(), explanation.signatures()
names = np.array([", ".join(features) for features in signatures["features"]])
plots.survival_by_group((time, event), names[groups], time_unit="years")
plt.show()

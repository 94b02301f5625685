"""Accuracy against the price of a feature
=======================================

What a feature is worth: held-out accuracy and number of features against the price of an open gate.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from lspin import LSPINClassifier, plots

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = LSPINClassifier((), n_restarts=2, max_epochs=100, random_state=0).fit(X, y)

plots.sparsity_path(model)
plt.show()

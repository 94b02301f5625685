"""Predicted against true, and calibration
=======================================

Whether to believe it: predictions against the truth, and how honest probabilities are, on held-out rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from lspin import LSPINClassifier, LSPINRegressor, plots

settings = {"sparsity": 0.02, "n_restarts": 2, "max_epochs": 200, "random_state": 0}
X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
plots.predicted_against_true(y_test, LSPINRegressor((), **settings).fit(X, y).predict(X_test))

X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
model = LSPINClassifier((), **settings).fit(X, y)
plots.calibration(y_test, model.predict_proba(X_test), classes=model.classes_, n_bins=5)
plt.show()

"""Pictures as tables
==================

A picture is a row of a table: one column for each pixel. Which pixels does a model need to tell digits apart?
Gates open for a few pixels of each image, and a linear model predicts from these.
"""

# %%
# MNIST, if the folder ``LSPIN_DATA`` holds its file ``mnist.npz``; else the small digits of scikit-learn.
# Pixels are whole numbers from 0 to 255 and stay so: nothing needs to be scaled beforehand.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lspin import LSPINClassifier, plots
from lspin.metrics import diversity

path = Path(os.environ.get("LSPIN_DATA", ".")) / "mnist.npz"
if path.exists():
    stored = np.load(path)
    X, y = stored["X_train"][:3000], stored["y_train"][:3000]
    X_test, y_test = stored["X_test"][:500], stored["y_test"][:500]
    settings = {"sparsity": 0.05, "max_epochs": 25}
else:
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = X[:1400], X[1400:], y[:1400], y[1400:]
    settings = {"sparsity": 0.02}

# %%
# A linear predictor (``()``) at a fixed price of an open gate, trained for seconds. With 55,000 images,
# ``sparsity=0.02`` and the usual number of passes, 98.3 % of the test images are right, with 6 pixels each.
model = LSPINClassifier((), **settings, random_state=0).fit(X, y)
selected = model.selected(X_test)
print(f"{model.score(X_test, y_test):.1%} right, {np.median(selected.sum(axis=1)):.0f} pixels an image")

# %%
# Digits get pixels of their own: 100 would mean that no two digits share one.
print(f"diversity of the digits: {diversity(selected, y_test):.0f}")

# %%
# The open gates over one image of each digit. With a linear predictor the pattern of open gates tells much by
# itself; :func:`lspin.audit.audit_leakage` says how much of the prediction comes from there.
explanation = model.explain(X_test[:100])
_, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for digit, ax in enumerate(axes.flat):
    row = np.flatnonzero(y_test[:100] == digit)[0]
    plots.gates_on_image(X_test[row], explanation.gates[row], ax=ax)
    ax.set_title(f"a {digit}: {explanation.probabilities[row].max():.0%} sure", fontsize=9)
plt.show()

"""Gates over pictures
===================

Where the model looks: the open gates over pictures of a three and an eight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lspin import LSPINClassifier, plots

X, y = load_digits(return_X_y=True)
X, y = X[np.isin(y, [3, 8])], y[np.isin(y, [3, 8])]
model = LSPINClassifier((), sparsity=0.02, n_restarts=2, max_epochs=200, random_state=0).fit(X, y)
explanation = model.explain(X)

_, axes = plt.subplots(1, 4, figsize=(8, 2.2), layout="constrained")
for ax, row in zip(axes, [0, 1, 2, 3], strict=True):
    plots.gates_on_image(X[row], explanation.gates[row], ax=ax)
    ax.set_title(f"a {y[row]}: {explanation.probabilities[row].max():.0%} sure", fontsize=9)
plt.show()

"""LSPIN beside its rivals
=======================

LSPIN beside its rivals on one table: held-out rows each gets right, and from how many features a row.
"""

# Long: seven methods take about 25 CPU seconds. `make docs-full` runs this script, `make docs` shows it only.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from lspin import LSPINClassifier, baselines

NAMES = ("STG", "INVASE", "L2X", "REALX", "ContextualLasso", "ProtoGate")
X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
contenders = {name: getattr(baselines, f"{name}Classifier")(random_state=0) for name in NAMES}

figure, axes = plt.subplots(layout="constrained")
for name, model in ({"LSPIN": LSPINClassifier(random_state=0)} | contenders).items():
    model.fit(X, y)
    at = model.selected(X_test).sum(axis=1).mean(), 100 * model.score(X_test, y_test)
    axes.plot(*at, "o", color="C3" if name == "LSPIN" else "C0")
    axes.annotate(name, at, xytext=(0, 7), textcoords="offset points", ha="center")
axes.margins(0.12)
axes.set(xlabel="features a row, mean", ylabel="held-out rows right (%)", title="As they come, nothing tuned")
plt.show()

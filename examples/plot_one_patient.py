"""One patient
===========

Why one patient got this prediction: from the baseline, feature by feature, to the log-odds.

Three members were fitted from different starts; a feature that only some of them use says so.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from lspin import LSPINClassifier, plots

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
diagnosis = y.map({0: "malignant", 1: "benign"})
model = LSPINClassifier((), sparsity=0.03, n_members=3, n_restarts=2, max_epochs=200, random_state=0)
model.fit(X, diagnosis)
explanation = model.explain(X)

least_sure = int(np.abs(explanation.prediction).argmin())
print(explanation.to_frame().query("sample == @explanation.sample_names[@least_sure]").to_string(index=False))
plots.waterfall(explanation, least_sure)
plt.show()

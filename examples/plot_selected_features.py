"""How often features are selected
===============================

How often each feature is selected, and how often each set of features.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from lspin import LSPINRegressor, plots

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = LSPINRegressor((), sparsity=0.02, n_restarts=4, max_epochs=200, random_state=0).fit(X, y)
explanation = model.explain(X)

plots.feature_frequency(explanation)
plots.set_frequency(explanation)
plt.show()

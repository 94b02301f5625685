"""What a fresh installation must do: ``smoke.py fit`` fits and saves, ``smoke.py predict`` loads the result."""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer

import lspin

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
if sys.argv[1] == "fit":
    model = lspin.LSPINClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    model.save("model.lspin")
    lspin.LSPINClassifier((8,), sparsity=0.05, max_epochs=5, random_state=0).fit(X, y)  # networks too
    lspin.report(model, X[:200], y[:200], "report.html", audits=False)

model = lspin.load("model.lspin")
explanation = model.explain(X)
assert model.score(X, y) > 0.95
assert np.allclose(explanation.baseline + explanation.contributions.sum(axis=1), explanation.prediction)
if sys.argv[1] == "predict":
    assert "jax" not in sys.modules
    try:
        model.fit(X, y)
    except ImportError as error:
        print(f"fit without JAX: {error}")

"""A page on a sparse table of many columns: its work is bounded whatever the width, and it says how far it is."""

import re

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV

from conftest import QUICK
from lspin import LSPINClassifier
from lspin.reporting.page import report
from pages import read_content

N_ROWS, N_COLUMNS, N_OPEN = 240, 1000, 300
MOST_COLUMNS = 200 + 1  # that others learn from; trees of the audit have one more that is the same for all rows


def draw_counts():
    """Counts, a few in a row, and two classes that some columns tell apart."""
    rng = np.random.default_rng(0)
    X = sp.random_array((N_ROWS, N_COLUMNS), density=0.05, rng=rng, format="csr")
    X.data = np.ceil(5 * X.data)
    score = X[:, :40].sum(axis=1) - X[:, 40:80].sum(axis=1)
    return X, np.where(score + rng.normal(size=N_ROWS) > 0, "case", "control")


def test_what_others_learn_from_does_not_grow_with_the_table(monkeypatch, speaking, tmp_path):
    X, y = draw_counts()
    settings = {**QUICK, "hidden_layer_sizes": (), "max_epochs": 1, "n_restarts": 1, "sparsity": 1e-4}
    model = LSPINClassifier(**settings, start="networks").fit(X[:180], y[:180])
    gates = model.members_[0].networks.gating[-1]  # with these, all rows open hundreds of columns
    gates.weights[:], gates.bias[:] = 0, np.where(np.arange(len(gates.bias)) < N_OPEN, 1.0, -9.0)
    seen = []
    for learner in (HistGradientBoostingClassifier, LogisticRegressionCV):

        def fit(self, X, *given, learn=learner.fit):
            seen.append((type(self).__name__, X.shape[1]))
            return learn(self, X, *given)

        monkeypatch.setattr(learner, "fit", fit)
    path = report(model, X[:180], y[:180], tmp_path / "r.html", eval_set=(X[180:], y[180:]), verbose=1)
    assert {name for name, _ in seen} == {"HistGradientBoostingClassifier", "LogisticRegressionCV"}
    assert max(n_columns for _, n_columns in seen) == MOST_COLUMNS
    said = speaking()
    for unit in ("models judged", "data checks", "evaluators of the mask"):
        assert re.search(rf"lspin: \d+ of \d+ {unit}, 00:\d\d left", said), unit
    assert read_content(path)["model"]["n_selected"] == N_OPEN

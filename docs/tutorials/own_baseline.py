# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Bring your own baseline
#
# Anything with `fit`, `predict` and `selected` can be measured like LSPIN: by accuracy, by the features it
# selects, and by the leakage audit. Here: an L1-logistic regression in each cluster of k-means, in fifteen
# lines.

# %%
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data


class ClusteredLasso(ClassifierMixin, BaseEstimator):
    """L1-logistic regression in each cluster."""

    def __init__(self, n_clusters=2, C=0.3):
        self.n_clusters, self.C = n_clusters, C

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.clusters_ = KMeans(self.n_clusters, n_init=5, random_state=0).fit(X)
        self.models_ = [
            LogisticRegression(l1_ratio=1.0, C=self.C, solver="liblinear").fit(X[rows], y[rows])
            for rows in (self.clusters_.labels_ == k for k in range(self.n_clusters))
        ]
        return self

    def predict(self, X):
        groups = self.clusters_.predict(X)
        return np.array([self.models_[k].predict(row[None])[0] for k, row in zip(groups, X, strict=True)])

    def selected(self, X):
        return np.array([self.models_[k].coef_[0] != 0 for k in self.clusters_.predict(X)])


# %% [markdown]
# ## A table whose truth is known
#
# In E3 two groups of samples follow different nonlinear rules. `relevant` says which features matter for each
# sample.

# %%
import pandas as pd

from lspin import LSPINClassifier
from lspin.datasets import load_synthetic
from lspin.metrics import score_selection

data = load_synthetic("E3", seed=0)
rows = {}
models = {"LASSO in clusters": ClusteredLasso(), "LSPIN": LSPINClassifier(random_state=0)}
for name, model in models.items():
    model.fit(data.train.X, data.train.y)
    selected = model.selected(data.test.X)
    scores = score_selection(selected, data.test.relevant)
    accuracy = np.mean(model.predict(data.test.X) == data.test.y)
    rows[name] = {"accuracy": accuracy, "features": selected.sum(axis=1).mean()} | scores._asdict()
pd.DataFrame(rows).T.round(2)

# %% [markdown]
# ## Does its mask give the answer away?

# %%
from lspin.audit import audit_leakage

print(audit_leakage(models["LASSO in clusters"], data.test.X, data.test.y).verdict)

# %% [markdown]
# ## In the benchmarks
#
# A file in `benchmarks/methods/` that ends with `METHOD = Method(fit)` takes part in every experiment: `make
# bench-table1 ARGS="--methods your_method"`.

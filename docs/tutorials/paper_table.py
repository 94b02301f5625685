# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A paper's table in ten lines
#
# Methods against tables, mean ± standard deviation over splits, and the features a row uses. Add your table to
# `tables` and your method to `methods`.

# %%
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lspin import LSPINClassifier, baselines

tables = {"breast cancer": load_breast_cancer(return_X_y=True), "wine": load_wine(return_X_y=True)}
methods = {
    "LSPIN": lambda: LSPINClassifier(random_state=0),
    "STG": lambda: baselines.STGClassifier(random_state=0),
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
}
rows = []
for table, (X, y) in tables.items():
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        for method, make in methods.items():
            model = make().fit(X[train], y[train])
            used = model.selected(X[test]).sum(axis=1).mean() if hasattr(model, "selected") else X.shape[1]
            rows.append((table, method, 100 * model.score(X[test], y[test]), used))

# %%
runs = pd.DataFrame(rows, columns=["table", "method", "accuracy", "features"])
summary = runs.groupby(["method", "table"], sort=False).agg(["mean", "std"])
cells = summary.apply(
    lambda row: (
        f"{row[('accuracy', 'mean')]:.1f} ± {row[('accuracy', 'std')]:.1f} [{row[('features', 'mean')]:.0f}]"
    ),
    axis=1,
)
cells.unstack("table")

# %% [markdown]
# For LaTeX: `print(cells.unstack("table").to_latex())`. Three folds are for this page; a paper wants at least
# ten splits, and rivals with a tuning budget of the same size. [Rivals and fair
# comparison](../guide/comparing.md) has the rules.

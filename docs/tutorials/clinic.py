# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A clinic: from a messy file to a page
#
# A file as it comes from a clinic: semicolons, decimal commas, gaps, an odd entry, an identifier, a constant
# column, and a column that was written down after the outcome. We make one here, so that you can run this page
# anywhere.

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 400
diabetic = rng.random(n) < 0.4
crp = rng.lognormal(1.5, 0.8, n)
hba1c = np.where(diabetic, 7.5, 5.4) + 0.5 * rng.normal(size=n)
logit = np.where(diabetic, 2.2 * (hba1c - 7.5), 1.2 * (np.log(crp) - 1.5))
readmitted = rng.random(n) < 1 / (1 + np.exp(-2 * logit))
clinic = pd.DataFrame(
    {
        "patient": [f"P{row:03d}" for row in range(n)],
        "age": rng.integers(30, 90, n),
        "sex": rng.choice(["f", "m"], n),
        "diabetes": np.where(diabetic, "yes", "no"),
        "CRP": [f"{value:.1f}".replace(".", ",") for value in crp],
        "HbA1c": [f"{value:.1f}".replace(".", ",") for value in hba1c],
        "clinic": "Ward 3",
        "second_stay_days": np.where(readmitted, rng.integers(2, 20, n), 0),
        "readmitted": np.where(readmitted, "yes", "no"),
    }
)
clinic.loc[rng.random(n) < 0.08, "CRP"] = ""
clinic.loc[7, "CRP"] = "not measured"
clinic.to_csv("clinic.csv", sep=";", index=False)
print(open("clinic.csv").read()[:260])

# %% [markdown]
# ## Read it
#
# `read_table` guesses separator and decimal comma, and says what it noticed.

# %%
import lspin

table = lspin.read_table("clinic.csv", target="readmitted")
for remark in table.remarks:
    print("-", remark)

# %% [markdown]
# `second_stay_days` gives the answer away: it exists only for patients who came back. It has to go.

# %%
table = lspin.read_table("clinic.csv", target="readmitted", drop=["second_stay_days"])
table.X.head()

# %% [markdown]
# ## Fit, on a part of the patients

# %%
from sklearn.model_selection import train_test_split

X, X_test, y, y_test = train_test_split(table.X, table.y, random_state=0)
model = lspin.LSPINClassifier(random_state=0).fit(X, y)
majority = pd.Series(y_test).value_counts(normalize=True).max()
print(f"accuracy {model.score(X_test, y_test):.2f}, of the majority class {majority:.2f}")

# %% [markdown]
# ## Who is predicted from what?
#
# Diabetics are predicted from HbA1c, the others from CRP. Nobody told the model.

# %%
explanation = model.explain(X_test)
selected = pd.DataFrame(explanation.selected, columns=X.columns, index=X_test.index)
selected.groupby(X_test["diabetes"].to_numpy()).mean().round(2)

# %%
from lspin import plots

_ = plots.waterfall(explanation, 0)

# %% [markdown]
# ## A page for the colleague

# %%
path = lspin.report(model, X, y, "report.html", eval_set=(X_test, y_test), audits=False)
print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB, needs no network")

# %% [markdown]
# The same on the command line:
#
# ```
# lspin fit clinic.csv --target readmitted --drop second_stay_days -o model.lspin
# lspin report model.lspin clinic.csv -o report.html
# ```

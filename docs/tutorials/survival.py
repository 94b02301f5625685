# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Survival: METABRIC
#
# Breast cancer patients with nine variables and their survival. The table comes with the split that the
# literature uses. Where it cannot be had, this page draws a cohort with the same columns instead, and says so.

# %%
import numpy as np
import pandas as pd

from lspin.datasets import load_table
from lspin.survival import make_survival

COLUMNS = ["MKI67", "EGFR", "PGR", "ERBB2", "hormone", "radio", "chemo", "ER", "age"]
try:
    cohort = load_table("metabric", download=False)
    X, y, is_test = pd.DataFrame(cohort.X, columns=cohort.feature_names), cohort.y, cohort.is_test
    print("METABRIC:", len(X), "patients,", int(y["event"].sum()), "deaths")
except FileNotFoundError:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 9)), columns=COLUMNS)
    death = rng.exponential(120 * np.exp(-0.5 * X["age"] - 0.4 * X["MKI67"]))
    end = rng.uniform(20, 300, len(X))
    y, is_test = make_survival(np.minimum(death, end), death <= end), np.arange(len(X)) % 5 == 0
    print("METABRIC is not here; a drawn cohort of", len(X), "patients takes its place")

train, test = np.flatnonzero(~is_test)[:700], np.flatnonzero(is_test)  # a cut, to keep the page quick

# %% [markdown]
# ## Fit

# %%
from lspin import LSPINCox

model = LSPINCox(random_state=0).fit(X.iloc[train], y[train])
print(f"Harrell's C on test patients {model.score(X.iloc[test], y[test]):.3f}; start: {model.start_}")
print("features of a patient, median:", np.median(model.selected(X.iloc[test]).sum(axis=1)))

# %% [markdown]
# ## Beside Cox regression's relatives

# %%
from lspin.baselines import DeepSurv, STGCox

for rival in (STGCox(random_state=0), DeepSurv(random_state=0)):
    rival.fit(X.iloc[train], y[train])
    print(type(rival).__name__, round(rival.score(X.iloc[test], y[test]), 3))

# %% [markdown]
# ## The reasons of one patient
#
# A hazard ratio above 1 is bad. The product of a patient's ratios is the risk relative to the baseline.

# %%
explanation = model.explain(X.iloc[test])
riskiest = int(explanation.prediction.argmax())
explanation.to_frame().query("sample == @explanation.sample_names[@riskiest]").round(2)

# %%
from lspin import plots

_ = plots.waterfall(explanation, riskiest)

# %% [markdown]
# ## Curves of three patients

# %%
order = np.argsort(explanation.prediction)
chosen = {"lowest risk": order[0], "median": order[len(order) // 2], "highest risk": order[-1]}
curves = model.predict_survival_function(X.iloc[test[list(chosen.values())]])
_ = plots.survival_curves({name: (curve.x, curve.y) for name, curve in zip(chosen, curves, strict=True)})

# %% [markdown]
# ## Are the probabilities right?

# %%
from lspin.survival import brier_score, calibration_at, kaplan_meier

at = float(np.median(y["time"]))
survival = np.array([curve(at) for curve in model.predict_survival_function(X.iloc[test])])
everyone = kaplan_meier(y[train]).survival(at)
brier = [
    brier_score(y[test], survival=given[:, None], times=[at], train=y[train])[0]
    for given in (survival, np.full(len(test), everyone))
]
print(f"Brier score at {at:.0f} months {brier[0]:.3f}; of the same curve for everyone {brier[1]:.3f}")
bins = calibration_at(y[test], survival=survival, at=at, n_groups=4)
pd.DataFrame(bins._asdict()).round(2)

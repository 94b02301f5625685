"""Subtypes of a cohort and their genes
====================================

The subtypes of a cohort and the few genes of each, found among 2,000 genes.

The cohort is drawn: in each of three subtypes fifteen genes of its own are raised, and three others say who will
relapse. Nobody tells the model who has which subtype, nor that there are any.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lspin import LSPINClassifier, plots

rng = np.random.default_rng(0)
subtype = rng.integers(3, size=300)
expression = rng.normal(size=(300, 2000))
expression[:, :45] += 1.5 * (np.arange(45) // 15 == subtype[:, None])
own_genes = 100 + 3 * subtype[:, None] + np.arange(3)
score = np.take_along_axis(expression, own_genes, axis=1) @ [1.5, -1.5, 1.5] + 0.3 * rng.normal(size=300)
X = pd.DataFrame(expression).add_prefix("gene")
outcome = np.where(score > 0, "relapse", "none")

model = LSPINClassifier(random_state=0).fit(X, outcome)
print(model.structure_[["group", "share", "features", "signs"]].to_string(index=False))
print(model.contest_.to_string(index=False))
plots.subgroups(model, X)
plt.show()

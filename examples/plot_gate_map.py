"""Gates beside the truth
======================

Which features each sample needs, and which features truly matter for it.

In the synthetic table E3 two groups of samples follow different rules. Nobody tells the model which sample is in
which group; its gates find out.
"""

import matplotlib.pyplot as plt

from lspin import LSPINClassifier, plots
from lspin.datasets import load_synthetic

data = load_synthetic("E3", seed=0)
model = LSPINClassifier(random_state=0)
model.fit(data.train.X, data.train.y)
explanation = model.explain(data.test.X)

print(explanation.signatures(y=data.test.y))
plots.gate_map(explanation, truth=data.test.relevant, groups=data.test.groups)
plt.show()

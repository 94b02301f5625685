"""The phases of a training run
============================

First the predictor alone learns from all features, then both networks, and gates shut; at last gates are fixed and
the predictor settles behind them.
"""

import matplotlib.pyplot as plt

from lspin import LSPINClassifier
from lspin.datasets import load_synthetic

data = load_synthetic("E1", seed=0)
model = LSPINClassifier((50, 50), sparsity=0.04, random_state=0).fit(data.train.X, data.train.y)
history = model.history_

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.plot(history["epoch"], history["loss"], color="C0")
axes.set(xlabel="epoch", ylabel="loss", xlim=(0, len(history)))
axes.yaxis.label.set_color("C0")
right = axes.twinx()
right.plot(history["epoch"], history["n_open"], color="C3", linestyle="--")
right.set_ylabel("open gates of a row, mean", color="C3")
for start, end, name in ((0, 0.1, "predictor"), (0.1, 0.8, "both networks"), (0.8, 1, "gates fixed")):
    axes.axvspan(start * len(history), end * len(history), color="grey", alpha=0.12 if start != 0.1 else 0)
    axes.text((start + end) / 2 * len(history), 1.02, name, transform=axes.get_xaxis_transform(), ha="center")
plt.show()

"""The package ``invase`` as it installs (``pip install invase``), in place of ours: for its time only.

It explains a given model by weights of the features, in torch, with an actor and a critic of its own; a feature
counts as selected where its weight is above one half. It trains on one thread, without folds, and stops by itself.
"""

from typing import Self

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier

from benchmarks.method import Method, require_package
from benchmarks.protocol import quiet_torch

LAYERS, EPOCHS = (200, 200), 75  # of the network that is explained, about the size of ours
MOST_EPOCHS = 10_000  # its default


def require() -> None:
    require_package("invase", "invase")


class Original:
    """Its explainer over a network of scikit-learn's."""

    def __init__(self, n_epochs: int | None, seed: int) -> None:
        self._n_epochs, self._seed = n_epochs or MOST_EPOCHS, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        with quiet_torch():
            from invase import INVASE

            self._model = MLPClassifier(LAYERS, max_iter=EPOCHS, batch_size=128, random_state=self._seed).fit(X, y)
            self._explainer = INVASE(
                self._model,
                pd.DataFrame(X),
                pd.Series(y),
                n_epoch=self._n_epochs,
                n_folds=1,
                prefit=True,
                random_state=self._seed,
            )
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._model.predict(X)

    def selected(self, X: np.ndarray) -> np.ndarray:
        with quiet_torch():
            return self._explainer.explain(pd.DataFrame(X)).to_numpy() > 0.5


METHOD = Method(require=require)

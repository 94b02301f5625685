"""From attributions to a selection: the parts of a row's explanation that its prediction needs, largest first."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from benchmarks.protocol import Samples
from benchmarks.wide import as_dense

HELD_OUT = 1 / 3  # of the training rows, where there are no validation rows
N_COUNTS = 40  # numbers of parts that are tried


class Explanation(NamedTuple):
    """What a model's outputs are the sum of, row by row."""

    parts: np.ndarray  # (n_samples, n_parts, n_outputs)
    base: np.ndarray  # (n_outputs,), what is the same for every row
    features: np.ndarray  # (n_parts, n_features): which features a part is about


class Explained:
    """A model, and in each row the features of the largest parts of its explanation: as many as are needed.

    Parts are hardly ever 0, so a number has to be set, the same for every row: the smallest whose sum predicts as
    well as that of all parts. As well is: worse by at most a standard error of the difference, on the validation
    rows, or on a third of the training rows by a model that has not seen them. Predictions are the model's own.
    """

    def __init__(
        self,
        model: Any,
        explain: Callable[[Any, np.ndarray], Explanation],
        *,
        valid: Samples | None,
        is_regression: bool,
        seed: int,
    ) -> None:
        self._model, self._explain, self._seed = model, explain, seed
        self._valid, self._is_regression = valid, is_regression

    def fit(self, X: Any, y: np.ndarray) -> Self:
        self._X, self._y = as_dense(X), y
        self._model.fit(self._X, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self._model.predict(as_dense(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        return self._model.predict_proba(as_dense(X))

    def selected(self, X: Any) -> np.ndarray:
        explanation = self._explain(self._model, as_dense(X))
        return keep_largest(explanation.parts, self.n_kept) @ explanation.features

    @cached_property
    def n_kept(self) -> int:
        """How many parts of a row count."""
        if self._valid is not None:
            explanation = self._explain(self._model, as_dense(self._valid.X))
            return count_needed(explanation, self._valid.y, is_regression=self._is_regression)
        stratify = None if self._is_regression else self._y
        X, held_X, y, held_y = train_test_split(
            self._X, self._y, test_size=HELD_OUT, stratify=stratify, random_state=self._seed
        )
        explanation = self._explain(clone(self._model).fit(X, y), held_X)
        return count_needed(explanation, held_y, is_regression=self._is_regression)


def count_needed(explanation: Explanation, y: np.ndarray, *, is_regression: bool) -> int:
    """The smallest number of parts a row, largest first, whose sum predicts as well as that of all."""
    n_parts = explanation.parts.shape[1]

    def measure_losses(count: int) -> np.ndarray:
        kept = keep_largest(explanation.parts, count)
        outputs = explanation.base + (explanation.parts * kept[:, :, None]).sum(axis=1)
        if is_regression:
            return (outputs[:, 0] - y) ** 2
        classes = outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0
        return (classes != y).astype(float)

    of_all = measure_losses(n_parts)
    for count in np.unique(np.geomspace(1, n_parts, N_COUNTS).round().astype(int)):
        worse_by = measure_losses(count) - of_all
        if worse_by.mean() <= worse_by.std() / np.sqrt(len(y)):
            return int(count)
    return n_parts


def keep_largest(parts: np.ndarray, count: int) -> np.ndarray:
    """Which parts of each row are the ``count`` largest, by their size over all outputs; none that is 0."""
    sizes = np.abs(parts).sum(axis=2)
    largest = np.argsort(-sizes, axis=1, kind="stable")[:, :count]
    kept = np.zeros(sizes.shape, bool)
    np.put_along_axis(kept, largest, True, axis=1)
    return kept & (sizes > 0)

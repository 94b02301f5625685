"""Multinomial naive Bayes, for words and molecules; it does not select.

It takes a row's values for counts, so the longer a row, the surer it is: whether rows are first given the same
length is one of its settings. Documents have length 1 already.
"""

from typing import Any

from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from benchmarks.method import Grid, Method, Task, Wide
from benchmarks.wide import spread_grid

ALPHAS = (0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0)
WIDE_GRID = (*spread_grid(ALPHAS, "alpha", shorten=True), *spread_grid(ALPHAS, "alpha", shorten=False))


def make_wide(task: Task, alpha: float, shorten: bool) -> Any:
    model = MultinomialNB(alpha=alpha)
    return make_pipeline(Normalizer(), model) if shorten else model


METHOD = Method(wide=Wide(Grid(WIDE_GRID, make_wide), counts_only=True))

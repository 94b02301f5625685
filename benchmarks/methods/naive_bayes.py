"""Multinomial naive Bayes, for words and molecules; it does not select."""

from sklearn.naive_bayes import MultinomialNB

from benchmarks.wide import Task, spread_grid

COUNTS_ONLY = True
WIDE_GRID = tuple(spread_grid((0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0), "alpha"))


def make_wide(task: Task, alpha: float) -> MultinomialNB:
    return MultinomialNB(alpha=alpha)

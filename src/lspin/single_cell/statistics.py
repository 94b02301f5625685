"""What the cells of each type have in each gene, from one pass over the stored values."""

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy import stats

from lspin.single_cell.expression import Expression, follow_blocks, undo_logarithm

LOWER_PART = 0.25  # of the other types: so many may have as much of a marker as its own type
TINY = 1e-12
FOLD_OFFSET = 1e-9  # what scanpy adds to both means of a fold change


class Sums(NamedTuple):
    """Sums over the cells of each group; all but the first of shape ``(n_groups, n_genes)``."""

    n_cells: np.ndarray  # (n_groups, 1)
    logs: np.ndarray  # log-normalised values
    log_squares: np.ndarray
    rates: np.ndarray  # the same without logarithm
    rate_squares: np.ndarray
    detected: np.ndarray  # cells in which the gene is not 0

    def merge(self, owners: np.ndarray) -> Self:
        """Sums over larger groups: ``owners`` says which of them each group belongs to, or -1."""
        into = np.arange(owners.max() + 1)[:, None] == owners
        return type(self)(*(into @ part for part in self))

    def pool(self, groups: np.ndarray) -> Self:
        """Sums over some groups together, with one row."""
        return type(self)(*(part[groups].sum(axis=0, keepdims=True) for part in self))


class Moments(NamedTuple):
    """Mean and variance of each gene in each group."""

    mean: np.ndarray  # (n_groups, n_genes)
    variance: np.ndarray
    n_cells: np.ndarray  # (n_groups, 1)


def sum_by_group(expression: Expression, codes: np.ndarray, n_groups: int, *, shown: bool = False) -> Sums:
    """Add up the values of every group, some cells at a time; cells of code -1 belong to none."""
    n_genes = expression.matrix.shape[1]
    sums = Sums(np.zeros((n_groups, 1)), *(np.zeros((n_groups, n_genes)) for _ in range(5)))
    for cells, block in follow_blocks(expression, done="read", shown=shown):
        here = codes[cells]
        known = np.flatnonzero(here >= 0)
        sums.n_cells[:, 0] += np.bincount(here[known], minlength=n_groups)
        into = sp.csr_array((np.ones(len(known)), (here[known], known)), shape=(n_groups, len(here)))
        rates = undo_logarithm(block.data, expression.form)
        terms = (block.data, block.data**2, rates, rates**2, np.ones(len(rates)))
        for total, data in zip(sums[1:], terms, strict=True):
            total += (into @ sp.csr_array((data, block.indices, block.indptr), shape=block.shape)).toarray()
    return sums


def find_moments(n_cells: np.ndarray, total: np.ndarray, squares: np.ndarray) -> Moments:
    """Mean and unbiased variance from sums."""
    mean = total / np.maximum(n_cells, 1)
    variance = np.maximum(squares - n_cells * mean**2, 0.0) / np.maximum(n_cells - 1, 1)
    return Moments(mean, variance, n_cells)


def log_moments(sums: Sums) -> Moments:
    """Moments of the log-normalised values."""
    return find_moments(sums.n_cells, sums.logs, sums.log_squares)


def rate_moments(sums: Sums) -> Moments:
    """Moments of the values without logarithm."""
    return find_moments(sums.n_cells, sums.rates, sums.rate_squares)


def welch_p_values(group: Moments, others: Moments) -> np.ndarray:
    """Two-sided p-values of Welch's t-test of log-normalised values; 1 for a gene that does not vary."""
    with np.errstate(all="ignore"):
        _, p_values = stats.ttest_ind_from_stats(
            group.mean, np.sqrt(group.variance), group.n_cells, others.mean, np.sqrt(others.variance),
            others.n_cells, equal_var=False,
        )  # fmt: skip
    return np.where(np.isnan(p_values), 1.0, p_values)


def fold_changes(group: Moments, others: Moments, form: str) -> np.ndarray:
    """Logarithm to base 2 of the fold change, as scanpy takes it from means of logarithms."""
    here, there = (undo_logarithm(part.mean, form) + FOLD_OFFSET for part in (group, others))
    with np.errstate(all="ignore"):
        return np.log2(here / there)


def lead(moments: Moments, group: int, others: np.ndarray) -> np.ndarray:
    """By how many standard errors a group's mean of each gene leads that of most other groups, one by one.

    The lower quartile over the other groups: a gene may be shared with up to a quarter of them. Against all other
    cells together, a gene that a single large type lacks would lead, too.
    """
    mean, error = moments.mean, moments.variance / np.maximum(moments.n_cells, 1)
    leads = np.array(
        [(mean[group] - mean[other]) / np.sqrt(error[group] + error[other] + TINY) for other in others]
    )
    place = int(np.ceil(LOWER_PART * len(others))) - 1
    return np.partition(leads, place, axis=0)[place]

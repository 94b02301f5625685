"""Plain linear models of a table: where a predictor starts, what gates may look at, which features to consider."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from lspin.tables.grid import Rows
from lspin.targets.kind import Kind

PENALTIES = 10.0 ** np.arange(-2, 6)  # of a ridge, in units of the mean eigenvalue of the rows' products
N_FOLDS = 5


Blocks = Callable[[], Iterable[Any]]


class Ridge(NamedTuple):
    """A ridge regression, and its scores of the rows it was fitted on, each without that row."""

    weights: np.ndarray  # (n_inputs, n_outputs)
    intercept: np.ndarray  # (n_outputs,)
    held_out: np.ndarray  # (n, n_outputs)


def fit_ridge(blocks: Blocks, outputs: np.ndarray, weight: np.ndarray) -> Ridge:
    """Ridge regression in the space of the rows, with the penalty of the least leave-one-out error.

    Parameters
    ----------
    blocks
        Gives the inputs, dense or CSR, some columns at a time; they are gone through twice.
    outputs
        Shape ``(n, n_outputs)``.
    weight
        Shape ``(n,)``. Leaving out a row of weight 2 leaves out both its copies.

    Notes
    -----
    With ``H`` the map from outputs to fitted values, a row's error without that row is its error divided by
    ``1 - H_ii``: every row is held out at the price of one fit.

    """
    shares = weight / weight.sum()
    roots = np.sqrt(shares * len(shares))[:, None]
    mean = shares @ outputs
    targets = roots * (outputs - mean)
    products = _products(blocks, shares)
    products *= roots
    products *= roots.T
    strengths, vectors = eigh(products.T, overwrite_a=True, check_finite=False, driver="evd")  # in their place
    strengths = np.maximum(strengths, 0.0)
    squares = vectors**2
    turned = vectors.T @ targets
    best_error, best_penalty, held_out = np.inf, 0.0, outputs
    for penalty in PENALTIES * max(strengths.mean(), np.finfo(float).tiny):
        kept = strengths / (strengths + penalty)
        leverage = squares @ kept + shares
        errors = (targets - vectors @ (kept[:, None] * turned)) / np.maximum(1 - leverage, 1e-9)[:, None]
        if (errors**2).sum() < best_error:
            best_error, best_penalty, held_out = (errors**2).sum(), penalty, outputs - errors / roots
    coefficients = roots * (vectors @ (turned / (strengths + best_penalty)[:, None]))
    # Rows are centred implicitly: what the coefficients add up to is taken away in the direction of the center.
    centers, weights = zip(
        *(
            (shares @ block, block.T @ coefficients - np.outer(shares @ block, coefficients.sum(axis=0)))
            for block in blocks()
        ),
        strict=True,
    )
    joined = np.concatenate(weights)
    return Ridge(joined, mean - np.concatenate(centers) @ joined, held_out)


def _products(blocks: Blocks, shares: np.ndarray) -> np.ndarray:
    """Inner products of all rows about their weighted mean."""
    products = np.zeros((len(shares), len(shares)))
    for block in blocks():
        products += (block @ block.T).toarray() if sp.issparse(block) else block @ block.T
    towards = products @ shares
    products -= towards[:, None]
    products -= towards
    products += shares @ towards
    return products


def fit_sparse_ridge(inputs: sp.csr_array, outputs: np.ndarray, weight: np.ndarray) -> Ridge:
    """The same with every input brought to variance 1; its weights are for the inputs as they are."""
    spread = np.sqrt(variances(inputs, weight / weight.sum()))
    unit = 1 / np.where(spread > 0, spread, np.inf)
    scaled = sp.csr_array(inputs @ sp.diags_array(unit))
    ridge = fit_ridge(lambda: [scaled], outputs, weight)
    return ridge._replace(weights=unit[:, None] * ridge.weights)


def naive_bayes_suits(inputs: sp.csr_array, rows: Rows, kind: Kind) -> bool:
    """Whether naive Bayes has a lower log loss on held-out rows than a ridge."""
    codes, weight = rows.target, rows.weight
    scale = np.ones(inputs.shape[1])
    scores = np.zeros((len(codes), kind.n_outputs))
    fold = np.arange(len(codes)) % N_FOLDS
    for held_out in range(N_FOLDS):
        kept, judged = fold != held_out, fold == held_out
        weights = naive_bayes_weights(inputs[kept], scale, codes[kept], weight[kept], kind.n_outputs)
        scores[judged] = inputs[judged] @ weights
    ridge = fit_sparse_ridge(inputs, kind.regressand(rows), weight)
    naive, plain = (
        kind.loss.average(outputs, codes, weight / weight.sum())
        for outputs in (scores, kind.output_unit * ridge.held_out)
    )
    return bool(naive <= plain)


def naive_bayes_weights(
    inputs: np.ndarray | sp.csr_array, scale: np.ndarray, codes: np.ndarray, weight: np.ndarray, n_outputs: int
) -> np.ndarray:
    """Log-ratios of a multinomial naive Bayes model for scaled counts, shape ``(n_inputs, n_outputs)``.

    Parameters
    ----------
    inputs, scale
        Counts divided by a scale for each input; none is negative.
    codes, weight
        Class and weight of each row.
    n_outputs
        One for two classes, else one a class.

    """
    counts = [scale * ((weight * (codes == code)) @ inputs) for code in range(max(n_outputs, 2))]
    stored = max(weight @ np.asarray((inputs != 0).sum(axis=1)).ravel(), np.finfo(float).tiny)
    totals = np.array(counts) + np.sum(counts) / stored  # smoothed by one average entry
    logs = np.log(totals / totals.sum(axis=1, keepdims=True))
    ratios = (logs - logs.mean(axis=0)).T
    return scale[:, None] * (ratios if n_outputs > 1 else ratios[:, 1:] - ratios[:, :1])


def separation(
    inputs: np.ndarray | sp.csr_array, target: np.ndarray, weight: np.ndarray, *, is_class: bool
) -> np.ndarray:
    """The part of each input's variance that the target explains: between classes, or along a line."""
    shares = weight / weight.sum()
    mean = shares @ inputs
    spread = variances(inputs, shares)
    if is_class:
        groups = [shares * (target == code) for code in np.unique(target)]
        explained = sum((group @ inputs - group.sum() * mean) ** 2 / group.sum() for group in groups)
    else:
        centred = target - shares @ target
        explained = ((shares * centred) @ inputs) ** 2 / max(shares @ centred**2, np.finfo(float).tiny)
    return explained / np.maximum(spread, np.finfo(float).tiny)


def variances(inputs: Any, shares: np.ndarray) -> np.ndarray:
    """Variance of each input."""
    mean = shares @ inputs
    if sp.issparse(inputs):
        return np.maximum(shares @ inputs.power(2) - mean**2, 0.0)
    return shares @ (inputs - mean) ** 2

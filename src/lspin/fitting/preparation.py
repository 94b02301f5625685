"""What is found out about a table before a network is trained on it: features, directions, a linear start."""

from typing import Any, NamedTuple

import numpy as np

from lspin.fitting.anchors import Blocks, Ridge, fit_ridge, fit_sparse_ridge, naive_bayes_weights, separation
from lspin.fitting.problem import Problem
from lspin.tables.encoding import Encoding, context_blocks, encode_inputs, input_blocks, scale_sparse
from lspin.tables.grid import Rows
from lspin.tables.reading import columns_of_inputs


class Examples(NamedTuple):
    """Rows as the rivals learn from them: all dense, without a path of prices."""

    inputs: np.ndarray  # (n, n_inputs), standardised, 0 where missing
    shut: np.ndarray | None  # (n, n_features), 1 where a value is missing
    target: np.ndarray  # (n,)
    weight: np.ndarray  # (n,), mean 1


class View(NamedTuple):
    """What the gating network sees of a row instead of all its inputs: how far it lies in some directions."""

    directions: np.ndarray  # (n_context, n_directions)
    origin: np.ndarray  # (n_directions,)
    training: np.ndarray  # (n, n_directions), of the training rows


class Anchor(NamedTuple):
    """A linear model that the predictor starts from."""

    weights: np.ndarray  # (n_inputs, n_outputs)
    intercept: np.ndarray  # (n_outputs,)


class Prepared(NamedTuple):
    """What is known of the training rows before a network is trained on them."""

    encoding: Encoding
    features: np.ndarray  # those of the encoding that get a gate
    inputs: np.ndarray  # and the inputs that belong to them
    view: View | None
    anchor: Anchor | None

    @property
    def table_inputs(self) -> np.ndarray:
        """Places of the inputs among all that the columns of the table have."""
        columns = columns_of_inputs(self.encoding.n_columns, self.encoding.levels)
        return np.flatnonzero(np.isin(columns, self.encoding.features))[self.inputs]

    @property
    def owners(self) -> np.ndarray | None:
        """Which of the gated features each of the inputs belongs to, where some have several."""
        if self.encoding.shared_owners is None:
            return None
        return np.searchsorted(self.features, self.encoding.owners[self.inputs])


def prepare(problem: Problem, rows: Rows, encoding: Encoding) -> Prepared:
    """Screen the features, find what the gates look at and where the predictor starts."""
    features, view = screen(problem, rows, encoding), None
    if problem.recipe.sees_scores:
        view = see_scores(find_scores(problem, rows, encoding))
    prepared = Prepared(encoding, features, np.flatnonzero(np.isin(encoding.owners, features)), view, None)
    return prepared._replace(anchor=find_anchor(problem, rows, prepared))


def find_scores(problem: Problem, rows: Rows, encoding: Encoding) -> Ridge:
    """The linear model whose scores gates look at: naive Bayes where a predictor starts from it, else a ridge."""
    if not (isinstance(problem.anchor, str) and problem.anchor == "naive_bayes"):
        return solve_ridge(problem, rows, lambda: context_blocks(rows.grid, encoding))
    inputs, n_outputs = scale_sparse(rows.grid.values, encoding), problem.kind.n_outputs
    scale = np.where(np.isfinite(encoding.scale), encoding.scale, 0.0)
    weights = naive_bayes_weights(inputs, scale, rows.target, rows.weight, n_outputs)
    for_flags = np.zeros((encoding.n_context - len(weights), n_outputs))  # of missing values, which tell nothing
    # Naive Bayes fits its own rows hardly better than others, so that its scores of them need not be held out.
    return Ridge(np.concatenate([weights, for_flags]), np.zeros(n_outputs), inputs @ weights)


def solve_ridge(problem: Problem, rows: Rows, blocks: Blocks) -> Ridge:
    """A ridge on what the blocks hold; sparse ones, a single block, are brought to one variance."""
    outputs = problem.kind.regressand(rows)
    if rows.grid.is_sparse:
        (inputs,) = blocks()
        return fit_sparse_ridge(inputs, outputs, rows.weight)
    return fit_ridge(blocks, outputs, rows.weight)


def gated_inputs(rows: Rows, prepared: Prepared) -> Any:
    """The inputs that have a gate, dense or CSR."""
    if prepared.encoding.zero_is_absent:
        return scale_sparse(rows.grid.values, prepared.encoding)[:, prepared.inputs]
    is_whole = len(prepared.inputs) == len(prepared.encoding.owners)
    return encode_inputs(rows.grid, prepared.encoding, slice(None) if is_whole else prepared.inputs)


def find_anchor(problem: Problem, rows: Rows, prepared: Prepared) -> Anchor | None:
    """The linear model that a predictor starts from, in units of its inputs."""
    anchor, kind, scale = problem.anchor, problem.kind, prepared.encoding.scale[prepared.inputs]
    if anchor is None:
        return None
    scale = np.where(np.isfinite(scale), scale, 0.0)  # what does not vary here counts for nothing
    if not isinstance(anchor, str):
        return Anchor(anchor[prepared.table_inputs] * scale[:, None], kind.constant(rows))
    inputs = gated_inputs(rows, prepared)
    if anchor == "naive_bayes":
        weights = naive_bayes_weights(inputs, scale, rows.target, rows.weight, kind.n_outputs)
        return Anchor(weights, kind.constant(rows))
    ridge = solve_ridge(problem, rows, lambda: [inputs])
    return Anchor(kind.output_unit * ridge.weights, kind.output_unit * ridge.intercept)


def screen(problem: Problem, rows: Rows, encoding: Encoding) -> np.ndarray:
    """The features whose values tell most about the target, one by one; in the order of the table."""
    n_screened, gated = problem.recipe.n_screened, encoding.gated_features
    if n_screened is None or n_screened >= len(gated):
        return gated
    blocks = input_blocks(rows.grid, encoding)
    told = [separation(block, rows.target, rows.weight, is_class=problem.kind.has_classes) for block in blocks]
    best = np.zeros(encoding.n_features)
    np.maximum.at(best, encoding.owners, np.concatenate(told))
    return np.sort(gated[np.argsort(-best[gated], kind="stable")[:n_screened]])


def see_scores(ridge: Ridge) -> View:
    """The scores of a ridge: of a training row without that row, so that new rows look no different."""
    center = ridge.held_out.mean(axis=0)
    unit = max(float(ridge.held_out.std(axis=0).mean()), np.finfo(float).tiny)
    return View(
        directions=ridge.weights / unit,
        origin=(center - ridge.intercept) / unit,
        training=(ridge.held_out - center) / unit,
    )


def look(view: View, rows: Rows, encoding: Encoding) -> np.ndarray:
    """New rows as a view shows them, shape ``(n, n_directions)``."""
    seen, start = np.zeros((len(rows.target), view.directions.shape[1])), 0
    for block in context_blocks(rows.grid, encoding):
        seen += block @ view.directions[start : start + block.shape[1]]
        start += block.shape[1]
    return seen - view.origin

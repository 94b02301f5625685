"""How much each open gate moves a row's prediction: exactly where few are open, by sampling where many are."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.core.networks import Layer, Layers, apply_layers, silu
from lspin.fitting.prediction import Member, predict_member, predict_signs
from lspin.tables.encoding import LARGEST_DEVIATION, Encoding
from lspin.tables.grid import Grid
from lspin.tables.reading import columns_of_inputs

LINEAR, EXACT, SAMPLED = "linear", "exact Shapley", "sampled Shapley"

MOST_EXACT = 10  # open gates of a row whose subsets are all tried
MOST_EVALUATIONS = 2**MOST_EXACT  # of the predictor for a row
BLOCK_ENTRIES = 2**18  # numbers of a layer at one time: they stay in the processor's cache
PRECISION = np.float32  # of the worth of a subset of open gates: seven digits, twice as fast as double precision
SEED = 7  # of the orders in which gates are opened where there are too many subsets


class OpenGates(NamedTuple):
    """The open gates of some rows, row by row; each stands for a row and a column of the user's table."""

    rows: np.ndarray  # (m,), ascending
    columns: np.ndarray  # (m,)
    gates: np.ndarray  # (m,), above 0


class Attribution(NamedTuple):
    """What one model says of some rows, and which open gate adds what to it."""

    opened: OpenGates
    contributions: np.ndarray  # (m, n_outputs)
    baseline: np.ndarray  # (n_outputs,), with all gates shut
    outputs: np.ndarray  # (n, n_outputs): the baseline and the contributions of the row
    methods: np.ndarray  # (n,), how the contributions of a row were found


def attribute(member: Member, table: Grid) -> Attribution:
    """Share the prediction of every row among its open gates.

    Notes
    -----
    Opening some gates of a row and leaving the others shut is a coalition; its worth is the prediction. A linear
    predictor adds up its gates, so each contributes its own term. Else a gate's contribution is its Shapley
    value: what opening it changes, averaged over all orders in which the open gates of the row could be opened.
    Where more than ``MOST_EXACT`` are open the average is over random orders, each together with its reverse.
    Whatever the orders, the contributions of a row add up to its prediction minus the baseline, in double
    precision; how they share it is computed in single precision.

    """
    gates, outputs = predict_member(member, table)
    opened = list_open(gates)
    gated = gated_inputs(opened, table, member.encoding)
    first, *rest = member.networks.prediction
    if not rest:
        methods = np.full(len(outputs), LINEAR, object)
        terms = gated @ first.weights
        if member.networks.signs is not None:
            terms *= predict_signs(member, table)[opened.rows, opened.columns, None]
        return Attribution(opened, terms, first.bias, outputs, methods)
    baseline = apply_layers(tuple(rest), silu(first.bias[None]), "silu")[0]
    n_open = np.bincount(opened.rows, minlength=len(outputs))
    game = set_up_game(member.networks.prediction)
    contributions = shapley_values(gated, n_open, outputs - baseline, game)
    methods = np.where(n_open <= MOST_EXACT, EXACT, SAMPLED).astype(object)
    return Attribution(opened, contributions, baseline, outputs, methods)


def list_open(gates: Any) -> OpenGates:
    """The gates above 0 of a matrix, dense or CSR."""
    if not sp.issparse(gates):
        rows, columns = np.divmod(np.flatnonzero(gates > 0), gates.shape[1])  # ten times as fast as np.nonzero
        return OpenGates(rows, columns, gates[rows, columns])
    entries = sp.coo_array(gates)
    is_open = entries.data > 0
    # SciPy counts in 32 bits, in which rows times columns of a large table overflow.
    rows, columns = (places[is_open].astype(np.int64) for places in entries.coords)
    return OpenGates(rows, columns, entries.data[is_open])


def gated_inputs(opened: OpenGates, table: Grid, encoding: Encoding) -> sp.csr_array:
    """Of each open gate, the standardised inputs behind it times the gate, shape ``(m, n_inputs)``."""
    column_of = columns_of_inputs(encoding.n_columns, encoding.levels)
    first = np.searchsorted(column_of, opened.columns)
    ends = np.cumsum(np.searchsorted(column_of, opened.columns, side="right") - first)
    starts = np.concatenate([[0], ends])
    n_inputs = np.diff(starts)
    places = np.repeat(first - starts[:-1], n_inputs) + np.arange(starts[-1])
    inputs = (np.cumsum(np.isin(column_of, encoding.features)) - 1)[places]
    values = pick(table.values, np.repeat(opened.rows, n_inputs), places)
    with np.errstate(over="ignore"):  # what is too large is cut off
        standard = (values - encoding.center[inputs]) / encoding.scale[inputs]
    terms = np.repeat(opened.gates, n_inputs) * np.clip(standard, -LARGEST_DEVIATION, LARGEST_DEVIATION)
    return sp.csr_array((terms, inputs, starts), shape=(len(opened.rows), len(encoding.owners)))


def pick(values: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What stands at some places of a matrix, dense or CSR, shape ``(m,)``."""
    found = values[rows, columns]
    return np.asarray(found.toarray() if sp.issparse(found) else found, np.float64).ravel()


class Game(NamedTuple):
    """What coalitions of open gates are worth: the prediction network from the sums of its first layer on."""

    weights: np.ndarray  # (n_inputs, width): what an input adds to the sums
    start: np.ndarray  # (width,): the sums with all gates shut
    worth: Callable[[np.ndarray], np.ndarray]  # from the sums, shape (m, width), to the outputs


def set_up_game(layers: Layers) -> Game:
    """The game of a prediction network, in the precision of ``PRECISION``.

    Notes
    -----
    Hidden layers are halved: from half of its argument, :func:`silu` is one tanh, one sum and one product.

    """
    halves = [Layer(0.5 * layer.weights, 0.5 * layer.bias) for layer in layers[:-1]]
    first, *rest = (
        Layer(weights.astype(PRECISION), bias.astype(PRECISION)) for weights, bias in [*halves, layers[-1]]
    )

    def worth(sums: np.ndarray) -> np.ndarray:
        for layer in rest:
            hidden = np.tanh(sums)
            hidden += 1
            hidden *= sums
            sums = hidden @ layer.weights
            sums += layer.bias
        return sums

    return Game(first.weights, first.bias, worth)


def shapley_values(gated: sp.csr_array, n_open: np.ndarray, gains: np.ndarray, game: Game) -> np.ndarray:
    """Shapley value of every open gate, shape ``(m, n_outputs)``.

    Parameters
    ----------
    gated
        Of :func:`gated_inputs`.
    n_open
        Open gates of each row, shape ``(n,)``.
    gains
        Predictions minus the baseline, which the values of a row add up to, shape ``(n, n_outputs)``.
    game
        Of :func:`set_up_game`.

    """
    gated = gated.astype(game.weights.dtype)
    values = np.empty((gated.shape[0], gains.shape[1]))
    for count in np.unique(n_open[n_open > 0]).tolist():  # Python's integers do not overflow
        is_exact = count <= MOST_EXACT
        n_evaluations = 2**count if is_exact else _orders(count).size
        share = _exact_values if is_exact else _sampled_values
        for rows, places, inputs in _blocks(
            gated, n_open, count, size=max(BLOCK_ENTRIES // (n_evaluations * len(game.start)), 1)
        ):
            pieces = (inputs @ game.weights).reshape(*places.shape, -1)
            values[places] = share(pieces, gains[rows], game)
    return values


class Block(NamedTuple):
    """Some rows with the same number of open gates."""

    rows: np.ndarray  # (n,)
    places: np.ndarray  # (count, n), of their gates among all open gates
    inputs: sp.csr_array  # (count * n, n_inputs), what these gates let through


def _blocks(gated: sp.csr_array, n_open: np.ndarray, count: int, *, size: int) -> Iterator[Block]:
    rows = np.flatnonzero(n_open == count)
    first = np.cumsum(n_open)[rows] - count
    parts = [slice(start, start + size) for start in range(0, len(rows), size)]
    places = [first[part] + np.arange(count)[:, None] for part in parts]
    # SciPy is slow in picking rows, fast in slicing: they are picked once for all blocks.
    inputs = gated[np.concatenate([block.ravel() for block in places])]
    ends = np.cumsum([block.size for block in places])
    for part, block, end in zip(parts, places, ends, strict=True):
        yield Block(rows[part], block, inputs[end - block.size : end])


def _exact_values(pieces: np.ndarray, gains: np.ndarray, game: Game) -> np.ndarray:
    """Shapley values over all subsets, from what each open gate adds to the first layer, ``(count, n, width)``."""
    count, n_rows, width = pieces.shape
    sums = np.empty((2**count, n_rows, width), pieces.dtype)
    sums[0] = game.start
    for gate in range(count):
        # Bit ``gate`` of a subset's number says whether it holds that gate.
        np.add(sums[: 2**gate], pieces[gate], out=sums[2**gate : 2 ** (gate + 1)])
    worths = game.worth(sums[1:-1].reshape(-1, width)).reshape(2**count - 2, gains.size)
    # Of no gate and of all gates, the worths are known in double precision. All other weights of a subset add up
    # to 0, so that the values of a row add up to its gain however the worths between are rounded.
    values = _shapley_weights(count)[:, 1:-1] @ worths
    return values.reshape(count, *gains.shape) + gains / count


@lru_cache(maxsize=32)
def _shapley_weights(count: int) -> np.ndarray:
    """Weight of each subset's worth in each gate's Shapley value, shape ``(count, 2**count)``."""
    subsets = np.arange(2**count)
    holds = (subsets >> np.arange(count)[:, None]) & 1 == 1
    sizes = holds.sum(axis=0)
    # Share of the orders in which a gate comes right after a given subset of that size.
    shares = np.ones(count)
    for size in range(count - 1):
        shares[size + 1] = shares[size] * (size + 1) / (count - 1 - size)
    shares /= count
    return np.where(holds, shares[np.maximum(sizes - 1, 0)], -shares[np.minimum(sizes, count - 1)])


def _sampled_values(pieces: np.ndarray, gains: np.ndarray, game: Game) -> np.ndarray:
    """The same, averaged over some orders in which the gates are opened one by one."""
    orders = _orders(len(pieces))
    sums = np.cumsum(pieces[orders[:, :-1]], axis=1)
    sums += game.start
    worths = game.worth(sums.reshape(-1, sums.shape[-1])).reshape(*sums.shape[:3], -1)
    shut = np.broadcast_to(game.worth(game.start[None]), (len(orders), 1, *gains.shape))
    changes = np.diff(worths, axis=1, prepend=shut, append=shut + gains)
    ranks = np.argsort(orders, axis=1)
    return np.take_along_axis(changes, ranks[:, :, None, None], axis=1).mean(axis=0)


@lru_cache(maxsize=256)
def _orders(count: int) -> np.ndarray:
    """Random orders of the gates, each followed by its reverse; the same for every row."""
    rng = np.random.default_rng([SEED, count])
    drawn = np.array([rng.permutation(count) for _ in range(max(MOST_EVALUATIONS // (2 * count), 1))])
    return np.stack([drawn, drawn[:, ::-1]], axis=1).reshape(-1, count)

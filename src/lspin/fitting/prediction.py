"""Predicting with a trained model in NumPy double precision, a block of rows at a time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lspin.core.model import Networks, memberships, predict_outputs, settled_gates, shut_missing, turn_gates
from lspin.core.networks import Layer
from lspin.core.rows import Dense, list_entries, spread_gates
from lspin.tables.encoding import Encoding, encode, gating_context, scale_sparse, sparse_context
from lspin.tables.grid import Grid, store_sparsely, take_grid

BLOCK_ENTRIES = 2**18  # numbers in a block: small enough to stay in the processor's cache
BLOCK_ROWS = 512  # the most rows in a block: a narrow table has hidden layers wider than itself


class Member(NamedTuple):
    """A trained model: how it reads a table, and its weights."""

    encoding: Encoding
    networks: Networks


class Prediction(NamedTuple):
    """What a model says of some rows."""

    gates: Any  # (n, n_columns), one for each column of the user's table; CSR where zeros are absent
    outputs: np.ndarray  # (n, n_outputs)


def predict_member(member: Member, table: Grid, foreign: Any = None) -> Prediction:
    """Gates and outputs of one model; ``foreign`` gates, shape ``(n, n_columns)``, take the place of its own."""
    if member.encoding.zero_is_absent:
        return _predict_sparse(member, store_sparsely(table), foreign)
    n_rows, n_columns = table.n_rows, member.encoding.n_columns
    columns: Any = slice(None) if member.encoding.n_features == n_columns else member.encoding.features
    prediction = Prediction(
        np.zeros((n_rows, n_columns)), np.empty((n_rows, len(member.networks.prediction[-1].bias)))
    )
    for block in row_blocks(n_rows, table.values.shape[1]):
        inputs, missing = encode(take_grid(table, block), member.encoding)
        context = Dense(gating_context(inputs, missing, member.encoding))
        if foreign is None:
            gates = settled_gates(member.networks, context, Dense(inputs), missing)
        else:
            gates = shut_missing(foreign[block, member.encoding.features], missing)
        prediction.gates[block, columns] = gates
        prediction.outputs[block] = _predict_open(member, inputs, turn_gates(member.networks, context, gates))
    return prediction


def _predict_open(member: Member, inputs: np.ndarray, gates: np.ndarray) -> np.ndarray:
    """Outputs from the inputs that any of the rows sees: all others are times 0."""
    of_inputs = spread_gates(gates, member.encoding.shared_owners)
    seen: Any = np.flatnonzero(of_inputs.any(axis=0))
    if 2 * len(seen) > of_inputs.shape[1]:
        seen = slice(None)  # taking columns out would cost more than it saves
    first, *rest = member.networks.prediction
    narrow = member.networks._replace(prediction=(Layer(first.weights[seen], first.bias), *rest))
    return predict_outputs(narrow, Dense(inputs[:, seen] * of_inputs[:, seen]))


def predict_signs(member: Member, table: Grid) -> np.ndarray:
    """What coefficients are multiplied by, besides the gates: 1, or -1 where a row's group turns them around.

    Shape ``(n, n_columns)``; in between for a row between two groups.
    """
    networks, encoding = member.networks, member.encoding
    signs = np.ones((table.n_rows, encoding.n_columns))
    if networks.signs is not None:
        for block in row_blocks(table.n_rows, table.values.shape[1]):
            inputs, missing = encode(take_grid(table, block), encoding)
            context = Dense(gating_context(inputs, missing, encoding))
            signs[block, encoding.features] = turn_gates(networks, context, signs[block, encoding.features])
    return signs


def predict_memberships(member: Member, table: Grid) -> np.ndarray:
    """Probability that a row belongs to each group of a model of groups, shape ``(n, n_groups)``."""
    groups, encoding = member.networks.groups, member.encoding
    assert groups is not None
    parts = []
    for block in row_blocks(table.n_rows, table.values.shape[1]):
        inputs, missing = encode(take_grid(table, block), encoding)
        parts.append(memberships(groups, Dense(gating_context(inputs, missing, encoding))))
    return np.concatenate(parts)


def _predict_sparse(member: Member, table: Grid, foreign: Any) -> Prediction:
    """The same for a table whose zeros are absent; the gates are those of its entries."""
    n_rows, encoding = table.n_rows, member.encoding
    n_outputs = len(member.networks.prediction[-1].bias)
    outputs, gates = np.empty((n_rows, n_outputs)), []
    for block in row_blocks(n_rows, row_length(table)):
        values, missing, _ = take_grid(table, block)
        inputs = scale_sparse(values, encoding)
        entries = list_entries(inputs)
        if foreign is None:
            context = list_entries(sparse_context(inputs, missing, encoding))
            opened = settled_gates(member.networks, context, entries, None)
        else:
            rows = np.arange(n_rows)[block][entries.rows]
            opened = np.asarray(foreign[rows, encoding.features[entries.columns]], np.float64).ravel()
        outputs[block] = predict_outputs(member.networks, entries.open(opened, None))
        place = (opened, encoding.features[inputs.indices], inputs.indptr)
        gates.append(sp.csr_array(place, shape=(inputs.shape[0], encoding.n_columns)))
    return Prediction(sp.csr_array(sp.vstack(gates, format="csr")), outputs)


def predict_members(members: list[Member], table: Grid, foreign: Any = None) -> Prediction:
    """Average gates and outputs of several models."""
    gates, outputs = predict_member(members[0], table, foreign)
    for member in members[1:]:
        more = predict_member(member, table, foreign)
        gates += more.gates
        outputs += more.outputs
    gates /= len(members)
    return Prediction(gates, outputs / len(members))


class Counted(NamedTuple):
    """Outputs of a model and how many gates are open; the gates themselves are as large as the table."""

    outputs: np.ndarray  # (n, n_outputs)
    n_open: np.ndarray  # (n,), gates


def predict_counted(members: list[Member], table: Grid, foreign: Any = None) -> Counted:
    """Average outputs of several models, and how many gates any of them opens, some rows at a time."""
    parts = []
    for block in row_blocks(table.n_rows, row_length(table)):
        theirs = None if foreign is None else foreign[block]
        prediction = predict_members(members, take_grid(table, block), theirs)
        parts.append(Counted(prediction.outputs, count_open(prediction.gates)))
    return Counted(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def find_opened(member: Member, table: Grid) -> np.ndarray:
    """The features whose gate is open in any row, some rows at a time."""
    is_open = np.zeros(member.encoding.n_columns, bool)
    for block in row_blocks(table.n_rows, row_length(table)):
        gates = predict_member(member, take_grid(table, block)).gates
        is_open |= np.asarray((gates > 0).sum(axis=0)).ravel() > 0
    return np.flatnonzero(is_open[member.encoding.features])


def check_gates(gates: Any, shape: tuple[int, int]) -> None:
    """Raise an error unless gates have the shape of the table and lie in [0, 1]."""
    if gates.shape != shape:
        raise ValueError(f"gates have the shape {gates.shape}, but X has {shape}")
    if gates.size and not (gates.min() >= 0 and gates.max() <= 1):
        raise ValueError(f"gates must lie in [0, 1]; they range from {gates.min():g} to {gates.max():g}")


def count_open(gates: Any) -> np.ndarray:
    """Open gates of each row, shape ``(n,)``."""
    return np.asarray((gates > 0).sum(axis=1)).ravel()


def row_length(table: Grid) -> int:
    """Numbers stored for a row, on average."""
    return table.values.nnz // max(table.n_rows, 1) if table.is_sparse else table.values.shape[1]


def row_blocks(n_rows: int, n_inputs: int) -> Iterator[slice]:
    """Parts of a table that are small enough to stay in the processor's cache."""
    size = min(max(BLOCK_ENTRIES // max(n_inputs, 1), 16), BLOCK_ROWS)
    return (slice(start, start + size) for start in range(0, n_rows, size))

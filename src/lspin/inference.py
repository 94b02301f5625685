"""Predicting with a trained model in NumPy double precision, a block of rows at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lspin.model import Networks, predict_outputs, settled_gates, shut_missing, spread_gates
from lspin.tables import Encoding, Table, encode, gating_context, take_table

BLOCK_ENTRIES = 2**18  # numbers in a block: small enough to stay in the processor's cache


class Member(NamedTuple):
    """A trained model: how it reads a table, and its weights."""

    encoding: Encoding
    networks: Networks


class Prediction(NamedTuple):
    """What a model says of some rows."""

    gates: np.ndarray  # (n, n_columns), one for each column of the user's table
    outputs: np.ndarray  # (n, n_outputs)


def predict_member(member: Member, table: Table, foreign: np.ndarray | None = None) -> Prediction:
    """Gates and outputs of one model; ``foreign`` gates, shape ``(n, n_columns)``, take the place of its own."""
    n_rows, n_columns = table.values.shape[0], member.encoding.n_columns
    prediction = Prediction(
        np.zeros((n_rows, n_columns)), np.empty((n_rows, len(member.networks.prediction[-1].bias)))
    )
    for block in _blocks(n_rows, table.values.shape[1]):
        inputs, missing = encode(take_table(table, block), member.encoding)
        if foreign is None:
            gates = settled_gates(member.networks, gating_context(inputs, missing, member.encoding), missing)
        else:
            gates = shut_missing(foreign[block, member.encoding.features], missing)
        prediction.gates[block, member.encoding.features] = gates
        gated = spread_gates(gates, member.encoding.shared_owners) * inputs
        prediction.outputs[block] = predict_outputs(member.networks, gated)
    return prediction


def predict_members(members: list[Member], table: Table, foreign: np.ndarray | None = None) -> Prediction:
    """Average gates and outputs of several models."""
    predictions = [predict_member(member, table, foreign) for member in members]
    return Prediction(*(np.mean(parts, axis=0) for parts in zip(*predictions, strict=True)))


def _blocks(n_rows: int, n_inputs: int) -> Iterator[slice]:
    size = max(BLOCK_ENTRIES // max(n_inputs, 1), 16)
    return (slice(start, start + size) for start in range(0, n_rows, size))

"""Outputs as spread as held-out rows say: one factor for all of them, found once a model is chosen."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from lspin.core.networks import Layer
from lspin.fitting.judging import row_losses
from lspin.fitting.path import Choice, Split, predict_held_out
from lspin.fitting.prediction import Member
from lspin.fitting.problem import Problem
from lspin.tables.grid import Rows

MOST = float(np.log(8.0))  # of the factor, up or down, as a logarithm
BELIEF = 2.0  # that the factor is near 1, in rows of which a constant's loss is at stake
PRECISION = 1e-9  # of its logarithm, so that units of a table make no difference


class Spread(NamedTuple):
    """How far the outputs of a model should be from those of a constant."""

    factor: float  # by which their distance is multiplied
    losses: np.ndarray  # of every held-out row, then


def find_spread(problem: Problem, outputs: list[np.ndarray], valid: list[Rows]) -> Spread:
    """The factor with the lowest loss on held-out rows.

    A model whose penalty was chosen for what it selects may say too little with it, and one that was trained for
    long too much.
    """
    kind, constant = problem.kind, problem.kind.constant(problem.rows)
    belief = BELIEF * kind.highest_price(problem.rows) / sum(len(rows.target) for rows in valid)
    parts = list(join_parts(outputs, valid, apart=kind.loss.compares_rows))
    total = sum(weight.sum() for _, _, weight in parts)

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        values = [
            weight.sum()
            / total
            * kind.loss.average(constant + factor * (said - constant), target, weight / weight.sum())
            for said, target, weight in parts
        ]
        return float(sum(values)) + belief * log_factor**2

    factor = float(np.exp(minimize_scalar(loss, bounds=(-MOST, MOST), options={"xatol": PRECISION}).x))
    return Spread(factor, row_losses(kind, [constant + factor * (part - constant) for part in outputs], valid))


def join_parts(outputs: list[np.ndarray], valid: list[Rows], *, apart: bool) -> Iterator[tuple[np.ndarray, ...]]:
    """Outputs, targets and weights of all held-out rows at once, or split by split where rows are compared."""
    parts = [
        (said, rows.target, rows.weight) for said, rows in zip(outputs, valid, strict=True) if rows.weight.any()
    ]
    yield from parts if apart else (tuple(map(np.concatenate, zip(*parts, strict=True))),)


def calibrate(problem: Problem, choice: Choice, splits: list[Split]) -> Choice:
    """The choice with the factor of its models, where there is one for each split."""
    if not splits or len(choice.fits) < len(splits):
        return choice
    outputs = [said.outputs for said in predict_held_out(choice.fits, splits)]
    return choice._replace(spread=find_spread(problem, outputs, [split.valid for split in splits]).factor)


def spread_member(problem: Problem, member: Member, factor: float) -> Member:
    """The model with its outputs a factor as far from those of a constant."""
    *hidden, last = member.networks.prediction
    constant = problem.kind.constant(problem.rows)
    layer = Layer(factor * last.weights, constant + factor * (last.bias - constant))
    return member._replace(networks=member.networks._replace(prediction=(*hidden, layer)))

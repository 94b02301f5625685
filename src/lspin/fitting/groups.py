"""A model without training: groups of rows, the few columns that count in each, and a linear predictor."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lspin.core.model import Networks
from lspin.core.networks import Layer
from lspin.fitting.linear import fit_linear
from lspin.fitting.prediction import Member
from lspin.structure.divisions import Cloud, Rule, divide
from lspin.structure.mixture import (
    MOST_TERMS,
    Mixture,
    Models,
    Moments,
    Term,
    fit_mixture,
    order_terms,
    solve_terms,
    sum_up,
)
from lspin.tables.encoding import Encoding, encode
from lspin.tables.grid import Rows
from lspin.targets.kind import Kind

OPEN = (
    0.65  # before the tanh: gates of 1.07 and -0.07 without the clip, so that members open and others shut fully
)
SHUT = -1.0  # the same of a feature that no group uses
FEW_TELLING = 2  # features that tell the groups: up to here they are part of the reason, and their gate is open
FARTHEST = 5.0  # an origin may lie from the mean of its column, in standard deviations
LEAST_PENALTY = 1e-3


class Setting(NamedTuple):
    """What fixes a grouped model."""

    rule: Rule
    n_terms: int  # columns, each in a group
    penalty: float = LEAST_PENALTY  # of the predictor's weights


class Basis(NamedTuple):
    """What all grouped models of some rows by one rule have in common."""

    rows: Rows
    encoding: Encoding
    cloud: Cloud
    mean: np.ndarray  # (n_inputs,), that was taken off the inputs
    missing: np.ndarray | None  # (n, n_features)
    mixture: Mixture
    moments: Moments
    terms: list[Term]  # all of them, the one that tells most first

    @property
    def inputs(self) -> np.ndarray:
        """The standardised inputs, 0 where missing."""
        return self.cloud.values + self.mean

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.mixture.offsets)


def find_basis(rows: Rows, encoding: Encoding, kind: Kind, rule: Rule) -> Basis | None:
    """Groups by a rule and the order in which columns count; nothing where the rule does not apply."""
    cloud, mean, missing = spread_out(rows, encoding, kind)
    labels = divide(cloud, rule)
    mixture = None if labels is None else fit_mixture(cloud, labels)
    if mixture is None:
        return None
    moments = sum_up(cloud.values, cloud.outputs, mixture.responsibilities)
    return Basis(rows, encoding, cloud, mean, missing, mixture, moments, order_terms(moments, MOST_TERMS))


def spread_out(rows: Rows, encoding: Encoding, kind: Kind) -> tuple[Cloud, np.ndarray, np.ndarray | None]:
    """Rows as points, what was taken off their inputs, and which values are missing."""
    inputs, missing = encode(rows.grid, encoding)
    weight = rows.weight / rows.weight.mean()
    mean = np.average(inputs, axis=0, weights=weight)
    outputs = kind.regressand(rows)
    outputs = outputs - np.average(outputs, axis=0, weights=weight)
    spread = np.sqrt(np.average((outputs**2).sum(axis=1), weights=weight) / outputs.shape[1])
    return Cloud(inputs - mean, encoding.owners, outputs / max(spread, 1e-12), weight), mean, missing


def predict_mixture(basis: Basis, rows: Rows, kind: Kind) -> np.ndarray:
    """Squared error of the mixture itself for new rows, shape ``(n,)``: a quick look at a rule."""
    terms = order_terms(basis.moments, MOST_TERMS, clear=True)
    models = solve_terms(basis.moments, terms)
    inputs, _ = encode(rows.grid, basis.encoding)
    values = inputs - basis.mean
    members = basis.mixture.memberships(values)
    made = np.einsum("nk,kno->no", members, models.predict(values))
    trained, new = kind.regressand(basis.rows), kind.regressand(rows)
    center = np.average(trained, axis=0, weights=basis.cloud.weight)
    return ((new - center - made * _unit(trained - center, basis.cloud.weight)) ** 2).sum(axis=1)


def _unit(outputs: np.ndarray, weight: np.ndarray) -> float:
    return float(np.sqrt(np.average((outputs**2).sum(axis=1), weights=weight) / outputs.shape[1]))


def build_member(basis: Basis, kind: Kind, setting: Setting) -> Member:
    """Gates that follow the groups, and the best linear predictor behind them."""
    parts = share_columns(solve_terms(basis.moments, basis.terms[: setting.n_terms]), basis)
    used = np.flatnonzero(parts.any(axis=0))
    steepness = np.where(
        parts > 0.95, OPEN, np.where(parts < 0.05, -OPEN, np.arctanh(np.clip(parts - 0.5, -0.5, 0.5)))
    )
    levels = np.where(parts.any(axis=0), steepness, SHUT)
    gates = np.clip(0.5 + np.tanh(basis.mixture.memberships(basis.cloud.values) @ levels), 0.0, 1.0)
    if basis.missing is not None:
        gates = gates * ~basis.missing
    origin = find_origins(basis, kind, gates, used, setting.penalty)
    chosen = np.flatnonzero(np.isin(basis.encoding.owners, used))
    gated = gates[:, basis.encoding.owners[chosen]] * (basis.inputs - origin)[:, chosen]
    layer = _fit(basis, kind, gated, setting.penalty)
    weights = np.zeros((len(basis.encoding.owners), kind.n_outputs))
    weights[chosen] = layer.weights
    return Member(
        replace(
            basis.encoding,
            center=basis.encoding.center + origin * _finite(basis.encoding.scale),
            sees_missing=True,  # even if the training rows have all their values: new rows may not
        ),
        Networks(
            gating=(Layer(levels, np.zeros(levels.shape[1])),),
            prediction=(Layer(weights, layer.bias),),
            groups=move_groups(basis, origin),
        ),
    )


def share_columns(models: Models, basis: Basis) -> np.ndarray:
    """How far a group uses a feature, beside the one that uses it most, shape ``(n_groups, n_features)``."""
    owners = basis.encoding.owners
    parts = np.zeros((basis.n_groups, basis.encoding.n_features))
    for feature in np.unique(owners[np.abs(models.weights).max(axis=(0, 2)) > 0]):
        weights = models.weights[:, owners == feature]
        if weights.shape[1] > 1:  # levels of a category add up to a constant, so what they share means nothing
            weights = weights - weights.mean(axis=1, keepdims=True)
        weights = weights.reshape(basis.n_groups, -1)
        most = weights[(weights**2).sum(axis=1).argmax()]
        parts[:, feature] = np.clip(weights @ most / max(most @ most, 1e-12), 0.0, 1.0)
    telling = np.unique(owners[np.abs(basis.mixture.directions).max(axis=1) > 0])
    if basis.n_groups > 1 and len(telling) <= FEW_TELLING and parts.any():
        parts[:, telling] = 1.0
    return parts


def find_origins(basis: Basis, kind: Kind, gates: np.ndarray, used: np.ndarray, penalty: float) -> np.ndarray:
    """Where each input counts as 0, in units of the inputs, shape ``(n_inputs,)``.

    Groups differ in their level too. An open gate adds its column, counted from an origin, and where that lies is
    free: with the right origins the open gates of a group add up to its level.
    """
    owners = basis.encoding.owners
    origin = np.zeros(len(owners))
    if basis.n_groups == 1:
        return origin
    chosen = np.flatnonzero(np.isin(owners, used))
    gated = np.hstack([gates[:, owners[chosen]] * basis.inputs[:, chosen], gates[:, used]])
    slopes, levels = np.split(_fit(basis, kind, gated, penalty).weights, [len(chosen)])
    for feature, level in zip(used, levels, strict=True):
        inside = owners[chosen] == feature
        size = (slopes[inside] ** 2).sum()
        if size > 0:
            origin[chosen[inside]] = -(slopes[inside] @ level) / size
    return np.clip(origin, -FARTHEST, FARTHEST)


def move_groups(basis: Basis, origin: np.ndarray) -> Layer:
    """What tells the groups, for inputs that are counted from their origins, and for flags of missing values."""
    directions, offsets = basis.mixture.directions, basis.mixture.offsets
    bias = offsets + (origin - basis.mean) @ directions
    # A missing value is an input of 0 whatever the origin.
    flags = np.zeros((basis.encoding.n_features, directions.shape[1]))
    np.add.at(flags, basis.encoding.owners, -origin[:, None] * directions)
    return Layer(np.vstack([directions, flags]), bias)


def _fit(basis: Basis, kind: Kind, gated: np.ndarray, penalty: float) -> Layer:
    rows = basis.rows
    start = Layer(np.zeros((gated.shape[1], kind.n_outputs)), kind.constant(rows))
    return fit_linear(gated, rows.target, rows.weight, loss=kind.loss, start=start, penalty=penalty)


def _finite(scale: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(scale), scale, 0.0)

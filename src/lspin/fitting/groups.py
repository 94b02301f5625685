"""A model without training: groups of rows, the few columns that count in each, and a linear predictor."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lspin.core.model import Networks
from lspin.core.networks import Layer
from lspin.fitting.anchors import fit_ridge
from lspin.fitting.components import Component, list_components
from lspin.fitting.linear import fit_linear
from lspin.fitting.ordering import Atoms, Ladder, append_rest, build_ladder
from lspin.fitting.prediction import Member
from lspin.structure.divisions import ALL, MEAN, WHOLE, Cloud, Divisions, Rule
from lspin.structure.mixture import (
    MOST_TERMS,
    Mixture,
    Models,
    Moments,
    Term,
    fit_mixture,
    order_terms,
    solve_terms,
)
from lspin.structure.screening import MOST_LOOKED_AT, rank_related, screen_features
from lspin.tables.encoding import Encoding, encode, encode_inputs, keep_features, pick_features
from lspin.tables.grid import Rows, column_blocks
from lspin.targets.kind import Kind

OPEN = (
    0.65  # before the tanh: gates of 1.07 and -0.07 without the clip, so that members open and others shut fully
)
SHUT = -1.0  # the same of a feature that no group uses
FEW_TELLING = 2  # features that tell the groups: up to here they are part of the reason, and their gate is open
FARTHEST = 5.0  # an origin may lie from the mean of its column, in standard deviations
LEAST_PENALTY = 1e-3
RIDGES = (ALL, MEAN)
MOST_RIDGED = 300  # inputs of which a single group may have all
FEWER = 3.0  # factor between two numbers of columns that a ridge of a wide table is tried with


class Setting(NamedTuple):
    """What fixes a grouped model."""

    rule: Rule
    n_terms: int  # columns, each in a group
    penalty: float = LEAST_PENALTY  # of the predictor's weights


class Panel(NamedTuple):
    """Some columns of a table, which alone may be used."""

    encoding: Encoding  # of these columns
    labels: np.ndarray | None  # (n,), how rows were divided by all columns


class Sight(NamedTuple):
    """Rows as they are seen when groups are looked for."""

    rows: Rows
    encoding: Encoding
    kind: Kind
    divisions: Divisions


class Found(NamedTuple):
    """Groups of some rows and the features worth a look."""

    rows: Rows
    whole: Encoding  # of all features
    kind: Kind
    kept: np.ndarray  # places of the features among all
    mixture: Mixture


@dataclass(frozen=True)
class Basis:
    """What all grouped models of some rows by one rule have in common; it has only the features worth a look."""

    rows: Rows  # with all columns, which are not copied
    encoding: Encoding
    cloud: Cloud
    mean: np.ndarray  # (n_inputs,), that was taken off the inputs
    missing: np.ndarray | None  # (n, n_features)
    mixture: Mixture
    kept: np.ndarray  # places of the features among all
    whole: Encoding  # of all features
    kind: Kind
    most_terms: float

    @cached_property
    def members(self) -> np.ndarray:
        """Probability that a row belongs to each group, shape ``(n, n_groups)``."""
        return self.mixture.memberships(self.cloud.values)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.mixture.offsets)

    @cached_property
    def moments(self) -> Moments:
        """From which least-squares models of the groups follow."""
        cloud = self.cloud
        return Moments(cloud.values, cloud.outputs, self.mixture.responsibilities, cloud.counting)

    @cached_property
    def ladder(self) -> Ladder:
        """Terms of models with more and more of them."""
        cloud, target = self.cloud, self.rows.target
        atoms = Atoms(cloud.values, self.members, target, cloud.weight, self.kind.loss, cloud.counting)
        ladder = build_ladder(atoms, self.kind.constant(self.rows), int(min(self.most_terms, MOST_TERMS)))
        inputs = np.arange(len(self.whole.owners))[self.whole.gated_inputs]
        if self.n_groups == 1 and len(inputs) <= min(self.most_terms, MOST_RIDGED):
            ladder[len(inputs)] = append_rest(ladder[max(ladder)], inputs)
        return ladder

    def take_terms(self, n_terms: int) -> list[Term]:
        """So many terms, or as many as there are."""
        return self.ladder[max(count for count in self.ladder if count <= n_terms)]

    def order_clear_terms(self) -> list[Term]:
        """Those terms that gain more than columns of noise would."""
        return order_terms(self.moments, MOST_TERMS, n_considered=len(self.whole.owners), clear=True)

    @property
    def found(self) -> Found:
        """What is worth keeping of it: little, beside its points."""
        return Found(self.rows, self.whole, self.kind, self.kept, self.mixture)

    def narrow(self, rows: Rows) -> Rows:
        """The same columns of other rows."""
        return narrow_rows(rows, self.whole, self.kept)


# Looking for groups ------------------------------------------------------------------------------------------


def look_at(rows: Rows, encoding: Encoding, kind: Kind, labels: np.ndarray | None = None) -> Sight:
    """Rows as points, of which all divisions are found; the labels are one that is known already."""
    outputs, weight = center_outputs(rows, kind), rows.weight / rows.weight.mean()
    precision = np.float32 if len(encoding.owners) > MOST_LOOKED_AT else np.float64
    values = np.empty((len(weight), len(encoding.owners)), precision)
    for part in column_blocks(*values.shape):
        block = encode_inputs(rows.grid, encoding, part)
        values[:, part] = block - weight @ block / len(weight)
    return Sight(rows, encoding, kind, Divisions(make_cloud(values, encoding, outputs, weight), labels))


def make_cloud(values: np.ndarray, encoding: Encoding, outputs: np.ndarray, weight: np.ndarray) -> Cloud:
    """Rows as points, of which only the context may tell groups where there is one."""
    return Cloud(values, encoding.owners, outputs, weight, encoding.seen_inputs, encoding.gated_inputs)


def find_basis(sight: Sight, rule: Rule, most_terms: float = np.inf) -> Basis | None:
    """Groups by a rule and the order in which columns count; nothing where the rule does not apply."""
    labels = sight.divisions.divide(rule)
    if labels is None:
        return None
    rows, whole, kind = sight.rows, sight.encoding, sight.kind
    kept = screen_features(sight.divisions.cloud, labels)
    points = spread_out(rows, whole, kind, kept)
    mixture = fit_mixture(points.cloud, labels, len(whole.owners))
    if mixture is None:
        return None
    return Basis(rows, keep_features(whole, kept), *points, mixture, kept, whole, kind, most_terms)


def rebuild_basis(found: Found) -> Basis:
    """A basis as it was, from what was kept of it."""
    rows, whole, kind, kept, mixture = found
    points = spread_out(rows, whole, kind, kept)
    return Basis(rows, keep_features(whole, kept), *points, mixture, kept, whole, kind, np.inf)


def narrow_rows(rows: Rows, encoding: Encoding, kept: np.ndarray) -> Rows:
    """The rows with the columns of some features only."""
    return rows._replace(grid=pick_features(rows.grid, encoding, kept))


class Points(NamedTuple):
    """Rows as points, what was taken off their inputs, and which values are missing."""

    cloud: Cloud
    mean: np.ndarray  # (n_inputs,)
    missing: np.ndarray | None  # (n, n_features)


def spread_out(rows: Rows, whole: Encoding, kind: Kind, kept: np.ndarray) -> Points:
    """Rows as points of some features."""
    encoding = keep_features(whole, kept)
    inputs, missing = encode(narrow_rows(rows, whole, kept).grid, encoding)
    weight = rows.weight / rows.weight.mean()
    mean = np.average(inputs, axis=0, weights=weight)
    inputs -= mean
    return Points(make_cloud(inputs, encoding, center_outputs(rows, kind), weight), mean, missing)


def center_outputs(rows: Rows, kind: Kind) -> np.ndarray:
    """What is to be predicted, about its mean and of variance 1."""
    outputs = kind.regressand(rows)
    outputs = outputs - np.average(outputs, axis=0, weights=rows.weight)
    return outputs / max(_unit(outputs, rows.weight), 1e-12)


def predict_mixture(basis: Basis, rows: Rows) -> np.ndarray:
    """Squared error of the mixture itself for new rows, shape ``(n,)``: a quick look at a rule."""
    models = solve_terms(basis.moments, basis.order_clear_terms())
    inputs, _ = encode(basis.narrow(rows).grid, basis.encoding)
    values = inputs - basis.mean
    members = basis.mixture.memberships(values)
    made = np.einsum("nk,kno->no", members, models.predict(values))
    trained, new = (basis.kind.regressand(part) for part in (basis.rows, rows))
    center = np.average(trained, axis=0, weights=basis.cloud.weight)
    return ((new - center - made * _unit(trained - center, basis.cloud.weight)) ** 2).sum(axis=1)


def _unit(outputs: np.ndarray, weight: np.ndarray) -> float:
    return float(np.sqrt(np.average((outputs**2).sum(axis=1), weights=weight) / outputs.shape[1]))


# The model ---------------------------------------------------------------------------------------------------


class Made(NamedTuple):
    """A model of groups, and the components that divided its rows."""

    member: Member
    components: tuple[Component, ...]


def make_member(
    rows: Rows, encoding: Encoding, kind: Kind, setting: Setting, labels: np.ndarray | None = None
) -> Made:
    """The model of a setting; of one group, where the rows cannot be divided that way."""
    if setting.rule in RIDGES:
        return Made(make_ridge(rows, encoding, kind, setting), ())
    sight = look_at(rows, encoding, kind, labels)
    basis = find_basis(sight, setting.rule, setting.n_terms) or find_basis(sight, WHOLE, setting.n_terms)
    assert basis is not None
    components = list_components(sight.divisions, setting.rule, encoding.features) if basis.n_groups > 1 else ()
    return Made(widen(build_member(basis, setting), basis.whole, basis.kept), components)


def build_member(basis: Basis, setting: Setting) -> Member:
    """Gates that follow the groups, and the best linear predictor behind them; of the columns of the basis."""
    parts = share_columns(solve_terms(basis.moments, basis.take_terms(setting.n_terms)), basis)
    levels, signs = set_levels(np.abs(parts)), np.where(parts < 0, -1.0, 1.0)
    used = np.flatnonzero(parts.any(axis=0))
    opened = open_inputs(basis, used, levels[:, used], signs[:, used])
    origin = find_origins(basis, opened, setting.penalty)
    layer = _fit(basis, opened.gates * (opened.values - origin[opened.inputs]), setting.penalty)
    weights = np.zeros((len(basis.encoding.owners), basis.kind.n_outputs))
    weights[opened.inputs] = layer.weights
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
            signs=signs if (signs < 0).any() else None,
        ),
    )


class Opened(NamedTuple):
    """The inputs that a model uses, and their gates with a sign."""

    inputs: np.ndarray  # (k,), their places
    owners: np.ndarray  # (k,), which of the features used an input belongs to
    values: np.ndarray  # (n, k), standardised, 0 where missing
    gates: np.ndarray  # (n, k)


def open_inputs(basis: Basis, used: np.ndarray, levels: np.ndarray, signs: np.ndarray) -> Opened:
    """The inputs of some features as their groups open them."""
    inputs = np.flatnonzero(np.isin(basis.encoding.owners, used))
    owners = np.searchsorted(used, basis.encoding.owners[inputs])
    gates = np.clip(0.5 + np.tanh(basis.members @ levels), 0.0, 1.0) * (basis.members @ signs)
    if basis.missing is not None:
        gates = gates * ~basis.missing[:, used]
    return Opened(inputs, owners, basis.cloud.values[:, inputs] + basis.mean[inputs], gates[:, owners])


def set_levels(parts: np.ndarray) -> np.ndarray:
    """What gates are before the tanh, so that a group opens each as far as it uses the feature."""
    levels = np.where(parts > 0.95, OPEN, np.where(parts < 0.05, -OPEN, np.arctanh(parts - 0.5)))
    return np.where(parts.any(axis=0), levels, SHUT)


def share_columns(models: Models, basis: Basis) -> np.ndarray:
    """How far a group uses a feature, beside the one that uses it most, shape ``(n_groups, n_features)``.

    Negative where the group uses it with the opposite sign.
    """
    owners = basis.encoding.owners
    parts = np.zeros((basis.n_groups, basis.encoding.n_features))
    for feature in np.unique(owners[np.abs(models.weights).max(axis=(0, 2)) > 0]):
        weights = models.weights[:, owners == feature]
        if weights.shape[1] > 1:  # levels of a category add up to a constant, so what they share means nothing
            weights = weights - weights.mean(axis=1, keepdims=True)
        weights = weights.reshape(basis.n_groups, -1)
        most = weights[(weights**2).sum(axis=1).argmax()]
        parts[:, feature] = np.clip(weights @ most / max(most @ most, 1e-12), -1.0, 1.0)
    telling = np.unique(owners[np.abs(basis.mixture.directions).max(axis=1) > 0])
    # A context is known to tell the groups: it need not be shown as part of the reason.
    is_shown = not basis.cloud.tells_by_context and len(telling) <= FEW_TELLING
    if basis.n_groups > 1 and is_shown and parts.any():
        parts[:, telling] = 1.0
    return parts


def find_origins(basis: Basis, opened: Opened, penalty: float) -> np.ndarray:
    """Where each input counts as 0, in units of the inputs, shape ``(n_inputs,)``.

    Groups differ in their level too. An open gate adds its column, counted from an origin, and where that lies is
    free: with the right origins the open gates of a group add up to its level.
    """
    origin = np.zeros(len(basis.encoding.owners))
    if basis.n_groups == 1:
        return origin
    _, first = np.unique(opened.owners, return_index=True)
    gated = np.hstack([opened.gates * opened.values, opened.gates[:, first]])
    slopes, levels = np.split(_fit(basis, gated, penalty).weights, [len(opened.inputs)])
    for feature, level in enumerate(levels):
        inside = opened.owners == feature
        size = (slopes[inside] ** 2).sum()
        if size > 0:
            origin[opened.inputs[inside]] = -(slopes[inside] @ level) / size
    return np.clip(origin, -FARTHEST, FARTHEST)


def move_groups(basis: Basis, origin: np.ndarray) -> Layer:
    """What tells the groups, for inputs that are counted from their origins, and for flags of missing values."""
    encoding, directions, offsets = basis.encoding, basis.mixture.directions, basis.mixture.offsets
    bias = offsets + (origin - basis.mean) @ directions
    # A missing value is an input of 0 whatever the origin.
    flags = np.zeros((encoding.n_features, directions.shape[1]))
    np.add.at(flags, encoding.owners, -origin[:, None] * directions)
    return Layer(np.vstack([directions[encoding.seen_inputs], flags[encoding.seen_features]]), bias)


def make_ridge(rows: Rows, encoding: Encoding, kind: Kind, setting: Setting) -> Member:
    """A ridge of the columns most closely related to the target, or the mean of several, with gates open."""
    counts = [setting.n_terms] if setting.rule == ALL else count_many(setting.n_terms)
    ranked = encoding.gated_features
    if counts[-1] < len(ranked):
        ranked = rank_related(look_at(rows, encoding, kind).divisions.cloud)
    ridges = [open_many(rows, encoding, kind, np.sort(ranked[:count])) for count in counts]
    return average_ridges(ridges)


def count_many(n_features: int) -> list[int]:
    """Numbers of columns of a wide table that a ridge is tried with: all, and fewer by a factor."""
    fewer = (int(n_features / FEWER**power) for power in range(1, 10))
    return [n_features, *(count for count in fewer if count > MOST_TERMS)]


def average_ridges(ridges: list[Member]) -> Member:
    """The linear model that says the mean of what some ridges say; the first has all their columns."""
    layers = [ridge.networks.prediction[0] for ridge in ridges]
    mean = Layer(*(np.mean(parts, axis=0) for parts in zip(*layers, strict=True)))
    return ridges[0]._replace(networks=ridges[0].networks._replace(prediction=(mean,)))


def open_many(rows: Rows, encoding: Encoding, kind: Kind, kept: np.ndarray) -> Member:
    """A ridge of some columns with all their gates open."""
    if len(kept) == encoding.n_features:
        return open_all(rows, encoding, kind)
    narrow = open_all(narrow_rows(rows, encoding, kept), keep_features(encoding, kept), kind)
    return widen(narrow, encoding, kept)


def open_all(rows: Rows, encoding: Encoding, kind: Kind) -> Member:
    """A ridge of all columns with all gates open; its scale is learned from rows that it has not seen."""
    parts = list(column_blocks(len(rows.target), len(encoding.owners)))
    ridge = fit_ridge(
        lambda: (encode_inputs(rows.grid, encoding, part) for part in parts), kind.regressand(rows), rows.weight
    )
    start = Layer(kind.output_unit * np.eye(kind.n_outputs), np.zeros(kind.n_outputs))
    scale = fit_linear(
        ridge.held_out, rows.target, rows.weight, loss=kind.loss, start=start, penalty=LEAST_PENALTY
    )
    n_features, encoding = encoding.n_features, replace(encoding, sees_missing=True)
    return Member(
        encoding,
        Networks(
            gating=(Layer(np.full((1, n_features), OPEN), np.zeros(n_features)),),
            prediction=(Layer(ridge.weights @ scale.weights, ridge.intercept @ scale.weights + scale.bias),),
            groups=Layer(np.zeros((encoding.n_context, 1)), np.zeros(1)),
        ),
    )


def widen(member: Member, whole: Encoding, kept: np.ndarray) -> Member:
    """The same model for a table with all columns, of which it has kept some; the gates of the others are shut."""
    networks, inputs = member.networks, np.isin(whole.owners, kept)
    encoding = replace(whole, center=_put(whole.center, inputs, member.encoding.center), sees_missing=True)
    if len(kept) == whole.n_features:
        return Member(encoding, networks)
    assert networks.groups is not None
    context = np.flatnonzero(np.isin(encoding.context_owners, kept))
    levels, signs = networks.gating[0].weights, networks.signs
    weights, intercept = networks.prediction[0]
    return Member(
        encoding,
        Networks(
            gating=(Layer(_spread(levels.T, kept, whole.n_features, SHUT).T, np.zeros(whole.n_features)),),
            prediction=(Layer(_spread(weights, inputs, len(inputs)), intercept),),
            groups=Layer(_spread(networks.groups.weights, context, encoding.n_context), networks.groups.bias),
            signs=None if signs is None else _spread(signs.T, kept, whole.n_features, 1.0).T,
        ),
    )


def _spread(part: np.ndarray, places: np.ndarray, length: int, fill: float = 0.0) -> np.ndarray:
    """An array that holds a part at some places of its first axis, and one value elsewhere."""
    return _put(np.full((length, *part.shape[1:]), fill), places, part)


def _put(array: np.ndarray, places: np.ndarray, part: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed[places] = part
    return changed


def _fit(basis: Basis, gated: np.ndarray, penalty: float) -> Layer:
    rows, kind = basis.rows, basis.kind
    start = Layer(np.zeros((gated.shape[1], kind.n_outputs)), kind.constant(rows))
    return fit_linear(gated, rows.target, rows.weight, loss=kind.loss, start=start, penalty=penalty)


def _finite(scale: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(scale), scale, 0.0)

"""Columns enter the linear models of groups: the one that lowers the loss most first, and weak ones leave."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from lspin.core.losses import Loss
from lspin.core.networks import Layer
from lspin.fitting.linear import fit_linear
from lspin.structure.mixture import DEPENDENT, Term

PENALTY = 1e-2  # of the weights while columns are added
N_CANDIDATES = 50  # columns in which the loss is steepest: among these the best is found
SINGLE_STEPS = 20  # columns that enter one by one; later ones come several at a time
MOST_REVISED = 10  # columns up to which weak ones leave again
COARSE_STEP = 1.2  # by which their number then grows
ROWS_A_TERM = 4  # that a group must have
RELATED = 0.3  # correlation of a column with one that may replace it
ROUNDING = 1e-6  # part of a loss by which it must fall
DISPENSABLE = 0.5  # of what the last column gained: one that adds less leaves again

Ladder = dict[int, list[Term]]  # by their number, the terms of a model


@dataclass(frozen=True)
class Atoms:
    """Columns of groups, from which a model is built: each is a column, standardised in a group, where that is."""

    values: np.ndarray  # (n, n_inputs), of variance about 1
    members: np.ndarray  # (n, n_groups), probability that a row belongs to each
    target: np.ndarray  # (n,)
    weight: np.ndarray  # (n,), mean 1
    loss: Loss
    counting: np.ndarray | slice = field(default_factory=lambda: slice(None))  # inputs that may be a term

    def take(self, terms: list[Term]) -> np.ndarray:
        """The columns of terms, after one for each group, shape ``(n, n_groups + n_terms)``."""
        groups, columns = np.array(terms, int).reshape(-1, 2).T
        mean, spread = (part[groups, columns] for part in (self.mean, self.spread))
        standard = (self.values[:, columns] - mean) / np.where(spread > 0, spread, np.inf)
        return np.hstack([self.members, self.members[:, groups] * standard])

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of every column in every group, shape ``(n_groups, n_inputs)``."""
        return self._shares.T @ self.values

    @cached_property
    def spread(self) -> np.ndarray:
        """The same of standard deviations; 0 where a column hardly varies in a group."""
        variance = self._shares.T @ self.values**2 - self.mean**2
        return np.where(variance > DEPENDENT, np.sqrt(np.maximum(variance, 0.0)), 0.0)

    @property
    def _shares(self) -> np.ndarray:
        shares = self.members**2 * self.weight[:, None]
        return shares / shares.sum(axis=0)


class Model(NamedTuple):
    """A linear model of some terms."""

    terms: list[Term]
    layer: Layer  # with a weight for each group, its level, before those of the terms
    slopes: np.ndarray  # (n, n_outputs), of the loss by the outputs
    value: float  # the loss

    @classmethod
    def fit(cls, atoms: Atoms, terms: list[Term], start: Layer) -> Self:
        """The best weights of some terms."""
        design = atoms.take(terms)
        layer = fit_linear(design, atoms.target, atoms.weight, loss=atoms.loss, start=start, penalty=PENALTY)
        shares = atoms.weight / atoms.weight.sum()
        value, slopes = atoms.loss.with_slope(design @ layer.weights + layer.bias, atoms.target, shares)
        return cls(terms, layer, slopes, value)

    def add(self, atoms: Atoms, terms: list[Term]) -> Self:
        """The model with more terms."""
        weights = np.vstack([self.layer.weights, np.zeros((len(terms), len(self.layer.bias)))])
        return self.fit(atoms, self.terms + terms, Layer(weights, self.layer.bias))

    def drop(self, atoms: Atoms, place: int) -> Self:
        """The model without one of its terms."""
        weights = np.delete(self.layer.weights, atoms.members.shape[1] + place, axis=0)
        return self.fit(atoms, [*self.terms[:place], *self.terms[place + 1 :]], Layer(weights, self.layer.bias))


def build_ladder(atoms: Atoms, constant: np.ndarray, n_terms: int) -> Ladder:
    """Models of more and more terms, from none to ``n_terms`` at most.

    Notes
    -----
    With ``g`` the derivative of the loss by the outputs, a column ``x`` lowers the loss by about
    ``(g'x)² / (x'x)``, where what the columns in the model explain of ``x`` is taken off. At the optimum ``g`` is
    orthogonal to these, so that ``g'x`` is the same with and without them. A column that seemed good while others
    were missing may be of no use beside them: it leaves as soon as the loss rises by less than half of what the
    last column gained.

    """
    n_groups = atoms.members.shape[1]
    model = Model.fit(atoms, [], Layer(np.zeros((n_groups, len(constant))), constant))
    ladder: Ladder = {0: []}
    seen = {frozenset(model.terms)}
    while len(model.terms) < n_terms:
        found = find_best(atoms, model, min(count_next(len(model.terms)), n_terms - len(model.terms)))
        if not found:
            break
        model = exchange(atoms, drop_weak(atoms, model, model.add(atoms, found)))
        if frozenset(model.terms) in seen:  # what was added left again
            break
        seen.add(frozenset(model.terms))
        ladder[len(model.terms)] = model.terms
    return ladder


def drop_weak(atoms: Atoms, before: Model, model: Model) -> Model:
    """The model without terms that add less than half of what it gained over the one before."""
    while 1 < len(model.terms) <= MOST_REVISED:
        fewer = model.drop(atoms, find_weakest(atoms, model))
        if fewer.value - model.value >= DISPENSABLE * (before.value - model.value):
            break
        model = fewer
    return model


def exchange(atoms: Atoms, model: Model) -> Model:
    """The model with terms replaced by others that lower the loss, as long as there are such terms.

    Of columns that vary together the wrong one may enter first, while others are missing.
    """
    place = 0
    while 1 < len(model.terms) <= MOST_REVISED and place < len(model.terms):
        other = replace_term(atoms, model, place) if has_relative(atoms, model.terms, place) else None
        place = place + 1 if other is None else 0
        model = other or model
    return model


def has_relative(atoms: Atoms, terms: list[Term], place: int) -> bool:
    """Whether a column that is no term of its group is correlated with that of a term, and may replace it."""
    group, column = terms[place]
    shares, spread = atoms.members[:, group] ** 2 * atoms.weight, atoms.spread[group]
    centred = atoms.values[:, column] - atoms.mean[group, column]
    covariance = (shares * centred) @ atoms.values / shares.sum()
    others = spread > 0
    others[[term.column for term in terms if term.group == group]] = False
    return bool((np.abs(covariance[others]) >= RELATED * spread[column] * spread[others]).any())


def replace_term(atoms: Atoms, model: Model, place: int) -> Model | None:
    """The model with another column instead of one of its terms; nothing if none lowers the loss."""
    fewer = model.drop(atoms, place)
    best = find_best(atoms, fewer, 1)
    if not best or best[0] == model.terms[place]:
        return None
    other = fewer.add(atoms, best)
    return other if other.value < model.value - ROUNDING * abs(model.value) else None


def append_rest(terms: list[Term], inputs: np.ndarray) -> list[Term]:
    """All inputs of a single group: behind the terms those that add nothing of their own, as a ridge has them."""
    rest = sorted(set(inputs.tolist()) - {term.column for term in terms})
    return terms + [Term(0, column) for column in rest]


def count_next(n_terms: int) -> int:
    """How many terms are added at once."""
    return 1 if n_terms < SINGLE_STEPS else max(int((COARSE_STEP - 1) * n_terms), 1)


def find_best(atoms: Atoms, model: Model, number: int) -> list[Term]:
    """The terms that lower the loss most."""
    root = np.sqrt(atoms.weight)[:, None]
    terms = list_steepest(measure_slopes(atoms, model))
    columns = atoms.take(terms)[:, atoms.members.shape[1] :]
    scaled = root * columns
    basis = np.linalg.qr(root * atoms.take(model.terms))[0]
    left = scaled - basis @ (basis.T @ scaled)
    whole, slopes = (scaled**2).sum(axis=0), ((columns.T @ model.slopes) ** 2).sum(axis=1)
    chosen: list[Term] = []
    for _ in range(number):
        size = (left**2).sum(axis=0)
        promise = np.where(size > DEPENDENT * whole, slopes / np.maximum(size, 1e-12), 0.0)
        if not promise.any():
            break
        best = int(promise.argmax())
        direction = left[:, best] / np.sqrt(size[best])
        left = left - np.outer(direction, direction @ left)
        chosen.append(terms[best])
        if atoms.members.shape[1] > 1:  # a second column of the same group would answer to slopes of before
            slopes[[term.group == terms[best].group for term in terms]] = 0.0
    return chosen


def measure_slopes(atoms: Atoms, model: Model) -> np.ndarray:
    """Squared slope of the loss along every term that may be added, shape ``(n_groups, n_inputs)``."""
    members, spread = atoms.members, atoms.spread
    slopes = []
    for part, mean in zip(members.T, atoms.mean, strict=True):
        within = part[:, None] * model.slopes
        slopes.append(((atoms.values.T @ within - np.outer(mean, within.sum(axis=0))) ** 2).sum(axis=1))
    varies = np.zeros(spread.shape, bool)
    varies[:, atoms.counting] = spread[:, atoms.counting] > 0
    gains = np.where(varies, np.array(slopes) / np.where(varies, spread, 1.0) ** 2, 0.0)
    for term in model.terms:
        gains[term] = 0.0
    taken = np.bincount([term.group for term in model.terms], minlength=members.shape[1])
    gains[taken * ROWS_A_TERM >= members.T @ atoms.weight] = 0.0
    return gains / (members**2).sum(axis=0)[:, None]


def list_steepest(gains: np.ndarray) -> list[Term]:
    """The terms that promise most, as long as nothing is taken off their columns."""
    places = np.argsort(-gains, axis=None, kind="stable")[:N_CANDIDATES]
    places = places[gains.ravel()[places] > 0]
    return [Term(int(g), int(c)) for g, c in zip(*np.unravel_index(places, gains.shape), strict=True)]


def find_weakest(atoms: Atoms, model: Model) -> int:
    """Place of the term that adds least to what the others say."""
    root, n_groups = np.sqrt(atoms.weight)[:, None], atoms.members.shape[1]
    columns = root * atoms.take(model.terms)
    products = columns.T @ columns
    # What is left of a column beside all others is one over its entry in the inverse of their products.
    inverse = np.linalg.inv(products + 1e-9 * np.trace(products) * np.eye(len(products)))
    adds = (model.layer.weights**2).sum(axis=1) / np.diag(inverse)
    return int(adds[n_groups:].argmin())

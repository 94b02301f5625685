"""What a method offers: one record at the end of its file, with a part for each kind of table that it can do.

``METHOD = Method(fit)`` is enough for the synthetic tables. The part ``wide`` adds wide real tables, the part
``cox`` adds cohorts with survival times, the part ``everyday`` adds tables without validation rows, as most users
have them; a method may have any of the four.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.protocol import Budget, Fitted, Samples

Settings = dict[str, Any]
Part = TypeVar("Part")


class Task(NamedTuple):
    """What a method is shown of a wide table."""

    train: Samples
    valid: Samples | None  # None: few rows, to be tuned on by cross-validation
    seed: int
    budget: Budget

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.train.y))


class Trial(NamedTuple):
    """A setting, and the model it gives on all training rows."""

    settings: Settings
    model: Any
    seconds: float  # of processor time, for this fit


class Search(NamedTuple):
    """What tuning on a wide table found."""

    chosen: Trial
    trials: list[Trial]  # all settings, for the choice by test rows that the paper makes
    tuning_seconds: float
    n_fits: int


@dataclass(frozen=True)
class Grid:
    """Settings that are all fitted and judged in the same way, by ``wide.search_grid``."""

    settings: tuple[Settings, ...]  # at most twenty
    make: Callable[..., Any]  # (task, **settings) -> an unfitted model


@dataclass(frozen=True)
class Wide:
    """How a method does wide tables.

    A model that selects row by row has ``gates`` and ``predict_with_gates``, or ``selected`` if its selection
    cannot be given to another row. ``select`` is for models that use the same features for every row.
    """

    search: Grid | Callable[[Task], Search]  # a function: the method tunes by itself
    select: Callable[[Any], np.ndarray] | None = None  # model -> which features it uses, shape (n_features,)
    most_features: int | None = None  # settings that use fewer are preferred
    counts_only: bool = False  # it needs a table of counts
    fit_number: Callable[[Task, int], Any] | None = None  # -> a model whose median row uses so many features


@dataclass(frozen=True)
class Sweep:
    """How a method does cohorts with survival times: every setting is fitted and judged.

    Models have ``fit(X, y)``, ``predict(X)`` (higher is worse), ``unique_times_`` and
    ``predict_survival_function(X, return_array=True)``; those that select have ``selected(X)``.
    """

    settings: tuple[Settings, ...]  # from many features to few, at most twenty
    make: Callable[[Settings, int, Budget], Any]  # (settings, seed, budget) -> an unfitted model
    n_members: int = 1  # what is chosen with one member is fitted again with this many


class Wanted(NamedTuple):
    """What a model is wanted for."""

    n_classes: int | None  # None: a response
    budget: Budget
    criterion: str = "accuracy"  # what models of classes choose their settings by, as scikit-learn calls it

    @property
    def is_regression(self) -> bool:
        return self.n_classes is None


@dataclass(frozen=True)
class Everyday:
    """How a method is used from day to day: it is shown training rows only and chooses its settings by itself.

    Models have ``fit(X, y)``, ``predict(X)`` and for classes ``predict_proba(X)``. Those that select row by row
    have ``selected(X)``; ``select`` is for models that use the same features for every row.
    """

    make: Callable[[Wanted], Any]  # -> an unfitted model
    select: Callable[[Any], np.ndarray] | None = None  # model -> which features it uses, shape (n_features,)
    reads_frames: bool = False  # whether it takes categorical columns and missing values as they are


@dataclass(frozen=True)
class Method:
    """What a method offers."""

    fit: Callable[[Samples, Samples, int, Budget], Fitted] | None = None  # (train, valid, seed, budget)
    wide: Wide | None = None
    cox: Sweep | None = None
    everyday: Everyday | None = None
    for_classes: bool = True  # whether it can learn classes
    for_response: bool = True  # whether it can learn a response
    require: Callable[[], None] | None = None  # raises ``UnavailableError`` if this machine lacks something


def load_method(name: str) -> Method:
    """The record of a method, found by its file name."""
    return import_module(f"benchmarks.methods.{name}").METHOD


def demand(part: Part | None, name: str, tables: str) -> Part:
    """A part of a method; an error if the method has none."""
    if part is None:
        raise ValueError(f"{name} cannot do {tables}: METHOD in methods/{name}.py has no part for them")
    return part


class UnavailableError(RuntimeError):
    """A method cannot run on this machine; the message says what is missing and how to get it."""


def require_package(name: str, install: str) -> None:
    """Raise ``UnavailableError`` unless a package can be imported; ``install`` is what to give to pip."""
    if find_spec(name) is None:
        raise UnavailableError(f"the package {name} is not installed: pip install {install}")


def require_method(name: str) -> None:
    """Raise ``UnavailableError`` if a method lacks something on this machine.

    A variant that only its experiment knows has no file, and lacks nothing.
    """
    try:
        method = load_method(name)
    except ModuleNotFoundError as error:
        if error.name != f"benchmarks.methods.{name}":
            raise
        return
    if method.require is not None:
        method.require()

"""The components by which rows were divided: how much of the table they hold, and which columns follow them."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lspin.structure.divisions import Divisions, Rule

MOST_NAMED = 10  # columns of a component that are kept
COMPONENTS = ("member", "component", "variance", "divides", "columns", "correlations")
# A row for each column of each component.
STORED = {"member": int, "component": int, "variance": float, "divides": bool, "column": int, "correlation": float}


class Component(NamedTuple):
    """A direction in which columns vary together, beyond chance."""

    variance: float  # its part of the variance of all columns
    divides: bool  # whether the groups were made of it
    columns: np.ndarray  # positions of those most closely correlated with it
    correlations: np.ndarray  # theirs


def list_components(divisions: Divisions, rule: Rule, features: np.ndarray) -> tuple[Component, ...]:
    """The components of some rows, where the rule divides by these; ``features`` are positions of columns."""
    if rule.source != "components":
        return ()
    cloud = divisions.seen
    scores = cloud.values @ divisions.components
    spread = np.einsum("i,ij,ij->j", cloud.weight, cloud.values, cloud.values)  # without a copy of the table
    strength = cloud.weight @ scores**2
    links = cloud.values.T @ (cloud.weight[:, None] * scores)
    correlations = links / np.sqrt(np.maximum(spread[:, None] * strength, 1e-12))
    columns = features[cloud.owners]
    found = []
    for place, (own, variance) in enumerate(zip(correlations.T, strength / spread.sum(), strict=True)):
        order = np.argsort(-np.abs(own), kind="stable")
        _, first = np.unique(columns[order], return_index=True)  # of the levels of a category the closest
        closest = order[np.sort(first)[:MOST_NAMED]]
        sign = np.sign(own[closest[0]])
        found.append(Component(float(variance), place < rule.which - 1, columns[closest], sign * own[closest]))
    return tuple(found)


def store_components(members: list[tuple[Component, ...]]) -> pd.DataFrame:
    """Components of all members as numbers, which a file can hold."""
    rows = [
        (member, number, part.variance, part.divides, column, correlation)
        for member, components in enumerate(members)
        for number, part in enumerate(components)
        for column, correlation in zip(part.columns.tolist(), part.correlations.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(STORED)).astype(STORED)


def tell_components(stored: pd.DataFrame, names: Any) -> pd.DataFrame:
    """One row for each member and component, columns by name."""
    rows = [
        (*key, tuple(names[part["column"].to_numpy(int)]), tuple(part["correlation"]))
        for key, part in stored.groupby(list(STORED)[:4], sort=False)
    ]
    return pd.DataFrame(rows, columns=list(COMPONENTS))


def refuse_unknown(stored: pd.DataFrame, n_members: int, n_columns: int) -> None:
    """Raise an error if components of a file are of members or columns that it does not have."""
    if list(stored) != list(STORED):
        raise ValueError("its components are not described as such")
    numbers = stored.to_numpy(float)
    if not np.isfinite(numbers).all() or not (
        stored["member"].between(0, n_members - 1).all() and stored["column"].between(0, n_columns - 1).all()
    ):
        raise ValueError("its components are of members or columns that it does not have")

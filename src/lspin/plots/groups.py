"""The figure of a model of groups: what tells its groups apart, and what counts in each."""

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lspin.explanation.record import read_column
from lspin.plots.drawing import DOWN, GREY, UP, mark_groups, measure_names, outline, shorten, take_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGREED = 0.5  # share of the members that find what is drawn, at least
WIDEST = 2.0  # standard deviations: values further from the mean have the same colour


def subgroups(model: Any, X: Any, *, most_telling: int = 8, ax: "Axes | None" = None) -> "Axes":
    """Heat maps of the groups that a model found: on the left what tells them, on the right what counts in each.

    Parameters
    ----------
    model
        Fitted estimator with ``start_ == "groups"``. Of several members, at least half have to find a feature.
    X
        Table whose rows are drawn, ordered by group.
    most_telling
        Largest number of features that tell a group.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    groups = model.memberships(X).argmax(axis=1)
    found = model.structure_frequency_
    found = found[found["found"] >= AGREED]
    telling, counting = _list_telling(found, most_telling), found[found["role"] == "counts"]
    names = [list(dict.fromkeys(part["feature"])) for part in (telling, counting)]
    panels = _standard_values(model, X, names[0]), _signed_gates(model, X, counting, groups)
    labels = shorten(chain(*names))
    ax = take_axes(ax, 2.2 + 0.19 * max(len(labels), 12), 3.8 + measure_names(labels))
    _draw_side_by_side(ax, [panel[np.argsort(groups, kind="stable")] for panel in panels])
    ax.set_xticks(ax.get_xticks(), labels, rotation=90, fontsize=7)
    present, sizes = np.unique(groups, return_counts=True)
    mark_groups(ax, [f"group {number + 1}" for number in present], sizes)
    has_signs = counting["sign"].notna().any()  # those of several classes have none
    ways = "orange raises, blue lowers" if has_signs else "orange counts"
    ax.set_xlabel(f"left: orange high, blue low; right: {ways}, white does not count")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def _list_telling(found: pd.DataFrame, most: int) -> pd.DataFrame:
    """Of each group, the features that tell it most; those that are high in it first."""
    telling = found[found["role"] == "tells"]
    ordered = telling.assign(is_low=~(telling["sign"] > 0)).sort_values(["group", "is_low"], kind="stable")
    return ordered.groupby("group").head(most)


def _standard_values(model: Any, X: Any, names: list) -> np.ndarray:
    """Values of some columns with mean 0, as parts of the widest; levels of a category by their number."""
    table = model._read(X)
    values = np.empty((table.n_rows, len(names)))
    for place, column in enumerate(_find_columns(model, names)):
        shown = read_column(table, column, model.n_features_in_, model._levels)
        codes = pd.Categorical(shown).codes if column in model._levels else shown
        values[:, place] = np.where(pd.isna(shown), np.nan, codes)
    spread = np.maximum(np.nanstd(values, axis=0), 1e-12)
    return (values - np.nanmean(values, axis=0)) / (WIDEST * spread)


def _signed_gates(model: Any, X: Any, counting: pd.DataFrame, groups: np.ndarray) -> np.ndarray:
    """Gates of the features that count, negative where a high value lowers the prediction."""
    names = list(dict.fromkeys(counting["feature"]))
    signs = np.ones((groups.max() + 1, len(names)))
    lowering = counting[counting["sign"] < 0]
    signs[lowering["group"], [names.index(feature) for feature in lowering["feature"]]] = -1.0
    return model.gates(X)[:, _find_columns(model, names)] * signs[groups]


def _find_columns(model: Any, names: list) -> list[int]:
    place_of = {name: place for place, name in enumerate(model._column_names)}
    return [place_of[name] for name in names]


def _draw_side_by_side(ax: "Axes", panels: list[np.ndarray]) -> None:
    """Matrices whose positive numbers are orange and negative ones blue; ticks stand below their columns."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("signs", [DOWN, "white", UP])
    n_rows, left, places = len(panels[0]), 0.0, []
    for panel, title in zip(panels, ("tell the groups", "count in them"), strict=True):
        right = left + panel.shape[1]
        places += (left + 0.5 + np.arange(panel.shape[1])).tolist()
        if panel.shape[1]:
            extent = (left, right, n_rows - 0.5, -0.5)
            ax.imshow(panel, aspect="auto", cmap=colours, vmin=-1, vmax=1, interpolation="nearest", extent=extent)
            ax.plot(*outline(extent), color=GREY, linewidth=0.6, clip_on=False)
            ax.text((left + right) / 2, -0.5 - 0.02 * n_rows, title, ha="center", va="bottom")
        left = right + 1.5
    ax.set(xlim=(0, max(right, 1)), ylim=(n_rows - 0.5, -0.5))
    ax.set_xticks(places)

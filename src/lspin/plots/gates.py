"""Figures of gates, and of how often features are selected."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lspin.explanation.groups import order_gate_map
from lspin.explanation.record import Explanation
from lspin.plots.drawing import (
    COLOURS,
    DOWN,
    GREY,
    UP,
    mark_groups,
    measure_names,
    outline,
    say,
    set_title,
    shorten,
    take_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_SET = 50  # letters


def gate_map(
    explanation: Explanation,
    *,
    truth: Any = None,
    groups: Any = None,
    most_features: int = 40,
    ax: "Axes | None" = None,
) -> "Axes":
    """Heat map of the gates of all samples, ordered by group; dark means open.

    Parameters
    ----------
    explanation
        Explanation of the samples, from ``model.explain(X)``.
    truth
        Whether a feature matters for a sample, shape ``(n_samples, n_features)``; drawn to the right.
    groups
        Number or name of each sample's group; by default samples are grouped by their gates.
    most_features
        Largest number of features: those selected (or relevant) most often. Similar ones stand side by side.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    groups = explanation.groups() if groups is None else np.asarray(groups)
    relevant = None if truth is None else sp.csc_array(truth)
    columns = _most_selected(explanation, most_features, relevant)
    gates = _gates_of(explanation, columns)
    labels, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order, by_likeness = order_gate_map(gates, codes)
    columns, gates = columns[by_likeness], gates[:, by_likeness]
    panels = {"gates": gates}
    if relevant is not None:
        panels["truth"] = (relevant[:, columns].toarray() != 0).astype(float)
    height = 3.8 + measure_names(shorten(explanation.feature_names[columns]))
    ax = take_axes(ax, 2.0 + 0.19 * max(len(columns) * len(panels), 12), height)
    if len(columns) == 0:
        return say(ax, "all gates are shut")
    _draw_panels(ax, {name: panel[order] for name, panel in panels.items()}, explanation.feature_names[columns])
    mark_groups(ax, labels, sizes)
    ax.set(ylabel="group", xlabel="feature (dark: gate open)")
    return ax


def _draw_panels(ax: "Axes", panels: Mapping[str, np.ndarray], feature_names: np.ndarray) -> None:
    """Matrices with the same columns side by side."""
    n_rows, n_columns = next(iter(panels.values())).shape
    lefts = [place * (n_columns + 1) - 0.5 for place in range(len(panels))]
    for left, (name, panel) in zip(lefts, panels.items(), strict=True):
        extent = (left, left + n_columns, n_rows - 0.5, -0.5)
        ax.imshow(
            panel, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest", extent=extent, label=name
        )
        ax.plot(*outline(extent), color=GREY, linewidth=0.6, clip_on=False)
        if len(panels) > 1:
            ax.text(left + n_columns / 2, -0.5 - 0.02 * n_rows, name, ha="center", va="bottom")
    ax.set(xlim=(-0.5, lefts[-1] + n_columns), ylim=(n_rows - 0.5, -0.5))
    places = np.concatenate([left + 0.5 + np.arange(n_columns) for left in lefts])
    ax.set_xticks(places, shorten(feature_names) * len(panels), rotation=90, fontsize=7)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def feature_frequency(explanation: Explanation, *, most: int = 20, ax: "Axes | None" = None) -> "Axes":
    """Bars of how often a feature is selected, for the features selected most often.

    Parameters
    ----------
    explanation
        Explanation of the samples, from ``model.explain(X)``.
    most
        Largest number of features.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    columns = _most_selected(explanation, most)
    counts = np.bincount(explanation.columns, minlength=len(explanation.feature_names))
    names = shorten(explanation.feature_names[columns])
    n_selected = int((counts > 0).sum())
    ax = _draw_shares(counts[columns], names, len(explanation.sample_names), ax)
    if n_selected > len(columns):
        set_title(ax, f"the {len(columns)} most frequent of {n_selected} selected features")
    return ax


def set_frequency(explanation: Explanation, *, most: int = 12, ax: "Axes | None" = None) -> "Axes":
    """Bars of how often a set of features is selected together, for the most frequent sets.

    Parameters
    ----------
    explanation
        Explanation of the samples, from ``model.explain(X)``.
    most
        Largest number of sets.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    n_samples = len(explanation.sample_names)
    bounds = np.searchsorted(explanation.rows, np.arange(n_samples + 1))
    sets = Counter(tuple(explanation.columns[a:b].tolist()) for a, b in pairwise(bounds))
    common = sets.most_common(most)
    counts = np.bincount(explanation.columns, minlength=len(explanation.feature_names))
    names = [_name_set(explanation.feature_names, list(columns), counts) for columns, _ in common]
    ax = _draw_shares(np.array([count for _, count in common]), names, n_samples, ax)
    if len(sets) > len(common):
        set_title(ax, f"the {len(common)} most frequent of {len(sets)} sets")
    return ax


def gates_on_image(
    image: np.ndarray, gates: np.ndarray, *, shape: tuple[int, int] | None = None, ax: "Axes | None" = None
) -> "Axes":
    """The open gates of an image, drawn over the image.

    Parameters
    ----------
    image, gates
        Brightness and gates of the pixels, two-dimensional or flattened row by row.
    shape
        Height and width; by default those of the image, or of a square.
    ax
        Axes to draw on.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    from matplotlib.colors import LinearSegmentedColormap

    pixels = np.asarray(image, float)
    side = round(pixels.size**0.5)
    shape = shape or (pixels.shape if pixels.ndim == 2 else (side, side))
    if pixels.size != np.prod(shape) or np.size(gates) != pixels.size:
        raise ValueError(f"{pixels.size} pixels and {np.size(gates)} gates do not make pictures of {shape}")
    ax = take_axes(ax, 3.0, 3.0)
    # Half as dark as could be, so that the gates stand out.
    darkest = 2 * max(pixels.max(), 1e-9)
    ax.imshow(pixels.reshape(shape), cmap="Greys", vmin=0, vmax=darkest, interpolation="nearest")
    opened = np.asarray(gates, float).reshape(shape)
    colours = LinearSegmentedColormap.from_list("gates", [COLOURS[4], UP])
    ax.imshow(np.ma.masked_equal(opened, 0), cmap=colours, vmin=0, vmax=1, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    return ax


def _draw_shares(counts: np.ndarray, names: list[str], n_samples: int, ax: "Axes | None") -> "Axes":
    """Horizontal bars, the first on top, with the numbers they stand for."""
    ax = take_axes(ax, 4.0 + measure_names(names), 0.9 + 0.24 * max(len(names), 2))
    bars = ax.barh(np.arange(len(names)), counts / n_samples, height=0.7, color=DOWN)
    ax.bar_label(bars, [str(count) for count in counts], padding=2, fontsize=7, color=GREY)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    ax.set_xlabel(f"share of the samples (n = {n_samples})")
    return ax if len(names) else say(ax, "all gates are shut")


def _name_set(feature_names: np.ndarray, columns: list[int], counts: np.ndarray) -> str:
    """A set by its features; a large one by the few that are rarest elsewhere."""
    names = shorten(feature_names[columns])
    if len(" + ".join(names)) <= LONGEST_SET:
        return " + ".join(names) or "no feature"
    names = shorten(feature_names[sorted(columns, key=lambda column: counts[column])])
    n_named = max(int((np.cumsum([len(name) + 3 for name in names]) <= LONGEST_SET).sum()), 1)
    more = [f"{len(names) - n_named} more"] if n_named < len(names) else []
    return " + ".join(names[:n_named] + more)


def _most_selected(explanation: Explanation, most: int, relevant: Any = None) -> np.ndarray:
    """The columns that are selected by most samples, or relevant for most, the most frequent first."""
    counts = np.bincount(explanation.columns, minlength=len(explanation.feature_names)).astype(float)
    if relevant is not None:
        counts = np.maximum(counts, np.asarray((relevant != 0).sum(axis=0)).ravel())
    order = np.argsort(-counts, kind="stable")[:most]
    return order[counts[order] > 0]


def _gates_of(explanation: Explanation, columns: np.ndarray) -> np.ndarray:
    """Gates of some columns, shape ``(n_samples, n_chosen)``."""
    place = np.full(len(explanation.feature_names), -1)
    place[columns] = np.arange(len(columns))
    shown = place[explanation.columns] >= 0
    gates = np.zeros((len(explanation.sample_names), len(columns)))
    gates[explanation.rows[shown], place[explanation.columns[shown]]] = explanation.open_gates[shown]
    return gates

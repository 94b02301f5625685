"""Figures of gates, selections, single predictions, the sparsity path and the quality of a model.

Every function draws on ``ax``, or on new axes if there are none, and returns the axes. They need matplotlib:
``pip install 'lspin[plots]'``.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lspin.explanation.groups import order_gate_map
from lspin.explanation.record import Explanation
from lspin.metrics import bin_by_confidence, expected_calibration_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people who do not see all colours can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#F0E442")
DOWN, UP, GREY = COLOURS[0], COLOURS[1], "#777777"
LONGEST_NAME, LONGEST_SET = 28, 50  # letters

# Gates and selections ----------------------------------------------------------------------------------------


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
    height = 3.8 + _width(_short(explanation.feature_names[columns]))
    ax = _axes(ax, 2.0 + 0.19 * max(len(columns) * len(panels), 12), height)
    if len(columns) == 0:
        return _say(ax, "all gates are shut")
    _draw_panels(ax, {name: panel[order] for name, panel in panels.items()}, explanation.feature_names[columns])
    ends = np.cumsum(sizes)
    names = [f"{name} (n = {n})" for name, n in zip(_short(labels), sizes, strict=True)]
    ax.set_yticks(_spread(ends - sizes / 2 - 0.5, 0.04 * len(gates)), names, fontsize=8)
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color=UP, linewidth=0.8)
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
        ax.plot(*_outline(extent), color=GREY, linewidth=0.6, clip_on=False)
        if len(panels) > 1:
            ax.text(left + n_columns / 2, -0.5 - 0.02 * n_rows, name, ha="center", va="bottom")
    ax.set(xlim=(-0.5, lefts[-1] + n_columns), ylim=(n_rows - 0.5, -0.5))
    places = np.concatenate([left + 0.5 + np.arange(n_columns) for left in lefts])
    ax.set_xticks(places, _short(feature_names) * len(panels), rotation=90, fontsize=7)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _outline(extent: tuple[float, float, float, float]) -> tuple[list[float], list[float]]:
    left, right, bottom, top = extent
    return [left, right, right, left, left], [bottom, bottom, top, top, bottom]


def _spread(places: np.ndarray, least: float) -> np.ndarray:
    """Ascending places moved apart until neighbours are so far from each other, the last one staying within."""
    places = places.copy()
    for place in range(1, len(places)):
        places[place] = max(places[place], places[place - 1] + least)
    return places


def feature_frequency(explanation: Explanation, *, most: int = 20, ax: "Axes | None" = None) -> "Axes":
    """Bars of how often a feature is selected, for the features selected most often."""
    columns = _most_selected(explanation, most)
    counts = np.bincount(explanation.columns, minlength=len(explanation.feature_names))
    names = _short(explanation.feature_names[columns])
    n_selected = int((counts > 0).sum())
    ax = _draw_shares(counts[columns], names, len(explanation.sample_names), ax)
    if n_selected > len(columns):
        _title(ax, f"the {len(columns)} most frequent of {n_selected} selected features")
    return ax


def set_frequency(explanation: Explanation, *, most: int = 12, ax: "Axes | None" = None) -> "Axes":
    """Bars of how often a set of features is selected together, for the most frequent sets."""
    n_samples = len(explanation.sample_names)
    bounds = np.searchsorted(explanation.rows, np.arange(n_samples + 1))
    sets = Counter(tuple(explanation.columns[a:b].tolist()) for a, b in pairwise(bounds))
    common = sets.most_common(most)
    counts = np.bincount(explanation.columns, minlength=len(explanation.feature_names))
    names = [_name_set(explanation.feature_names, list(columns), counts) for columns, _ in common]
    ax = _draw_shares(np.array([count for _, count in common]), names, n_samples, ax)
    if len(sets) > len(common):
        _title(ax, f"the {len(common)} most frequent of {len(sets)} sets")
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

    """
    from matplotlib.colors import LinearSegmentedColormap

    pixels = np.asarray(image, float)
    side = round(pixels.size**0.5)
    shape = shape or (pixels.shape if pixels.ndim == 2 else (side, side))
    if pixels.size != np.prod(shape) or np.size(gates) != pixels.size:
        raise ValueError(f"{pixels.size} pixels and {np.size(gates)} gates do not make pictures of {shape}")
    ax = _axes(ax, 3.0, 3.0)
    # Half as dark as could be, so that the gates stand out.
    darkest = 2 * max(pixels.max(), 1e-9)
    ax.imshow(pixels.reshape(shape), cmap="Greys", vmin=0, vmax=darkest, interpolation="nearest")
    opened = np.asarray(gates, float).reshape(shape)
    colours = LinearSegmentedColormap.from_list("gates", [COLOURS[4], UP])
    ax.imshow(np.ma.masked_equal(opened, 0), cmap=colours, vmin=0, vmax=1, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    return ax


# One sample --------------------------------------------------------------------------------------------------


def waterfall(
    explanation: Explanation,
    sample: str | int = 0,
    *,
    label: Any = None,
    most: int = 10,
    ax: "Axes | None" = None,
) -> "Axes":
    """Waterfall of one prediction: from the baseline to the prediction, one bar for each feature.

    Parameters
    ----------
    explanation
        Explanation that contains the sample.
    sample
        Name or position of the sample.
    label
        Class whose score is shown. By default the second of two classes, the likeliest of three or more.
    most
        Largest number of bars; the features that add least share one bar.
    ax
        Axes to draw on.

    """
    row = explanation.find(sample)
    output = explanation.output_of(label) if label is not None else int(explanation.scores[row].argmax())
    steps = _list_steps(explanation, row, output, most)
    baseline, prediction = explanation.baseline[output], explanation.scores[row, output]
    ends = baseline + np.cumsum([change for _, change in steps])
    ax = _axes(ax, 4.0 + _width([name for name, _ in steps]), 1.2 + 0.34 * max(len(steps), 2))
    ax.use_sticky_edges = False  # bars leave room for their numbers
    said = f"baseline {_number(baseline)}, prediction {_number(prediction)}"
    _title(ax, f"sample {_short([explanation.sample_names[row]])[0]}: {said}")
    for place, ((_, change), end) in enumerate(zip(steps, ends, strict=True)):
        ax.barh(place, change, left=end - change, height=0.6, color=UP if change >= 0 else DOWN)
        ax.annotate(
            _number(change, "+.3g"),
            (end, place),
            xytext=(4 if change >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if change >= 0 else "right",
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )
        if place + 1 < len(steps):
            ax.plot([end, end], [place + 0.3, place + 0.7], color=GREY, linewidth=0.6)
    if not steps:
        return _say(ax, "all gates are shut")
    ax.axvline(baseline, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.axvline(prediction, color="black", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(steps)), [name for name, _ in steps], fontsize=8)
    ax.set_ylim(-0.6, max(len(steps), 1) - 0.4)
    ax.margins(x=0.25)
    ax.set_xlabel(explanation.kind.name_output(output))
    return ax


def _list_steps(explanation: Explanation, row: int, output: int, most: int) -> list[tuple[str, float]]:
    """What is added to the baseline, the smallest part first, and what it is called."""
    here = np.flatnonzero(explanation.rows == row)
    contributions = explanation.open_contributions[:, output]
    here = here[np.argsort(-np.abs(contributions[here]), kind="stable")]
    shown = here if len(here) <= most else here[: most - 1]
    steps = [(_name_entry(explanation, entry), float(contributions[entry])) for entry in shown]
    if len(shown) < len(here):
        rest = here[len(shown) :]
        steps.append((f"{len(rest)} other features", float(contributions[rest].sum())))
    return steps[::-1]


def _name_entry(explanation: Explanation, entry: int) -> str:
    value, confidence = explanation.open_values[entry], explanation.open_confidence[entry]
    shown = _short([value])[0] if isinstance(value, str) else _number(value, ".4g")
    sure = f"  ({confidence:.0%} of members)" if confidence < 1 - 1e-9 else ""
    return f"{_short([explanation.feature_names[explanation.columns[entry]]])[0]} = {shown}{sure}"


# The path and how good the model is --------------------------------------------------------------------------


def sparsity_path(estimator: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Held-out score and number of features against the sparsity; a line marks the sparsity that was chosen."""
    path = estimator.path_
    if len(path) == 0:
        raise ValueError(f"there is no path: sparsity={estimator.sparsity!r} was given, not searched for")
    # Of the weight decays tried at one sparsity, the best.
    best = path.sort_values("validation_loss", kind="stable").drop_duplicates("sparsity").sort_values("sparsity")
    ax = _axes(ax, 5.0, 3.4)
    ax.set_xscale("log")
    ax.set_xlabel("sparsity (price of an open gate)")
    if best["validation_score"].isna().all():
        _draw_counts(ax, best)
    else:
        ax.plot(best["sparsity"], best["validation_score"], "o-", color=DOWN, markersize=4)
        ax.set_ylabel(estimator.kind_.score_name, color=DOWN)
        right = ax.twinx()
        right.spines["top"].set_visible(False)
        _draw_counts(right, best)
    ax.axvline(estimator.sparsity_, color="black", linewidth=0.8, linestyle=":")
    ax.annotate(
        f"chosen: {estimator.sparsity_:.2g}",
        (estimator.sparsity_, 1),
        xycoords=ax.get_xaxis_transform(),
        xytext=(3, 2),
        textcoords="offset points",
        fontsize=8,
    )
    return ax


def _draw_counts(ax: "Axes", path: pd.DataFrame) -> None:
    ax.plot(path["sparsity"], path["n_features"], "s--", color=UP, markersize=4)
    ax.set_ylabel("features of the median sample", color=UP)
    ax.set_ylim(bottom=0)


def predicted_against_true(y: Any, predicted: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Predicted against true responses, with the line on which they are equal."""
    y, predicted = np.asarray(y, float), np.asarray(predicted, float)
    if y.shape != predicted.shape:
        raise ValueError(f"y and predicted differ in their shape: {y.shape} and {predicted.shape}")
    ax = _axes(ax, 3.8, 3.8)
    ax.scatter(y, predicted, s=12, color=DOWN, alpha=0.6, linewidths=0)
    if len(y):
        ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
        ax.plot(ends, ends, color=GREY, linewidth=0.8, zorder=0)
        if y.var() > 0:
            _title(ax, f"R² = {1 - np.mean((y - predicted) ** 2) / y.var():.3f}")
    ax.set(xlabel="true", ylabel="predicted", aspect="equal")
    return ax


def calibration(
    probabilities: Any, y: Any, *, classes: Any = None, n_bins: int = 10, ax: "Axes | None" = None
) -> "Axes":
    """Reliability diagram: accuracy against the probability of the likeliest class; larger dots are more samples.

    Parameters
    ----------
    probabilities, y, classes, n_bins
        As in :func:`lspin.metrics.expected_calibration_error`.
    ax
        Axes to draw on.

    """
    error = expected_calibration_error(probabilities, y, classes=classes, n_bins=n_bins)
    bins, sure, is_right = bin_by_confidence(probabilities, y, classes=classes, n_bins=n_bins)
    counts = np.bincount(bins, minlength=n_bins)
    used = np.flatnonzero(counts)
    confidence, accuracy = (np.bincount(bins, part, n_bins)[used] / counts[used] for part in (sure, is_right))
    spread = np.sqrt(accuracy * (1 - accuracy) / counts[used])
    ax = _axes(ax, 3.8, 3.8)
    least = 1 / np.shape(probabilities)[1]
    ax.plot([least, 1], [least, 1], color=GREY, linewidth=0.8, zorder=0)
    ax.errorbar(confidence, accuracy, yerr=spread, color=DOWN, linewidth=1, capsize=2)
    ax.scatter(confidence, accuracy, s=20 + 180 * counts[used] / counts.sum(), color=DOWN, clip_on=False)
    ax.set(xlabel="probability of the likeliest class", ylabel="share that is right", ylim=(-0.03, 1.03))
    _title(ax, f"expected calibration error {error:.3f}")
    return ax


def survival_curves(curves: Mapping[Any, tuple[np.ndarray, np.ndarray]], *, ax: "Axes | None" = None) -> "Axes":
    """Survival curves of several groups.

    Parameters
    ----------
    curves
        For each group's name, the times at which survival falls and the survival from each time on.
    ax
        Axes to draw on.

    """
    ax = _axes(ax, 4.6, 3.4)
    styles = ("-", "--", "-.", ":")
    for place, (name, (times, survival)) in enumerate(curves.items()):
        ax.step(
            np.concatenate([[0.0], np.asarray(times, float)]),
            np.concatenate([[1.0], np.asarray(survival, float)]),
            where="post",
            color=COLOURS[place % len(COLOURS)],
            linestyle=styles[place % len(styles)],
            label=_short([name])[0],
        )
    ax.set(xlabel="time", ylabel="survival", ylim=(0, 1.02), xlim=(0, None))
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    if curves:
        ax.legend(frameon=False, fontsize=8)
    return ax


# What the figures share --------------------------------------------------------------------------------------


def _axes(ax: "Axes | None", width: float, height: float) -> "Axes":
    """The given axes, or new ones in a figure of their own."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install 'lspin[plots]'") from error
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _title(ax: "Axes", title: str) -> None:
    """A title that may reach over the labels at the left."""
    ax.set_title(title, fontsize=9, loc="right")


def _say(ax: "Axes", sentence: str) -> "Axes":
    """Words where there is nothing to draw."""
    ax.text(0.5, 0.5, sentence, transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set(xticks=[], yticks=[])
    return ax


def _draw_shares(counts: np.ndarray, names: list[str], n_samples: int, ax: "Axes | None") -> "Axes":
    """Horizontal bars, the first on top, with the numbers they stand for."""
    ax = _axes(ax, 4.0 + _width(names), 0.9 + 0.24 * max(len(names), 2))
    bars = ax.barh(np.arange(len(names)), counts / n_samples, height=0.7, color=DOWN)
    ax.bar_label(bars, [str(count) for count in counts], padding=2, fontsize=7, color=GREY)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    ax.set_xlabel(f"share of the samples (n = {n_samples})")
    return ax if len(names) else _say(ax, "all gates are shut")


def _number(value: float, form: str = ".3g") -> str:
    return f"{value:{form}}".replace("-", "−")


def _width(names: list[str]) -> float:
    """Inches that labels of eight points need."""
    return 0.065 * max(map(len, names), default=0)


def _short(names: Any) -> list[str]:
    """Names as text, the middle of a long one left out, for ends are what tells names apart."""
    half = LONGEST_NAME // 2
    texts = [str(name).replace("$", r"\$") for name in names]
    return [text if len(text) <= LONGEST_NAME else f"{text[: half - 1]}…{text[-half:]}" for text in texts]


def _name_set(feature_names: np.ndarray, columns: list[int], counts: np.ndarray) -> str:
    """A set by its features; a large one by the few that are rarest elsewhere."""
    names = _short(feature_names[columns])
    if len(" + ".join(names)) <= LONGEST_SET:
        return " + ".join(names) or "no feature"
    names = _short(feature_names[sorted(columns, key=lambda column: counts[column])])
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

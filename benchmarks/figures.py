"""What the figures share: colours for everyone's eyes, dots with spread, lines over a size, gates as heat maps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's palette, which people who do not see all colours can tell apart; shapes differ as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#F0E442")
MARKERS = "osD^vPX<>"
SCORE_NAMES = {
    "tpr": "true positive rate",
    "fdr": "false discovery rate",
    "mse": "mean squared error",
    "accuracy": "accuracy (%)",
}
STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
mpl.rcParams.update(STYLE)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that lays itself out."""
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=150, metadata={"Software": None})


def make_axes(figure: Figure, n_rows: int, n_columns: int, **settings: Any) -> np.ndarray:
    """Axes, always as a grid."""
    return figure.subplots(n_rows, n_columns, squeeze=False, **settings)


def style_of(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Colour and marker; once all are taken, the markers are open."""
    turn, place = divmod(list(methods).index(method), len(COLOURS))
    return {"color": COLOURS[place], "marker": MARKERS[place], "fillstyle": "none" if turn else "full"}


def add_legend(figure: Figure, labels: Sequence[str], **settings: Any) -> None:
    """One legend for what any of the axes shows."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    shown = [label for label in labels if label in handles]
    figure.legend([handles[label] for label in shown], shown, **settings)


def name_of(method: str) -> str:
    return method.replace("_", " ")


def draw_dots(
    axes: Axes, frame: pd.DataFrame, score: str, methods: Sequence[str], printed: Mapping[str, float]
) -> None:
    """A score of each method: mean and standard deviation over seeds, and the paper's as an open diamond."""
    for place, method in enumerate(methods):
        runs = frame[frame["method"] == method]
        values = runs[score].dropna() if score in runs else pd.Series(dtype=float)
        if len(values):
            axes.errorbar(
                values.mean(), place, xerr=values.std(ddof=0), capsize=2, markersize=5, **style_of(method, methods)
            )
        elif len(runs):
            axes.text(0.02, place, "does not select", transform=axes.get_yaxis_transform(), va="center",
                      color="#777777", fontsize=7)  # fmt: skip
        if method in printed:
            axes.plot(printed[method], place, "d", markersize=9, markerfacecolor="none", markeredgecolor="black")
    axes.set_yticks(range(len(methods)), [name_of(method) for method in methods])
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_lines(axes: Axes, frame: pd.DataFrame, size: str, score: str, methods: Sequence[str]) -> None:
    """A score of each method over a size: mean over seeds, and a band of one standard deviation."""
    for method in methods:
        mine = frame[frame["method"] == method]
        if score not in mine or mine[score].isna().all():
            continue
        groups = mine.groupby(size)[score]
        mean, spread = groups.mean(), groups.std(ddof=0)
        style = style_of(method, methods)
        axes.plot(mean.index, mean, markersize=4, linewidth=1.2, label=name_of(method), **style)
        axes.fill_between(mean.index, mean - spread, mean + spread, color=style["color"], alpha=0.15, linewidth=0)
    axes.grid(color="#EEEEEE", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_gates(axes: Axes, gates: np.ndarray, title: str) -> Any:
    """Gates of samples as a heat map, dark where open."""
    image = axes.imshow(gates, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    n_features = gates.shape[1]
    step = max(1, n_features // 5)
    axes.set_xticks(range(0, n_features, step), [str(i + 1) for i in range(0, n_features, step)])
    axes.set_title(title)
    axes.set_xlabel("feature")
    return image


def sort_by_truth(relevant: np.ndarray) -> np.ndarray:
    """An order in which samples with the same relevant features stand together."""
    return np.lexsort(relevant.T[::-1])[::-1]


def draw_scores(
    frame: pd.DataFrame,
    methods: Sequence[str],
    scores: Sequence[str],
    printed: Mapping[str, Mapping[str, float]],
    path: Path,
) -> None:
    """One panel a score, one line a method; an open diamond is the paper's."""
    methods = [method for method in methods if method in set(frame["method"])]
    figure = new_figure(3.2 * len(scores) + 0.8, 1.3 + 0.3 * len(methods))
    for axes, score in zip(make_axes(figure, 1, len(scores), sharey=True)[0], scores, strict=True):
        paper = {m: printed[m][score] for m in methods if score in printed.get(m, {})}
        draw_dots(axes, frame, score, methods, paper)
        axes.set_xlabel(SCORE_NAMES[score])
        if score == "mse":
            axes.set_xscale("log", nonpositive="clip")
    figure.suptitle("Test rows, mean ± sd over seeds; open diamond: the paper", fontsize=9)
    save_figure(figure, path)


def draw_times(
    frame: pd.DataFrame, methods: Sequence[str], size: str, label: str, path: Path, scale: str = "linear"
) -> None:
    """Seconds of a fit, of equally many epochs and of the compilation over a size."""
    methods = [method for method in methods if method in set(frame["method"])]
    figure = new_figure(12, 3.2)
    left, middle, right = make_axes(figure, 1, 3)[0]
    for axes, score, title in (
        (left, "fitting_cpu_seconds", "one fit"),
        (middle, "equal_cpu_seconds", "equally many epochs"),
        (right, "compiling_cpu_seconds", "compiling, once for a table's shape"),
    ):
        draw_lines(axes, frame, size, score, methods)
        axes.set(xlabel=label, ylabel="CPU seconds", xscale=scale, title=title)
    for axes in (left, middle):
        axes.set_yscale("log")
    right.set_ylim(bottom=0)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right")
    save_figure(figure, path)


def draw_bars(frame: pd.DataFrame, score: str, label: str, path: Path, scale: str = "linear") -> None:
    """A bar a method: the mean of a score over seeds, with its number."""
    means = frame.groupby("method", sort=False)[score].mean()[::-1]
    figure = new_figure(6, 0.8 + 0.4 * len(means))
    axes = make_axes(figure, 1, 1)[0, 0]
    bars = axes.barh([name_of(method) for method in means.index], means, color=COLOURS[0])
    axes.bar_label(bars, fmt="%.3g", padding=3)
    axes.set(xscale=scale, xlabel=label)
    save_figure(figure, path)

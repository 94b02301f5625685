"""The figure of a leaderboard."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lspin.plots.drawing import DOWN, GREY, UP, measure_names, say, shorten, take_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def leaderboard(board: Any, *, metric: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Scores of methods with their intervals, the best on top; features and seconds stand at the right.

    Parameters
    ----------
    board : Leaderboard
        From :func:`lspin.compare`.
    metric : str, default=None
        Which of its metrics; by default the first.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    """
    known = {entry.key: entry for entry in board.metrics}
    if metric is not None and metric not in known:
        raise ValueError(f"the leaderboard has no metric {metric!r}; there are {', '.join(known)}")
    chosen = board.metrics[0] if metric is None else known[metric]
    frame = board.frame
    ax = take_axes(ax, 5.2 + measure_names(shorten(frame.index)), 1.2 + 0.3 * max(len(frame), 2))
    if not len(frame):
        return say(ax, "no method could be judged")
    frame = frame.sort_values(chosen.key, ascending=chosen.better == "low", kind="stable")
    places = np.arange(len(frame))
    value, lower, upper = (frame[f"{chosen.key}{end}"].to_numpy() for end in ("", "_lower", "_upper"))
    colours = [UP if name == "lspin" else DOWN for name in frame.index]
    ax.hlines(places, lower, upper, colors=colours, linewidth=1.5)
    ax.scatter(value, places, color=colours, s=26, zorder=3)
    if chosen.chance is not None:
        ax.axvline(chosen.chance, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    for place, (n_features, seconds) in enumerate(zip(frame["n_features"], frame["seconds"], strict=True)):
        text = f"{n_features:g} features, {seconds:.1f} s"
        ax.annotate(text, (1.02, place), xycoords=ax.get_yaxis_transform(), va="center", fontsize=7, color=GREY)
    ax.set_yticks(places, shorten(frame.index), fontsize=8)
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlabel(f"{chosen.name}, mean over {board.n_folds} folds with 95 % interval")
    return ax

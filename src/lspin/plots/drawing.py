"""What the figures share: axes, colours and names."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people who do not see all colours can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#F0E442")
DOWN, UP, GREY = COLOURS[0], COLOURS[1], "#777777"
LONGEST_NAME = 28  # letters


def take_axes(ax: "Axes | None", width: float, height: float) -> "Axes":
    """The given axes, or new ones in a figure of their own."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install 'lspin[plots]'") from error
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def set_title(ax: "Axes", title: str) -> None:
    """A title that may reach over the labels at the left."""
    ax.set_title(title, fontsize=9, loc="right")


def say(ax: "Axes", sentence: str) -> "Axes":
    """Words where there is nothing to draw."""
    ax.text(0.5, 0.5, sentence, transform=ax.transAxes, ha="center", va="center", color=GREY)
    ax.set(xticks=[], yticks=[])
    return ax


def word_number(value: float, form: str = ".3g") -> str:
    """A number as text, with a minus that is one."""
    return f"{value:{form}}".replace("-", "−")


def measure_names(names: list[str]) -> float:
    """Inches that labels of eight points need."""
    return 0.065 * max(map(len, names), default=0)


def shorten(names: Any) -> list[str]:
    """Names as text, the middle of a long one left out, for ends are what tells names apart."""
    half = LONGEST_NAME // 2
    texts = [str(name).replace("$", r"\$") for name in names]
    return [text if len(text) <= LONGEST_NAME else f"{text[: half - 1]}…{text[-half:]}" for text in texts]


def outline(extent: tuple[float, float, float, float]) -> tuple[list[float], list[float]]:
    """Corners of a box, the first one again at the end."""
    left, right, bottom, top = extent
    return [left, right, right, left, left], [bottom, bottom, top, top, bottom]


def spread_out(places: np.ndarray, least: float) -> np.ndarray:
    """Ascending places moved apart until neighbours are so far from each other, the last one staying within."""
    places = places.copy()
    for place in range(1, len(places)):
        places[place] = max(places[place], places[place - 1] + least)
    return places


def mark_groups(ax: "Axes", labels: Any, sizes: np.ndarray) -> None:
    """Names of groups of rows that stand one below the other, and lines between them."""
    ends = np.cumsum(sizes)
    names = [f"{name} (n = {n})" for name, n in zip(shorten(labels), sizes, strict=True)]
    ax.set_yticks(spread_out(ends - sizes / 2 - 0.5, 0.04 * ends[-1]), names, fontsize=8)
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color=UP, linewidth=0.8)

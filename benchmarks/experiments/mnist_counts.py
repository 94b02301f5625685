"""How many pixels a test image uses: ``make bench-mnist_counts``.

The models are those of ``mnist``; nothing is fitted here where that table is there.
"""

import json
from collections import Counter

import numpy as np
import pandas as pd

from benchmarks.digits import METHODS
from benchmarks.experiment import Results, recall
from benchmarks.experiments.mnist import EXPERIMENT
from benchmarks.figures import add_legend, make_axes, new_figure, save_figure, style_of
from benchmarks.tables import write_csv, write_markdown

EDGES = (5, 10, 15, 20)
HEADS = ("< 5", "5 to 9", "10 to 14", "15 to 19", "20 or more")
PAPER = (5.90, 79.36, 14.50, 0.24, 0.00)  # the model is not named; its median is 8 and its union 165
CAPTION = "Percent of 10,000 test images by the number of selected pixels, over all seeds of `mnist`."


def count(lines: pd.Series) -> np.ndarray:
    """The number of pixels of each test image, over all runs."""
    counts: Counter[int] = Counter()
    for line in lines:
        counts.update({int(n): rows for n, rows in json.loads(line).items()})
    return np.repeat(*np.array(sorted(counts.items())).T)


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each method: shares by number of pixels, median, largest number and union."""
    rows = []
    for method, runs in frame.groupby("method", sort=False):
        numbers = count(runs["n_selected"])
        places = np.searchsorted(EDGES, numbers, side="right")
        shares = 100 * np.bincount(places, minlength=len(HEADS)) / len(numbers)
        rows.append(
            {"method": method, **dict(zip(HEADS, shares, strict=True)), "median": np.median(numbers),
             "most": numbers.max(), "union": runs["union"].mean(), "n_seeds": len(runs)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def report(frame: pd.DataFrame, results: Results) -> None:
    table = summarise(frame)
    write_csv(results.folder / "mnist_counts.csv", table)
    heads = ["method", *HEADS, "median", "most", "union"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in table.to_dict("records"):
        shares = [f"{row[head]:.2f}" for head in HEADS]
        ends = [f"{row[name]:.0f}" for name in ("median", "most", "union")]
        lines.append("| " + " | ".join([row["method"], *shares, *ends]) + " |")
    lines.append("| paper | " + " | ".join(f"{share:.2f}" for share in PAPER) + " | 8 | – | 165 |")
    parts = {"Pixels of a test image (%)": lines}
    write_markdown(results.folder / "mnist_counts.md", "Pixels of an image", parts, frame, caption=[CAPTION])


def draw(frame: pd.DataFrame, results: Results) -> None:
    methods = [method for method in METHODS if method in set(frame["method"])]
    figure = new_figure(6, 3)
    axes = make_axes(figure, 1, 1)[0, 0]
    for method in methods:
        numbers = count(frame.loc[frame["method"] == method, "n_selected"])
        shares = np.bincount(numbers) / len(numbers)
        style = style_of(method, methods) | {"markersize": 3}
        axes.plot(np.arange(len(shares)), 100 * shares, label=method, **style)
    axes.set(xlabel="pixels of a test image", ylabel="test images (%)", xlim=(-1, 41))
    add_legend(figure, methods, loc="outside right upper")
    save_figure(figure, results.folder / "mnist_counts.png")


def main(arguments: list[str] | None = None) -> None:
    results = recall(EXPERIMENT, arguments)
    frame = results.frame[results.frame["n_selected"].notna()]
    report(frame, results)
    draw(frame, results)


if __name__ == "__main__":
    main()

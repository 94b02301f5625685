"""How many features a test row uses on the wide real tables, and who uses most: ``make bench-counts``.

The models are those of Table 3 that have gates; nothing is fitted here where that table is there.
"""

import json
from collections import Counter

import numpy as np
import pandas as pd

from benchmarks.experiment import Results, recall
from benchmarks.experiments.table3 import DATASETS, EXPERIMENT, NAMES, caption_of, list_methods, write_part
from benchmarks.figures import add_legend, make_axes, name_of, new_figure, save_figure, style_of
from benchmarks.tables import NOTHING, format_spread, write_markdown
from benchmarks.wide import EDGES, MANY

MANY_IN_PAPER = 8.6  # percent of PBMC's training rows
COLUMNS = [
    "method", "dataset", "n_train", "n_columns", "seed", "n_features_train", "n_features", "n_union", "n_most",
    "many_train", "many_test", "heavy_limit", "heavy_share", "heavy_accuracy", "light_accuracy", "heavy_length",
    "heavy_class", "heavy_class_share", "n_selected", "lspin",
]  # fmt: skip
HEAVY = {
    "many_train": (f"over {100 * MANY:.0f} % of the features, training rows (%)", 1),
    "many_test": ("the same, test rows (%)", 1),
    "heavy_share": ("heavy test rows (%)", 1),
    "heavy_limit": ("heavy above", 0),
    "heavy_accuracy": ("accuracy, heavy", 1),
    "light_accuracy": ("accuracy, others", 1),
    "heavy_length": ("length, heavy / others", 2),
    "heavy_class_share": ("heavy rows of one class at most (%)", 1),
}
NOTE = (
    "A heavy row uses more than twice the median, and more than the median and three robust standard deviations. "
    "Length is the median number of values that are not 0. The last column is the share of heavy rows in the "
    f"class that has most of them. Paper: {MANY_IN_PAPER} % of PBMC's training rows use over 10 % of the genes."
)


def gather(runs: pd.DataFrame) -> np.ndarray:
    """The number of features of each test row, over all splits."""
    counts: Counter[int] = Counter()
    for line in runs["n_selected"]:
        counts.update({int(n): rows for n, rows in json.loads(line).items()})
    return np.repeat(*np.array(sorted(counts.items())).T)


def by_table(frame: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    return [
        (dataset, method, frame[(frame["dataset"] == dataset) & (frame["method"] == method)])
        for dataset in DATASETS
        for method in list_methods(frame[frame["dataset"] == dataset])
    ]


def tabulate_distribution(frame: pd.DataFrame) -> list[str]:
    """Percent of the test rows by number of features."""
    bounds = (0, *EDGES)
    heads = [f"{low} to {high - 1}" for low, high in zip(bounds, EDGES, strict=False)] + [f"{EDGES[-1]}+"]
    lines = ["| table | method | " + " | ".join(heads) + " | median | largest |", "|---" * (len(heads) + 4) + "|"]
    for dataset, method, runs in by_table(frame):
        counts = gather(runs)
        places = np.searchsorted(EDGES, counts, side="right")
        shares = 100 * np.bincount(places, minlength=len(heads)) / len(counts)
        cells = [*(f"{share:.1f}" for share in shares), f"{np.median(counts):g}", f"{counts.max()}"]
        lines.append(f"| {NAMES[dataset]} | {method} | " + " | ".join(cells) + " |")
    return lines


def tabulate_heavy(frame: pd.DataFrame) -> list[str]:
    """Who uses far more features than the others."""
    lines = ["| table | method | " + " | ".join(name for name, _ in HEAVY.values()) + " |"]
    lines.append("|---" * (len(HEAVY) + 2) + "|")
    for dataset, method, runs in by_table(frame):
        cells = [format_spread(runs[s], digits) if s in runs else NOTHING for s, (_, digits) in HEAVY.items()]
        lines.append(f"| {NAMES[dataset]} | {method} | " + " | ".join(cells) + " |")
    return [*lines, "", NOTE]


def draw(frame: pd.DataFrame, results: Results) -> None:
    """The share of the test rows that use at most so many features."""
    methods = list_methods(frame)
    datasets = [dataset for dataset in DATASETS if dataset in set(frame["dataset"])]
    n_lines = -(-len(datasets) // 3)
    figure = new_figure(10, 0.8 + 2.6 * n_lines)
    panels = make_axes(figure, n_lines, 3).ravel()
    for axes in panels[len(datasets) :]:
        axes.set_axis_off()
    axes_of = dict(zip(datasets, panels, strict=False))
    for dataset, method, runs in by_table(frame):
        counts = np.sort(gather(runs))
        shares = 100 * np.arange(1, len(counts) + 1) / len(counts)
        colour = style_of(method, methods)["color"]
        axes_of[dataset].step(counts, shares, where="post", color=colour, label=name_of(method))
        axes_of[dataset].plot(np.median(counts), 50, "o", color=colour, markersize=4)
    for dataset, axes in axes_of.items():
        axes.set(title=NAMES[dataset], xlabel="features of a test row", ylabel="rows (%)", ylim=(0, 102))
        axes.set_xscale("symlog", linthresh=1)  # from 0 features to all
        axes.set_xlim(-0.1, 10_000)
        axes.axvline(50, color="#999999", linewidth=0.8, linestyle=":")
    add_legend(figure, [name_of(method) for method in methods], loc="outside lower center", ncols=len(methods))
    figure.suptitle(
        "Test rows of all splits that use at most so many features; dot: median; dotted: 50", fontsize=9
    )
    save_figure(figure, results.folder / "counts.png")


def main(arguments: list[str] | None = None) -> None:
    results = recall(EXPERIMENT, arguments)
    frame = write_part(results, "counts", "heavy_share", COLUMNS)
    parts = {
        "Percent of the test rows by number of features": tabulate_distribution(frame),
        "Who uses many": tabulate_heavy(frame),
    }
    title = "Number of selected features a row"
    write_markdown(results.folder / "counts.md", title, parts, frame, caption=caption_of(results.frame))
    draw(frame, results)


if __name__ == "__main__":
    main()

"""How many gates are shut, open or between, and how many features a sample keeps: ``make bench-gate_statistics``.

The models are those of the motivating example and of Table 1; whatever is done there already is not done again.
"""

import json
from collections import Counter

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.experiment import Results, conduct
from benchmarks.experiments import motivating, table1
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.tables import format_spread, write_csv, write_markdown

METHODS = ("lspin_auto", "llspin", "lspin")
LINEAR = ("lspin_auto", "llspin")  # of the motivating example
SOURCES = ((motivating.EXPERIMENT, LINEAR), (table1.EXPERIMENT, METHODS))
SHARES = ("train_shut", "train_open", "train_between", "test_shut", "test_open", "test_between")
MOST = 12  # features: samples with more are counted together

# Percent of the gates, in the order of SHARES. The paper has no line for E5.
PAPER = {
    ("N = 60", "llspin"): (40.00, 57.67, 2.33, 40.00, 57.33, 2.67),
    ("N = 30", "llspin"): (40.00, 60.00, 0.00, 40.00, 60.00, 0.00),
    ("N = 18", "llspin"): (40.00, 60.00, 0.00, 40.00, 60.00, 0.00),
    ("N = 12", "llspin"): (40.00, 60.00, 0.00, 40.00, 60.00, 0.00),
    ("N = 10", "llspin"): (40.00, 58.00, 2.00, 40.00, 59.33, 0.67),
    ("N = 6", "llspin"): (50.00, 50.00, 0.00, 50.00, 49.33, 0.67),
    ("E1", "llspin"): (91.11, 8.60, 0.29, 91.14, 7.27, 1.59),
    ("E1", "lspin"): (62.90, 36.54, 0.56, 62.27, 37.00, 0.73),
    ("E2", "llspin"): (78.36, 20.68, 0.96, 78.59, 20.09, 1.32),
    ("E2", "lspin"): (63.25, 35.53, 1.22, 62.91, 35.59, 1.50),
    ("E3", "llspin"): (83.67, 13.69, 2.63, 83.36, 13.32, 3.32),
    ("E3", "lspin"): (52.04, 44.90, 3.07, 51.82, 44.73, 3.45),
    ("E4", "llspin"): (95.50, 3.56, 0.94, 95.68, 3.28, 1.04),
    ("E4", "lspin"): (95.82, 3.74, 0.44, 95.72, 3.68, 0.60),
}


def collect(results: list[Results]) -> pd.DataFrame:
    """The runs of our methods, each with the name the paper gives its table."""
    frame = pd.concat([result.frame for result in results], ignore_index=True)
    size = frame["n_train"].where(frame["dataset"] == "linear", 0)
    frame = frame.loc[size.sort_values(ascending=False, kind="stable").index]
    is_linear = frame["dataset"] == "linear"
    frame = frame[frame["method"].isin(METHODS) & (~is_linear | frame["method"].isin(LINEAR))].copy()
    frame["table"] = frame["dataset"].where(frame["dataset"] != "linear", "N = " + frame["n_train"].astype(str))
    for part in ("train", "test"):
        frame[f"{part}_between"] = 100 - frame[f"{part}_shut"] - frame[f"{part}_open"]
    columns = ["table", "method", "dataset", "n_train", "n_columns", "seed", *SHARES, "n_selected", "lspin"]
    return frame[columns].reset_index(drop=True)


def tabulate_shares(frame: pd.DataFrame) -> list[str]:
    heads = (f"{part}: {where} (%)" for part in ("train", "test") for where in ("shut", "open", "between"))
    lines = ["| table | method | " + " | ".join(heads) + " |", "|---" * 8 + "|"]
    for (table, method), group in frame.groupby(["table", "method"], sort=False):
        printed = PAPER.get((table, method), (None,) * len(SHARES))
        cells = [
            format_spread(group[share], 1) + ("" if value is None else f" (paper {value:g})")
            for share, value in zip(SHARES, printed, strict=True)
        ]
        lines.append(f"| {table} | {method} | " + " | ".join(cells) + " |")
    return lines


def count_selected(group: pd.DataFrame) -> pd.Series:
    """Percent of the test samples that keep 0, 1, 2, ... features, over all seeds."""
    counts: Counter[int] = Counter()
    for line in group["n_selected"]:
        counts.update({min(int(n), MOST): samples for n, samples in json.loads(line).items()})
    return 100 * pd.Series([counts[n] for n in range(MOST + 1)]) / counts.total()


def tabulate_numbers(frame: pd.DataFrame) -> list[str]:
    heads = [str(n) for n in range(MOST)] + [f"{MOST}+"]
    lines = ["| table | method | " + " | ".join(heads) + " |", "|---" * (MOST + 3) + "|"]
    for (table, method), group in frame.groupby(["table", "method"], sort=False):
        lines.append(
            f"| {table} | {method} | " + " | ".join(f"{share:.1f}" for share in count_selected(group)) + " |"
        )
    return lines


def draw(frame: pd.DataFrame, results: Results) -> None:
    groups = list(frame.groupby(["table", "method"], sort=False))
    figure = new_figure(10, 1.4 + 0.45 * len(groups))
    left, right = make_axes(figure, 1, 2)[0]
    colours = {"shut": "#56B4E9", "between": "#E69F00", "open": "#0072B2"}
    for place, ((table, method), group) in enumerate(groups):
        ours = [group[f"test_{where}"].mean() for where in colours]
        printed = PAPER.get((table, method))
        draw_shares(left, place - 0.18, ours, colours, alpha=1.0)
        if printed:
            draw_shares(left, place + 0.18, [printed[3], printed[5], printed[4]], colours, alpha=0.5)
        shares = count_selected(group)
        right.scatter(range(MOST + 1), [place] * (MOST + 1), s=2.2 * shares, color="#0072B2")
    names = [f"{table}, {method}" for (table, method), _ in groups]
    left.set(xlabel="test gates (%)", title="above: here, below and pale: the paper", xlim=(0, 100))
    right.set(xlabel="features of a test sample", title="area: percent of the samples", xlim=(-0.7, MOST + 0.7))
    right.set_xticks(range(0, MOST + 1, 2), [*map(str, range(0, MOST, 2)), f"{MOST}+"])
    right.grid(color="#EEEEEE")
    right.set_axisbelow(True)
    for axes in (left, right):
        axes.set_yticks(range(len(names)), names if axes is left else [""] * len(names))
        axes.set_ylim(len(names) - 0.5, -0.5)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3)
    save_figure(figure, results.folder / "gate_statistics.png")


def draw_shares(axes: Axes, place: float, shares: list[float], colours: dict[str, str], alpha: float) -> None:
    start = 0.0
    for share, (where, colour) in zip(shares, colours.items(), strict=True):
        label = where if place < 0 else None  # one entry of the legend each
        axes.barh(place, share, 0.32, left=start, color=colour, alpha=alpha, label=label)
        start += share


def main(arguments: list[str] | None = None) -> None:
    results = [conduct(experiment, arguments, only) for experiment, only in SOURCES]
    frame = collect(results)
    folder = results[-1].folder
    write_csv(folder / "gate_statistics.csv", frame)
    parts = {
        "Gates": tabulate_shares(frame),
        "Percent of the test samples by number of features": tabulate_numbers(frame),
    }
    write_markdown(folder / "gate_statistics.md", "Gate statistics", parts, frame)
    draw(frame, results[-1])


if __name__ == "__main__":
    main()

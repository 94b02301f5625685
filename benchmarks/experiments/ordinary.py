"""Ordinary real tables, every method as most people use it, five-fold cross-validation: ``make bench-ordinary``.

Seeds number the folds. Tables whose package is not installed are left out, and the report says so.
"""

import sys
from pathlib import Path

import pandas as pd

from benchmarks.everyday import suits_all
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.ordinary import MOST_ROWS, N_FOLDS, SOURCES, has_fold, is_here, measure_ordinary
from benchmarks.runs import Case
from benchmarks.tables import NOTHING, describe_seeds, format_spread, write_markdown

METHODS = ("lspin", "lasso", "ridge", "random_forest", "boosted_trees")
SIGNS = {"score": 1, "log_loss": -1, "auc": 1, "ece": -1}  # 1: more is better
SOMETIMES = ["log_loss", "auc", "ece", "n_features"]  # what not every method or target has

CAPTION = (
    f"{N_FOLDS} folds, stratified for classes and the same for all methods; best mean in bold. Of larger tables "
    f"{MOST_ROWS} rows are drawn. Ours as it comes (`random_state=0`); LASSO and ridge (logistic for "
    "classes) on standardised columns, the penalty chosen by cross-validated log loss or squared error; a random "
    "forest of 300 trees with a third of the columns a split; scikit-learn's boosted trees as they come. Ours and "
    "boosted trees take categories and missing values as they are; the others get medians for missing numbers and "
    "a column for each level. A probability of 0 counts as 2e-16 in the log loss. Ranks are those of the means "
    "over folds, on the tables that all methods have; equals share their mean rank. Features are columns of the "
    "table: a category is one."
)


def average_folds(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """A line a table that has the score, a column a method."""
    means = frame.pivot_table(index="dataset", columns="method", values=score, sort=False)
    return means.reindex(columns=[method for method in dict.fromkeys(frame["method"]) if method in means])


def rank_methods(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """The rank of each method on each table that all have; 1 is the best."""
    return average_folds(frame, score).dropna().rank(axis=1, ascending=SIGNS[score] < 0)


def tabulate_tables(frame: pd.DataFrame, score: str, digits: int = 3) -> list[str]:
    """A line a table, a column a method: mean ± standard deviation over folds, the best mean in bold."""
    if frame[score].isna().all():
        return []
    means = average_folds(frame, score).round(digits)
    lines = ["| table | n × d | " + " | ".join(means.columns) + " |", "|---" * (len(means.columns) + 2) + "|"]
    for name, row in means.iterrows():
        runs = frame[frame["dataset"] == name]
        cells = [format_spread(runs.loc[runs["method"] == method, score], digits) for method in row.index]
        cells = mark_best(cells, row, SIGNS.get(score))
        lines.append(f"| {name} | {runs['n'].iloc[0]} × {runs['d'].iloc[0]} | " + " | ".join(cells) + " |")
    return lines


def mark_best(cells: list[str], values: pd.Series, sign: int | None) -> list[str]:
    """The cells with the best value in bold; 1: the largest, -1: the smallest, None: nothing is better."""
    if sign is None:
        return cells
    best = (sign * values).max()
    return [f"**{cell}**" if sign * value == best else cell for cell, value in zip(cells, values, strict=True)]


def summarise(frame: pd.DataFrame) -> list[str]:
    """A column a method: mean ranks, means over tables, features and seconds."""
    methods = list(dict.fromkeys(frame["method"]))
    lines = ["| | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]

    def add(label: str, values: pd.Series, digits: int, sign: int | None) -> None:
        values = values.reindex(methods).round(digits)
        cells = [NOTHING if pd.isna(value) else f"{value:.{digits}f}" for value in values]
        lines.append(f"| {label} | " + " | ".join(mark_best(cells, values, sign)) + " |")

    for score, name in (("score", "accuracy or R²"), ("log_loss", "log loss")):
        ranks = rank_methods(frame, score)
        add(f"mean rank by {name}, {len(ranks)} tables", ranks.mean(), 2, -1)
    for score, name in (("log_loss", "log loss"), ("auc", "AUC"), ("ece", "calibration error")):
        means = average_folds(frame, score).dropna()
        add(f"mean {name}, {len(means)} tables", means.mean(), 3, SIGNS[score])
    add("features a row, median of tables", average_folds(frame, "n_features").median(), 1, None)
    add("CPU seconds a fit, median of tables", average_folds(frame, "cpu_s").median(), 2, None)
    return lines


def describe_missing(frame: pd.DataFrame) -> list[str]:
    """Which tables are not in the report, and which packages would bring them."""
    missing = [name for name in SOURCES if name not in set(frame["dataset"])]
    packages = sorted({SOURCES[name].package for name in missing if not is_here(name)})
    lines = [f"Not among the tables: {', '.join(missing)}."] if missing else []
    return lines + ([f"Some need packages that are not installed: {', '.join(packages)}."] if packages else [])


def report(results: Results) -> None:
    place = {name: number for number, name in enumerate(SOURCES)}
    frame = results.frame.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    frame = frame.reindex(columns=frame.columns.union(SOMETIMES, sort=False))
    classes, response = frame[frame["kind"] == "class"], frame[frame["kind"] == "response"]
    parts = {
        "Summary": summarise(frame),
        "Accuracy": tabulate_tables(classes, "score"),
        "R²": tabulate_tables(response, "score"),
        "Log loss": tabulate_tables(classes, "log_loss"),
        "Area under the curve (two classes)": tabulate_tables(classes, "auc"),
        "Expected calibration error (15 bins)": tabulate_tables(classes, "ece"),
        "Features of the median test row; methods that use all are left out": tabulate_tables(
            frame, "n_features", 1
        ),
        "CPU seconds of a fit, choice of settings and compilation included": tabulate_tables(frame, "cpu_s", 2),
    }
    missing = describe_missing(frame)
    print(*missing, file=sys.stderr)
    caption = [CAPTION, "", *describe_seeds(frame), *missing]
    write_markdown(results.folder / "ordinary.md", "Ordinary real tables", parts, frame, caption)
    draw_ranks(frame, results.folder / "ordinary.png")


def draw_ranks(frame: pd.DataFrame, path: Path) -> None:
    """Ranks by accuracy or R² and by log loss, and features of a row."""
    methods = list(dict.fromkeys(frame["method"]))
    shown = {
        "rank by accuracy or R²": rank_methods(frame, "score"),
        "rank by log loss": rank_methods(frame, "log_loss"),
        "features of the median test row": average_folds(frame, "n_features"),
    }
    figure = new_figure(10.5, 1.3 + 0.3 * len(methods))
    for axes, (label, values) in zip(make_axes(figure, 1, len(shown), sharey=True)[0], shown.items(), strict=True):
        draw_dots(axes, values.melt(var_name="method", value_name=label), label, methods, {})
        axes.set_xlabel(label)
    figure.suptitle("Mean ± sd over tables", fontsize=9)
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "ordinary",
    methods=METHODS,
    cases=tuple(Case(name) for name in SOURCES if is_here(name)),
    quick_methods=METHODS,
    quick_cases=(Case("iris", n_train=80), Case("breast_cancer", n_train=80), Case("diabetes", n_train=80)),
    report=report,
    seeds=range(N_FOLDS),
    measure=measure_ordinary,
    applies=suits_all,
    has_seed=has_fold,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

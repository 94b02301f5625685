"""Three of the paper's tables with noise up to 20,000 columns, methods as they come: ``make bench-wide_paper``.

Two linear groups (200 training rows), E4 (500) and E2 (1,710, the paper's number). No method sees validation rows,
so every row that is not a training row is a test row.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.everyday import fit_everyday, load_everyday, score_model, suits_all
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import add_legend, draw_lines, make_axes, name_of, new_figure, save_figure
from benchmarks.method import Wanted
from benchmarks.protocol import REGRESSION, score_selection
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from benchmarks.wide import select
from lspin.datasets import load_synthetic

METHODS = ("lspin", "lasso", "xgboost", "cluster_lasso")
WIDTHS = (100, 1000, 5000, 20_000)
N_TRAIN = {"linear": 200, "E4": 500, "E2": 1710}
# As in the table's own noise columns; "linear" has none, but its columns have the same spread as those of E4.
NOISE_SCALE = {"linear": 0.5, "E4": 0.5, "E2": 1.0}
NOISE_STREAM = 3  # ``load_synthetic`` uses 1 and 2
DRAWN = {"score": "R² or accuracy", "f1": "F1 of the selection", "cpu_s": "CPU seconds of a fit"}
SHOWN = {"n_features": "selected features of the median test row"}
CALIBRATION = {"log_loss": "log loss", "ece": "expected calibration error (15 bins)"}
SHOWN_DIGITS = {"log_loss": 3, "ece": 3}

CAPTION = (
    "Noise columns are added to the paper's tables: two linear groups (200 training rows, R² on 400 test rows), "
    "E4 (500, accuracy on 500) and E2 (1,710, accuracy on 290). F1 of the selected features is pooled over test "
    "rows; XGBoost does not select. Every method sees training rows only: ours as it comes (`random_state=0`); "
    "LASSO (logistic for classes) on standardised columns, the penalty chosen by cross-validation; XGBoost with "
    "300 trees of depth 4 at rate 0.1; `cluster_lasso`: principal components, k-means, a LASSO in each of at most "
    "four clusters, their number chosen on held-out rows. CPU seconds include the choice of settings and "
    "compilation."
)


class Rows(NamedTuple):
    """Rows of a widened table, with their truth."""

    X: np.ndarray  # (n_rows, n_columns)
    y: np.ndarray  # (n_rows,)
    relevant: np.ndarray  # (n_rows, n_columns)


def load_widened(case: Case, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows; a narrower table is the first columns of a wider one."""
    parts = load_synthetic(case.dataset, seed)
    X, y, relevant = (np.concatenate([getattr(part, name) for part in parts]) for name in Rows._fields)
    n_more = (case.n_columns or X.shape[1]) - X.shape[1]
    # Drawn column by column, so that a wider table keeps the columns of a narrower one.
    noise = np.random.RandomState([seed, NOISE_STREAM]).standard_normal((n_more, len(X))).T
    X = np.hstack([X, NOISE_SCALE[case.dataset] * noise])
    relevant = np.hstack([relevant, np.zeros(noise.shape, bool)])
    n_train = case.n_train or N_TRAIN[case.dataset]
    train = Rows(X[:n_train], y[:n_train], relevant[:n_train])
    return train, Rows(X[n_train:], y[n_train:], relevant[n_train:])


def measure_widened(run: Run) -> Record:
    """Fit a method on training rows, and score it on test rows."""
    offered, (train, test) = load_everyday(run.method), load_widened(run.case, run.seed)
    wanted = Wanted(None if run.case.dataset in REGRESSION else 2, run.budget)
    model, seconds = fit_everyday(offered, train.X, train.y, wanted)
    row: dict[str, Any] = {**describe(run), **size_of(train.X), **score_model(model, test.X, test.y, wanted)}
    selected = select(offered, model, test.X)
    if selected is not None:
        row |= score_selection(selected, test.relevant)
    row |= {"cpu_s": seconds, "start": getattr(model, "start_", None)}
    return {"row": row, "arrays": {}}


def report(results: Results) -> None:
    """Tables of each dataset by the number of columns, and the figure."""
    methods = list(dict.fromkeys(results.frame["method"]))
    place = results.frame["method"].map(methods.index)
    frame = results.frame.assign(place=place).sort_values(["n_columns", "place"], kind="stable")
    parts = {
        f"{dataset}: {label}, by number of columns": tabulate(
            frame[frame["dataset"] == dataset], score, columns="n_columns", digits=SHOWN_DIGITS.get(score, 2)
        )
        for dataset in N_TRAIN
        for score, label in (DRAWN | SHOWN | ({} if dataset in REGRESSION else CALIBRATION)).items()
        if dataset in set(frame["dataset"])
    }
    caption = [CAPTION, "", *describe_seeds(frame)]
    title = "The paper's tables with added noise columns"
    write_markdown(results.folder / "wide_paper.md", title, parts, frame, caption)
    draw_widths(frame, methods, results.folder / "wide_paper.png")


def draw_widths(frame: pd.DataFrame, methods: Sequence[str], path: Path) -> None:
    """Score, F1 and seconds against the number of columns, a column of panels a dataset."""
    datasets = [dataset for dataset in N_TRAIN if dataset in set(frame["dataset"])]
    figure = new_figure(2.2 + 2.6 * len(datasets), 6.5)
    grid = make_axes(figure, len(DRAWN), len(datasets), sharex=True, sharey="row")
    for column, dataset in enumerate(datasets):
        runs = frame[frame["dataset"] == dataset]
        for axes, score in zip(grid[:, column], DRAWN, strict=True):
            draw_lines(axes, runs, "n_columns", score, methods)
            axes.set_xscale("log")
        grid[0, column].set_title(f"{dataset}, {N_TRAIN[dataset]:,} training rows")
        grid[-1, column].set(xlabel="columns", yscale="log")
    for axes, label in zip(grid[:, 0], DRAWN.values(), strict=True):
        axes.set_ylabel(label)
    add_legend(figure, [name_of(method) for method in methods], loc="outside right")
    figure.suptitle("Test rows, mean ± sd over seeds", fontsize=9)
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "wide_paper",
    methods=METHODS,
    cases=tuple(Case(dataset, n_train, width) for dataset, n_train in N_TRAIN.items() for width in WIDTHS),
    quick_methods=METHODS,
    quick_cases=(Case("linear", 60, 80), Case("E4", 60, 80)),
    report=report,
    measure=measure_widened,
    applies=suits_all,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

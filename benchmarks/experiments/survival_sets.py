"""Which sets of variables are selected for which share of the patients: ``make bench-survival_sets``.

As the right-hand figure of the paper's survival section; and the table of how many variables a patient has. The
models are those of ``survival_curve``; nothing is fitted here where that table is there.
"""

import json

import pandas as pd

from benchmarks.cohorts import COHORTS
from benchmarks.experiment import Results, recall
from benchmarks.experiments.survival_curve import EXPERIMENT, NAMES
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.tables import write_csv, write_markdown

METHODS = ("cox_llspin", "cox_lspin", "cox_llspin_auto", "cox_lspin_auto")
SHOWN = "cox_llspin_auto"  # in the figure: linear, and the price chosen from the training rows
N_SHOWN = 8  # sets
N_NAMED = 3  # variables of a set
COLUMNS = [
    "method", "dataset", "seed", "n_train", "n_columns", "settings", "best_test_c", "best_n_features",
    "best_noise_share", "sets", "counts", "lspin",
]  # fmt: skip


def average(cells: pd.Series) -> pd.Series:
    """Mean shares over the splits; what a split does not have counts 0."""
    return pd.DataFrame([json.loads(cell) for cell in cells]).fillna(0.0).mean().sort_values(ascending=False)


def report(frame: pd.DataFrame, results: Results) -> None:
    parts = {}
    for (dataset, method), runs in frame.groupby(["dataset", "method"], sort=False):
        of = f"{NAMES[str(dataset)]}, {method}"
        shares = average(runs["sets"]).head(N_SHOWN)
        parts[f"Sets of variables: {of}"] = [
            "| set | share of the patients |",
            "|---|---|",
            *(f"| {name} | {100 * share:.1f} % |" for name, share in shares.items()),
        ]
        counts = average(runs["counts"]).sort_index(key=lambda index: index.astype(int))
        parts[f"Numbers of variables: {of}"] = [
            "| " + " | ".join(counts.index) + " |",
            "|---" * len(counts) + "|",
            "| " + " | ".join(f"{100 * share:.1f} %" for share in counts) + " |",
        ]
    write_markdown(results.folder / "survival_sets.md", "Survival: who needs which variables", parts, frame)


def shorten(name: str) -> str:
    """A set as a figure has room for it."""
    names = name.split(" + ")
    return name if len(names) <= N_NAMED else " + ".join(names[:N_NAMED]) + f" + {len(names) - N_NAMED} more"


def draw_sets(frame: pd.DataFrame, results: Results) -> None:
    chosen = frame[frame["method"] == SHOWN]
    shown = [name for name in COHORTS if name in set(chosen["dataset"])]
    figure = new_figure(7, 2.2 * len(shown))
    for axes, name in zip(make_axes(figure, len(shown), 1)[:, 0], shown, strict=True):
        shares = average(chosen.loc[chosen["dataset"] == name, "sets"]).head(N_SHOWN)[::-1]
        axes.barh([shorten(name) for name in shares.index], 100 * shares, color="#0072B2")
        axes.set(title=NAMES[name], xlabel="% of the patients")
    save_figure(figure, results.folder / "survival_sets.png")


def main(arguments: list[str] | None = None) -> None:
    results = recall(EXPERIMENT, arguments)
    frame = results.frame[results.frame["method"].isin(METHODS)]
    frame = frame[[column for column in COLUMNS if column in frame]]
    write_csv(results.folder / "survival_sets.csv", frame)
    report(frame, results)
    draw_sets(frame, results)


if __name__ == "__main__":
    main()

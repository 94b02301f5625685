"""Which sets of variables are selected for which share of the patients: ``make bench-survival_sets``.

As the right-hand figure of the paper's survival section, for one model of each cohort, that of the first split;
and the table of how many variables a patient has. The CSV file has all splits. The models are those of
``survival_curve``; nothing is fitted here where that table is there.
"""

import json

import pandas as pd

from benchmarks.cohorts import COHORTS
from benchmarks.experiment import Results, recall
from benchmarks.experiments.survival_curve import EXPERIMENT, NAMES
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.tables import write_csv, write_markdown

METHODS = ("cox_llspin_auto", "cox_lspin_auto")  # the price is chosen from the training rows
SHOWN = "cox_llspin_auto"  # in the figure
N_SHOWN = 8  # sets
N_NAMED = 3  # variables of a set
SHOWN_SEED = 0
COLUMNS = [
    "method", "dataset", "seed", "n_train", "n_columns", "settings", "best_test_c", "best_n_features",
    "best_noise_share", "sets", "counts", "lspin",
]  # fmt: skip


def read_shares(cells: pd.Series) -> pd.Series:
    """Shares of the patients by name, of the split that is shown."""
    (cell,) = cells
    return pd.Series(json.loads(cell))


def report(frame: pd.DataFrame, results: Results) -> None:
    parts = {}
    for (dataset, method), runs in frame.groupby(["dataset", "method"], sort=False):
        of = f"{NAMES[str(dataset)]}, {method}"
        shares = read_shares(runs["sets"]).head(N_SHOWN)
        parts[f"Sets of variables: {of}"] = [
            "| set | share of the patients |",
            "|---|---|",
            *(f"| {name} | {100 * share:.1f} % |" for name, share in shares.items()),
        ]
        counts = read_shares(runs["counts"])
        parts[f"Numbers of variables: {of}"] = [
            "| " + " | ".join(counts.index) + " |",
            "|---" * len(counts) + "|",
            "| " + " | ".join(f"{100 * share:.1f} %" for share in counts) + " |",
        ]
    write_markdown(
        results.folder / "survival_sets.md",
        "Survival: who needs which variables",
        parts,
        frame,
        caption=[f"One model each, seed {SHOWN_SEED}."],
    )


def shorten(name: str) -> str:
    """A set as a figure has room for it."""
    names = name.split(" + ")
    return name if len(names) <= N_NAMED else " + ".join(names[:N_NAMED]) + f" + {len(names) - N_NAMED} more"


def draw_sets(frame: pd.DataFrame, results: Results) -> None:
    chosen = frame[frame["method"] == SHOWN]
    shown = [name for name in COHORTS if name in set(chosen["dataset"])]
    figure = new_figure(7, 2.2 * len(shown))
    for axes, name in zip(make_axes(figure, len(shown), 1)[:, 0], shown, strict=True):
        shares = read_shares(chosen.loc[chosen["dataset"] == name, "sets"]).head(N_SHOWN)[::-1]
        axes.barh([shorten(name) for name in shares.index], 100 * shares, color="#0072B2")
        axes.set(title=NAMES[name], xlabel="% of the patients")
    save_figure(figure, results.folder / "survival_sets.png")


def main(arguments: list[str] | None = None) -> None:
    results = recall(EXPERIMENT, arguments)
    frame = results.frame[results.frame["method"].isin(METHODS)]
    frame = frame.sort_values("dataset", key=lambda names: names.map(COHORTS.index), kind="stable")
    frame = frame[[column for column in COLUMNS if column in frame]]
    write_csv(results.folder / "survival_sets.csv", frame)
    shown = frame[frame["seed"] == SHOWN_SEED]
    report(shown, results)
    draw_sets(shown, results)


if __name__ == "__main__":
    main()

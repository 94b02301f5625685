"""Marker genes of cell types, how many of the first are true: ``make bench-marker_genes ARGS="--seeds 0-2"``.

Simulated counts (``lspin.datasets.make_cells``) and sorted cells of blood, whose markers are a published list.
Every method gets the same raw counts, normalised in the same way; no ranking is tuned. Of simulated cells,
``precision`` counts all genes that are up in a type, ``own`` only those that no other type has. The logistic
regression of the accuracy chooses its strength (``C`` of the CSV) on the cells that choose lspin's price.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cell_rankings import RANKINGS, Atlas, Ranked, load_atlas
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown

TOPS = (5, 15, 50)
SLOW = ("ns_forest", "forest")  # minutes at 5,000 x 20,000, so done on smaller tables only
ABOUT = (
    "Simulated counts, and sorted cells of blood (pbmc), whose cells are the same in every seed. Their true",
    "genes are the markers on the page of Azimuth's human PBMC reference, 6 to 10 of each of eight types; five",
    "genes of that page have no column in the table. Accuracy is that of cells which chose nothing: lspin learns",
    "from 64 % of the cells and chooses its price on 16 %; logistic regression of all genes chooses its strength",
    "on the same 16 % and then learns from both.",
)
CASES = (
    Case("easy", 2000, 5000), Case("hard", 2000, 5000), Case("easy", 5000, 20_000), Case("hard", 5000, 20_000),
    Case("pbmc", 3874, 16_791),
)  # fmt: skip


def measure(run: Run) -> Record:
    atlas = load_atlas(run.case.dataset, run.case.n_train, run.case.n_columns, run.seed)
    with CpuTimer() as timer, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scanpy and scikit-learn about their own use
        ranked, more = RANKINGS[run.method](atlas, run.seed)
    size = {"n_train": atlas.adata.n_obs, "n_columns": atlas.adata.n_vars}
    row = {**describe(run), **size, "case": name_case(run.case), "cpu_seconds": timer.seconds, **more}
    return {"row": row | score_ranking(ranked, atlas), "arrays": {}}


def name_case(case: Case) -> str:
    return f"{case.dataset} {case.n_train:,} × {case.n_columns:,}"


def score_ranking(ranked: Ranked, atlas: Atlas) -> dict[str, Any]:
    """Percent of true genes among the first, of as many as can be."""
    row = {}
    for name, truth in (("precision", atlas.markers), ("own", atlas.own)):
        for top in TOPS:
            hits = [len(truth[t] & set(ranked[t][:top])) / min(top, len(truth[t])) for t in truth]
            row[f"{name}_{top}"] = 100 * float(np.mean(hits))
    return row


def report(results: Results) -> None:
    place = {name_case(case): n for n, case in enumerate(CASES)}
    frame = results.frame.sort_values("case", key=lambda names: names.map(place), kind="stable")
    parts = {
        f"True ones among the first {top} genes of a type (%), {words}": tabulate(
            frame, f"{name}_{top}", columns="case", digits=1
        )
        for name, words in (("precision", "all that are up in it"), ("own", "only those that no other type has"))
        for top in TOPS
    }
    parts["Accuracy on held-out cells (%)"] = tabulate(frame, "accuracy", columns="case", digits=1)
    parts["The same in percent of logistic regression's, of the same seeds"] = tabulate(
        compare_with_logistic(frame), "ratio", columns="case", digits=1
    )
    parts["Genes a cell uses, median"] = tabulate(frame, "genes_a_cell", columns="case", digits=0)
    parts["CPU seconds, compilation included"] = tabulate(frame, "cpu_seconds", columns="case", digits=1)
    caption = [*ABOUT, "", *describe_seeds(frame)]
    write_markdown(results.folder / "marker_genes.md", "Marker genes", parts, frame, caption)
    draw(frame, results.folder / "marker_genes.png")


def draw(frame: pd.DataFrame, path: Path) -> None:
    """True genes among the first 15 of a type: the cases that are not easy, each in a panel."""
    not_easy = [name_case(case) for case in CASES if case.dataset != "easy"]
    shown = [case for case in not_easy if case in set(frame["case"])] or list(frame["case"].unique())
    methods = list(frame["method"].unique())
    figure = new_figure(3.2 * len(shown) + 0.8, 1.3 + 0.3 * len(methods))
    for axes, case in zip(make_axes(figure, 1, len(shown), sharey=True)[0], shown, strict=True):
        draw_dots(axes, frame[frame["case"] == case], "precision_15", methods, {})
        axes.set(title=case, xlabel="true ones among the first 15 (%)")
    save_figure(figure, path)


def compare_with_logistic(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of methods that predict, with their accuracy beside that of logistic regression on the same cells."""
    if "accuracy" not in frame:
        return frame
    logistic = frame[frame["method"] == "logistic"].set_index(["case", "seed"])["accuracy"].rename("logistic")
    rows = frame[(frame["method"] != "logistic") & frame["accuracy"].notna()]
    rows = rows.join(logistic, on=["case", "seed"])
    return rows.assign(ratio=100 * rows["accuracy"] / rows["logistic"])


EXPERIMENT = Experiment(
    "marker_genes",
    methods=tuple(RANKINGS),
    cases=CASES,
    quick_methods=("lspin_without_gates", "t_test"),
    quick_cases=(Case("easy", 200, 500),),
    report=report,
    seeds=range(3),
    measure=measure,
    applies=lambda method, case: method not in SLOW or (case.n_columns or 0) < 20_000,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

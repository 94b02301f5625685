"""Marker genes of cell types, how many of the first are true: ``make bench-marker_genes ARGS="--seeds 0-2"``.

Simulated counts (``lspin.datasets.make_cells``) and sorted cells of blood, whose markers are a published list.
Every method gets the same raw counts, normalised in the same way; none is tuned. Of simulated cells, ``precision``
counts all genes that are up in a type, ``own`` only those that no other type has.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cell_rankings import RANKINGS, Atlas, Ranked, load_atlas
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_bars
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown

TOPS = (5, 15, 50)
SLOW = ("ns_forest", "forest")  # minutes at 5,000 x 20,000, so done on smaller tables only
ABOUT = (
    "Simulated counts, and sorted cells of blood (pbmc), whose cells are the same in every seed. Their true",
    "genes are the markers on the page of Azimuth's human PBMC reference, 6 to 10 of each of eight types; five",
    "genes of that page have no column in the table.",
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
    frame = results.frame
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
    hard = frame[frame["dataset"] == "hard"]
    path = results.folder / "marker_genes.png"
    draw_bars(hard if len(hard) else frame, "precision_15", "true ones among the first 15 (%)", path)


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

"""How often a model of ours opens gates where there is nothing to find: ``make bench-noise``.

Tables of noise alone, of 20 or of 1,000 columns: the best model is a constant. Counted are tables in which any
gate of any row is open.
"""

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchmarks.drawn import draw
from benchmarks.everyday import fit_everyday, load_everyday, score_model, suits_all
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_bars
from benchmarks.method import Wanted
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, write_markdown
from benchmarks.wide import select

METHODS = ("lspin",)
SEEDS = range(2000, 2120)  # of 1000 to 1119 it was seen that too many had open gates
CONFIDENCE = 0.95
CAPTION = (
    "Family `nothing` of the drawn tables: 80 to 400 training rows, 20 or 1,000 columns, all of them noise; "
    "classes or a response. Ours as it comes (`random_state=0`). A table counts if any gate of any of 400 test "
    f"rows is open; in brackets the exact {100 * CONFIDENCE:.0f} % interval of the share. Gain: accuracy or R² on "
    "test rows above that of a constant."
)


def measure_noise(run: Run) -> Record:
    """Fit a method to noise, and see what it opens."""
    offered, drawn = load_everyday(run.method), draw(run.case.dataset, run.seed)
    X, y = (array[: run.case.n_train] for array in (drawn.train.X, drawn.train.y))
    wanted = Wanted(None if drawn.is_regression else 2, run.budget)
    model, seconds = fit_everyday(offered, X, y, wanted)
    selected = select(offered, model, drawn.test.X)
    assert selected is not None
    score = score_model(model, drawn.test.X, drawn.test.y, wanted)["score"]
    constant = 0.0 if drawn.is_regression else np.bincount(drawn.test.y).max() / len(drawn.test.y)
    row = {
        **describe(run),
        "kind": "response" if drawn.is_regression else "class",
        "n": X.shape[0],
        "d": X.shape[1],
        "n_open": float(np.median(selected.sum(axis=1))),
        "n_union": int(selected.any(axis=0).sum()),
        "gain": score - constant,
        "cpu_s": seconds,
        "start": model.start_,
    }
    return {"row": row, "arrays": {}}


def count_open(frame: pd.DataFrame) -> list[str]:
    """Tables in which something opens, by their number of columns and kind of target, and together."""
    lines = ["| columns | target | tables | with open gates | share (%) | gain, of these |", "|---" * 6 + "|"]
    parts = [(f"{d:,}", kind, runs) for (d, kind), runs in frame.groupby(["d", "kind"])]
    for columns, kind, runs in [*parts, ("all", "all", frame)]:
        opened = runs["n_union"] > 0
        low, high = binomtest(int(opened.sum()), len(runs)).proportion_ci(CONFIDENCE)
        share = f"{100 * opened.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"
        gain = f"{runs.loc[opened, 'gain'].mean():.3f}" if opened.any() else "–"
        lines.append(f"| {columns} | {kind} | {len(runs)} | {opened.sum()} | {share} | {gain} |")
    return lines


def report(results: Results) -> None:
    frame = results.frame
    caption = [CAPTION, "", *describe_seeds(frame)]
    write_markdown(
        results.folder / "noise.md",
        "Noise alone",
        {"Tables in which any gate is open": count_open(frame)},
        frame,
        caption,
    )
    bars = frame.assign(
        method=frame["d"].astype(str) + " columns, " + frame["kind"], opened=100.0 * (frame["n_union"] > 0)
    )
    bars = bars.sort_values(["d", "kind"])
    draw_bars(bars, "opened", "noise tables with an open gate (%)", results.folder / "noise.png")


EXPERIMENT = Experiment(
    "noise",
    methods=METHODS,
    cases=(Case("nothing"),),
    quick_methods=METHODS,
    quick_cases=(Case("nothing", n_train=60),),
    report=report,
    seeds=SEEDS,
    measure=measure_noise,
    applies=suits_all,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

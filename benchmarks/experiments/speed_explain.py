"""Time to explain a row: ours against TreeSHAP of boosted trees: ``make bench-speed_explain`` on a quiet machine.

All models learn from the same rows of E2 with added noise columns, and then predict and explain 10,000 others on
one thread. Ours at one price with the layers that the package comes with, trees as the library sets them; nothing
is tuned. Shapley values of the nonlinear predictor take all subsets of a row's open gates, so that their number is
shown too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_bars
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import NOTHING, describe_seeds, tabulate, write_markdown
from lspin import LSPINClassifier
from lspin.datasets import load_synthetic

LAYERS: dict[str, tuple[int, ...] | str] = {"llspin": (), "lspin": "auto"}  # two layers of 100 units
RIVAL = "xgboost"
N_EXPLAINED, N_COLUMNS = 10_000, 100
N_REPEATS = 3
PRICE = 0.01


def measure(run: Run) -> Record:
    train = load_synthetic("E2", run.seed, n_features=run.case.n_columns).train
    X = np.random.default_rng(run.seed).normal(size=(run.case.n_train or N_EXPLAINED, train.X.shape[1]))
    prepare = prepare_trees if run.method == RIVAL else prepare_ours
    explain, n_open = prepare(run, train.X, train.y, X)
    seconds = []
    for _ in range(N_REPEATS):
        with CpuTimer() as timer:
            explain()
        seconds.append(timer.seconds)
    row = {"microseconds_a_row": 1e6 * min(seconds) / len(X), "open_gates": n_open, "n_explained": len(X)}
    return {"row": {**describe(run), **size_of(train.X), **row}, "arrays": {}}


def prepare_ours(
    run: Run, X: np.ndarray, y: np.ndarray, new: np.ndarray
) -> tuple[Callable[[], Any], float | None]:
    clf = LSPINClassifier(
        LAYERS[run.method],
        sparsity=PRICE,
        weight_decay=0.0,
        max_epochs=run.budget.epochs,
        random_state=run.seed,
    )
    clf.fit(X, y)
    return lambda: clf.explain(new), float(clf.selected(new).sum(axis=1).mean())


def prepare_trees(
    run: Run, X: np.ndarray, y: np.ndarray, new: np.ndarray
) -> tuple[Callable[[], Any], float | None]:
    """The library's own TreeSHAP; its values add up to the prediction, so that this is not asked for again."""
    from xgboost import DMatrix, XGBClassifier

    booster = XGBClassifier(n_jobs=1, random_state=run.seed).fit(X, y).get_booster()
    table = DMatrix(new, nthread=1)
    return lambda: booster.predict(table, pred_contribs=True), None


def report(results: Results) -> None:
    frame = results.frame
    parts = {
        "CPU microseconds to predict and explain a row": tabulate(
            frame, "microseconds_a_row", columns="dataset", digits=2
        ),
        "Open gates of a row": tabulate(frame, "open_gates", columns="dataset", digits=1),
        f"How many times as fast as {RIVAL}": compare(frame),
    }
    write_markdown(
        results.folder / "speed_explain.md", "Time to explain a row", parts, frame, describe_seeds(frame)
    )
    label = "CPU microseconds to predict and explain a row"
    draw_bars(frame, "microseconds_a_row", label, results.folder / "speed_explain.png", scale="log")


def compare(frame: pd.DataFrame) -> list[str]:
    """Ratios within a seed, from least to largest."""
    by_seed = frame.pivot_table(index="seed", columns="method", values="microseconds_a_row")
    lines = ["| method | median | least to largest |", "|---|---|---|"]
    for method in LAYERS:
        if method in by_seed and RIVAL in by_seed:
            ratio = (by_seed[RIVAL] / by_seed[method]).dropna()
            spread = f"{ratio.min():.1f} to {ratio.max():.1f}" if len(ratio) else NOTHING
            lines.append(f"| {method} | {ratio.median():.1f} | {spread} |")
    return lines


EXPERIMENT = Experiment(
    "speed_explain",
    methods=(*LAYERS, RIVAL),
    cases=(Case("E2", n_train=N_EXPLAINED, n_columns=N_COLUMNS),),
    quick_methods=("llspin", RIVAL),
    quick_cases=(Case("E2", n_train=50, n_columns=20),),
    report=report,
    measure=measure,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

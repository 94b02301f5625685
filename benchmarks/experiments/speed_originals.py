"""Our INVASE against the package that can be installed: ``make bench-speed_originals`` on a quiet machine.

Both are fitted to E1 as they come; seconds are processor time on one thread, without compilation. The package
needs ``pip install invase``. TabNet is used as its package has it; of the other rivals no original was found that
runs on a current Python.
"""

from typing import Any

import pandas as pd

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_bars
from benchmarks.methods.invase_original import Original
from benchmarks.protocol import CpuTimer, fit_quietly, score_prediction, score_selection, show
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin.baselines import INVASEClassifier
from lspin.datasets import load_synthetic

OURS, ORIGINAL = "invase", "invase_original"


def measure(run: Run) -> Record:
    data = load_synthetic(run.case.dataset, run.seed, run.case.n_train)
    train = show(data.train, run.case.dataset)
    if run.method == OURS:
        fit_quietly(make_model(run, 1), train)  # compiles
    model = make_model(run, run.budget.epochs)
    with CpuTimer() as timer:
        fit_quietly(model, train)
    row = score_selection(model.selected(data.test.X), data.test.relevant)
    row |= score_prediction(model.predict(data.test.X), data.test.y, is_regression=False)
    return {
        "row": {**describe(run), **size_of(train.X), **row, "fitting_cpu_seconds": timer.seconds},
        "arrays": {},
    }


def make_model(run: Run, n_epochs: int | None) -> Any:
    if run.method == OURS:
        return INVASEClassifier(max_epochs=n_epochs, random_state=run.seed)
    return Original(n_epochs, run.seed)


def report(results: Results) -> None:
    frame = results.frame
    parts = {
        "CPU seconds of one fit": tabulate(frame, "fitting_cpu_seconds", columns="dataset", digits=1),
        "F1 of the selected features": tabulate(frame, "f1", columns="dataset", digits=3),
        "Accuracy (%)": tabulate(frame, "accuracy", columns="dataset", digits=1),
        "How many times as fast ours is": compare(frame),
    }
    write_markdown(
        results.folder / "speed_originals.md", "INVASE: ours and the package", parts, frame, describe_seeds(frame)
    )
    draw_bars(frame, "fitting_cpu_seconds", "CPU seconds of one fit, E1", results.folder / "speed_originals.png")


def compare(frame: pd.DataFrame) -> list[str]:
    by_seed = frame.pivot_table(index="seed", columns="method", values="fitting_cpu_seconds")
    if not {OURS, ORIGINAL} <= set(by_seed):
        return []
    ratio = (by_seed[ORIGINAL] / by_seed[OURS]).dropna()
    return [f"Median over seeds {ratio.median():.1f}, from {ratio.min():.1f} to {ratio.max():.1f}."]


EXPERIMENT = Experiment(
    "speed_originals",
    methods=(OURS, ORIGINAL),
    cases=(Case("E1"),),
    quick_methods=(OURS,),
    quick_cases=(Case("E1", n_train=60),),
    report=report,
    measure=measure,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

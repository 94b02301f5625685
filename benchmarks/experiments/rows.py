"""CPU time and memory of an automatic fit against the number of rows: ``make bench-rows ARGS="--jobs 1"``.

Two classes, two groups of rows with a rule each, 20 columns (and 50 at 200,000 rows). Every fit runs in a process
of its own, with compilation. Beyond 50,000 rows the choice is made on that many, and the chosen model is fitted on
all. Memory is the peak of the process, the table and the compiler included.
"""

import json
import resource
import subprocess
import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_lines, make_axes, new_figure, save_figure
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin import LSPINClassifier

METHODS = ("lspin_auto", "boosted_trees")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
N_TEST = 20_000
NARROW = 20


def draw_table(n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """By the sign of the first column, two columns count by their product, or two others by their sum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    score = np.where(X[:, 0] > 0, X[:, 1] * X[:, 2], X[:, 3] + X[:, 4])
    return X, (score + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def measure(run: Run) -> Record:
    """Fit in a new process, which starts without anything of this one."""
    case = run.case
    command = [sys.executable, "-m", "benchmarks.experiments.rows", "measure", run.method]
    sizes = [str(number) for number in (case.n_train, case.n_columns, run.seed)]
    found = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True)
    size = {"n_train": case.n_train, "n_columns": case.n_columns}
    return {"row": {**describe(run), **size, **json.loads(found.stdout)}, "arrays": {}}


def measure_here(method: str, n_rows: int, n_columns: int, seed: int) -> dict[str, float]:
    X, y = draw_table(n_rows + N_TEST, n_columns, seed)
    model = (
        LSPINClassifier(random_state=seed)
        if method == "lspin_auto"
        else HistGradientBoostingClassifier(random_state=seed)
    )
    with threadpool_limits(1), CpuTimer() as timer:
        model.fit(X[:n_rows], y[:n_rows])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # of kilobytes, on Linux
    accuracy = 100 * model.score(X[n_rows:], y[n_rows:])
    return {"cpu_seconds": timer.seconds, "peak_gigabytes": peak, "accuracy": accuracy}


def report(results: Results) -> None:
    frame = results.frame
    shapes = frame["n_train"].map("{:,}".format) + " × " + frame["n_columns"].astype(str)
    frame = frame.assign(shape=shapes).sort_values(["n_columns", "n_train"], kind="stable")
    titles = {
        "CPU seconds of a fit, compilation included": ("cpu_seconds", 1),
        "Peak memory in gigabytes": ("peak_gigabytes", 2),
        "Accuracy on 20,000 other rows, percent": ("accuracy", 1),
    }
    parts = {
        title: tabulate(frame, score, columns="shape", digits=digits) for title, (score, digits) in titles.items()
    }
    write_markdown(results.folder / "rows.md", "Cost against rows", parts, frame, describe_seeds(frame))
    figure = new_figure(9, 3.2)
    narrow = frame[frame["n_columns"] == NARROW] if (frame["n_columns"] == NARROW).any() else frame
    axes = make_axes(figure, 1, 2)[0]
    for one, score, label in zip(
        axes, ("cpu_seconds", "peak_gigabytes"), ("CPU seconds of a fit", "peak memory, GB"), strict=True
    ):
        draw_lines(one, narrow, "n_train", score, METHODS)
        one.set(xlabel=f"rows, {NARROW} columns", ylabel=label, xscale="log", yscale="log")
    axes[0].legend()
    save_figure(figure, results.folder / "rows.png")


EXPERIMENT = Experiment(
    "rows",
    methods=METHODS,
    cases=(
        *(Case("drawn", n_train=size, n_columns=NARROW) for size in SIZES),
        Case("drawn", n_train=200_000, n_columns=50),
    ),
    quick_methods=("boosted_trees",),
    quick_cases=(Case("drawn", n_train=200, n_columns=6),),
    report=report,
    measure=measure,
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        name, *numbers = sys.argv[2:]
        print(json.dumps(measure_here(name, *map(int, numbers))))
    else:
        conduct(EXPERIMENT)

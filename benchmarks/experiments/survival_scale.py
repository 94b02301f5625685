"""Cost of the survival model on tables of 55 columns and 5,000 to 500,000 rows: ``make bench-survival_scale``.

CPU seconds an epoch, as the difference between two fits of different length, and the peak memory of a process of
its own. The rows are drawn: a registry of that size cannot be given away.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.protocol import LEAST_SECONDS
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin import LSPINCox
from lspin.survival import make_survival

N_COLUMNS = 55
SIZES = (5_000, 20_000, 100_000, 500_000)
METHODS = {"cox_llspin": (), "cox_lspin": (200, 200)}
SHORT, LONG = 1, 3  # epochs


def draw_registry(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two groups with other risks each, three of four censored, times in whole months."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    log_hazard = np.where(X[:, 0] > 0, X[:, 1] + X[:, 2], X[:, 3] - X[:, 4])
    time_of_event = rng.exponential(np.exp(-log_hazard))
    censored = rng.exponential(0.2, n_rows)
    months = np.ceil(120 * np.minimum(time_of_event, censored))
    return X, make_survival(months, time_of_event <= censored)


def measure(run: Run) -> Record:
    """Time two fits in a process of its own, whose peak memory is then known."""
    n_rows = run.case.n_train or SIZES[0]
    command = [sys.executable, "-m", "benchmarks.experiments.survival_scale", "measure", run.method, str(n_rows)]
    found = subprocess.run([*command, str(run.seed)], check=True, capture_output=True, text=True)
    return {"row": {**describe(run), "n_train": n_rows, **json.loads(found.stdout)}, "arrays": {}}


def measure_here(method: str, n_rows: int, seed: int) -> dict[str, float]:
    X, y = draw_registry(n_rows, seed)
    seconds = []
    for epochs in (SHORT, SHORT, LONG):  # the first compiles
        start = time.process_time()
        model = LSPINCox(METHODS[method], sparsity=0.002, weight_decay=3.0, max_epochs=epochs, random_state=seed)
        model.fit(X, y)
        seconds.append(time.process_time() - start)
    per_epoch = max((seconds[2] - seconds[1]) / (LONG - SHORT), LEAST_SECONDS)
    return {
        "epoch_cpu_seconds": per_epoch,
        "reading_cpu_seconds": seconds[1] - per_epoch,
        "compiling_cpu_seconds": seconds[0] - seconds[1],
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def report(results: Results) -> None:
    frame = results.frame.sort_values("n_train", kind="stable")
    columns = {
        "CPU seconds an epoch, by rows": ("epoch_cpu_seconds", 2),
        "CPU seconds for reading the table and the curves": ("reading_cpu_seconds", 2),
        "Peak memory in gigabytes, Python and libraries included": ("peak_gigabytes", 2),
    }
    parts = {
        title: tabulate(frame, column, columns="n_train", digits=digits)
        for title, (column, digits) in columns.items()
    }
    write_markdown(
        results.folder / "survival_scale.md",
        "Survival: cost against the number of rows",
        parts,
        frame,
        describe_seeds(frame),
    )
    draw_costs(results)


def draw_costs(results: Results) -> None:
    figure = new_figure(7, 3)
    left, right = make_axes(figure, 1, 2)[0]
    for method, runs in results.frame.groupby("method"):
        means = runs.groupby("n_train")[["epoch_cpu_seconds", "peak_gigabytes"]].mean()
        left.plot(means.index, means["epoch_cpu_seconds"], "o-", label=method, markersize=4)
        right.plot(means.index, means["peak_gigabytes"], "o-", label=method, markersize=4)
    sizes = np.array(sorted(results.frame["n_train"].unique()))
    start = results.frame.loc[results.frame["n_train"] == sizes[0], "epoch_cpu_seconds"].max()
    left.plot(sizes, start * sizes / sizes[0], "--", color="#999999", label="in proportion to the rows")
    left.set(xscale="log", yscale="log", xlabel="rows", ylabel="CPU seconds an epoch")
    right.set(xscale="log", xlabel="rows", ylabel="peak memory (GB)", ylim=(0, None))
    left.legend()
    save_figure(figure, results.folder / "survival_scale.png")


EXPERIMENT = Experiment(
    "survival_scale",
    methods=tuple(METHODS),
    cases=tuple(Case("registry", n_train=size) for size in SIZES),
    quick_methods=("cox_llspin",),
    quick_cases=(Case("registry", n_train=600),),
    report=report,
    measure=measure,
    applies=lambda method, case: True,
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure_here(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        conduct(EXPERIMENT)

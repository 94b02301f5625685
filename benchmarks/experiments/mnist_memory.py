"""What a fit on all 60,000 images of MNIST costs: ``make bench-mnist_memory ARGS="--jobs 1"``, on Linux.

Seconds of processor time and peak memory of a process that loads the images, fits LLSPIN or LSPIN at a given price
and predicts the test images; and seconds of the leakage audit on 1,000 of them.
"""

import json
import subprocess
import sys

import numpy as np

from benchmarks.digits import first, fit_digits, load_digits
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.memory_wide import Watch
from benchmarks.figures import draw_bars
from benchmarks.protocol import Budget, CpuTimer, Samples
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin.audit import audit_leakage

N_AUDITED = 1000
CAPTION = (
    "The table is 60,000 × 784 whole numbers of one byte (45 MB). Memory is what the process has at its peak, "
    "Python, its packages, the compiler and the table included. One thread."
)


def measure(run: Run) -> Record:
    """Do it in a new process, which starts without anything of this one."""
    asked = [run.method, str(run.case.n_train or ""), str(run.seed), str(run.budget.epochs or "")]
    command = [sys.executable, "-m", "benchmarks.experiments.mnist_memory", "measure", *asked]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"row": {**describe(run), **json.loads(found.stdout)}, "arrays": {}}


def measure_here(method: str, n_train: int | None, seed: int, epochs: int | None) -> dict[str, float]:
    with Watch() as watch:
        data = load_digits(None)
        whole = (
            Samples(*(join(data.train, data.valid)), "mnist", False)
            if n_train is None
            else first(data.train, n_train)
        )
        model, seconds = fit_digits(method, whole, seed, Budget(epochs=epochs))
        model.predict(data.test.X)
    audited = first(data.test, N_AUDITED if epochs is None else 100)
    with CpuTimer() as timer:
        audit_leakage(model, audited.X, audited.y, verbose=1)
    costs = {"cpu_s": seconds, "peak_gigabytes": watch.peak / 2**30, "audit_cpu_s": timer.seconds}
    return {"n_train": len(whole.y), **costs}


def join(*parts: Samples) -> tuple[np.ndarray, np.ndarray]:
    """All rows and their digits."""
    return np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts])


def report(results: Results) -> None:
    frame = results.frame
    parts = {
        "One fit, with compilation (CPU s)": tabulate(frame, "cpu_s", columns="n_train", digits=0),
        "Peak memory (GB)": tabulate(frame, "peak_gigabytes", columns="n_train", digits=2),
        f"Leakage audit of {N_AUDITED:,} test images (CPU s)": tabulate(
            frame, "audit_cpu_s", columns="n_train", digits=1
        ),
    }
    caption = [CAPTION, "", *describe_seeds(frame)]
    write_markdown(results.folder / "mnist_memory.md", "MNIST, cost of a fit", parts, frame, caption)
    draw_bars(frame, "peak_gigabytes", "gigabytes at the peak", results.folder / "mnist_memory.png")


EXPERIMENT = Experiment(
    "mnist_memory",
    methods=("llspin", "lspin"),
    cases=(Case("mnist"),),
    quick_methods=("llspin",),
    quick_cases=(Case("mnist", 500),),
    report=report,
    seeds=range(1),
    measure=measure,
    applies=lambda method, case: True,
)


def main(arguments: list[str] | None = None) -> None:
    conduct(EXPERIMENT, arguments)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        method, n_train, seed, epochs = sys.argv[2:]
        print(json.dumps(measure_here(method, int(n_train or 0) or None, int(seed), int(epochs or 0) or None)))
    else:
        main()

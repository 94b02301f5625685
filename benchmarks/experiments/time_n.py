"""CPU time of one fit against the number of training samples, E1: ``make bench-time_n`` on a quiet machine.

As in the paper's time benchmark, N = 200 to 1800; its own times stand in a figure only. The authors' recipe is
timed on a part of its epochs and scaled up.
"""

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.runs import Case, Record, Run
from benchmarks.timing import METHODS, measure_times, report_times
from lspin.datasets import load_synthetic

SIZES = (200, 600, 1000, 1400, 1800)


def measure(run: Run) -> Record:
    return measure_times(run, load_synthetic("E1", run.seed, run.case.n_train))


def report(results: Results) -> None:
    title = "Time against the number of samples (E1)"
    report_times(results, "time_n", title, size="n_train", label="training samples")


EXPERIMENT = Experiment(
    "time_n",
    methods=METHODS,
    cases=tuple(Case("E1", n_train=size) for size in SIZES),
    quick_methods=("llspin", "stg"),
    quick_cases=(Case("E1", n_train=40),),
    report=report,
    measure=measure,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

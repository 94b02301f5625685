"""CPU time of one fit against the number of features, E2 with noise: ``make bench-time_d``, quiet machine.

As in the paper's time benchmark up to 2,000 features, and beyond it to 20,000; its own times stand in a figure
only. The authors' recipe is timed on a part of its epochs and scaled up; like the rivals, it is not run beyond the
paper's width.
"""

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.runs import Case, Record, Run
from benchmarks.timing import LAYERS, METHODS, measure_times, report_times
from lspin.datasets import load_synthetic

WIDTHS = (11, 100, 500, 2000, 20_000)
WIDEST_RIVAL = 2000


def measure(run: Run) -> Record:
    return measure_times(run, load_synthetic("E2", run.seed, run.case.n_train, run.case.n_columns))


def report(results: Results) -> None:
    title = "Time against the number of features (E2)"
    report_times(results, "time_d", title, size="n_columns", label="features", scale="log")


def applies(method: str, case: Case) -> bool:
    return method in LAYERS or (case.n_columns or 0) <= WIDEST_RIVAL


EXPERIMENT = Experiment(
    "time_d",
    methods=METHODS,
    cases=tuple(Case("E2", n_columns=width) for width in WIDTHS),
    quick_methods=("llspin",),
    quick_cases=(Case("E2", n_train=40, n_columns=20),),
    report=report,
    measure=measure,
    applies=applies,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

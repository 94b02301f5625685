"""CPU time of one fit against the number of features, E2 with noise: ``make bench-time_d``, quiet machine.

As in the paper's time benchmark up to 2,000 features, and beyond it to 20,000; its own times stand in a figure
only. The authors' recipe is timed on a part of its epochs and scaled up, and not beyond the paper's width.
"""

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_times
from benchmarks.runs import Case, Record, Run
from benchmarks.tables import tabulate, write_markdown
from benchmarks.timing import measure_times
from lspin.datasets import load_synthetic

METHODS = ("lspin", "llspin", "lspin_official")
WIDTHS = (11, 100, 500, 2000, 20_000)
WIDEST_OFFICIAL = 2000


def measure(run: Run) -> Record:
    train = load_synthetic("E2", run.seed, run.case.n_train, run.case.n_columns).train
    return measure_times(run, train.X, train.y)


def report(results: Results) -> None:
    frame = results.frame.sort_values("n_columns", kind="stable")
    parts = {
        "CPU seconds of one fit, by features": tabulate(
            frame, "fitting_cpu_seconds", columns="n_columns", digits=2
        ),
        "CPU seconds of compiling it, once": tabulate(
            frame, "compiling_cpu_seconds", columns="n_columns", digits=2
        ),
    }
    write_markdown(results.folder / "time_d.md", "Time against the number of features (E2)", parts, frame)
    draw_times(frame, METHODS, "n_columns", "features", results.folder / "time_d.png", scale="log")


def applies(method: str, case: Case) -> bool:
    return method != "lspin_official" or (case.n_columns or 0) <= WIDEST_OFFICIAL


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

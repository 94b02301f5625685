"""Peak memory of a fit on wide tables: ``make bench-memory_wide ARGS="--seeds 0 --jobs 1"``, on Linux.

Dense tables of single precision and a sparse one, each fitted in a process of its own: by the package as it
comes, and by linear networks for two epochs, since memory does not grow with their number. Counted is what the
process and its workers have to themselves and their parts of what they share, above what was there before the
table, the table itself included. A copy is the table as it is given.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_bars
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin import LSPINClassifier

LINEAR: dict[str, Any] = {"hidden_layer_sizes": (), "max_epochs": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "one_price": LINEAR | {"sparsity": 0.01},
    "automatic_networks": LINEAR,
    "four_members": LINEAR | {"sparsity": 0.01, "n_members": 4},
    "four_members_two_jobs": LINEAR | {"sparsity": 0.01, "n_members": 4, "n_jobs": 2},
}
CASES = (
    Case("dense", n_train=2000, n_columns=20_000),
    Case("dense_small", n_train=136, n_columns=5748),
    Case("sparse", n_train=50_000, n_columns=20_000),
)
STORED = 0.05  # part of the sparse table that is not 0
PAUSE = 0.01  # seconds between two looks


def draw_table(case: Case, seed: int) -> tuple[Any, np.ndarray]:
    """Two classes that the first columns tell apart."""
    rng = np.random.default_rng(seed)
    shape = (case.n_train or 100, case.n_columns or 100)
    if case.dataset != "sparse":
        X: Any = rng.standard_normal(shape, dtype=np.float32)
        return X, (X[:, :10].sum(axis=1) > 0).astype(int)
    X = sp.random_array(shape, density=STORED, rng=rng, format="csr", dtype=np.float32)
    score = X[:, : shape[1] // 4].sum(axis=1) - X[:, shape[1] // 4 : shape[1] // 2].sum(axis=1)
    return sp.csr_array(X), (score > np.median(score)).astype(int)


def measure(run: Run) -> Record:
    """Fit in a new process, which starts without anything of this one."""
    case = run.case
    command = [sys.executable, "-m", "benchmarks.experiments.memory_wide", "measure", run.method, case.dataset]
    sizes = [str(number) for number in (case.n_train, case.n_columns, run.seed)]
    found = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True)
    size = {"n_train": case.n_train, "n_columns": case.n_columns}
    return {"row": {**describe(run), **size, **json.loads(found.stdout)}, "arrays": {}}


def measure_here(method: str, case: Case, seed: int) -> dict[str, float]:
    small = np.random.default_rng(seed).normal(size=(60, 20)).astype(np.float32)
    LSPINClassifier(max_epochs=2, sparsity=0.01).fit(small, small[:, 0] > 0)  # loads the compiler
    before = occupied()
    X, y = draw_table(case, seed)
    table = sum(part.nbytes for part in ((X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)))
    with CpuTimer() as timer, Watch() as watch:
        LSPINClassifier(random_state=seed, **SETTINGS[method]).fit(X, y)
    extra = watch.peak - before
    row = {"table_gigabytes": table / 2**30, "peak_gigabytes": extra / 2**30, "copies": extra / table}
    return row | ({"cpu_s": timer.seconds - watch.seconds} if method == "default" else {})


class Watch:
    """The most memory that this process and its workers had at any time in a block."""

    peak: int  # bytes
    n_looks: int
    seconds: float  # of processor time that the looks took

    def __enter__(self) -> "Watch":
        self.peak, self.n_looks = 0, 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(PAUSE):
            self.peak = max(self.peak, occupied())
            self.n_looks += 1
        self.seconds = time.thread_time()


def occupied() -> int:
    """Bytes that this process and all below it have, what several share counted once."""
    processes = [Path("/proc/self")]
    for process in processes:
        try:
            children = (process / "task").glob("*/children")
            processes += [Path("/proc") / number for file in children for number in file.read_text().split()]
        except OSError:  # it has ended
            continue
    return sum(share_of(process) for process in processes)


def share_of(process: Path) -> int:
    """Bytes of a process, those it shares divided by how many share them."""
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def report(results: Results) -> None:
    frame = results.frame
    parts = {
        "Peak in copies of the table, its own included": tabulate(frame, "copies", columns="dataset", digits=2),
        "Peak in gigabytes": tabulate(frame, "peak_gigabytes", columns="dataset", digits=2),
        "The table in gigabytes": tabulate(frame, "table_gigabytes", columns="dataset", digits=2),
        "CPU seconds of the whole of `fit`": tabulate(frame, "cpu_s", columns="dataset", digits=1),
    }
    sizes = frame.drop_duplicates("dataset")
    shapes = [f"{row.dataset} {row.n_train:,} × {row.n_columns:,}" for row in sizes.itertuples()]
    caption = [f"{', '.join(shapes)} ({100 * STORED:g} % stored). {line}" for line in describe_seeds(frame)]
    write_markdown(results.folder / "memory_wide.md", "Memory on wide tables", parts, frame, caption)
    dense = frame[frame["dataset"] == "dense"]
    draw_bars(dense, "copies", "copies of the dense table at the peak", results.folder / "memory_wide.png")


def suits(method: str, case: Case) -> bool:
    """The default on dense tables, networks on the larger one; those of one price on the sparse table, too."""
    if method == "default":
        return case.dataset != "sparse"
    return case.dataset == "dense" or (case.dataset == "sparse" and method == "one_price")


EXPERIMENT = Experiment(
    "memory_wide",
    methods=tuple(SETTINGS),
    cases=CASES,
    quick_methods=("one_price",),
    quick_cases=(Case("dense", n_train=40, n_columns=60),),
    report=report,
    measure=measure,
    applies=suits,
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        method, dataset, *numbers = sys.argv[2:]
        n_train, n_columns, seed = map(int, numbers)
        print(json.dumps(measure_here(method, Case(dataset, n_train=n_train, n_columns=n_columns), seed)))
    else:
        conduct(EXPERIMENT)

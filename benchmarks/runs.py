"""One run is one file: written whole by whoever did it, so that nothing finished is ever done twice or lost."""

import json
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import lspin
from benchmarks.method import demand, load_method
from benchmarks.protocol import (
    Budget,
    CpuTimer,
    rate_probabilities,
    score_gates,
    score_prediction,
    score_selection,
    show,
    versions,
)
from lspin.datasets import load_synthetic
from lspin.storage import written_whole

Record = dict[str, Any]  # "row": a line of the table; "arrays": what its figure needs
Measure = Callable[["Run"], Record]
SHOWN_SEED = 0  # whose predictions and gates are kept for figures


class Case(NamedTuple):
    """A table, and how much of it."""

    dataset: str
    n_train: int | None = None  # None: the paper's
    n_columns: int | None = None


class Run(NamedTuple):
    """All that decides a result."""

    experiment: str
    method: str
    case: Case
    seed: int
    budget: Budget
    version: str = lspin.__version__

    @property
    def file_name(self) -> str:
        """The run in words: the same run always has the same file."""
        size = f"n{self.case.n_train or ''}-d{self.case.n_columns or ''}"
        return f"{self.method}-{self.case.dataset}-{size}-s{self.seed}-{ending(self.budget, self.version)}"


def ending(budget: Budget, version: str = lspin.__version__) -> str:
    """What the file names of comparable runs have in common."""
    return f"b{budget.fits}-e{budget.epochs or ''}-v{version}.json"


class Crew(NamedTuple):
    """Who does the runs: processes of this machine, or the workers of a cluster."""

    jobs: int = 1
    backend: str = "loky"
    scheduler: str | None = None


def measure_method(run: Run) -> Record:
    """Tune and fit a method, and score it on the test rows."""
    data = load_synthetic(run.case.dataset, run.seed, run.case.n_train)
    train, valid, test = (show(part, run.case.dataset) for part in data)
    fit = demand(load_method(run.method).fit, run.method, "synthetic tables")
    fitted = fit(train, valid, run.seed, run.budget)
    with CpuTimer() as timer:
        predicted = fitted.predict(test.X)
    row = score_prediction(predicted, test.y, is_regression=test.is_regression)
    if fitted.probabilities is not None and not test.is_regression:
        row |= rate_probabilities(fitted.probabilities(test.X), test.y)
    arrays = {"true": test.y, "predicted": predicted}
    if fitted.select is not None:
        selected = np.asarray(fitted.select(test.X))
        row |= score_selection(selected, data.test.relevant)
        row["n_selected"] = json.dumps(dict(sorted(Counter(selected.sum(axis=1).tolist()).items())))
    if fitted.gates is not None:
        row |= score_gates(fitted.gates(train.X), "train") | score_gates(fitted.gates(test.X), "test")
        arrays |= {"gates": fitted.gates(test.X), "relevant": data.test.relevant.astype(int)}
    row |= {
        "tuning_cpu_seconds": fitted.tuning_seconds,
        "fitting_cpu_seconds": fitted.fitting_seconds,
        "predicting_cpu_seconds": timer.seconds,
        "settings": json.dumps(fitted.settings, sort_keys=True, default=str),
        **fitted.costs,
    }
    kept = {name: np.round(array, 6).tolist() for name, array in arrays.items()} if run.seed == SHOWN_SEED else {}
    return {"row": {**describe(run), **size_of(train.X), **row}, "arrays": kept}


def describe(run: Run) -> dict[str, Any]:
    """Whose row it is."""
    return {"method": run.method, "dataset": run.case.dataset, "seed": run.seed}


def size_of(X: np.ndarray) -> dict[str, int]:
    """Rows and columns of the training part."""
    return {"n_train": X.shape[0], "n_columns": X.shape[1]}


def do_run(run: Run, measure: Measure, folder: Path) -> str | None:
    """Do a run unless somebody has by now, and write its file; what went wrong, if anything did."""
    path = folder / run.file_name
    if is_finished(path):
        return None
    try:
        with threadpool_limits(1):
            record = measure(run)
    except Exception:  # the other runs of the table go on; this one is done again by the next command
        return f"{run.file_name}\n{traceback.format_exc()}"
    record["row"] |= versions()
    write_whole(path, json.dumps(record))
    return None


def is_finished(path: Path) -> bool:
    """Whether the file of a run is there and whole; a damaged one is set aside, and the run is done again."""
    try:
        return "row" in json.loads(path.read_text())
    except FileNotFoundError:
        return False
    except (ValueError, TypeError):
        path.replace(path.with_name(f"{path.name}.damaged"))
        return False


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there completely or not at all, whenever the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        file.write(text.encode())


def do_missing(runs: list[Run], measure: Measure, folder: Path, crew: Crew) -> list[str]:
    """Do the runs whose file is not there, with a bar that tells the time left; what went wrong."""
    missing = [run for run in runs if not is_finished(folder / run.file_name)]
    bar = tqdm(total=len(runs), initial=len(runs) - len(missing), desc=folder.name, unit="run", smoothing=0)
    with bar, hire(crew) as parallel:
        failures = []
        for failure in parallel(delayed(do_run)(run, measure, folder) for run in missing):
            bar.update()
            if failure is not None:
                failures.append(failure)
                bar.write(failure, file=sys.stderr)
    return failures


@contextmanager
def hire(crew: Crew) -> Iterator[Parallel]:
    """Workers, one run at a time each; results come as they are finished."""
    one_by_one: dict[str, Any] = {"batch_size": 1, "return_as": "generator_unordered"}
    if crew.backend == "loky":
        yield Parallel(n_jobs=crew.jobs, **one_by_one)
        return
    with connect(crew), parallel_config(backend=crew.backend, n_jobs=-1):
        yield Parallel(**one_by_one)


@contextmanager
def connect(crew: Crew) -> Iterator[None]:
    """A connection to a running cluster, for as long as the runs take."""
    if crew.backend == "dask":
        from distributed import Client

        with Client(crew.scheduler):
            yield
        return
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise SystemExit("--backend ray needs Ray, which is not among our extras: pip install ray") from error
    register_ray()
    ray.init(address=crew.scheduler)
    try:
        yield
    finally:
        ray.shutdown()


def read_finished(folder: Path, budget: Budget, methods: tuple[str, ...]) -> list[Record]:
    """The records of all runs done with this budget and version, in the order of the methods."""
    paths = sorted(folder.glob(f"*-{ending(budget)}"))
    records = [json.loads(path.read_text()) for path in paths if is_finished(path)]
    place = {method: n for n, method in enumerate(methods)}
    return sorted(records, key=lambda record: place.get(record["row"]["method"], len(place)))

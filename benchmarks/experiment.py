"""An experiment: which methods on which tables; one command does what is missing of it and makes its table."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks.method import UnavailableError, load_method, require_method
from benchmarks.protocol import REGRESSION, Budget
from benchmarks.runs import Case, Crew, Measure, Record, Run, do_missing, measure_method, read_finished
from benchmarks.tables import RESULTS, merge_rows

SEEDS = range(10)  # of data and initialisation; recipes were chosen on seeds from 100 on
BUDGET = Budget(fits=20)
QUICK_BUDGET = Budget(fits=2, epochs=2)


def suits_task(method: str, case: Case) -> bool:
    """Whether a method can do a table at all."""
    offered = load_method(method)
    return offered.for_response if case.dataset in REGRESSION else offered.for_classes


def has_any_seed(case: Case, seed: int) -> bool:
    """Synthetic tables can be drawn without end."""
    return True


def suits_any_seed(method: str, case: Case, seed: int) -> bool:
    """A table has the same kind of target in every seed."""
    return True


class Results(NamedTuple):
    """What a table and its figure are drawn from."""

    frame: pd.DataFrame  # a row a run, of this and of earlier commands
    records: list[Record]  # finished runs in this folder, with arrays
    folder: Path


@dataclass(frozen=True)
class Experiment:
    """What a table is made of, and what a rehearsal of it is made of."""

    name: str
    methods: tuple[str, ...]
    cases: tuple[Case, ...]
    quick_methods: tuple[str, ...]
    quick_cases: tuple[Case, ...]
    report: Callable[[Results], None]  # writes the Markdown table and the figure
    seeds: range = SEEDS
    budget: Budget = BUDGET
    measure: Measure = measure_method
    applies: Callable[[str, Case], bool] = suits_task
    has_seed: Callable[[Case, int], bool] = has_any_seed  # where seeds number the splits of a table
    suits_seed: Callable[[str, Case, int], bool] = suits_any_seed  # where the kind of target changes with the seed


def conduct(
    experiment: Experiment, arguments: list[str] | None = None, only: tuple[str, ...] | None = None
) -> Results:
    """Do the runs that are missing, as asked for on the command line, and write table and figure.

    ``only`` restricts the methods that are run; table and figure show all that were.
    """
    asked = read_arguments(experiment, arguments)
    folder = choose_folder(asked)
    if asked.quick:
        experiment = rehearse(experiment)
    methods = keep_available(asked.methods or [m for m in experiment.methods if only is None or m in only])
    seeds = asked.seeds or (range(1) if asked.quick else experiment.seeds)
    cases = tuple(case for case in experiment.cases if not asked.datasets or case.dataset in asked.datasets)
    runs = plan(replace(experiment, methods=tuple(methods), cases=cases), seeds)
    store = folder / "runs" / experiment.name
    if asked.fresh:
        for run in runs:
            (store / run.file_name).unlink(missing_ok=True)
    failures = do_missing(runs, experiment.measure, store, Crew(asked.jobs, asked.backend, asked.scheduler))
    records = read_finished(store, experiment.budget, experiment.methods)
    frame = merge_rows(folder / f"{experiment.name}.csv", [record["row"] for record in records])
    print(f"{len(runs) - len(failures)} of {len(runs)} runs are done: {folder / experiment.name}.csv")
    place = {method: n for n, method in enumerate(experiment.methods)}
    frame = frame.sort_values("method", key=lambda names: names.map(place).fillna(len(place)), kind="stable")
    results = Results(frame, records, folder)
    if records:
        experiment.report(results)
    if failures:
        raise SystemExit(f"{len(failures)} runs failed, see above; the same command tries them again")
    return results


def recall(experiment: Experiment, arguments: list[str] | None) -> Results:
    """An experiment as it is, for others to look at; its runs are done here only if there is no table yet."""
    asked = read_arguments(experiment, arguments)
    folder = asked.results or RESULTS
    is_done = ((folder / "quick" if asked.quick else folder) / f"{experiment.name}.csv").exists()
    return conduct(experiment, arguments, only=() if is_done else None)


def keep_available(methods: list[str]) -> list[str]:
    """The methods that can run on this machine; of the others it is said what they lack."""
    available = []
    for method in methods:
        try:
            require_method(method)
        except UnavailableError as reason:
            print(f"{method} is left out: {reason}", file=sys.stderr)
        else:
            available.append(method)
    return available


def rehearse(experiment: Experiment) -> Experiment:
    """The same experiment in seconds: few methods, small tables, hardly any training."""
    return replace(experiment, methods=experiment.quick_methods, cases=experiment.quick_cases, budget=QUICK_BUDGET)


def plan(experiment: Experiment, seeds: range | list[int]) -> list[Run]:
    """All runs, seed by seed, so that an unfinished table has whole seeds."""
    return [
        Run(experiment.name, method, case, seed, experiment.budget)
        for seed in seeds
        for case in experiment.cases
        if experiment.has_seed(case, seed)
        for method in experiment.methods
        if experiment.applies(method, case) and experiment.suits_seed(method, case, seed)
    ]


def choose_folder(asked: argparse.Namespace) -> Path:
    """Where results go; those of a rehearsal never beside real ones."""
    if asked.quick:
        return asked.results / "quick" if asked.results else Path(tempfile.mkdtemp(prefix="lspin-quick-"))
    return asked.results or RESULTS


def read_arguments(experiment: Experiment, arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.experiments.{experiment.name}",
        description="Goes on where it stopped: finished runs are kept in results/runs.",
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes on this machine (default: %(default)s)")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help=f"of {', '.join(experiment.methods)}")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="some tables only")
    parser.add_argument("--seeds", type=read_seeds, metavar="0-9", help="one, a range, or several with commas")
    parser.add_argument("--quick", action="store_true", help="a rehearsal in a folder of its own")
    parser.add_argument("--backend", choices=("loky", "dask", "ray"), default="loky")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask or Ray cluster")
    parser.add_argument("--fresh", action="store_true", help="do the runs again that are done already")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="instead of benchmarks/results")
    asked = parser.parse_args(arguments)
    if asked.backend == "dask" and asked.scheduler is None:
        parser.error("--backend dask needs --scheduler ADDRESS")
    return asked


def read_seeds(text: str) -> list[int]:
    """``0-9``, ``3`` or ``0,4,7-9``."""
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds

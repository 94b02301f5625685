"""Fits one after the other or side by side; what is finished stays, whatever ends the others."""

import contextlib
import importlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from lspin.core.interrupts import obey, sheltering
from lspin.fitting.progress import Progress

GLANCE = 0.5  # seconds between two looks at whether the parent of a worker is still there
LOST = {"KilledWorker", "FutureCancelledError", "WorkerCrashedError", "RayActorError"}  # of Dask and Ray
N_ATTEMPTS = 3  # at tasks that lost their worker: one that runs out of memory does so again


class LostWorkerError(BrokenProcessPool):
    """Processes that were fitting have been killed, time after time."""


class Tasks:
    """A function and what it is called with, together: a cluster sends them to each worker once.

    Dask sends an argument to a worker once, if it knows it to be large.
    """

    def __init__(self, function: Callable[..., Any], arguments: Sequence[tuple]) -> None:
        self.function, self.arguments = function, arguments
        self.parent = os.getpid()

    def __sizeof__(self) -> int:
        return 2**20


def run_one(tasks: Tasks, place: int) -> tuple[int, Any]:
    """The result of one of the tasks, with its place."""
    if os.getppid() == tasks.parent:
        end_with(tasks.parent)
    return place, tasks.function(*tasks.arguments[place])


@cache
def end_with(parent: int) -> None:
    """Let this process end soon after its parent does, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(GLANCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_tasks(
    function: Callable[..., Any],
    arguments: Sequence[tuple],
    *,
    n_jobs: int | None,
    progress: Progress,
    done: dict[int, Any],
) -> None:
    """Put the result of each call into ``done``, by its place, as soon as it is there.

    An interrupt is raised on, and so is the loss of workers once trying again does not help: what is done by then
    is in ``done``.
    """
    if min(effective_n_jobs(n_jobs), len(arguments)) <= 1:
        for place, one in enumerate(arguments):
            obey()
            done[place] = function(*one, progress.report)
            progress.finish_fit()
        return
    for attempt in range(N_ATTEMPTS):
        missing = [place for place in range(len(arguments)) if place not in done]
        try:
            with cancelling(_run_beside(Tasks(function, arguments), missing, n_jobs)) as results:
                for place, result in results:
                    done[place] = result
                    progress.finish_fit()
                    obey()
            return
        except Exception as error:
            if not tells_of_lost_worker(error):
                raise
            if attempt == N_ATTEMPTS - 1:
                raise LostWorkerError(
                    "a worker process was killed, perhaps for want of memory: try fewer at a time (n_jobs)"
                ) from error


def _run_beside(tasks: Tasks, places: list[int], n_jobs: int | None) -> Iterable[tuple[int, Any]]:
    # Some backends, as that of Ray, have their results all at once only.
    comes_one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    return_as = "generator_unordered" if comes_one_by_one else "list"
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, batch_size=1)
    start_trackers()
    with sheltering():
        return parallel(delayed(run_one)(tasks, place) for place in places)


@contextlib.contextmanager
def cancelling(results: Iterable[Any]) -> Iterator[Iterable[Any]]:
    """Cancel what is not collected in the end, without joblib's warning: whoever interrupts it knows."""
    try:
        yield results
    finally:
        if isinstance(results, Generator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def start_trackers() -> None:
    """Start the processes that clear up after others: to start one later would end the shelter."""
    for name in ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker"):
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module(name).ensure_running()


def tells_of_lost_worker(error: Exception) -> bool:
    """Whether an error means that a process, here or in a cluster, is gone with the work it had."""
    if isinstance(error, BrokenProcessPool):
        return True
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & LOST)

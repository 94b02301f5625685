"""Fits one after the other or side by side; what is finished stays, whatever ends the others."""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import LokyBackend, get_active_backend

from lspin.core.interrupts import obey, sheltering
from lspin.core.orphans import begin, end_with, noting_shared, remove_orphaned, start_trackers
from lspin.fitting.progress import Progress

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
    if os.getppid() == tasks.parent:  # a worker of multiprocessing; others watch their parent from the beginning
        end_with(tasks.parent)
    return place, tasks.function(*tasks.arguments[place])


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
            tasks = Tasks(function, arguments)
            calls = (delayed(run_one)(tasks, place) for place in missing)
            with cancelling(run_beside(calls, n_jobs)) as results:
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


class QuietParallel(Parallel):
    """Cancels what is not collected without joblib's warning: whoever interrupts it knows.

    A filter of warnings would not do, for Ctrl-C may come before the results are anyone's to close.
    """

    def _warn_exit_early(self) -> None:
        pass


def run_beside(calls: Iterable[Any], n_jobs: int | None) -> Iterable[Any]:
    """The results of calls, as ``joblib.delayed`` makes them: each as soon as it is there, where the backend can.

    Workers end with this process, however it ends, and never see Ctrl-C, which a terminal sends to all.
    """
    backend = get_active_backend()[0]
    # Some backends, as that of Ray, have their results all at once only.
    comes_one_by_one = getattr(backend, "supports_return_generator", False)
    parallel = QuietParallel(
        n_jobs=n_jobs,
        return_as="generator_unordered" if comes_one_by_one else "list",
        batch_size=1,
        **beginning(backend),
    )
    if effective_n_jobs(n_jobs) > 1:
        remove_orphaned()
        start_trackers()  # to start one later would end the shelter
    with sheltering(), noting_shared() as note:

        def noted() -> Iterator[Any]:
            note()  # joblib asks for the first call when it has made what workers share, before it starts them
            yield from calls

        return parallel(noted())


def beginning(backend: Any) -> dict[str, Any]:
    """What workers begin with, where they are processes that this one starts itself."""
    if not isinstance(backend, LokyBackend):
        return {}
    given = getattr(backend, "backend_kwargs", {})
    theirs = given.get("initializer"), given.get("initargs", ())
    return {"initializer": begin, "initargs": (os.getpid(), *theirs)}


@contextlib.contextmanager
def cancelling(results: Iterable[Any]) -> Iterator[Iterable[Any]]:
    """Cancel what is not collected in the end."""
    try:
        yield results
    finally:
        if isinstance(results, Generator):
            results.close()


def tells_of_lost_worker(error: Exception) -> bool:
    """Whether an error means that a process, here or in a cluster, is gone with the work it had."""
    if isinstance(error, BrokenProcessPool):
        return True
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & LOST)

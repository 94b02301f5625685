import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from lspin.fitting.running import LostWorkerError, run_tasks

N_FIRST = 3  # tasks that are collected before the next one has anything happen
NEVER = 10_000


class Collecting:
    """Progress that leaves a note once enough results are collected."""

    report = None

    def __init__(self, folder):
        self.n_finished, self.note = 0, folder / "collected"

    def finish_fit(self):
        self.n_finished += 1
        if self.n_finished == N_FIRST:
            self.note.touch()


def wait_for(path):
    while not path.exists():
        os.sched_yield()


def interrupt_parent(place, folder, parent, report=None):
    if place >= N_FIRST:
        wait_for(folder / "collected")
        if place == N_FIRST:
            os.kill(parent, signal.SIGINT)
        wait_for(folder / "never")
    return 10 * place


def die(place, folder, n_times, report=None):
    if place >= N_FIRST:
        wait_for(folder / "collected")
    if place == N_FIRST:
        deaths = len(list(folder.glob("death*")))
        if deaths < n_times:
            (folder / f"death{deaths}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return 10 * place


def collect(function, tmp_path, n_tasks, *rest):
    done = {}
    tasks = [(place, tmp_path, *rest) for place in range(n_tasks)]
    try:
        run_tasks(function, tasks, n_jobs=2, progress=Collecting(tmp_path), done=done)
    except (KeyboardInterrupt, LostWorkerError) as error:
        return done, error
    return done, None


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_an_interrupt_keeps_what_is_finished(backend, tmp_path):
    with parallel_config(backend):
        done, error = collect(interrupt_parent, tmp_path, 6, os.getpid())
    (tmp_path / "never").touch()  # ends the threads, which cannot be killed
    assert isinstance(error, KeyboardInterrupt)
    assert done == {0: 0, 1: 10, 2: 20}


class InterruptedBetween(Collecting):
    """Progress that is interrupted itself: no result is being waited for."""

    def finish_fit(self):
        super().finish_fit()
        if self.n_finished == N_FIRST:
            raise KeyboardInterrupt


def wait_once_collected(place, folder, report=None):
    if place >= N_FIRST:
        wait_for(folder / "never")
    return 10 * place


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_an_interrupt_between_two_results_cancels_the_rest_without_a_warning(backend, tmp_path, recwarn):
    done, tasks = {}, [(place, tmp_path) for place in range(6)]
    with parallel_config(backend), pytest.raises(KeyboardInterrupt):
        run_tasks(wait_once_collected, tasks, n_jobs=2, progress=InterruptedBetween(tmp_path), done=done)
    (tmp_path / "never").touch()
    gc.collect()
    assert done == {0: 0, 1: 10, 2: 20}
    assert not recwarn.list


def multiply(place, folder, report=None):
    return 10 * place


class AllAtOnce(ThreadingBackend):
    """As Ray's, it has no results before the last one."""

    supports_return_generator = False


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential", "all at once"])
def test_every_backend_does_all_tasks(backend, tmp_path):
    register_parallel_backend("all at once", AllAtOnce)
    with parallel_config(backend):
        done, error = collect(multiply, tmp_path, 5)
    assert error is None
    assert done == {place: 10 * place for place in range(5)}


def is_sheltered(place, folder, report=None):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_workers_do_not_see_an_interrupt(tmp_path):
    code = (
        "import sys; from pathlib import Path; from fitting.test_running import collect, is_sheltered\n"
        "done, error = collect(is_sheltered, Path(sys.argv[1]), 4)\n"
        "print(sorted(done.items()), error)"
    )
    result = run_apart(code, tmp_path)
    assert result.stdout == "[(0, True), (1, True), (2, True), (3, True)] None\n", result.stderr


def run_apart(code, folder):
    """Run a program in a process that has started no workers yet."""
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_tasks_of_a_worker_that_was_killed_are_done_again(tmp_path):
    done, error = collect(die, tmp_path, 6, 1)
    assert error is None
    assert done == {place: 10 * place for place in range(6)}


def test_workers_that_are_killed_again_and_again_leave_what_is_finished(tmp_path):
    done, error = collect(die, tmp_path, 4, NEVER)
    assert str(error).startswith("a worker process was killed, perhaps for want of memory")
    assert done == {0: 0, 1: 10, 2: 20}
    assert len(list(Path(tmp_path).glob("death*"))) == 3


def stay(place, folder, report=None):
    (folder / f"worker{place}").write_text(str(os.getpid()))
    wait_for(folder / "never")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(sent, tmp_path):
    code = (
        "import sys; from pathlib import Path; from fitting.test_running import collect, stay\n"
        "collect(stay, Path(sys.argv[1]), 2)"
    )
    tests = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])},
    ) as process:
        for place in range(2):
            wait_for(tmp_path / f"worker{place}")
        process.send_signal(sent)
        process.communicate()  # ends once no process is left that may write

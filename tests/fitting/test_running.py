import contextlib
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from joblib import delayed, parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from lspin.core.interrupts import noting, take_note
from lspin.fitting.running import LostWorkerError, Tasks, run_beside, run_one, run_tasks

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
    with noting():  # as a fit does: JAX may be collecting garbage when the interrupt comes
        try:
            run_tasks(function, tasks, n_jobs=2, progress=Collecting(tmp_path), done=done)
        except (KeyboardInterrupt, LostWorkerError) as error:
            take_note()
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
    assert [warning for warning in recwarn.list if "tasks" in str(warning.message)] == []  # those of joblib


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_results_that_nobody_closes_are_cancelled_without_a_warning(backend, tmp_path, recwarn):
    tasks = Tasks(wait_once_collected, [(place, tmp_path) for place in range(6)])
    with parallel_config(backend):
        results = run_beside((delayed(run_one)(tasks, place) for place in range(6)), 2)
        assert next(results)[1] in (0, 10, 20)
        del results  # as Ctrl-C leaves them, if it comes before they have a name
    (tmp_path / "never").touch()
    gc.collect()
    assert [warning for warning in recwarn.list if "tasks" in str(warning.message)] == []


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


HOLDING = """
import os, pathlib, sys
if "joblib.externals.loky.backend.popen_loky_posix" in sys.orig_argv:
    while not pathlib.Path(__file__).with_name("parent is gone").exists():
        os.sched_yield()
"""
DYING = """
import os
from lspin.fitting import running
running.cancelling = lambda results: os.kill(os.getpid(), 9)
"""


def start_apart(function, folder, before=""):
    """Start a program that works through two tasks side by side, with processes of its own."""
    tests = str(Path(__file__).parents[1])
    code = f"import sys; from pathlib import Path; from fitting.test_running import collect, {function}\n"
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}{code}collect({function}, Path(sys.argv[1]), 2)", str(folder)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), tests, *sys.path])},
        start_new_session=True,
    )


def shared_names(owner):
    """What a process has in shared memory, and files that list such names."""
    shared = Path("/dev/shm")
    notes = [path for path in shared.glob("lspin-*") if f"-{owner}-" in read_if_there(path)]
    return [*shared.glob(f"sem.loky-{owner}-*"), *shared.glob(f"joblib_memmapping_folder_{owner}_*"), *notes]


def read_if_there(path):
    """The text of a file, or nothing where it is another user's or has gone meanwhile."""
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


processes_are_shown = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked at in /proc")


@processes_are_shown
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(sent, tmp_path):
    with start_apart("stay", tmp_path) as process:
        for place in range(2):
            wait_for(tmp_path / f"worker{place}")
        process.send_signal(sent)
        process.communicate()  # ends once no process is left that may write: neither a worker nor a tracker
    assert shared_names(process.pid) == []


@processes_are_shown
def test_workers_whose_parent_is_gone_before_they_begin_do_not_begin(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HOLDING)
    with start_apart("stay", tmp_path, DYING) as process:
        process.wait()
        (tmp_path / "parent is gone").touch()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert list(tmp_path.glob("worker*")) == []
    assert shared_names(process.pid) == []


@processes_are_shown
def test_the_next_fit_removes_what_processes_shared_that_were_killed_with_their_trackers(tmp_path):
    with start_apart("stay", tmp_path) as process:
        for place in range(2):
            wait_for(tmp_path / f"worker{place}")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    done, error = collect(multiply, tmp_path, 2)
    assert error is None
    assert done == {0: 0, 1: 10}
    assert shared_names(process.pid) == []


def test_what_the_user_has_workers_begin_with_is_done(tmp_path):
    with parallel_config("loky", initializer=note_beginning, initargs=("well",)):
        done, error = collect(tell_beginning, tmp_path, 2)
    assert error is None
    assert done == {0: "well", 1: "well"}


def note_beginning(word):
    os.environ["LSPIN_BEGUN"] = word


def tell_beginning(place, folder, report=None):
    return os.environ.get("LSPIN_BEGUN")

"""Interrupts and kills while a model is fitted: the old file or a whole new one, and nothing else."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from lspin import load
from lspin.core import orphans

SLOWEST_EXIT = 2.0  # seconds from Ctrl-C to the end
N_ROWS = 400
OPTIONS = {
    "n_jobs": "--jobs",
    "n_members": "--members",
    "max_epochs": "--epochs",
    "sparsity": "--sparsity",
    "n_features": "--features",
}
PROGRAM = """
import sys
import pandas as pd
from lspin import LSPINClassifier
table = pd.read_csv(sys.argv[1])
model = LSPINClassifier({settings}, random_state=0)
print("Fitting on", file=sys.stderr, flush=True)
try:
    model.fit(table.drop(columns="y"), table["y"])
except KeyboardInterrupt as error:
    sys.exit(str(error))
model.save(sys.argv[2])
"""
WORSE = 0.1  # than it is said to be, on its own rows: another model then


def attempt(rng, tally, folder, old_model, sent=None):
    """Fit in another process, send it a signal, or one that is drawn, at a drawn time, and see what is left."""
    for old in folder.iterdir():
        old.unlink()
    table, output = folder / "t.csv", folder / "m.lspin"
    write_table(table)
    output.write_bytes(old_model)
    drawn = [signal.SIGINT, signal.SIGKILL, signal.SIGTERM][rng.integers(3)]
    sent = drawn if sent is None else sent
    epochs = str(rng.choice([20, 2000, 200_000]))
    settings = {"n_jobs": str(rng.integers(1, 3)), "n_members": str(rng.integers(1, 3)), "max_epochs": epochs}
    settings |= [{}, {"sparsity": "0.02"}, {"n_features": "1"}][rng.integers(3)]
    if rng.random() < 0.5:
        del settings["max_epochs"]
    make_command = [command_line, own_program][rng.integers(2)]
    command = make_command(table, output, settings)
    tell = [os.kill, os.killpg][rng.integers(2)]  # as a program does, or as a terminal does
    with open(folder.parent / f"{folder.name}.said", "w+") as noted:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=noted, start_new_session=True)
        while "Fitting on" not in tell_all(noted) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 6))
        before = list_waits(process.pid)
        tell(process.pid, sent)
        seconds, waited = watch_end(process.pid, before)
        process.wait()
        said = tell_all(noted)
        os.unlink(noted.name)
    words = f"{make_command.__name__} {settings}: exit {process.returncode} in {seconds:.1f} s, "
    words += f"{waited:.1f} s more without a processor, {said[-300:]!r}"
    slow = sent == signal.SIGINT and seconds > SLOWEST_EXIT
    outcome = "slow" if slow else judge(folder, table, output, old_model, said)
    left = count_left(process.pid)
    orphans.remove_orphaned()  # as the next fit side by side does
    shared = list_shared(process.pid)
    tally.add(
        sent.name, "left over" if left or shared else outcome, f"{words}, {left} processes left, shared: {shared}"
    )


def tell_all(file):
    file.seek(0)
    return file.read()


def watch_end(pid, before):
    """Seconds until a process ends, and seconds of them in which a busy machine had no processor for it.

    These are those of the first thread and those of the other one that waited longest: a program that ends waits
    for the thread that compiles.
    """
    start, latest = time.monotonic(), before
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        latest = latest | list_waits(pid)
        time.sleep(0.02)
    passed = time.monotonic() - start
    waits = {thread: end - before.get(thread, 0.0) for thread, end in latest.items()}
    waited = waits.pop(pid, 0.0) + max(waits.values(), default=0.0)
    return passed - waited, waited


def list_waits(pid):
    """Seconds that each thread of a process has waited for a processor so far."""
    waits = {}
    with contextlib.suppress(OSError):  # one that ends meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                waits[int(thread)] = int(file.read().split()[1]) / 1e9
    return waits


def command_line(table, output, settings):
    options = [part for name, value in settings.items() for part in (OPTIONS[name], value)]
    return [sys.executable, "-m", "lspin.cli", "fit", str(table), "-t", "y", "-o", str(output), *options]


def own_program(table, output, settings):
    text = ", ".join(f"{name}={value}" for name, value in settings.items())
    return [sys.executable, "-c", PROGRAM.format(settings=text), str(table), str(output)]


def count_left(group):
    """Processes of a group that go on without the one that began it, once they had a moment to end."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return 0
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return 1


def judge(folder, table, output, old_model, said):
    if {entry.name for entry in folder.iterdir()} != {"t.csv", "m.lspin"}:
        return "left over"
    if "Traceback" in said:
        return "exception"
    if output.read_bytes() == old_model:
        return "old model kept"
    try:
        model = load(output)
    except ValueError:
        return "lost model"
    rows = pd.read_csv(table)
    accuracy = model.score(rows.drop(columns="y"), rows["y"])
    told = re.findall(r"accuracy (\d\.\d+) on held-out rows", said)
    return "new model written" if all(accuracy > float(score) - WORSE for score in told) else "wrong model"


def write_table(path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=list("abc"))
    frame.assign(y=np.where(frame["a"] > 0, "ill", "well")).to_csv(path, index=False)


def list_shared(pid):
    """Names of what a process left in shared memory, where the system shows it."""
    folder = Path("/dev/shm")
    notes = [path for path in folder.glob("lspin-*") if f"-{pid}-" in read_if_there(path)]
    return [path.name for path in [*folder.glob(f"*-{pid}-*"), *folder.glob(f"*_{pid}_*"), *notes]]


def read_if_there(path):
    """The text of a file, or nothing where it is another user's or has gone meanwhile."""
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""

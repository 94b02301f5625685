"""Interrupts and kills while the command line fits: the old file or a whole new one, and nothing else."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd

from lspin import load

SLOWEST_EXIT = 2.0  # seconds from Ctrl-C to the end
N_ROWS = 60


def attempt(rng, tally, folder, old_model):
    """Fit in another process, send it a signal at a drawn time, and see what is left."""
    for old in folder.iterdir():
        old.unlink()
    table, output = folder / "t.csv", folder / "m.lspin"
    write_table(table)
    output.write_bytes(old_model)
    sent = [signal.SIGINT, signal.SIGKILL, signal.SIGTERM][rng.integers(3)]
    epochs = str(rng.choice([20, 2000, 200_000]))
    command = [sys.executable, "-m", "lspin.cli", "fit", str(table), "-t", "y", "-o", str(output)]
    command += ["--jobs", str(rng.integers(1, 3)), "--members", str(rng.integers(1, 3))]
    command += [[], ["--sparsity", "0.02"], ["--features", "1"]][rng.integers(3)] + ["--epochs", epochs]
    tell = [os.kill, os.killpg][rng.integers(2)]  # as a program does, or as a terminal does
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        for line in process.stderr:
            if line.startswith("Fitting on"):
                break
        time.sleep(rng.uniform(0, 6))
        tell(process.pid, sent)
        start = time.monotonic()
        _, said = process.communicate(timeout=600)
    seconds = time.monotonic() - start
    words = f"{' '.join(command[7:])}: exit {process.returncode} in {seconds:.1f} s, {said[-300:]!r}"
    slow = sent == signal.SIGINT and seconds > SLOWEST_EXIT
    outcome = "slow" if slow else judge(folder, output, old_model, said)
    left = count_left(process.pid)
    tally.add(sent.name, "left over" if left else outcome, f"{words}, {left} processes left")


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


def judge(folder, output, old_model, said):
    if {entry.name for entry in folder.iterdir()} != {"t.csv", "m.lspin"}:
        return "left over"
    if "Traceback" in said:
        return "exception"
    if output.read_bytes() == old_model:
        return "old model kept"
    try:
        load(output)
    except ValueError:
        return "lost model"
    return "new model written"


def write_table(path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=list("abc"))
    frame.assign(y=np.where(frame["a"] > 0, "ill", "well")).to_csv(path, index=False)


def shared_memory():
    """Names of what lies in shared memory, where the system shows it."""
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()

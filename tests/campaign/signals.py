"""Interrupts and kills while the command line fits: the old file or a whole new one, and nothing else."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd

from lspin import load

SLOWEST_EXIT = 10.0  # seconds from Ctrl-C to the end
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
    command = [
        sys.executable,
        "-m",
        "lspin.cli",
        "fit",
        str(table),
        "-t",
        "y",
        "--sparsity",
        "0.02",
        "--epochs",
        epochs,
    ]
    command += ["-o", str(output), "--jobs", str(rng.integers(1, 3)), "--members", str(rng.integers(1, 3))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("Fitting on"):
                break
        time.sleep(rng.uniform(0, 3))
        process.send_signal(sent)
        start = time.monotonic()
        _, said = process.communicate(timeout=600)
    words = f"{sent.name}, {epochs} epochs: exit {process.returncode}, {said[-200:]!r}"
    slow = sent == signal.SIGINT and time.monotonic() - start > SLOWEST_EXIT
    tally.add(f"{sent.name}", judge(folder, output, old_model, said) if not slow else "slow", words)


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

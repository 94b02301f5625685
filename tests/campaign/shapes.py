"""Fits on tables of many shapes in one process: dropped programs give their memory back."""

import json
import resource
import subprocess
import sys
import warnings

import numpy as np

from lspin import LSPINClassifier, LSPINRegressor

MOST_BYTES = 1.2e9
PART = "import sys; from campaign import shapes; shapes.fit_all(int(sys.argv[1]), int(sys.argv[2]))"


def attempt(tally, n_shapes, seed):
    """Fit tables of so many shapes in another process, and look at its peak of memory after each."""
    command = [sys.executable, "-W", "ignore", "-c", PART, str(n_shapes), str(seed)]
    found = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found = json.loads(line)
            tally.add("shapes", "too large" if found["peak"] > MOST_BYTES else "answered", line.strip())
    if process.returncode:
        tally.add("shapes", "exception", f"{found}, exit {process.returncode}")
    return found


def fit_all(n_shapes, seed):
    """Fit one network after the other, each on a table with a number of columns and layers of its own."""
    rng = np.random.default_rng([seed, 4])
    for place in range(n_shapes):
        n_rows, n_columns, n_units = int(rng.integers(30, 400)), 2 + place, int(rng.integers(2, 60))
        X = rng.normal(size=(n_rows, n_columns))
        make = [LSPINClassifier, LSPINRegressor][rng.integers(2)]
        y = X[:, 0] > 0 if make is LSPINClassifier else X[:, 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make((n_units,), sparsity=0.01, max_epochs=2, random_state=0).fit(X, y)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # of kilobytes, on Linux
        print(json.dumps({"shapes": place + 1, "peak": peak, "now": occupied()}), flush=True)


def occupied():
    """Bytes of this process in memory, as Linux tells them."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

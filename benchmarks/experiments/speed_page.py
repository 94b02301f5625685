"""From a CSV file to the page of its report, in CPU seconds on one thread: ``make bench-speed_page``.

``lspin fit`` and ``lspin report`` as they come, on a table with more columns than rows whose groups use different
columns; «first» includes what is imported and compiled, «again» does not. And the page of a sparse table of
counts, of which only the report is timed.
"""

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.protocol import CpuTimer
from benchmarks.tables import write_table
from lspin import LSPINClassifier, report
from lspin.cli.commands import app

SHAPE, SPARSE_SHAPE = (200, 2000), (4000, 20_000)
STORED = 0.01  # part of the sparse table that is not 0
NOISE = 0.3


def write_csv(path: Path, n_rows: int, n_columns: int, seed: int) -> None:
    """Normal columns; the sign of the first decides which of the next two tells the classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, n_columns)).round(4)).add_prefix("G")
    score = np.where(frame["G0"] > 0, frame["G1"], frame["G2"]) + NOISE * rng.normal(size=n_rows)
    frame.assign(status=np.where(score > 0, "yes", "no")).to_csv(path, index=False)


def time_csv(
    n_rows: int, n_columns: int, seed: int = 0, turns: tuple[str, ...] = ("first", "again")
) -> list[dict[str, Any]]:
    """The commands from file to page, once a turn."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        table, model, page = (Path(folder) / name for name in ("t.csv", "m.lspin", "r.html"))
        write_csv(table, n_rows, n_columns, seed)
        commands = {
            "CSV to model": ["fit", table, "-t", "status", "-q", "--json", "-o", model],
            "model to page": ["report", model, table, "-q", "-o", page],
        }
        for turn in turns:
            for what, command in commands.items():
                with contextlib.redirect_stdout(io.StringIO()), CpuTimer() as timer:
                    app([str(part) for part in command], standalone_mode=False)
                rows.append({"what": what, "turn": turn, "seconds": timer.seconds})
    return [{"table": f"{n_rows} x {n_columns}", "seed": seed, **row} for row in rows]


def time_sparse(n_rows: int, n_columns: int, seed: int = 0) -> list[dict[str, Any]]:
    """The report of a linear model at one price that was trained for a few epochs."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n_rows, n_columns), density=STORED, rng=rng, format="csr")
    X.data = np.ceil(5 * X.data)
    half = n_columns // 4
    score = X[:, :half].sum(axis=1) - X[:, half : 2 * half].sum(axis=1)
    y = np.where(score > np.median(score), "yes", "no")
    settings: dict[str, Any] = {"sparsity": 0.01, "start": "networks", "max_epochs": 30, "random_state": seed}
    model = LSPINClassifier((), **settings).fit(X, y)
    with tempfile.TemporaryDirectory() as folder, CpuTimer() as timer:
        report(model, X, y, Path(folder) / "r.html")
    row = {"what": "model to page", "turn": "again", "seconds": timer.seconds}
    return [{"table": f"{n_rows} x {n_columns} sparse", "seed": seed, **row}]


def main() -> None:
    with threadpool_limits(1):
        rows = time_csv(*SHAPE) + time_sparse(*SPARSE_SHAPE)
    print(write_table("speed_page", rows)[["table", "what", "turn", "seconds"]].to_string(index=False))


if __name__ == "__main__":
    main()

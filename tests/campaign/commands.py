"""Drawn tables in files on the command line: a result or one sentence, and nothing left over."""

import numpy as np
from typer.testing import CliRunner

from campaign.tally import judged
from lspin.cli.commands import app

CELLS = [
    "",
    "NA",
    "?",
    "1.5",
    "-2",
    "1,5",
    "1e400",
    "inf",
    "nan",
    "text",
    "=1+1",
    "<0.1",
    '"',
    "a;b",
    "\x00",
    "é",
    "2020-01-01",
]
NAMES = ["id", "y", "time", "event", "a", "b", "größe", "", " a ", "=x", "a.1"]
TARGETS = [
    ["-t", "y"],
    ["-t", "y", "--task", "classify"],
    ["-t", "y", "--task", "regress"],
    ["--time", "time", "--event", "event"],
]


def attempt(rng, tally, folder, seconds=None):
    """Write a table, fit, and use the model if there is one."""
    for old in folder.iterdir():
        old.unlink()
    table, model, output = (
        folder / "t.csv",
        folder / "m.lspin",
        folder / f"out{['.csv', '.xlsx', '.parquet'][rng.integers(3)]}",
    )
    table.write_bytes(draw_text(rng))
    options = TARGETS[rng.integers(len(TARGETS))]
    fit = ["fit", table, *options, "-o", model, "--sparsity", "0.02", "--epochs", "2"]
    words = f"fit {' '.join(options)} on {table.read_bytes()[:80]!r}"
    with judged(tally, "command line", words, seconds):
        outcome = run(fit)
        if outcome == "answered":
            outcome = run(["predict", model, table, "-o", output])
        known = {table.name, model.name, output.name}
        left = {entry.name for entry in folder.iterdir()} - known
        tally.add("command line", "left over" if left else outcome, f"{words}: {left or outcome}")


def run(arguments):
    result = CliRunner().invoke(app, [str(part) for part in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    said = result.stderr.strip().splitlines()
    if result.exit_code == 0:
        return "answered"
    is_sentence = result.exit_code in (1, 2) and said and "Traceback" not in result.stderr
    return "refused" if is_sentence else "exception"


def draw_text(rng):
    """A CSV table of 24 rows or so, some of whose cells and names are odd."""
    n_rows, plain = int(rng.choice([0, 1, 8, 24])), np.random.default_rng(2)
    names = ["id", "a", "b", "y", "time", "event"]
    if rng.random() < 0.3:
        names[rng.integers(len(names))] = NAMES[rng.integers(len(NAMES))]
    rows = [
        [
            f"P{row}",
            f"{plain.normal():.3f}",
            f"{plain.normal():.3f}",
            str(row % 2),
            f"{1 + row / 7:.2f}",
            str(row % 3 % 2),
        ]
        for row in range(n_rows)
    ]
    for _ in range(rng.integers(6) if n_rows else 0):
        rows[rng.integers(n_rows)][rng.integers(6)] = CELLS[rng.integers(len(CELLS))]
    mark = [",", ";", "\t"][rng.integers(3)]
    text = "\n".join(mark.join(row) for row in [names, *rows]) + "\n"
    content = text.encode(["utf-8", "latin-1", "utf-16"][rng.integers(3)], "replace")
    if rng.random() < 0.1:
        content = content[: rng.integers(len(content) + 1)]
    return content

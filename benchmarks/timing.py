"""How long one fit takes in CPU seconds, the compilation counted apart: measuring it, and its table and figure."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

from benchmarks.experiment import Results
from benchmarks.figures import draw_times
from benchmarks.methods.lspin_official import Official, Recipe
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Record, Run, describe, size_of
from benchmarks.tables import tabulate, write_markdown
from lspin import LSPINClassifier

METHODS = ("lspin", "llspin", "lspin_official")

PRICE = 0.01
OFFICIAL = Recipe((1.0, 1.0))  # the paper's time benchmark: penalty 1, learning rate 0.1, all rows at once
OFFICIAL_EPOCHS, TIMED_EPOCHS = 3000, 100  # what the recipe takes; what is run, and scaled up
LAYERS: dict[str, tuple[int, ...]] = {"lspin": (200, 200), "llspin": ()}


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Programs compiled before, in this process or an earlier one, are out of reach."""
    kept = jax.config.values["jax_compilation_cache_dir"]
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        compilation_cache.reset_cache()
        jax.clear_caches()
        try:
            yield
        finally:
            jax.config.update("jax_compilation_cache_dir", kept)
            compilation_cache.reset_cache()


def measure_times(run: Run, X: np.ndarray, y: np.ndarray) -> Record:
    """Compilation, and one fit without it: a first short fit less a second one, and then the whole."""
    with nothing_compiled():
        short = choose_fit(run, n_epochs=1)
        with CpuTimer() as first:
            short(X, y)
        with CpuTimer() as second:
            short(X, y)
        with CpuTimer() as whole:
            choose_fit(run, n_epochs=run.budget.epochs)(X, y)
    scale = 1.0
    if run.method == "lspin_official":
        scale = OFFICIAL_EPOCHS / (run.budget.epochs or TIMED_EPOCHS)
    row = {
        **describe(run),
        **size_of(X),
        "compiling_cpu_seconds": max(first.seconds - second.seconds, 0.0),
        "fitting_cpu_seconds": whole.seconds * scale,
        "scaled_by": scale,
    }
    return {"row": row, "arrays": {}}


def choose_fit(run: Run, n_epochs: int | None) -> Callable[[np.ndarray, np.ndarray], Any]:
    """One fit at a given price; ``None`` stands for the epochs of a whole one."""
    if run.method == "lspin_official":
        return Official(OFFICIAL, 1.0, 0.1, n_epochs or TIMED_EPOCHS, run.seed).fit
    settings = {"sparsity": PRICE, "weight_decay": 0.0, "max_epochs": n_epochs, "random_state": run.seed}
    return LSPINClassifier(LAYERS[run.method], **settings).fit


def report_times(results: Results, name: str, title: str, *, size: str, label: str, scale: str = "linear") -> None:
    """Table and figure of the times over a size."""
    frame = results.frame.sort_values(size, kind="stable")
    columns = {
        "CPU seconds of one fit": "fitting_cpu_seconds",
        "CPU seconds of compiling it": "compiling_cpu_seconds",
    }
    parts = {
        f"{head}, by {label}": tabulate(frame, column, columns=size, digits=2) for head, column in columns.items()
    }
    write_markdown(results.folder / f"{name}.md", title, parts, frame)
    draw_times(frame, METHODS, size, label, results.folder / f"{name}.png", scale=scale)

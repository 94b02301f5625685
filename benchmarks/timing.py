"""How long one fit takes in CPU seconds, the compilation counted apart: measuring it, and its table and figure."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

from benchmarks.experiment import Results
from benchmarks.figures import draw_times
from benchmarks.methods import tabnet
from benchmarks.methods.lspin_official import Official, Recipe
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Record, Run, describe, size_of
from benchmarks.tables import describe_seeds, keep_common_seeds, tabulate, write_markdown
from lspin import LSPINClassifier
from lspin.baselines import INVASEClassifier, L2XClassifier, REALXClassifier, STGClassifier
from lspin.datasets import Dataset, Part

METHODS = ("lspin", "llspin", "lspin_official", "invase", "l2x", "realx", "stg", "tabnet")

PRICE = 0.01
OFFICIAL = Recipe((1.0, 1.0))  # the paper's time benchmark: penalty 1, learning rate 0.1, all rows at once
OFFICIAL_EPOCHS = 3000  # what the recipe takes; scaled up from the equal epochs
EQUAL_EPOCHS = 100
GOAL = 85.0  # percent of the test rows
LADDER = (5, 10, 20, 40, 80, 160)  # epochs of the fits that try to get there
LAYERS: dict[str, tuple[int, ...]] = {"lspin": (200, 200), "llspin": ()}
RIVALS: dict[str, type] = {
    "invase": INVASEClassifier, "l2x": L2XClassifier, "realx": REALXClassifier, "stg": STGClassifier,
}  # fmt: skip


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


def measure_times(run: Run, data: Dataset) -> Record:
    """Compilation, a whole fit without it, equally many epochs of every method, and a fit that reaches the goal.

    A method's own settings count; nothing is tuned. Compiling is a first short fit less a second one; TabNet does
    not compile.
    """
    train, test = data.train, data.test
    with nothing_compiled():
        short = choose_model(run, 1)
        with CpuTimer() as first:
            short.fit(train.X, train.y)
        with CpuTimer() as second:
            short.fit(train.X, train.y)
        row = time_fits(run, train, test)
    if run.method != "tabnet":
        row["compiling_cpu_seconds"] = max(first.seconds - second.seconds, 0.0)
    return {"row": {**describe(run), **size_of(train.X), **row}, "arrays": {}}


def time_fits(run: Run, train: Part, test: Part) -> dict[str, float]:
    """CPU seconds of fits of several lengths, and how well the models do."""
    most = run.budget.epochs or OFFICIAL_EPOCHS
    equal, _ = time_fit(run, min(EQUAL_EPOCHS, most), train, test)
    if run.method == "lspin_official":
        scale = OFFICIAL_EPOCHS / min(EQUAL_EPOCHS, most)
        return {"equal_cpu_seconds": equal, "fitting_cpu_seconds": equal * scale, "scaled_by": scale}
    whole, accuracy = time_fit(run, run.budget.epochs, train, test)
    row = {"equal_cpu_seconds": equal, "fitting_cpu_seconds": whole, "scaled_by": 1.0, "accuracy": accuracy}
    for n_epochs in LADDER:
        seconds, accuracy = time_fit(run, min(n_epochs, most), train, test)
        if accuracy >= GOAL:
            return row | {"goal_cpu_seconds": seconds, "goal_epochs": n_epochs}
    return row


def time_fit(run: Run, n_epochs: int | None, train: Part, test: Part) -> tuple[float, float]:
    """CPU seconds, and accuracy in percent."""
    model = choose_model(run, n_epochs)
    with CpuTimer() as timer:
        model.fit(train.X, train.y)
    return timer.seconds, 100 * float(np.mean(model.predict(test.X) == test.y))


def choose_model(run: Run, n_epochs: int | None) -> Any:
    """A model at a given price; ``None`` stands for the epochs of a whole fit."""
    if run.method == "lspin_official":
        return Official(OFFICIAL, 1.0, 0.1, n_epochs or OFFICIAL_EPOCHS, run.seed)
    if run.method == "tabnet":
        size = {"batch_size": tabnet.BATCH, "virtual_batch_size": tabnet.VIRTUAL_BATCH}
        epochs = n_epochs or tabnet.EPOCHS
        return tabnet.TabNet(**tabnet.FIRST, valid=None, n_epochs=epochs, seed=run.seed, **size)
    if run.method in RIVALS:
        return RIVALS[run.method](max_epochs=n_epochs, random_state=run.seed)
    settings = {"sparsity": PRICE, "weight_decay": 0.0, "max_epochs": n_epochs, "random_state": run.seed}
    return LSPINClassifier(LAYERS[run.method], **settings)


def report_times(results: Results, name: str, title: str, *, size: str, label: str, scale: str = "linear") -> None:
    """Table and figure of the times over a size.

    Shown are the seeds that all methods have: the others may have been timed on another machine.
    """
    frame = keep_common_seeds(results.frame).sort_values(size, kind="stable")
    columns = {
        "CPU seconds of one fit": ("fitting_cpu_seconds", 2),
        f"CPU seconds of {EQUAL_EPOCHS} epochs": ("equal_cpu_seconds", 2),
        f"CPU seconds of the shortest fit that gets {GOAL:.0f} % of the test rows right, of {LADDER[0]}, "
        f"{LADDER[1]}, … {LADDER[-1]} epochs, where a seed gets there": ("goal_cpu_seconds", 2),
        "Accuracy of the one fit (%)": ("accuracy", 1),
        "CPU seconds of compiling it": ("compiling_cpu_seconds", 2),
    }
    parts = {
        f"{head}, by {label}": tabulate(frame, column, columns=size, digits=digits)
        for head, (column, digits) in columns.items()
    }
    write_markdown(results.folder / f"{name}.md", title, parts, frame, describe_seeds(frame))
    draw_times(frame, METHODS, size, label, results.folder / f"{name}.png", scale=scale)

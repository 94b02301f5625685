"""CPU time of an epoch and of a fit on wide tables: ``make bench-speed_wide`` on a quiet machine.

The linear predictor in four forms. ``official`` is the authors' recipe for BASEHOCK (batch normalisation, all
rows at once, the normals of JAX's library). ``plain`` is our model without what makes it fast: a gate for every
column, a first gating layer on all inputs, library normals. ``dense`` and ``sparse`` are ours as they are. An
epoch is one pass over the rows, timed as the difference between a long and a short fit; the bound is the time of
the five matrix products that plain gates with 16 hidden units need, measured in NumPy in the same run.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import jax
import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_lines, make_axes, new_figure, save_figure
from benchmarks.methods.lspin_official import WIDE_RECIPES, Official
from benchmarks.protocol import LEAST_SECONDS, CpuTimer
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import tabulate, write_markdown
from lspin import LSPINClassifier
from lspin.core import model, training
from lspin.fitting import recipe as recipes

METHODS = ("official", "plain", "dense", "sparse")
N_ROWS, WIDTHS = 150, (500, 2000, 5000, 20_000, 50_000)
N_COLUMNS, HEIGHTS = 5000, (379, 1500)
BASEHOCK = Case("basehock", n_train=379, n_columns=4862)  # a table of that size
STORED = 0.0139  # part of BASEHOCK's entries that is not 0
PRICE = 0.005
EPOCHS = {"official": (2, 12), "plain": (5, 45), "dense": (5, 205), "sparse": (5, 205)}  # short and long
HIDDEN = 16
SLOWEST = 20_000 * 150  # rows times columns: larger tables are not given to the slow forms


def draw_table(n_rows: int, n_columns: int, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Counts, a few in a row, and two classes that the first columns tell apart."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n_rows, n_columns), density=STORED, rng=rng, format="csr",
                        data_sampler=lambda size: 1.0 + rng.poisson(0.5, size))  # fmt: skip
    score = X[:, : n_columns // 4].sum(axis=1) - X[:, n_columns // 4 : n_columns // 2].sum(axis=1)
    return sp.csr_array(X), (score > np.median(score)).astype(int)


def library_normal(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return jax.random.normal(jax.random.wrap_key_data(jax.numpy.stack([key, key])), shape)


@contextmanager
def plainly() -> Iterator[None]:
    """Our model without screening, without a view of few directions and without hashed noise."""
    plain = recipes.WIDE._replace(n_screened=None, sees_scores=False)
    with ExitStack() as changes:
        changes.enter_context(mock.patch.object(recipes, "WIDE", plain))
        changes.enter_context(mock.patch.object(model, "normal", library_normal))
        training.advance.clear_cache()
        yield
    training.advance.clear_cache()


def make(method: str, n_epochs: int | None, seed: int) -> Any:
    if method == "official":
        return Official(
            WIDE_RECIPES["basehock"], penalty=1.0, learning_rate=0.1, n_epochs=n_epochs or 1, seed=seed
        )
    return LSPINClassifier(
        (),
        sparsity=PRICE,
        max_epochs=n_epochs,
        batch_size=512,
        zero_is_absent=method == "sparse",
        random_state=seed,
    )


def measure(run: Run) -> Record:
    n_rows, n_columns = run.case.n_train or N_ROWS, run.case.n_columns or N_COLUMNS
    stored, y = draw_table(n_rows, n_columns, run.seed)
    X = stored if run.method == "sparse" else stored.toarray()
    with ExitStack() as changes:
        if run.method == "plain":
            changes.enter_context(plainly())
        short, long = EPOCHS[run.method] if run.budget.epochs is None else (1, 2)
        make(run.method, short, run.seed).fit(X, y)  # compiles
        seconds = {}
        for n_epochs in (short, long):
            with CpuTimer() as timer:
                make(run.method, n_epochs, run.seed).fit(X, y)
            seconds[n_epochs] = timer.seconds
        per_epoch = max((seconds[long] - seconds[short]) / (long - short), LEAST_SECONDS)
        row: dict[str, Any] = {"epoch_cpu_ms": 1e3 * per_epoch}
        if run.method != "official":
            with CpuTimer() as timer:
                make(run.method, run.budget.epochs, run.seed).fit(X, y)
            row["fitting_cpu_seconds"] = timer.seconds
    row["bound_cpu_ms"] = 1e3 * time_products(n_rows, n_columns)
    return {"row": {**describe(run), **size_of(X), **row}, "arrays": {}}


def time_products(n_rows: int, n_columns: int, n_repeats: int = 5) -> float:
    """Seconds of the products of one step: two forward, and the three that their slopes need."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    weights = rng.normal(size=(n_columns, HIDDEN)).astype(np.float32)
    hidden = values @ weights
    with threadpool_limits(1), CpuTimer() as timer:
        for _ in range(n_repeats):
            values @ weights
            hidden @ weights.T
            values @ weights
            hidden.T @ values
            values.T @ hidden
    return timer.seconds / n_repeats


def applies(method: str, case: Case) -> bool:
    cells = (case.n_train or N_ROWS) * (case.n_columns or N_COLUMNS)
    return method in ("dense", "sparse") or cells <= SLOWEST


def report(results: Results) -> None:
    frame = results.frame.sort_values(["n_columns", "n_train"], kind="stable")
    tall = frame["n_columns"] == N_COLUMNS
    parts = {}
    for score, heading in (("epoch_cpu_ms", "CPU ms an epoch"), ("fitting_cpu_seconds", "CPU seconds a fit"),
                           ("bound_cpu_ms", "CPU ms of the matrix products")):  # fmt: skip
        wide, high = frame[frame["n_train"] == N_ROWS], frame[tall]
        parts[f"{heading}, {N_ROWS} rows, by columns"] = tabulate(wide, score, columns="n_columns", digits=2)
        parts[f"{heading}, {N_COLUMNS} columns, by rows"] = tabulate(high, score, columns="n_train", digits=2)
        same = frame[frame["n_columns"] == BASEHOCK.n_columns]
        parts[f"{heading}, a table of BASEHOCK's size"] = tabulate(same, score, columns="n_train", digits=2)
    write_markdown(results.folder / "speed_wide.md", "Time on wide tables", parts, frame)
    figure = new_figure(9, 3.4)
    left, right = make_axes(figure, 1, 2)[0]
    draw_lines(left, frame[frame["n_train"] == N_ROWS], "n_columns", "epoch_cpu_ms", METHODS)
    draw_lines(right, frame[tall], "n_train", "epoch_cpu_ms", METHODS)
    for axes, label in ((left, f"columns ({N_ROWS} rows)"), (right, f"rows ({N_COLUMNS:,} columns)")):
        axes.set(xlabel=label, ylabel="CPU ms an epoch", xscale="log", yscale="log")
    left.legend()
    save_figure(figure, results.folder / "speed_wide.png")


EXPERIMENT = Experiment(
    "speed_wide",
    methods=METHODS,
    cases=(
        *(Case("drawn", n_train=N_ROWS, n_columns=width) for width in WIDTHS),
        *(Case("drawn", n_train=height, n_columns=N_COLUMNS) for height in HEIGHTS),
        BASEHOCK,
    ),
    quick_methods=("dense", "sparse"),
    quick_cases=(Case("drawn", n_train=N_ROWS, n_columns=200),),
    report=report,
    measure=measure,
    applies=applies,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

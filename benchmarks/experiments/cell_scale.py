"""CPU time and peak memory of marker genes: ``make bench-cell_scale ARGS="--seeds 0 --jobs 1"``, on Linux.

Sparse tables with 5 % stored: in memory, in files that are read in batches (``backed="r"``), and as the Dask
arrays that AnnData makes of files; each in a process of its own, which finds no compiled programs. Counted is
what the process and its workers have above what was there before the table, the table itself included; a copy is
the stored values of the table with their places. Values are drawn at random but for a few genes of each type:
what a fit costs depends on the number of entries, not on what they say. Four members are fitted by one process
and by two.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.memory_wide import Watch, occupied
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown

STORED = 0.05  # part of the values that are not 0
N_TYPES, N_MARKERS = 8, 20
METHODS: dict[str, dict[str, int]] = {
    "lspin": {},
    "four_members": {"n_members": 4},
    "four_members_two_jobs": {"n_members": 4, "n_jobs": 2},
}
WHERE = {"memory": "in memory", "file": "from a file", "dask": "Dask array"}
COLOURS = {"memory": "C0", "file": "C1", "dask": "C2"}
LARGE = Case("memory", n_train=50_000, n_columns=20_000)  # the table that members are fitted on
CHUNK = 2000  # cells that are drawn at one time
CASES = tuple(
    Case(where, n_train=n_cells, n_columns=n_genes)
    for where, n_cells, n_genes in (
        ("memory", 4000, 20_000), ("memory", 12_500, 20_000), ("memory", 50_000, 20_000),
        ("memory", 50_000, 5000), ("memory", 50_000, 10_000),
        ("file", 12_500, 20_000), ("file", 50_000, 20_000), ("file", 200_000, 20_000), ("dask", 50_000, 20_000),
    )
)  # fmt: skip


def draw_block(rng: np.random.Generator, types: np.ndarray, n_genes: int) -> sp.csr_matrix:
    """Counts of some cells: a part of them at random, and the markers of each type in most of its cells."""
    n_each = int(STORED * n_genes)
    columns = rng.integers(n_genes, size=(len(types), n_each))
    own = rng.random((len(types), N_MARKERS)) < 0.6
    columns[:, :N_MARKERS] = np.where(
        own, types[:, None] * N_MARKERS + np.arange(N_MARKERS), columns[:, :N_MARKERS]
    )
    values = (1 + rng.poisson(0.5, columns.shape)).astype(np.float32)
    rows = np.repeat(np.arange(len(types)), n_each)
    return sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(len(types), n_genes))


def make_cells(case: Case, seed: int, folder: Path) -> Any:
    """An AnnData object in memory, or with values in a file that was written block by block."""
    import anndata

    rng = np.random.default_rng(seed)
    n_cells, n_genes = case.n_train or CHUNK, case.n_columns or 1000
    types = rng.integers(N_TYPES, size=n_cells)
    obs = pd.DataFrame({"type": pd.Categorical(types.astype(str))}, index=np.arange(n_cells).astype(str))
    var = pd.DataFrame(index=[f"gene{place}" for place in range(n_genes)])
    blocks = (draw_block(rng, types[start : start + CHUNK], n_genes) for start in range(0, n_cells, CHUNK))
    if case.dataset == "memory":
        return anndata.AnnData(sp.vstack(list(blocks), format="csr"), obs=obs, var=var)
    path = folder / "cells.h5ad"
    write_blocks(path, blocks, obs, var)
    if case.dataset == "file":
        return anndata.read_h5ad(path, backed="r")
    return anndata.AnnData(read_lazily(path), obs=obs, var=var)


def read_lazily(path: Path) -> Any:
    """The values of a file as a Dask array whose parts are sparse."""
    import h5py
    from anndata.experimental import read_elem_lazy

    return read_elem_lazy(h5py.File(path, "r")["X"])


def write_blocks(path: Path, blocks: Any, obs: pd.DataFrame, var: pd.DataFrame) -> None:
    import anndata
    import h5py

    anndata.AnnData(sp.csr_matrix((len(obs), len(var)), dtype=np.float32), obs=obs, var=var).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        for key in ("data", "indices", "indptr"):
            del file["X"][key]
        kinds = {"data": np.float32, "indices": np.int32}
        stored = {
            k: file["X"].create_dataset(k, (0,), t, maxshape=(None,), chunks=(2**18,)) for k, t in kinds.items()
        }
        starts = [0]
        for block in blocks:
            for key, dataset in stored.items():
                dataset.resize(starts[-1] + block.nnz, axis=0)
                dataset[starts[-1] :] = getattr(block, key)
            starts += (starts[-1] + block.indptr[1:].astype(np.int64)).tolist()
        file["X"]["indptr"] = np.array(starts, np.int64)


def measure(run: Run) -> Record:
    """Rank in a new process, which starts without anything of this one."""
    case = run.case
    numbers = [str(number) for number in (case.n_train, case.n_columns, run.seed)]
    command = [sys.executable, "-m", "benchmarks.experiments.cell_scale", "measure", run.method, case.dataset]
    with tempfile.TemporaryDirectory() as folder:
        place = {**os.environ, "XDG_CACHE_HOME": folder}  # without the programs that earlier runs compiled
        found = subprocess.run([*command, *numbers], check=True, capture_output=True, text=True, env=place)
    size = {"n_train": case.n_train, "n_columns": case.n_columns, "case": name_case(case)}
    return {"row": {**describe(run), **size, **json.loads(found.stdout.splitlines()[-1])}, "arrays": {}}


def name_case(case: Case) -> str:
    return f"{case.n_train:,} × {case.n_columns:,}, {case.dataset}"


def measure_here(method: str, case: Case, seed: int) -> dict[str, float]:
    from lspin.single_cell import rank_genes_groups

    with tempfile.TemporaryDirectory() as folder:
        small = make_cells(Case("memory", n_train=100, n_columns=400), seed, Path(folder))
        rank_genes_groups(small, "type", max_epochs=1, sparsity=0.01)  # loads the compiler
        before = occupied()
        adata = make_cells(case, seed, Path(folder))
        with Watch() as watch, CpuTimer() as timer:
            rank_genes_groups(adata, "type", random_state=seed, **METHODS[method])
        row = {"accuracy": 100 * adata.uns["lspin"]["held_out"]["accuracy"]}
        if case.dataset == "file":
            adata.file.close()
    extra = watch.peak - before
    row |= {"peak_gigabytes": watch.peak / 2**30, "extra_gigabytes": extra / 2**30}
    if "n_jobs" not in METHODS[method]:  # seconds of workers are not counted
        row["cpu_seconds"] = timer.seconds - watch.seconds
    if case.dataset == "memory":
        table = sum(part.nbytes for part in (adata.X.data, adata.X.indices, adata.X.indptr))
        row |= {"table_gigabytes": table / 2**30, "copies": extra / table}
    return row


def report(results: Results) -> None:
    place = {name_case(case): n for n, case in enumerate(CASES)}
    frame = results.frame.sort_values("case", key=lambda names: names.map(place), kind="stable")
    parts = {
        "CPU seconds, compilation included": tabulate(frame, "cpu_seconds", columns="case", digits=0),
        "Peak in gigabytes, the process as a whole": tabulate(frame, "peak_gigabytes", columns="case", digits=2),
        "Peak in gigabytes beyond what was there before the table": tabulate(
            frame, "extra_gigabytes", columns="case", digits=2
        ),
        "The table in gigabytes": tabulate(frame, "table_gigabytes", columns="case", digits=2),
        "Peak in copies of the table, its own included": tabulate(frame, "copies", columns="case", digits=2),
        "Accuracy on held-out cells (%)": tabulate(frame, "accuracy", columns="case", digits=1),
    }
    caption = [f"{100 * STORED:g} % of the values stored. {line}" for line in describe_seeds(frame)]
    write_markdown(results.folder / "cell_scale.md", "Marker genes of many cells", parts, frame, caption)
    draw(frame[frame["method"] == "lspin"], results.folder / "cell_scale.png")


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Growth over cells, and over genes."""
    figure = new_figure(8, 5.5)
    grid = make_axes(figure, 2, 2)
    scores = {"cpu_seconds": "CPU seconds", "peak_gigabytes": "peak, gigabytes"}
    of_genes = (frame["n_train"] == 50_000) & (frame["dataset"] == "memory")
    rows = (("n_train", "cells", frame[frame["n_columns"] == 20_000]), ("n_columns", "genes", frame[of_genes]))
    for places, (size, name, chosen) in zip(grid, rows, strict=True):
        for axes, (score, label) in zip(places, scores.items(), strict=True):
            for where, runs in chosen.groupby("dataset"):
                means = runs.groupby(size)[score].mean()
                axes.plot(means.index, means, "o-", color=COLOURS[where], label=WHERE[where])
            axes.set(xlabel=name, ylabel=label, xscale="log", xticks=sorted(chosen[size].unique()))
            axes.set_ylim(0, 1.1 * max(chosen[score], default=1))
            axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
            axes.minorticks_off()
    for axes in grid[:, 0]:
        if axes.has_data():  # a rehearsal has one size of cells or of genes
            axes.legend()
            break
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "cell_scale",
    methods=tuple(METHODS),
    cases=CASES,
    quick_methods=("lspin",),
    quick_cases=(
        Case("memory", n_train=100, n_columns=400),
        Case("file", n_train=100, n_columns=400),
        Case("dask", 100, 400),
    ),
    report=report,
    seeds=range(1),
    measure=measure,
    applies=lambda method, case: method == "lspin" or case == LARGE,
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        method, dataset, *numbers = sys.argv[2:]
        n_cells, n_genes, seed = map(int, numbers)
        print(json.dumps(measure_here(method, Case(dataset, n_train=n_cells, n_columns=n_genes), seed)))
    else:
        conduct(EXPERIMENT)

"""The campaign by the number: ``python -m campaign.run --inputs 10000 --files 2000``, in the folder ``tests``."""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np

from campaign import commands, files, inputs, shapes, signals
from campaign.tally import Tally
from lspin.core import training

SIGNALS = {"int": signal.SIGINT, "kill": signal.SIGKILL, "term": signal.SIGTERM}


def conduct(*, n_inputs, n_files, n_tables, n_signals, sent=None, seed=0, seconds=None, shows=False):
    """Make so many attempts of each kind; the same seed makes the same ones."""
    tally = Tally(shows=shows)
    input_rng, file_rng, table_rng, signal_rng = (np.random.default_rng([seed, place]) for place in range(4))
    for _ in range(n_inputs):
        inputs.attempt(input_rng, tally, seconds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = files.make_models() if n_files or n_signals else []
        for _ in range(n_files):
            files.attempt(file_rng, tally, models, folder, seconds)
        for _ in range(n_tables):
            commands.attempt(table_rng, tally, folder, seconds)
        if n_signals:
            models[0][0].save(folder / "old")
            old_model = (folder / "old").read_bytes()
        for _ in range(n_signals):
            signals.attempt(signal_rng, tally, folder, old_model, sent)
    return tally


def compile_quickly():
    """Make programs that are slow but soon there, and keep all: most of the time would go into compiling."""
    training.MOST_PROGRAMS = 150  # of all estimators and shapes
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
    training.prepare_compiler()
    del os.environ["XLA_FLAGS"]  # not for the processes that are sent signals
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {
        "inputs": 10_000,
        "files": 2_000,
        "tables": 1_000,
        "signals": 100,
        "shapes": 200,
        "seed": 0,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=int, default=300, help="after which an attempt counts as hanging")
    parser.add_argument("--sent", choices=SIGNALS, help="the signal of all attempts, instead of one that is drawn")
    given = parser.parse_args()
    compile_quickly()
    tally = conduct(
        n_inputs=given.inputs,
        n_files=given.files,
        n_tables=given.tables,
        n_signals=given.signals,
        sent=SIGNALS.get(given.sent),
        seed=given.seed,
        seconds=given.seconds,
        shows=True,
    )
    if given.shapes:
        print(shapes.attempt(tally, given.shapes, given.seed))
    print(tally.table())
    print(*tally.faults, sep="\n")
    sys.exit(bool(tally.faults))


if __name__ == "__main__":
    main()

"""What all experiments share: scores of a fitted model, tables of results, machines' names for versions."""

import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lspin.datasets import Part

RESULTS = Path(__file__).parent / "results"


def score_selection(selected: np.ndarray, relevant: np.ndarray) -> dict[str, float]:
    """F1, true positive rate and false discovery rate, pooled over samples as in the paper."""
    hits = (selected & relevant).sum()
    false, missed = (selected & ~relevant).sum(), (~selected & relevant).sum()
    return {
        "f1": hits / (hits + 0.5 * (false + missed)),
        "tpr": hits / (hits + missed),
        "fdr": false / max(hits + false, 1),
    }


def score_model(model: Any, part: Part) -> dict[str, float]:
    """Selection against the truth, and accuracy in percent or mean squared error and R²."""
    predicted, selected = model.predict(part.X), model.selected(part.X)
    scores = {**score_selection(selected, part.relevant), "n_features": float(np.median(selected.sum(axis=1)))}
    if hasattr(model, "classes_"):
        return {**scores, "accuracy": 100 * float(np.mean(predicted == part.y))}
    mse = float(np.mean((predicted - part.y) ** 2))
    return {**scores, "mse": mse, "r2": 1 - mse / float(np.var(part.y))}


class CpuTimer:
    """Seconds of processor time spent in a block."""

    def __enter__(self) -> "CpuTimer":
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._start


def versions() -> dict[str, str]:
    """What a number depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("lspin", "jax", "numpy")}


def write_table(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Write the rows of an experiment to its CSV file."""
    frame = pd.DataFrame([row | versions() for row in rows])
    RESULTS.mkdir(exist_ok=True)
    frame.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.6g")
    return frame

"""What each part of the nonlinear default is worth: take one away at a time. ``make bench-parts``.

Development seeds; for each variant the better of two prices on the validation rows.
"""

from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.protocol import REGRESSION, CpuTimer, score_prediction, score_selection
from benchmarks.tables import write_table
from lspin import LSPINClassifier, LSPINRegressor
from lspin.core import model, training
from lspin.core.losses import complete_scores, cross_entropy
from lspin.datasets import load_synthetic
from lspin.fitting import recipe as recipes

SEEDS = range(100, 103)
DATASETS = ("E1", "E4", "E5")
PRICES = (0.014, 0.007)

# What to change: constants of a module, numbers of the recipe, or settings of the estimator.
VARIANTS: dict[str, tuple[dict[Any, dict[str, float]], dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}, {}),
    "no foreign gates": ({}, {"exchange": 0.0}, {}),
    "no foreign values": ({model: {"FILL": 0.0}}, {}, {}),
    "noise 0.5 throughout": ({}, {"noise_scale": 0.5, "final_noise": 1.0}, {}),
    "noise not lowered": ({}, {"final_noise": 1.0}, {}),
    "gating weights never decay": ({}, {"gate_decay": 0.0}, {}),
    "gating weights always decay": ({}, {"gate_decay_until": 1.0}, {}),
    "no shrinkage of gating inputs": ({}, {"gate_shrink": 0.0}, {}),
    "no head start for the predictor": ({training: {"GATES_START": 0.0}}, {}, {}),
    "gates never settle": ({training: {"GATES_SETTLE": 0.999}}, {}, {}),
    "one hidden gating layer": ({}, {"gating_layers": (100,)}, {}),
    "predictor of 100-100": ({}, {}, {"hidden_layer_sizes": (100, 100)}),
    "1000 steps": ({}, {"steps": 1000}, {}),
}


def run_one(variant: str, name: str, seed: int) -> dict[str, Any]:
    constants, recipe, settings = VARIANTS[variant]
    data = load_synthetic(name, seed)
    kind = LSPINRegressor if name in REGRESSION else LSPINClassifier
    with ExitStack() as changes:
        for module, values in constants.items():
            for constant, value in values.items():
                changes.enter_context(mock.patch.object(module, constant, value))
        changes.enter_context(mock.patch.object(recipes, "NONLINEAR", recipes.NONLINEAR._replace(**recipe)))
        training.advance.clear_cache()  # constants are compiled in
        fitted = []
        with CpuTimer() as timer:
            for price in PRICES:
                clf = kind(**settings, sparsity=price, weight_decay=0.0, random_state=seed)
                fitted.append(clf.fit(data.train.X, data.train.y))
    best = min(fitted, key=lambda clf: validation_loss(clf, data.valid.X, data.valid.y))
    training.advance.clear_cache()
    scores = score_selection(best.selected(data.test.X), data.test.relevant)
    scores |= score_prediction(best.predict(data.test.X), data.test.y, is_regression=name in REGRESSION)
    return {
        "variant": variant,
        "dataset": name,
        "seed": seed,
        **scores,
        "fit_cpu_seconds": timer.seconds / len(PRICES),
    }


def validation_loss(clf: Any, X: np.ndarray, y: np.ndarray) -> float:
    if isinstance(clf, LSPINRegressor):
        return float(np.mean((clf.predict(X) - y) ** 2))
    scores = clf.decision_function(X)[:, None]
    return float(cross_entropy(complete_scores(scores), y).mean())


def main() -> None:
    jobs = [(variant, name, seed) for variant in VARIANTS for name in DATASETS for seed in SEEDS]
    results = Parallel(n_jobs=-1, return_as="generator")(delayed(run_one)(*job) for job in jobs)
    rows = write_table("parts", list(tqdm(results, total=len(jobs), desc="parts")))
    rows["score"] = rows["accuracy"].fillna(rows["mse"])
    table = rows.pivot_table(index="variant", columns="dataset", values=["f1", "score"], sort=False)
    with pd.option_context("display.float_format", "{:.4g}".format, "display.width", 150):
        print(table.reindex(list(VARIANTS)))


if __name__ == "__main__":
    main()

"""How fast fitting and predicting are, in CPU seconds on one thread: ``make bench-speed`` on a quiet machine."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.methods.lspin_official import RECIPES, Official
from benchmarks.protocol import CpuTimer, score_prediction, score_selection
from benchmarks.tables import write_table
from lspin import LSPINClassifier, LSPINRegressor
from lspin.datasets import Part, load_synthetic

SEEDS = range(1)
OFFICIAL = {"penalty": 0.125, "learning_rate": 0.1}  # the paper's settings for E2
OFFICIAL_EPOCHS, TIMED_EPOCHS = 10_000, 500  # what the recipe takes; what is run, and scaled up


def time_e2(seed: int) -> list[dict[str, Any]]:
    """One fit and a whole automatic path with our default, and the authors' recipe, on E2."""
    data = load_synthetic("E2", seed)
    train, valid = data.train, (data.valid.X, data.valid.y)
    official = Official(RECIPES["E2"], **OFFICIAL, n_epochs=TIMED_EPOCHS, seed=seed)
    Official(RECIPES["E2"], **OFFICIAL, n_epochs=2, seed=seed).fit(train.X, train.y)  # compiles
    single = LSPINClassifier(sparsity=0.005, weight_decay=0.0, random_state=seed).fit(train.X, train.y)
    rows = []
    with CpuTimer() as timer:
        official.fit(train.X, train.y)
    rows.append({"what": "authors' recipe", "seconds": timer.seconds * OFFICIAL_EPOCHS / TIMED_EPOCHS})
    with CpuTimer() as timer:
        single.fit(train.X, train.y)
    rows.append({"what": "one fit", "seconds": timer.seconds, **score(single, data.test)})
    path = LSPINClassifier(n_restarts=1, random_state=seed)
    path.set_params(max_epochs=1).fit(train.X, train.y, eval_set=valid)  # compiles
    with CpuTimer() as timer:
        path.set_params(max_epochs=None).fit(train.X, train.y, eval_set=valid)
    rows.append({"what": "automatic path", "seconds": timer.seconds, **score(path, data.test)})
    return [{"table": "E2", "seed": seed, **row} for row in rows]


def score(clf: LSPINClassifier, test: Part) -> dict[str, float]:
    prediction = score_prediction(clf.predict(test.X), test.y, is_regression=False)
    return score_selection(clf.selected(test.X), test.relevant) | prediction


def time_prediction() -> list[dict[str, Any]]:
    """Gates and predictions for 100,000 x 100, and the bare matrix products in NumPy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 100))
    clf = LSPINRegressor(sparsity=0.01, max_epochs=10, random_state=0).fit(X[:500], X[:500, 0])
    layers = [layer.weights for layers in clf.members_[0].networks[:2] for layer in layers]
    hidden = {size: rng.normal(size=(len(X), size)) for size in {len(weights) for weights in layers}}
    with threadpool_limits(1):
        with CpuTimer() as products:
            for weights in layers:
                hidden[len(weights)] @ weights
        with CpuTimer() as prediction:
            clf._outputs(X)
    return [
        {"table": "100000 x 100", "seed": 0, "what": what, "seconds": timer.seconds}
        for what, timer in (("matrix products", products), ("gates and predictions", prediction))
    ]


def main() -> None:
    rows = [row for seed in SEEDS for row in time_e2(seed)]
    rows += time_prediction()
    frame = write_table("speed", rows)
    print(frame.groupby(["table", "what"], sort=False)[["seconds", "f1", "accuracy"]].mean().to_string())


if __name__ == "__main__":
    main()

"""TabICL (Qu et al. 2025): a network trained beforehand on made-up tables; it does not select.

It needs no tuning, and reads the training rows whenever it predicts. Its weights are free (BSD) and come from a
hub; here they are used where present, and never fetched.
"""

from functools import partial
from typing import Any

from benchmarks.method import Grid, Method, Task, UnavailableError, Wide, require_package
from benchmarks.pretrained import Pretrained, fit_pretrained
from benchmarks.protocol import Budget, Fitted, Samples

HUB = "jingang/TabICL"
WEIGHTS = ("tabicl-classifier-v2-20260212.ckpt", "tabicl-regressor-v2-20260212.ckpt")


def require() -> None:
    require_package("tabicl", "tabicl")
    from huggingface_hub import try_to_load_from_cache

    for name in WEIGHTS:
        if not isinstance(try_to_load_from_cache(HUB, name), str):
            raise UnavailableError(
                f"the weights are not present: {name}; get them with: hf download {HUB} {' '.join(WEIGHTS)}"
            )


def make(seed: int, *, is_regression: bool) -> Any:
    from tabicl import TabICLClassifier, TabICLRegressor

    kind = TabICLRegressor if is_regression else TabICLClassifier
    return kind(
        device="cpu",
        allow_auto_download=False,
        checkpoint_version=WEIGHTS[int(is_regression)],
        random_state=seed,
        n_jobs=1,
    )


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    require()
    return fit_pretrained(partial(make, seed, is_regression=train.is_regression), train, valid, seed, budget)


def make_wide(task: Task) -> Pretrained:
    require()
    return Pretrained(partial(make, task.seed, is_regression=False))


METHOD = Method(fit, wide=Wide(Grid(({},), make_wide)), require=require)

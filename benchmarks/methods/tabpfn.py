"""TabPFN (Hollmann et al. 2025): a network trained beforehand on made-up tables; it does not select.

It needs no tuning, and reads the training rows whenever it predicts. Its weights come from Prior Labs, who ask
for a licence to be accepted and allow no commercial use; here they are used where present, and never fetched.
"""

from functools import partial
from typing import Any

from benchmarks.method import Grid, Method, Task, UnavailableError, Wide, require_package
from benchmarks.pretrained import Pretrained, fit_pretrained
from benchmarks.protocol import Budget, Fitted, Samples, quiet_torch


def require() -> None:
    require_package("tabpfn", "tabpfn")
    for path in find_weights():
        if not path.exists():
            raise UnavailableError(
                f"the weights are not present: {path}; accept the licence at https://ux.priorlabs.ai, set "
                "TABPFN_TOKEN and fit a TabPFNClassifier once, or name their folder in TABPFN_MODEL_CACHE_DIR"
            )


def find_weights() -> list[Any]:
    """Where the weights for classes and for a response are, if they are here."""
    with quiet_torch():
        from tabpfn.model_loading import resolve_model_path
        from tabpfn.settings import settings

    version = settings.tabpfn.model_version.value
    return [resolve_model_path(None, kind, version)[0][0] for kind in ("classifier", "regressor")]


def make(seed: int, *, is_regression: bool) -> Any:
    from tabpfn import TabPFNClassifier, TabPFNRegressor

    kind = TabPFNRegressor if is_regression else TabPFNClassifier
    # A table of more columns or rows than it was trained for is judged like any other.
    return kind(device="cpu", ignore_pretraining_limits=True, random_state=seed)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    require()
    return fit_pretrained(partial(make, seed, is_regression=train.is_regression), train, valid, seed, budget)


def make_wide(task: Task) -> Pretrained:
    require()
    return Pretrained(partial(make, task.seed, is_regression=False))


METHOD = Method(fit, wide=Wide(Grid(({},), make_wide)), require=require)

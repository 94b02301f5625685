"""LLSPIN: our linear predictor behind gates."""

from functools import partial

from benchmarks.method import Everyday, Method, Search, Task, Wide
from benchmarks.methods.lspin import fit_number, fit_path, fit_prices, make_default
from benchmarks.protocol import Budget, Fitted, Samples
from benchmarks.wide import CAP


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_path(train, valid, seed, budget, hidden_layer_sizes=())


def fit_wide(task: Task) -> Search:
    return fit_prices(task, hidden_layer_sizes=())


METHOD = Method(
    fit,
    wide=Wide(fit_wide, most_features=CAP, fit_number=partial(fit_number, hidden_layer_sizes=())),
    everyday=Everyday(partial(make_default, hidden_layer_sizes=()), reads_frames=True),
)

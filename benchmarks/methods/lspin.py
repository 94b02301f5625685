"""LSPIN: our nonlinear default, which chooses its sparsity on the validation rows by itself."""

from typing import Any

from benchmarks.protocol import Budget, CpuTimer, Fitted, Samples
from lspin import LSPINClassifier, LSPINRegressor


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_path(train, valid, seed, budget)


def fit_path(train: Samples, valid: Samples, seed: int, budget: Budget, **settings: Any) -> Fitted:
    """The estimator's own path and number of starts: 20 fits, more for tables of less than 500 rows."""
    kind = LSPINRegressor if train.is_regression else LSPINClassifier
    settings = {"max_epochs": budget.epochs, "random_state": seed} | settings
    if budget.epochs is not None:
        settings["n_restarts"] = 1  # a rehearsal
    with CpuTimer() as timer:
        model = kind(**settings).fit(train.X, train.y, eval_set=(valid.X, valid.y))
    n_fits = (len(model.path_) - 1) * model.n_starts_  # the sparse end of the path is known without a fit
    chosen = {"sparsity": model.sparsity_, "weight_decay": model.weight_decay_}
    return Fitted(
        predict=model.predict,
        select=model.selected,
        gates=model.gates,
        settings=settings | chosen,
        tuning_seconds=timer.seconds,
        fitting_seconds=timer.seconds / n_fits,
        costs={"n_fits": n_fits, "n_failed": 0},
    )

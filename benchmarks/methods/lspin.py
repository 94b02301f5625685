"""LSPIN: our nonlinear default, which chooses its sparsity on the validation rows by itself."""

from typing import Any

from benchmarks.protocol import Budget, CpuTimer, Fitted, Samples
from lspin import LSPINClassifier, LSPINRegressor

FITS_PER_START = 10  # of the automatic choice: ten pairs of price and weight decay


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_path(train, valid, seed, budget)


def fit_path(train: Samples, valid: Samples, seed: int, budget: Budget, **settings: Any) -> Fitted:
    """Spend the budget on the estimator's own path: as many starts as it pays for."""
    kind = LSPINRegressor if train.is_regression else LSPINClassifier
    n_restarts = max(1, budget.fits // FITS_PER_START)
    settings = {"max_epochs": budget.epochs, "n_restarts": n_restarts, "random_state": seed} | settings
    with CpuTimer() as timer:
        model = kind(**settings).fit(train.X, train.y, eval_set=(valid.X, valid.y))
    n_fits = (len(model.path_) - 1) * n_restarts  # the sparse end of the path is known without a fit
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

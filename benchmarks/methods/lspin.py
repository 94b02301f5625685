"""LSPIN: our nonlinear default, which chooses its sparsity on the validation rows by itself."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks.method import Everyday, Method, Search, Task, Trial, Wanted, Wide
from benchmarks.protocol import Budget, CpuTimer, Fitted, Samples
from benchmarks.wide import CAP
from lspin import LSPINClassifier, LSPINRegressor

NONLINEAR = (200, 200)  # also where the default would be linear
WIDE_LAYERS = (32,)  # better than the paper's (100, 50, 30) on development splits, in two thirds of the time
PRICES = (0.016, 0.008, 0.004, 0.002, 0.001)  # that one is picked from, as in the paper


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    return fit_path(train, valid, seed, budget)


def fit_path(train: Samples, valid: Samples, seed: int, budget: Budget, **settings: Any) -> Fitted:
    """The estimator's own path and number of starts: 20 fits, more for tables of less than 500 rows."""
    kind = LSPINRegressor if train.is_regression else LSPINClassifier
    settings = {"hidden_layer_sizes": NONLINEAR, "max_epochs": budget.epochs, "random_state": seed} | settings
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
        probabilities=getattr(model, "predict_proba", None),
        settings=settings | chosen,
        tuning_seconds=timer.seconds,
        fitting_seconds=timer.seconds / n_fits,
        costs={"n_fits": n_fits, "n_failed": 0},
    )


def fit_wide(task: Task) -> Search:
    return fit_prices(task)


def fit_prices(task: Task, prices: Sequence[float] = PRICES, **settings: Any) -> Search:
    """The estimator's own choice of the price, and a model at each of some fixed prices."""
    settings = {
        "hidden_layer_sizes": WIDE_LAYERS,
        "max_epochs": task.budget.epochs,
        "random_state": task.seed,
    } | settings
    if task.budget.epochs is not None:
        settings["n_restarts"] = 1  # a rehearsal
    chosen = fit_price(task, settings)
    model = chosen.model
    n_fits = max(1, len(model.path_) - 1) * model.n_starts_
    found = {"sparsity": float(model.sparsity_), "weight_decay": float(model.weight_decay_)}
    trials = [fit_price(task, settings | {"sparsity": price}) for price in prices[: task.budget.fits]]
    fixed = [trial._replace(settings={"sparsity": trial.settings["sparsity"]}) for trial in trials]
    return Search(Trial(found, model, chosen.seconds / n_fits), fixed, chosen.seconds, n_fits)


def fit_price(task: Task, settings: dict[str, Any]) -> Trial:
    valid = None if task.valid is None else (task.valid.X, task.valid.y)
    with CpuTimer() as timer:
        model = LSPINClassifier(**settings).fit(task.train.X, task.train.y, eval_set=valid)
    return Trial(settings, model, timer.seconds)


def fit_number(task: Task, number: int, **settings: Any) -> LSPINClassifier:
    """The model whose median row opens so many gates, or as many as come nearest."""
    settings |= {"n_features": number, "max_epochs": task.budget.epochs, "random_state": task.seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number that was reached is in the table
        return fit_price(task, settings).model


def make_default(wanted: Wanted, **settings: Any) -> LSPINClassifier | LSPINRegressor:
    """The estimator as it comes."""
    kind = LSPINRegressor if wanted.is_regression else LSPINClassifier
    if wanted.budget.epochs is not None:  # a rehearsal
        settings |= {"max_epochs": wanted.budget.epochs, "n_restarts": 1}
    return kind(**settings, random_state=0)


# The cap holds for the setting that is picked on test rows.
METHOD = Method(
    fit,
    wide=Wide(fit_wide, most_features=CAP, fit_number=partial(fit_number, hidden_layer_sizes=WIDE_LAYERS)),
    everyday=Everyday(make_default, reads_frames=True),
)

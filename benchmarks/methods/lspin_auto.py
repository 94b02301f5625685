"""Ours as it comes, with nothing set but the seed: start, predictor and sparsity by the validation rows."""

from benchmarks.method import Method, Search, Task, Trial, Wide
from benchmarks.methods.lspin import fit_number, fit_price
from benchmarks.protocol import Budget, CpuTimer, Fitted, Samples
from lspin import LSPINClassifier, LSPINRegressor


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    kind = LSPINRegressor if train.is_regression else LSPINClassifier
    rehearsal = {} if budget.epochs is None else {"max_epochs": budget.epochs, "n_restarts": 1}
    with CpuTimer() as timer:
        model = kind(random_state=seed, **rehearsal).fit(train.X, train.y, eval_set=(valid.X, valid.y))
    return Fitted(
        predict=model.predict,
        select=model.selected,
        gates=model.gates,
        probabilities=getattr(model, "predict_proba", None),
        settings={"start": model.start_, "sparsity": model.sparsity_, "weight_decay": model.weight_decay_},
        tuning_seconds=timer.seconds,
        fitting_seconds=timer.seconds,  # one call does it all
        costs={"n_fits": len(model.path_), "n_failed": 0},
    )


def fit_wide(task: Task) -> Search:
    """One automatic fit; there are no fixed prices to pick from."""
    settings = {"random_state": task.seed}
    if task.budget.epochs is not None:
        settings |= {"max_epochs": task.budget.epochs, "n_restarts": 1}
    chosen = fit_price(task, settings)
    model = chosen.model
    found = {"start": model.start_, "sparsity": float(model.sparsity_), "weight_decay": float(model.weight_decay_)}
    return Search(Trial(found, model, chosen.seconds), [], chosen.seconds, len(model.path_))


METHOD = Method(fit, wide=Wide(fit_wide, fit_number=fit_number))

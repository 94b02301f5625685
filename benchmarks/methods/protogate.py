"""ProtoGate: the nearest training samples vote, each behind its own gates. For classes only."""

from itertools import product
from typing import Any

from optuna.distributions import FloatDistribution, IntDistribution

from benchmarks.method import Everyday, Grid, Method, Task, Wanted, Wide
from benchmarks.protocol import Budget, Fitted, Samples, tune
from lspin.baselines import ProtoGateClassifier

SPACE = {
    "sparsity": FloatDistribution(1e-4, 3e-2, log=True),
    "global_sparsity": FloatDistribution(1e-5, 1e-3, log=True),
    "n_neighbors": IntDistribution(1, 9),
    "weight_decay": FloatDistribution(0.1, 3.0, log=True),
}
FIRST = {"sparsity": 1e-3, "global_sparsity": 1e-4, "n_neighbors": 5, "weight_decay": 1.0}  # the estimator's own
WIDE_EPOCHS = 100
WIDE_GRID = tuple(
    {"sparsity": price, "global_sparsity": shared, "n_neighbors": 3}
    for price, shared in product((1e-3, 3e-4, 1e-4), (3e-4, 1e-4, 3e-5))
)


def fit(train: Samples, valid: Samples, seed: int, budget: Budget) -> Fitted:
    def make(**settings: Any) -> Any:
        return ProtoGateClassifier(max_epochs=budget.epochs, random_state=seed, **settings)

    return tune(make, SPACE, train, valid, budget, seed, first=FIRST, select=lambda model, X: model.selected(X))


def make_wide(task: Task, **settings: Any) -> Any:
    epochs = task.budget.epochs or WIDE_EPOCHS
    return ProtoGateClassifier(max_epochs=epochs, random_state=task.seed, **settings)


def make_default(wanted: Wanted) -> ProtoGateClassifier:
    """The estimator as it comes."""
    return ProtoGateClassifier(max_epochs=wanted.budget.epochs, random_state=0)


METHOD = Method(fit, wide=Wide(Grid(WIDE_GRID, make_wide)), everyday=Everyday(make_default), for_response=False)

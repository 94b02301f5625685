"""LLSPIN with ten members: their mean probability; a feature counts as selected if any member selects it.

Its price is the estimator's own choice only: ten members at each of the fixed prices would take fifty fits more.
"""

from benchmarks.method import Method, Search, Task, Wide
from benchmarks.methods.lspin import fit_prices
from benchmarks.wide import CAP


def fit_wide(task: Task) -> Search:
    n_members = 10 if task.budget.epochs is None else 2
    return fit_prices(task, (), hidden_layer_sizes=(), n_members=n_members)


METHOD = Method(wide=Wide(fit_wide, most_features=CAP))

"""Wide tables that are hard for models of groups: ``make bench-wide_cases``.

Opposite signs of the same genes, rows between two groups, an effect that grows with a score, eight groups, and
subtypes with survival times or counts instead of a response. No choice of ours has seen these tables.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from benchmarks.everyday import fit_everyday, load_everyday
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.method import Everyday, Wanted
from benchmarks.protocol import score_selection
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from benchmarks.wide import select
from lspin import LSPINCox, LSPINRegressor
from lspin.baselines import CoxLasso
from lspin.survival import harrell_concordance, make_survival

METHODS = ("lspin", "lasso", "cluster_lasso")
N_TRAIN, N_TEST, N_COLUMNS = 300, 400, 1000
N_RAISED, RAISE = 15, 1.5  # columns of a group that tell it, and by how much they are higher in it
N_OWN, FIRST_OWN = 3, 200  # columns that count in a group, and the place of the first one
NOISE = 0.1  # standard deviation, that of the signal being 1
CENSORED_AT = 3.0  # mean time until a row leaves; that of an event is 1 where the risk is that of the mean row
SPREAD = {"survival": 1.5, "counts": 0.7}  # standard deviation of log-hazards, and of log-rates
MEAN_COUNT = 3.0
SHOWN = {
    "score": ("R², or C-index for survival times", 3),
    "ceiling": ("the same of the truth", 3),
    "f1": ("F1 of the selection", 2),
    "n_features": ("selected features of the median test row", 1),
    "n_groups": ("groups found", 1),
    "cpu_s": ("CPU seconds of a fit", 1),
}
CAPTION = (
    f"{N_TRAIN} training and {N_TEST} test rows, {N_COLUMNS:,} columns; `eight` has 480 training rows. Fifteen "
    "columns tell each group, three others count in it. `opposite`: two groups, the same three columns, "
    "coefficients of opposite sign. `between`: rows lie anywhere between two groups, and their response between "
    "those of the two. `modifier`: the effect of a column grows with a score that fifteen columns show. `eight`: "
    "eight groups. `survival` and `counts`: three groups, with exponential times (about a third censored) or "
    "Poisson counts. Ours as it comes (`random_state=0`, `loss='poisson'` for counts). LASSO and LASSO in "
    "clusters as in `suite`; of survival times a Cox regression with an L1 penalty, of counts squared error."
)


class Rows(NamedTuple):
    """Rows with their truth."""

    X: np.ndarray  # (n, n_columns)
    y: Any  # responses, counts, or times with events
    signal: np.ndarray  # (n,): what is to be predicted, without noise
    relevant: np.ndarray  # (n, n_columns)


# Tables -----------------------------------------------------------------------------------------------------


def mark_columns(X: np.ndarray, shares: np.ndarray) -> None:
    """Raise the columns that tell each group by how far a row belongs to it, ``(n, n_groups)``."""
    for group, share in enumerate(shares.T):
        X[:, N_RAISED * group : N_RAISED * (group + 1)] += RAISE * share[:, None]


def draw_effects(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.8, 2.0, N_OWN) * rng.choice([-1, 1], N_OWN)


def draw_sum(rng: np.random.Generator, X: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A rule of each group with columns of its own, added up by how far a row belongs to it."""
    mark_columns(X, shares)
    signal, relevant = np.zeros(len(X)), np.zeros(X.shape, bool)
    for group, share in enumerate(shares.T):
        own = FIRST_OWN + N_OWN * group + np.arange(N_OWN)
        signal += share * (X[:, own] @ draw_effects(rng))
        relevant[:, own] = (share > 0)[:, None]
    return signal, relevant


def draw_groups(rng: np.random.Generator, X: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    return draw_sum(rng, X, np.eye(number)[rng.integers(number, size=len(X))])


def draw_opposite(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    group = rng.integers(2, size=len(X))
    mark_columns(X, np.eye(2)[group])
    own, relevant = FIRST_OWN + np.arange(N_OWN), np.zeros(X.shape, bool)
    relevant[:, own] = True
    return np.where(group == 0, 1.0, -1.0) * (X[:, own] @ draw_effects(rng)), relevant


def draw_between(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = rng.random(len(X))
    return draw_sum(rng, X, np.column_stack([share, 1 - share]))


def draw_modifier(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    score = rng.normal(size=len(X))
    X[:, :N_RAISED] += score[:, None]
    relevant = np.zeros(X.shape, bool)
    relevant[:, [FIRST_OWN, FIRST_OWN + 1]] = True
    return X[:, FIRST_OWN] + score * X[:, FIRST_OWN + 1], relevant


def draw_three(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return draw_groups(rng, X, 3)


def draw_eight(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return draw_groups(rng, X, 8)


CASES: dict[str, Callable[[np.random.Generator, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "opposite": draw_opposite,
    "between": draw_between,
    "modifier": draw_modifier,
    "eight": draw_eight,
    "survival": draw_three,
    "counts": draw_three,
}


def draw_rows(case: Case, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows of a case."""
    rng = np.random.default_rng([list(CASES).index(case.dataset), seed])
    n_train = case.n_train or N_TRAIN
    X = rng.normal(size=(n_train + N_TEST, case.n_columns or N_COLUMNS))
    signal, relevant = CASES[case.dataset](rng, X)
    signal = (signal - signal.mean()) / signal.std() * SPREAD.get(case.dataset, 1.0)
    if case.dataset == "counts":
        signal = MEAN_COUNT * np.exp(signal) / np.exp(signal).mean()
    y = draw_target(rng, case.dataset, signal)
    train, test = slice(n_train), slice(n_train, None)
    return (
        Rows(X[train], y[train], signal[train], relevant[train]),
        Rows(X[test], y[test], signal[test], relevant[test]),
    )


def draw_target(rng: np.random.Generator, name: str, signal: np.ndarray) -> np.ndarray:
    if name == "counts":
        return rng.poisson(signal)
    if name == "survival":
        time, leaves = rng.exponential(np.exp(-signal)), rng.exponential(CENSORED_AT, len(signal))
        return make_survival(np.minimum(time, leaves), time <= leaves)
    return signal + NOISE * rng.normal(size=len(signal))


# Measuring --------------------------------------------------------------------------------------------------


def find_method(method: str, name: str) -> Everyday:
    """How a method does a case."""
    if name == "survival":
        kind = LSPINCox if method == "lspin" else CoxLasso
        return Everyday(lambda wanted: kind(random_state=0))
    if name == "counts" and method == "lspin":
        return Everyday(lambda wanted: LSPINRegressor(loss="poisson", random_state=0))
    return load_everyday(method)


def suits_case(method: str, case: Case) -> bool:
    return case.dataset != "survival" or method != "cluster_lasso"


def score(name: str, said: np.ndarray, y: Any) -> float:
    return harrell_concordance(y, risk=said).c_index if name == "survival" else r2_score(y, said)


def measure_case(run: Run) -> Record:
    """Fit a method on training rows, and score it on test rows."""
    name, (train, test) = run.case.dataset, draw_rows(run.case, run.seed)
    offered = find_method(run.method, name)
    model, seconds = fit_everyday(offered, train.X, train.y, Wanted(None, run.budget))
    row: dict[str, Any] = {
        **describe(run),
        **size_of(train.X),
        "score": score(name, model.predict(test.X), test.y),
        "ceiling": score(name, test.signal, test.y),
    }
    selected = select(offered, model, test.X)
    if selected is not None:
        row |= score_selection(selected, test.relevant) | {"n_features": float(np.median(selected.sum(axis=1)))}
    if hasattr(model, "structure_"):
        row |= {"n_groups": len(model.structure_), "start": model.start_}
    return {"row": row | {"cpu_s": seconds}, "arrays": {}}


def report(results: Results) -> None:
    place = {name: number for number, name in enumerate(CASES)}
    frame = results.frame.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    parts = {
        label: tabulate(frame, column, columns="dataset", digits=digits)
        for column, (label, digits) in SHOWN.items()
    }
    caption = [CAPTION, "", *describe_seeds(frame)]
    write_markdown(results.folder / "wide_cases.md", "Hard cases for groups", parts, frame, caption)
    draw(frame, results.folder / "wide_cases.png")


def draw(frame: pd.DataFrame, path: Path) -> None:
    """The score of each method, a panel a case; the open diamond is the truth's."""
    methods, names = (list(dict.fromkeys(frame[column])) for column in ("method", "dataset"))
    figure = new_figure(1.6 + 1.9 * len(names), 0.9 + 0.25 * len(methods))
    for axes, name in zip(make_axes(figure, 1, len(names), sharey=True)[0], names, strict=True):
        runs = frame[frame["dataset"] == name]
        draw_dots(axes, runs, "score", methods, dict.fromkeys(methods, runs["ceiling"].mean()))
        axes.set(title=name, xlabel="C-index" if name == "survival" else "R²")
    figure.suptitle("Test rows, mean ± sd over seeds; open diamond: the truth", fontsize=9)
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "wide_cases",
    methods=METHODS,
    cases=tuple(Case(name, 480 if name == "eight" else N_TRAIN, N_COLUMNS) for name in CASES),
    quick_methods=METHODS,
    quick_cases=(Case("opposite", 60, 250), Case("survival", 60, 250)),
    report=report,
    seeds=range(20, 23),
    measure=measure_case,
    applies=suits_case,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

"""Wide real tables: how they are prepared and split, and how every method is tuned and scored on them.

A method for these tables has the part ``wide`` in its record: a grid of settings, or a search of its own;
``method.py`` says what that is.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import l1_min_c

from benchmarks.method import Everyday, Grid, Search, Settings, Task, Trial, Wide, demand, load_method
from benchmarks.protocol import Budget, CpuTimer, Samples, fit_quietly, score_mask
from benchmarks.runs import Case, Record, Run, describe, size_of
from lspin import metrics
from lspin.datasets import Table, load_table

N_FOLDS, N_INNER_FOLDS = 5, 3
VALIDATION, TEST = 0.05, 0.2  # shares of the rows
SPLIT_SEED = 0
CAP = 50  # features: the paper tunes selecting methods to fewer
EDGES = (5, 10, 20, 50, 100)  # of the histogram of features a row
MANY = 0.1  # share of the columns: rows that select more overfit, says the paper

# Tables -----------------------------------------------------------------------------------------------------


def weigh_words(table: Table) -> sparse.csr_matrix:
    """Logarithms of counts, every document of length 1."""
    return normalize(sparse.csr_matrix(table.X, dtype=np.float64).log1p())


def normalise_cells(table: Table) -> np.ndarray:
    """Logarithms of counts, as if every cell had ten thousand molecules.

    Dense, though four of five are 0: where zeros have no gate, which genes are open tells the type of a cell, and
    the values of another cell do as well (docs/method.md).
    """
    assert table.library_size is not None
    return np.log1p(np.asarray(table.X, np.float64) * (1e4 / table.library_size[:, None]))


def take_logarithms(table: Table) -> np.ndarray:
    return np.log2(np.asarray(table.X, np.float64) + 1)


def drop_copies(table: Table) -> np.ndarray:
    """The table without columns that repeat an earlier one."""
    X = np.asarray(table.X, np.float64)
    return X[:, np.sort(np.unique(X, axis=1, return_index=True)[1])]


class Source(NamedTuple):
    """A table and its protocol."""

    file: str
    prepare: Callable[[Table], Any]  # row by row: nothing is learned here
    in_folds: bool  # trained on one fold of five, tested on four; else random splits without validation rows
    n_splits: int
    has_counts: bool
    n_printed: int  # features of the median row that the paper prints for its LLSPIN


SOURCES = {
    "basehock": Source("basehock", weigh_words, True, N_FOLDS, True, 4),
    "relathe": Source("relathe", weigh_words, True, N_FOLDS, True, 11),
    "pcmac": Source("pcmac", weigh_words, True, N_FOLDS, True, 3),
    "pbmc": Source("pbmc_tcells_2000", normalise_cells, True, N_FOLDS, True, 18),
    "colon": Source("colon", drop_copies, False, 10, False, 7),
    "tox171": Source("tox171", take_logarithms, False, 10, False, 6),
}


@lru_cache(maxsize=2)
def load_wide(dataset: str, n_rows: int | None = None, n_columns: int | None = None) -> tuple[Any, np.ndarray]:
    """Prepared rows and classes; for a rehearsal some rows and columns, drawn at random."""
    source = SOURCES[dataset]
    table = load_table(source.file)
    X, y = source.prepare(table), table.y
    if n_columns is not None:
        X = X[:, np.random.RandomState(SPLIT_SEED).choice(X.shape[1], n_columns, replace=False)]
    if n_rows is not None:
        rows, _ = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=SPLIT_SEED)
        X, y = X[rows], y[rows]
    return X, y


class Parts(NamedTuple):
    """Row numbers of a split."""

    train: np.ndarray
    valid: np.ndarray | None
    test: np.ndarray


def split_rows(y: np.ndarray, number: int, *, in_folds: bool) -> Parts:
    """Split ``number`` of a table: the fold to train on, or the random split."""
    if not in_folds:
        splitter = StratifiedShuffleSplit(number + 1, test_size=TEST, random_state=SPLIT_SEED)
        *_, (train, test) = splitter.split(y, y)
        return Parts(train, None, test)
    rest, valid = train_test_split(np.arange(len(y)), test_size=VALIDATION, stratify=y, random_state=SPLIT_SEED)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SPLIT_SEED).split(rest, y[rest])
    others, fold = list(folds)[number]
    return Parts(rest[fold], valid, rest[others])


def load_task(case: Case, seed: int, budget: Budget) -> tuple[Task, Samples]:
    """A split of a table: what a method may see, and the test rows."""
    source = SOURCES[case.dataset]
    share = (1 - VALIDATION) / N_FOLDS if source.in_folds else 1 - TEST
    n_rows = None if case.n_train is None else round(case.n_train / share)
    X, y = load_wide(case.dataset, n_rows, case.n_columns)
    parts = split_rows(y, seed, in_folds=source.in_folds)

    def show(rows: np.ndarray) -> Samples:
        return Samples(X[rows], y[rows], case.dataset, is_regression=False)

    valid = None if parts.valid is None else show(parts.valid)
    return Task(show(parts.train), valid, seed, budget), show(parts.test)


def has_split(case: Case, seed: int) -> bool:
    return seed < SOURCES[case.dataset].n_splits


def load_wide_method(name: str) -> Wide:
    """How a method does wide tables."""
    return demand(load_method(name).wide, name, "wide tables")


def suits_table(method: str, case: Case) -> bool:
    """Whether a method can do a table at all."""
    return SOURCES[case.dataset].has_counts or not load_wide_method(method).counts_only


# Tuning -----------------------------------------------------------------------------------------------------


class Loss(NamedTuple):
    """What tuning minimises: the error rate, and among equals the logarithmic loss, if there are probabilities."""

    error: float
    surprise: float


def scale_columns(task: Task, model: Any, *, scale: bool = True) -> Any:
    """A model behind columns scaled, and if dense centred, by the training rows; or the model alone."""
    if not scale:
        return model
    return make_pipeline(StandardScaler(with_mean=not sparse.issparse(task.train.X)), model)


def least_strength(task: Task, loss: str, *, scale: bool) -> float:
    """The inverse strength C of an L1 penalty up to which no feature is used."""
    X = task.train.X
    if scale:
        X = StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)
    return float(l1_min_c(X, task.train.y, loss=loss))


def final_step(model: Any) -> Any:
    """The model itself, without the scaling before it."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def search(wide: Wide, task: Task) -> Search:
    """Tune a method on a task, by its grid or by its own search."""
    return search_grid(wide, wide.search, task) if isinstance(wide.search, Grid) else wide.search(task)


def search_grid(wide: Wide, grid: Grid, task: Task) -> Search:
    """Fit every setting of a grid and choose on validation rows, or by cross-validation on training rows.

    A method with ``most_features`` chooses among settings that use fewer, or takes the one that uses fewest.
    """
    tried = grid.settings[: task.budget.fits]
    with CpuTimer() as timer:
        trials = [fit_trial(grid, task, settings) for settings in tried]
        losses = [judge(grid, task, trial) for trial in trials]
        allowed = np.arange(len(trials))
        if wide.most_features is not None:
            counts = np.array([count_features(wide, trial.model, task.train.X) for trial in trials], float)
            few = np.flatnonzero(counts < wide.most_features)
            allowed = few if len(few) else np.array([counts.argmin()])
        best = min(allowed, key=lambda place: losses[place])
    n_fits = len(tried) * (1 if task.valid is not None else 1 + N_INNER_FOLDS)
    return Search(trials[best], trials, timer.seconds, n_fits)


def fit_trial(grid: Grid, task: Task, settings: Settings) -> Trial:
    with CpuTimer() as timer:
        model = fit_quietly(grid.make(task, **settings), task.train)
    return Trial(settings, model, timer.seconds)


def judge(grid: Grid, task: Task, trial: Trial) -> Loss:
    if task.valid is not None:
        return measure_loss(trial.model, task.valid)
    X, y = task.train.X, task.train.y
    losses, sizes = [], []
    folds = StratifiedKFold(N_INNER_FOLDS, shuffle=True, random_state=task.seed).split(y, y)
    for learned, judged in folds:
        part = task._replace(train=task.train._replace(X=X[learned], y=y[learned]))
        model = fit_trial(grid, part, trial.settings).model
        losses.append(measure_loss(model, task.train._replace(X=X[judged], y=y[judged])))
        sizes.append(len(judged))
    return Loss(*(round(value, 9) for value in np.average(losses, axis=0, weights=sizes)))


def measure_loss(model: Any, rows: Samples) -> Loss:
    surprise = 0.0
    if hasattr(model, "predict_proba"):
        surprise = metrics.negative_log_likelihood(model.predict_proba(rows.X), rows.y)
    return Loss(float(np.mean(model.predict(rows.X) != rows.y)), surprise)


# Scores -----------------------------------------------------------------------------------------------------


def measure_wide(run: Run) -> Record:
    """Tune and fit a method on a split of a wide table, and score it on the test rows."""
    wide = load_wide_method(run.method)
    task, test = load_task(run.case, run.seed, run.budget)
    found = search(wide, task)
    model = found.chosen.model
    with CpuTimer() as timer:
        predicted = model.predict(test.X)
    correct = predicted == test.y
    row: dict[str, Any] = {
        "n_test": len(test.y),
        "accuracy": 100 * float(correct.mean()),
        "chance": 100 * float(np.bincount(test.y).max() / len(test.y)),
    }
    if hasattr(model, "predict_proba"):
        row |= score_probabilities(model.predict_proba(test.X), test.y)
    here, there = select(wide, model, task.train.X), select(wide, model, test.X)
    if here is not None and there is not None:
        row |= score_counts(here, there)
        if selects_by_row(model):
            row |= describe_heavy(there, correct, test)
            row |= score_honesty(model, here, there, task.train, test)
    if hasattr(model, "columns_needed_"):
        row["n_needed"] = len(model.columns_needed_)
    if wide.fit_number is not None:
        row |= score_number(wide, task, test, SOURCES[run.case.dataset].n_printed)
    row |= {
        "tuning_cpu_seconds": found.tuning_seconds,
        "fitting_cpu_seconds": found.chosen.seconds,
        "predicting_cpu_seconds": timer.seconds,
        "n_fits": found.n_fits,
        "settings": json.dumps(found.chosen.settings, sort_keys=True),
        "tried": json.dumps([score_trial(wide, trial, test) for trial in found.trials], sort_keys=True),
    }
    return {"row": {**describe(run), **size_of(task.train.X), **row}, "arrays": {}}


def select(offered: Wide | Everyday, model: Any, X: Any) -> np.ndarray | None:
    """Which features each row uses; a gate over an absent word or gene lets nothing through and does not count."""
    if selects_by_row(model):
        selected = read_gates(model, X) > 0 if hasattr(model, "gates") else model.selected(X)
        return np.asarray(selected & (as_dense(X) != 0 if sparse.issparse(X) else True))
    return None if offered.select is None else np.broadcast_to(offered.select(model), X.shape)


def selects_by_row(model: Any) -> bool:
    return hasattr(model, "gates") or hasattr(model, "selected")


def count_features(wide: Wide, model: Any, X: Any) -> float | None:
    """How many features the median row uses; ``None`` if the method does not select."""
    selected = select(wide, model, X)
    return None if selected is None else float(np.median(selected.sum(axis=1)))


def read_gates(model: Any, X: Any) -> np.ndarray:
    return as_dense(model.gates(X))


def as_dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def score_probabilities(probabilities: np.ndarray, y: np.ndarray) -> dict[str, float]:
    return {
        "nll": metrics.negative_log_likelihood(probabilities, y),
        "ece": metrics.expected_calibration_error(y, probabilities),
    }


def score_counts(train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """How many features a row uses, on rows learned from and on new ones, and how many all new rows together."""
    counts = test.sum(axis=1)
    return {
        "n_features_train": float(np.median(train.sum(axis=1))),
        "n_features": float(np.median(counts)),
        "n_union": int(test.any(axis=0).sum()),
        "n_most": int(counts.max()),
        "many_train": 100 * float(np.mean(train.mean(axis=1) > MANY)),
        "many_test": 100 * float(np.mean(test.mean(axis=1) > MANY)),
        "n_selected": json.dumps(dict(sorted(Counter(counts.tolist()).items()))),
    }


def score_number(wide: Wide, task: Task, test: Samples, number: int) -> dict[str, Any]:
    """A model with as many features a row as the paper prints: how good it is, and how many it uses in all."""
    assert wide.fit_number is not None
    with CpuTimer() as timer:
        model = wide.fit_number(task, number)
    selected = select(wide, model, test.X)
    assert selected is not None
    return {
        "number_asked": number,
        "number_accuracy": 100 * float(np.mean(model.predict(test.X) == test.y)),
        "number_features": float(np.median(selected.sum(axis=1))),
        "number_union": int(selected.any(axis=0).sum()),
        "number_needed": len(model.columns_needed_),
        "number_cpu_seconds": timer.seconds,
    }


def describe_heavy(selected: np.ndarray, correct: np.ndarray, test: Samples) -> dict[str, Any]:
    """Test rows that use far more features than the others: how many, how often right, how long, which class."""
    summary = metrics.summarise_gates(selected, edges=EDGES)
    heavy = np.zeros(len(correct), bool)
    heavy[summary.suspicious] = True
    row: dict[str, Any] = {"heavy_limit": summary.limit, "heavy_share": 100 * float(heavy.mean())}
    if not heavy.any() or heavy.all():
        return row
    lengths = (as_dense(test.X) != 0).sum(axis=1)
    classes = np.bincount(test.y[heavy], minlength=test.y.max() + 1) / np.bincount(test.y)
    return row | {
        "heavy_accuracy": 100 * float(correct[heavy].mean()),
        "light_accuracy": 100 * float(correct[~heavy].mean()),
        "heavy_length": float(np.median(lengths[heavy]) / max(np.median(lengths[~heavy]), 1)),
        "heavy_class": int(classes.argmax()),
        "heavy_class_share": 100 * float(classes.max()),
    }


def score_honesty(
    model: Any, train_mask: np.ndarray, test_mask: np.ndarray, train: Samples, test: Samples
) -> dict[str, float]:
    """What the mask alone tells, and what is left when a row keeps its gates but has another row's values."""
    scores = {"mask_accuracy": score_mask(train_mask, train.y, test_mask, test.y)}
    if not hasattr(model, "predict_with_gates"):
        return scores
    order = np.random.RandomState(SPLIT_SEED).permutation(len(test.y))
    donors = np.empty(len(order), int)
    donors[order] = np.roll(order, 1)  # never itself
    exchanged = model.predict_with_gates(test.X[donors], read_gates(model, test.X))
    return scores | {"exchanged_accuracy": 100 * float(np.mean(exchanged == test.y))}


def score_trial(wide: Wide, trial: Trial, test: Samples) -> dict[str, Any]:
    """A setting's score on test rows: for the choice that the paper makes, never for ours."""
    return {
        "settings": trial.settings,
        "accuracy": round(100 * float(np.mean(trial.model.predict(test.X) == test.y)), 4),
        "n_features": count_features(wide, trial.model, test.X),
    }


def spread_grid(values: Sequence[Any], name: str, **others: Any) -> list[Settings]:
    """A setting at each of some values, with others fixed."""
    return [{name: value, **others} for value in values]

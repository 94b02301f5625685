"""Cohorts with survival times: how they are split, and how every method is swept and scored on them.

A method for cohorts has the part ``cox``, a ``Sweep``, in its record; ``method.py`` says what that is.
"""

import json
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.method import Sweep, demand, load_method
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Record, Run, describe, size_of
from lspin.datasets import load_table
from lspin.survival import harrell_concordance, integrated_brier_score, make_survival

COHORTS = ("seer_breast", "metabric", "gbsg", "support")
# A tenth of the paper's extract of SEER, which it trains on, has 51,000 patients; a tenth of the open one has 58
# deaths. So here it is a half, in five partitions: trained on one fold, tested on the other.
N_FOLDS, N_PARTITIONS = 2, 5
VALIDATION = 0.2  # of the training rows; the paper's 5 % of all would hold 31 deaths
N_NOISE = 3  # uniform columns that SEER gets, as in the paper
FEW = 3  # features a patient, where a model may use only these
NOISE_SEED = 0
N_SPLITS = {"seer_breast": N_FOLDS * N_PARTITIONS}
N_DRAWS = 5  # of validation rows, where the test rows are published
PRICES = (0.0003, 0.001, 0.002, 0.004, 0.008, 0.016)  # of a feature, in nats an event
MOST_SETS = 10  # that are kept
BRIER_TIMES = (0.1, 0.9, 30)  # from which to which quantile of the test times, and how many


class Rows(NamedTuple):
    """Patients with their outcome."""

    X: np.ndarray
    y: np.ndarray  # structured: event, time


class Cohort(NamedTuple):
    """What a method learns from, is chosen by and is judged by."""

    train: Rows
    valid: Rows
    test: Rows
    names: np.ndarray  # of the columns
    n_noise: int  # last columns, which are known to say nothing


def load_cohort(name: str, seed: int) -> Cohort:
    """A cohort as split by a seed; columns have mean 0 and variance 1 in the training rows."""
    table = load_table(name)
    X, n_noise = np.asarray(table.X, np.float64), 0
    # One time of METABRIC's test part is 0: nobody is followed for no time, so it is half the least other time.
    time = np.where(table.y["time"] > 0, table.y["time"], table.y["time"][table.y["time"] > 0].min() / 2)
    y = make_survival(time, table.y["event"])
    if table.is_test is None:
        n_noise = N_NOISE
        X = np.hstack([X, np.random.default_rng(NOISE_SEED).random((len(X), n_noise))])
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed // N_FOLDS).split(X, y["event"])
        test, known = list(folds)[seed % N_FOLDS]
    else:
        known, test = np.flatnonzero(~table.is_test), np.flatnonzero(table.is_test)
    train, valid = (known[part] for part in split_events(y[known], VALIDATION, seed))
    center, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - center) / np.where(scale > 0, scale, 1.0)
    names = np.array([*table.feature_names, *(f"noise {n + 1}" for n in range(n_noise))])
    return Cohort(*(Rows(X[part], y[part]) for part in (train, valid, test)), names, n_noise)


def sweep_prices(decays: tuple[float, ...]) -> tuple[dict[str, float], ...]:
    """The settings of methods with gates. Decays were chosen on inner splits of the published training parts."""
    return tuple({"sparsity": price, "weight_decay": decay} for price, decay in product(PRICES, decays))


def split_events(y: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of all rows but a share, and of the share; both have their part of the events."""
    places = train_test_split(np.arange(len(y)), test_size=share, random_state=seed, stratify=y["event"])
    return np.sort(places[0]), np.sort(places[1])


def has_split(dataset: str, seed: int) -> bool:
    return seed < N_SPLITS.get(dataset, N_DRAWS)


def measure_sweep(run: Run) -> Record:
    """Fit a method with each setting of its sweep, and judge the one that the validation rows choose."""
    sweep = demand(load_method(run.method).cox, run.method, "cohorts with survival times")
    cohort = load_cohort(run.case.dataset, run.seed)
    with CpuTimer() as timer:
        tried = [try_setting(sweep, settings, cohort, run) for settings in sweep.settings[: run.budget.fits]]
        path = [point for point in tried if point is not None]
        best = add_members(sweep, max(path, key=lambda point: point["valid_c"]), cohort, run)
        few = [point for point in path if point["n_features"] <= FEW]
        chosen = max(few, key=lambda point: point["valid_c"], default={})
        if chosen and (together := add_members(sweep, chosen, cohort, run))["n_features"] <= FEW:
            chosen = together
    row = {f"best_{name}": best[name] for name in best if name not in ("settings", "sets", "counts")}
    row |= {f"few_{name}": chosen.get(name, float("nan")) for name in ("valid_c", "test_c", "mean_features")}
    row |= {
        "settings": json.dumps(best["settings"]),
        "sets": json.dumps(best["sets"]),
        "counts": json.dumps(best["counts"]),
        "path": json.dumps([shorten(point) for point in path]),
        "tuning_cpu_seconds": timer.seconds,
        "n_failed": len(tried) - len(path),
    }
    return {"row": {**describe(run), **size_of(cohort.train.X), **row}, "arrays": {}}


def add_members(sweep: Sweep, point: dict[str, Any], cohort: Cohort, run: Run) -> dict[str, Any]:
    """What the setting of a point gives with as many members as the method has."""
    if sweep.n_members == 1:
        return point
    return measure_setting(sweep, point["settings"] | {"n_members": sweep.n_members}, cohort, run)


def shorten(point: dict[str, Any]) -> dict[str, Any]:
    """A point of the path as the table keeps it: without its sets, to five digits."""
    kept = {name: value for name, value in point.items() if name not in ("sets", "counts")}
    return {name: round(value, 5) if isinstance(value, float) else value for name, value in kept.items()}


def try_setting(sweep: Sweep, settings: dict[str, Any], cohort: Cohort, run: Run) -> dict[str, Any] | None:
    """What a setting gives; ``None`` where a rival's training diverges, for the sweep goes on."""
    try:
        return measure_setting(sweep, settings, cohort, run)
    except FloatingPointError:
        return None


def measure_setting(sweep: Sweep, settings: dict[str, Any], cohort: Cohort, run: Run) -> dict[str, Any]:
    """Concordance and Brier score of one model, and how many features its test rows use."""
    train, valid, test, names, n_noise = cohort
    with CpuTimer() as timer:
        model = sweep.make(settings, run.seed, run.budget).fit(train.X, train.y)
    selected = model.selected(test.X) if hasattr(model, "selected") else np.ones(test.X.shape, bool)
    return {
        "settings": settings,
        "valid_c": harrell_concordance(valid.y, risk=model.predict(valid.X)).c_index,
        "test_c": harrell_concordance(test.y, risk=model.predict(test.X)).c_index,
        "ibs": score_curves(model, train, test),
        "n_features": float(np.median(selected.sum(axis=1))),
        "mean_features": float(selected.sum(axis=1).mean()),
        "noise_share": float(selected[:, -n_noise:].mean(axis=0).max()) if n_noise else float("nan"),
        "fitting_cpu_seconds": timer.seconds,
        "sets": share_sets(selected, names),
        "counts": {
            int(n): float(share) for n, share in enumerate(np.bincount(selected.sum(axis=1)) / len(selected))
        },
    }


def share_sets(selected: np.ndarray, names: np.ndarray) -> dict[str, float]:
    """The commonest sets of features, and the share of the rows that select them."""
    patterns, numbers = np.unique(selected, axis=0, return_counts=True)
    commonest = np.argsort(-numbers, kind="stable")[:MOST_SETS]
    return {" + ".join(names[patterns[n]]) or "none": float(numbers[n] / len(selected)) for n in commonest}


def score_curves(model: Any, train: Rows, test: Rows) -> float:
    """Integrated Brier score over the middle of the follow-up."""
    first, last, count = BRIER_TIMES
    known = model.unique_times_
    low, high = np.quantile(test.y["time"], (first, last))
    times = np.linspace(max(low, known[0]), min(high, known[-1]), count)
    curves = model.predict_survival_function(test.X, return_array=True)
    at = np.searchsorted(known, times, side="right") - 1
    return integrated_brier_score(test.y, survival=curves[:, at], times=times, train=train.y)

"""Which sets of variables are selected for which share of the patients: ``make bench-survival_sets``.

As the right-hand figure of the paper's survival section, for the linear predictor at the price that the validation
rows choose; and the table of how many variables a patient has.
"""

import json
from collections import Counter

import numpy as np
import pandas as pd

from benchmarks.cohorts import COHORTS, has_split, load_cohort
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.survival_curve import NAMES
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.protocol import load_method
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import write_markdown
from lspin.datasets import load_table
from lspin.survival import harrell_concordance

METHODS = ("cox_llspin", "cox_lspin")
N_SHOWN = 8  # sets
N_NAMED = 3  # variables of a set


def measure(run: Run) -> Record:
    """Fit the sweep, and count the sets of the model that does best on the validation rows."""
    train, valid, test, n_noise = load_cohort(run.case.dataset, run.seed)
    method = load_method(run.method)
    models = [method.make_cox(s, run.seed, run.budget).fit(*train) for s in method.COX_SWEEP[: run.budget.fits]]
    best = max(models, key=lambda model: harrell_concordance(valid.y, risk=model.predict(valid.X)).c_index)
    names = [*load_table(run.case.dataset).feature_names, *(f"noise {n + 1}" for n in range(n_noise))]
    selected = best.selected(test.X)
    sets = Counter(" + ".join(np.array(names)[row]) or "none" for row in selected)
    counts = Counter(selected.sum(axis=1).tolist())
    row = {
        "sparsity": best.sparsity_,
        "test_c": harrell_concordance(test.y, risk=best.predict(test.X)).c_index,
        "n_sets": len(sets),
        "sets": json.dumps({name: n / len(selected) for name, n in sets.most_common(30)}),
        "counts": json.dumps({str(n): c / len(selected) for n, c in sorted(counts.items())}),
        "most_noise": float(selected[:, -n_noise:].mean(axis=0).max()) if n_noise else float("nan"),
    }
    return {"row": {**describe(run), **size_of(train.X), **row}, "arrays": {}}


def average(cells: pd.Series) -> pd.Series:
    """Mean shares over the splits; what a split does not have counts 0."""
    return pd.DataFrame([json.loads(cell) for cell in cells]).fillna(0.0).mean().sort_values(ascending=False)


def report(results: Results) -> None:
    parts = {}
    for (dataset, method), runs in results.frame.groupby(["dataset", "method"], sort=False):
        of = f"{NAMES[str(dataset)]}, {method}"
        shares = average(runs["sets"]).head(N_SHOWN)
        parts[f"Sets of variables: {of}"] = [
            "| set | share of the patients |",
            "|---|---|",
            *(f"| {name} | {100 * share:.1f} % |" for name, share in shares.items()),
        ]
        counts = average(runs["counts"]).sort_index(key=lambda index: index.astype(int))
        parts[f"Numbers of variables: {of}"] = [
            "| " + " | ".join(counts.index) + " |",
            "|---" * len(counts) + "|",
            "| " + " | ".join(f"{100 * share:.1f} %" for share in counts) + " |",
        ]
    write_markdown(
        results.folder / "survival_sets.md", "Survival: who needs which variables", parts, results.frame
    )
    draw_sets(results)


def shorten(name: str) -> str:
    """A set as a figure has room for it."""
    names = name.split(" + ")
    return name if len(names) <= N_NAMED else " + ".join(names[:N_NAMED]) + f" + {len(names) - N_NAMED} more"


def draw_sets(results: Results) -> None:
    frame = results.frame[results.frame["method"] == METHODS[0]]
    shown = [name for name in COHORTS if name in set(frame["dataset"])]
    if not shown:
        return
    figure = new_figure(7, 2.2 * len(shown))
    for axes, name in zip(make_axes(figure, len(shown), 1)[:, 0], shown, strict=True):
        shares = average(frame.loc[frame["dataset"] == name, "sets"]).head(N_SHOWN)[::-1]
        axes.barh([shorten(name) for name in shares.index], 100 * shares, color="#0072B2")
        axes.set(title=NAMES[name], xlabel="% of the patients")
    save_figure(figure, results.folder / "survival_sets.png")


EXPERIMENT = Experiment(
    "survival_sets",
    methods=METHODS,
    cases=tuple(Case(name) for name in COHORTS),
    quick_methods=("cox_llspin",),
    quick_cases=(Case("seer_breast"),),
    report=report,
    measure=measure,
    applies=lambda method, case: True,
    has_seed=lambda case, seed: has_split(case.dataset, seed),
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

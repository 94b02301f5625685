"""What comparing patients within a batch only does to the Cox model: ``make bench-survival_batches``.

The partial likelihood compares a patient who has the event with all who are followed then; a batch has a part of
them. Shown are the mean gradient over batches beside the exact one (at a log-hazard of 0, by the columns), how far
the coefficients of a linear model without gates end from those of all rows at once, and what is left
of this in the concordance on test rows.
"""

import numpy as np
import pandas as pd

from benchmarks.cohorts import Cohort, has_split, load_cohort
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.survival_curve import NAMES
from benchmarks.figures import make_axes, new_figure, save_figure
from benchmarks.runs import Case, Record, Run, describe, size_of
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin import LSPINCox
from lspin.baselines import DeepSurv
from lspin.core.cox import cox_loss, find_risk_sets
from lspin.survival import harrell_concordance

BATCHES = {"batch_32": 32, "batch_128": 128, "batch_512": 512, "exact": 1_000_000}
EXACT = "exact"
N_SHUFFLES = 200  # partitions into batches that a mean gradient is taken over
N_STEPS = 4000
PRICE = 0.003


def measure(run: Run) -> Record:
    cohort = load_cohort(run.case.dataset, run.seed)
    train, size = cohort.train, min(BATCHES[run.method], len(cohort.train.y))
    exact = mean_gradient(cohort, len(train.y), run.seed)
    found = mean_gradient(cohort, size, run.seed)
    slopes = {n: fit_slopes(cohort, n, run) for n in {size, len(train.y)}}
    whole = slopes[len(train.y)]
    row = {
        "length": float(np.linalg.norm(found) / np.linalg.norm(exact)),
        "cosine": float(found @ exact / np.linalg.norm(found) / np.linalg.norm(exact)),
        "shift": float(np.linalg.norm(slopes[size] - whole) / np.linalg.norm(whole)),
        "linear_test_c": score(cohort, cohort.test.X @ slopes[size]),
        "gated_test_c": score(cohort, fit_gated(cohort, size, run).predict(cohort.test.X)),
    }
    return {"row": {**describe(run), **size_of(train.X), **row}, "arrays": {}}


def score(cohort: Cohort, risk: np.ndarray) -> float:
    return harrell_concordance(cohort.test.y, risk=risk).c_index


def mean_gradient(cohort: Cohort, size: int, seed: int) -> np.ndarray:
    """Of the loss of a batch, by the coefficients of a linear model, where these are 0."""
    import jax

    X, y = cohort.train
    slope = jax.jit(jax.grad(lambda log_hazard, sets: cox_loss(log_hazard, sets)))
    rng = np.random.default_rng(seed)
    gradients = []
    for _ in range(1 if size == len(y) else N_SHUFFLES):
        order = rng.permutation(len(y))[: len(y) // size * size].reshape(-1, size)
        for batch in order:
            rows = batch[np.argsort(-y["time"][batch], kind="stable")]
            sets = find_risk_sets(y["time"][rows], y["event"][rows].astype(float), np.ones(size))
            gradients.append(X[rows].T @ np.asarray(slope(np.zeros(size), jax.tree.map(jax.numpy.asarray, sets))))
    return np.mean(gradients, axis=0)


def fit_slopes(cohort: Cohort, size: int, run: Run) -> np.ndarray:
    """Coefficients of a linear model without gates, by differences of its risks."""
    n_batches = -(-len(cohort.train.y) // size)
    model = DeepSurv((), weight_decay=0.0, batch_size=size, random_state=run.seed)
    model.set_params(max_epochs=run.budget.epochs or -(-N_STEPS // n_batches)).fit(*cohort.train)
    unit = np.eye(cohort.train.X.shape[1])
    return model.predict(unit) - model.predict(0 * unit)


def fit_gated(cohort: Cohort, size: int, run: Run) -> LSPINCox:
    model = LSPINCox((32, 32), sparsity=PRICE, weight_decay=3.0, batch_size=size, random_state=run.seed)
    return model.set_params(max_epochs=run.budget.epochs).fit(*cohort.train)


def report(results: Results) -> None:
    frame = results.frame.assign(cohort=results.frame["dataset"].map(NAMES))
    columns = {
        "Length of the mean gradient, as part of the exact one's": ("length", 3),
        "Cosine of the two": ("cosine", 4),
        "Distance of the coefficients from those of all at once, as part of their length": ("shift", 3),
        "C on test rows, linear without gates": ("linear_test_c", 3),
        "C on test rows, LSPINCox at one price": ("gated_test_c", 3),
    }
    parts = {
        title: tabulate(frame, name, columns="cohort", digits=digits) for title, (name, digits) in columns.items()
    }
    title = "Survival: what batches do to the likelihood"
    write_markdown(results.folder / "survival_batches.md", title, parts, frame, describe_seeds(frame))
    draw_shifts(frame, results)


def draw_shifts(frame: pd.DataFrame, results: Results) -> None:
    figure = new_figure(7, 3)
    left, right = make_axes(figure, 1, 2)[0]
    for cohort, runs in frame[frame["method"] != EXACT].groupby("cohort"):
        means = runs.groupby("method", sort=False)[["length", "shift"]].mean()
        sizes = [BATCHES[method] for method in means.index]
        left.plot(sizes, means["length"], "o-", markersize=4, label=cohort)
        right.plot(sizes, means["shift"], "o-", markersize=4, label=cohort)
    left.set(xscale="log", xlabel="rows of a batch", ylabel="length of the gradient (exact: 1)")
    right.set(xscale="log", xlabel="rows of a batch", ylabel="shift of the coefficients")
    left.legend()
    save_figure(figure, results.folder / "survival_batches.png")


EXPERIMENT = Experiment(
    "survival_batches",
    methods=tuple(BATCHES),
    cases=tuple(Case(name) for name in ("metabric", "gbsg", "support")),
    quick_methods=("batch_512", EXACT),
    quick_cases=(Case("metabric"),),
    report=report,
    measure=measure,
    applies=lambda method, case: True,
    has_seed=lambda case, seed: has_split(case.dataset, seed),
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

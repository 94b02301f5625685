"""Where the leakage audit rings. ``make bench-leakage``.

Our default and its linear predictor on E1 to E5 and on drawn tables, a model trained without what keeps gates from
leaking, and one built to leak. The audit's threshold was chosen on seeds 100 to 102; these seeds chose nothing.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.drawn import draw
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.protocol import REGRESSION, CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, write_markdown
from lspin import LSPINClassifier, LSPINRegressor
from lspin.audit import LEAST_GAIN, audit_leakage
from lspin.datasets import Part, load_synthetic

SEEDS = range(200, 205)
SYNTHETIC = ("E1", "E2", "E3", "E4", "E5")
FAMILIES = ("clinics", "switch", "pictures", "plain", "sites", "subtypes", "modules", "polygenic")
BUILT = "noise"  # the table of the model that is built to leak


class Variant(NamedTuple):
    """A model, and the tables that it is audited on."""

    settings: dict[str, Any]
    tables: tuple[str, ...]


MODELS = {
    "as it comes": Variant({}, (*SYNTHETIC, *FAMILIES)),
    "linear predictor": Variant({"hidden_layer_sizes": ()}, (*SYNTHETIC, *FAMILIES)),
    "no foreign gates": Variant({"sparsity": 0.06, "weight_decay": 0.0, "gate_exchange": 0.0}, ("E4",)),
}
ENCODER = "built to leak"
FIGURES = {
    "test": "test", "own": "own", "evaluator": "selected values", "mask": "mask alone", "chance": "chance",
    "exchanged_within": "exchanged within", "exchanged_across": "exchanged across",
}  # fmt: skip

CAPTION = (
    "Accuracy, or R² of a response, over all rows of a table (`test`: of the test rows). Selected values: boosted "
    "trees that learned from rows with other rows' masks. Mask alone: boosted trees that see which features are "
    "selected, not their values. Exchanged: the model's own score with the gates of another row of the same class "
    "(quarter of the response) or of another one. Mask gain: what the mask explains beyond the selected values, "
    f"as a part of the entropy or variance; the audit rings above {LEAST_GAIN} and two standard errors."
)


class Encoder:
    """A model built to leak: it shows one of two columns of noise, and which one is the answer."""

    classes_ = np.array([False, True])

    def selected(self, X: np.ndarray) -> np.ndarray:
        answer = X[:, -1] > 0
        shown = np.zeros(X.shape, bool)
        shown[:, 0], shown[:, 1] = answer, ~answer
        return shown

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.selected(X)[:, 0]


class Audited(NamedTuple):
    """A table to audit on."""

    train: Part
    rest: tuple[Part, ...]  # rows that were not learned from, test rows last
    is_regression: bool


def load_audited(case: Case, seed: int) -> Audited:
    """A table of the paper, or a drawn one; for a rehearsal the first training rows."""
    if case.dataset in SYNTHETIC:
        data = load_synthetic(case.dataset, seed, case.n_train)
        return Audited(data.train, (data.valid, data.test), case.dataset in REGRESSION)
    drawn = draw(case.dataset, seed)
    X, y, relevant, groups, names = drawn.train
    rows = slice(case.n_train)
    return Audited(Part(X[rows], y[rows], relevant[rows], groups[rows], names), (drawn.test,), drawn.is_regression)


def measure_leakage(run: Run) -> Record:
    """Fit a model and audit it on all rows, which the evaluators need."""
    if run.method == ENCODER:
        X = np.random.default_rng(run.seed).normal(size=(1000, 6))
        return record(run, Encoder(), X, X[:, -1] > 0, {})
    table = load_audited(run.case, run.seed)
    kind = LSPINRegressor if table.is_regression else LSPINClassifier
    model = kind(**MODELS[run.method].settings, max_epochs=run.budget.epochs, random_state=run.seed)
    with CpuTimer() as timer:
        model.fit(table.train.X, table.train.y)
    test = table.rest[-1]
    known = {"test": float(model.score(test.X, test.y)), "start": model.start_, "fit_cpu_seconds": timer.seconds}
    X, y = (np.concatenate([getattr(part, name) for part in (table.train, *table.rest)]) for name in ("X", "y"))
    return record(run, model, X, y, known)


def record(run: Run, model: Any, X: np.ndarray, y: np.ndarray, known: dict[str, Any]) -> Record:
    with CpuTimer() as timer:
        audit = audit_leakage(model, X, y)
    row = {**describe(run), "n": len(X), **known, **audit._asdict(), "audit_cpu_seconds": timer.seconds}
    return {"row": row, "arrays": {}}


def suits_model(model: str, case: Case) -> bool:
    return case.dataset == BUILT if model == ENCODER else case.dataset in MODELS[model].tables


def tabulate_audits(frame: pd.DataFrame) -> list[str]:
    """A line a model and table: scores, range of the gain, how often it rings."""
    lines = ["| table | model | " + " | ".join(FIGURES.values()) + " | mask gain (range) | rings |"]
    lines.append("|---" * (len(FIGURES) + 4) + "|")
    for (dataset, model), runs in frame.groupby(["dataset", "method"], sort=False):
        means = runs[list(FIGURES)].astype(float).mean()
        cells = ["–" if pd.isna(value) else f"{value:.3f}" for value in means]
        gains = runs["mask_gain"]
        cells.append(f"{gains.mean():.3f} ({gains.min():.3f} to {gains.max():.3f})")
        lines.append(
            f"| {dataset} | {model} | " + " | ".join(cells) + f" | {runs['leaks'].sum()} of {len(runs)} |"
        )
    return lines


def list_rings(frame: pd.DataFrame) -> list[str]:
    """Where the audit rings at all, a line each."""
    lines = []
    for (model, dataset), runs in frame.groupby(["method", "dataset"], sort=False):
        n_rings = int(runs["leaks"].sum())
        if n_rings:
            lines.append(f"- {model}, {dataset}: {n_rings} of {len(runs)}, gain {runs['mask_gain'].mean():.3f}")
    return lines or ["Nowhere."]


def report(results: Results) -> None:
    """Tables of all audits, and the figure."""
    place = {name: number for number, name in enumerate((*SYNTHETIC, *FAMILIES, BUILT))}
    frame = results.frame.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    frame = frame.reindex(columns=frame.columns.union(["test"], sort=False))
    parts = {"Where it rings": list_rings(frame), "All audits": tabulate_audits(frame)}
    caption = [CAPTION, "", *describe_seeds(frame)]
    write_markdown(results.folder / "leakage.md", "Where the leakage audit rings", parts, frame, caption)
    draw_gains(frame, results.folder / "leakage.png")


def draw_gains(frame: pd.DataFrame, path: Path) -> None:
    """The mask's gain, a panel a model, a line a table."""
    ours = frame[frame["method"].isin(["as it comes", "linear predictor"])]
    tables, models = list(dict.fromkeys(ours["dataset"])), list(dict.fromkeys(ours["method"]))
    figure = new_figure(8.5, 1.2 + 0.25 * len(tables))
    for axes, model in zip(make_axes(figure, 1, len(models), sharey=True)[0], models, strict=True):
        runs = ours[ours["method"] == model].assign(method=lambda rows: rows["dataset"])
        draw_dots(axes, runs, "mask_gain", tables, {})
        axes.axvline(LEAST_GAIN, color="#999999", linewidth=0.8, linestyle=":")
        axes.set(title=model, xlabel="mask gain")
    figure.suptitle("All rows, mean ± sd over seeds; dotted: where the audit rings", fontsize=9)
    save_figure(figure, path)


EXPERIMENT = Experiment(
    "leakage",
    methods=(*MODELS, ENCODER),
    cases=tuple(Case(table) for table in (*SYNTHETIC, *FAMILIES, BUILT)),
    quick_methods=("as it comes", "linear predictor", ENCODER),
    quick_cases=(Case("sites", n_train=60), Case(BUILT)),
    report=report,
    seeds=SEEDS,
    measure=measure_leakage,
    applies=suits_model,
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

"""Concordance against the number of features a patient, on four cohorts: ``make bench-survival_curve``.

Every method is fitted with each setting of its sweep, at most twenty; the validation rows choose one of all, and
one of those with a median of at most three features a patient. Of ours, ``cox_members`` sweeps both predictors and
gives what is chosen five members (its curve is that of the sweep, with one); the automatic ones choose their price
from the training rows by themselves. The forest and LASSO need ``pip install scikit-survival``.
"""

import json
from typing import Any

import pandas as pd

from benchmarks.cohorts import COHORTS, FEW, has_split, measure_sweep
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import add_legend, make_axes, name_of, new_figure, save_figure, style_of
from benchmarks.runs import Case
from benchmarks.tables import describe_seeds, tabulate, write_markdown

METHODS = (
    "cox_members", "cox_lspin", "cox_llspin", "cox_lspin_auto", "cox_llspin_auto", "cox_stg", "cox_stg_linear",
    "cox_lasso", "deepsurv", "survival_forest",
)  # fmt: skip
NAMES = {"seer_breast": "SEER (open extract)", "metabric": "METABRIC", "gbsg": "GBSG", "support": "SUPPORT"}
DEEPSURV = {"metabric": 0.643, "gbsg": 0.668, "support": 0.618}  # what its authors publish
PUBLISHED = {("deepsurv", NAMES[name]): c for name, c in DEEPSURV.items()}


def report(results: Results) -> None:
    frame = results.frame.sort_values("dataset", key=lambda names: names.map(COHORTS.index), kind="stable")
    frame = frame.assign(cohort=frame["dataset"].map(NAMES))
    draw_curves(frame, results)
    parts = {
        "Harrell's C on the test rows, the model that the validation rows choose": tabulate(
            frame, "best_test_c", columns="cohort", digits=3, paper=PUBLISHED
        ),
        "Median number of features a patient": tabulate(frame, "best_n_features", columns="cohort", digits=1),
        f"C with a median of at most {FEW} features a patient": tabulate(
            frame, "few_test_c", columns="cohort", digits=3
        ),
        "Mean number of features of these": tabulate(frame, "few_mean_features", columns="cohort", digits=1),
        "Integrated Brier score": tabulate(frame, "best_ibs", columns="cohort", digits=4),
        "Share of the patients who use a noise column, of the one most used": tabulate(
            frame, "best_noise_share", columns="cohort", digits=3
        ),
        "CPU seconds for the sweep": tabulate(frame, "tuning_cpu_seconds", columns="cohort", digits=1),
    }
    caption = [f"{line} In brackets what DeepSurv's authors publish." for line in describe_seeds(frame)]
    write_markdown(
        results.folder / "survival_curve.md", "Survival: concordance and features", parts, frame, caption
    )


def draw_curves(frame: pd.DataFrame, results: Results) -> None:
    """One panel a cohort: C over the mean number of features, averaged over splits."""
    shown = [name for name in COHORTS if name in set(frame["dataset"])]
    figure = new_figure(3.4 * len(shown), 3.4)
    for axes, name in zip(make_axes(figure, 1, len(shown))[0], shown, strict=True):
        for method in METHODS:
            runs = frame[(frame["dataset"] == name) & (frame["method"] == method)]
            if runs.empty:
                continue
            means = pd.concat([thin_path(json.loads(path)) for path in runs["path"]]).groupby(level=0).mean()
            means = means.sort_values("mean_features")
            axes.plot(
                means["mean_features"],
                means["test_c"],
                markersize=4,
                linewidth=1,
                label=name_of(method),
                **style_of(method, METHODS),
            )
        axes.set(title=NAMES[name], xlabel="features a patient (mean)", ylabel="C on test rows")
        axes.grid(color="#EEEEEE", linewidth=0.6)
    add_legend(figure, [name_of(method) for method in METHODS], loc="outside right")
    save_figure(figure, results.folder / "survival_curve.png")


def thin_path(path: list[dict[str, Any]]) -> pd.DataFrame:
    """Of the points that share the first setting of a sweep, which says how many features, the best validated."""
    points = pd.DataFrame(path)
    first = points["settings"].map(lambda settings: str(next(iter(settings.values()), "")))
    best = points.groupby(first)["valid_c"].idxmax()
    return points.loc[best, ["mean_features", "test_c"]].set_axis(best.index)


EXPERIMENT = Experiment(
    "survival_curve",
    methods=METHODS,
    cases=tuple(Case(name) for name in COHORTS),
    quick_methods=("cox_llspin", "cox_llspin_auto", "cox_stg_linear"),
    quick_cases=(Case("metabric"), Case("seer_breast")),
    report=report,
    measure=measure_sweep,
    applies=lambda method, case: True,
    has_seed=lambda case, seed: has_split(case.dataset, seed),
)

if __name__ == "__main__":
    conduct(EXPERIMENT)

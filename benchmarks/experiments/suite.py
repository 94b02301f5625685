"""Drawn tables with known truth, every method as most people use it: ``make bench-suite``.

No choice of ours has seen the seeds of this table. ``share`` is how much of the way from a constant to the ceiling
a method gets, ``f1`` compares its selected features with the truth row by row, ``n_open`` is the median number of
features that a test row uses, and ``mask`` the share that a plain model gets from the selection alone: which
features are open, not their values.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV, RidgeCV

from benchmarks.drawn import Drawn, draw, share_of_way
from benchmarks.everyday import fit_everyday, load_everyday, score_model, suits_all
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import draw_dots, make_axes, new_figure, save_figure
from benchmarks.method import Wanted, load_method
from benchmarks.protocol import Samples, accuracy_or_r2, fit_quietly
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import NOTHING, describe_seeds, format_spread, tabulate, write_markdown
from benchmarks.wide import select
from lspin import metrics

METHODS = ("lspin", "lasso", "ridge", "random_forest", "xgboost", "cluster_lasso")
FAMILIES = ("clinics", "switch", "pictures", "plain", "sites", "nothing")  # more rows than columns
SEEDS = range(20, 30)
OURS = "lspin"
SCORES = (("share", "share", 1), ("f1", "F1", 1), ("log_loss", "log loss", -1), ("ece", "calibration error", -1))
SOMETIMES = ["f1", "n_open", "mask", "log_loss", "ece", "start"]  # what not every method or target has

CAPTION = (
    "Share: how much of the way from a constant to the true function without its noise a method gets, in accuracy "
    "or R² on 400 test rows (1 is all of it; for `nothing`, the difference to the constant). In brackets: F1 of "
    "the selected features, pooled over test rows. Every method sees training rows only: ours as it comes "
    "(`random_state=0`); LASSO and ridge (logistic for classes) on standardised columns, the penalty chosen by "
    "cross-validated accuracy or squared error, which is not the choice for the best log loss; a random forest "
    "of 300 trees with a third of the columns a split; XGBoost with 300 trees of depth 4 at rate 0.1; "
    "`cluster_lasso`: principal components, k-means, a LASSO in each of at most four clusters, their number "
    "chosen on held-out rows."
)


def suits_drawn(method: str, case: Case, seed: int) -> bool:
    """Whether a method can learn the target of a drawn table; the seed decides what that is."""
    offered = load_method(method)
    if offered.for_classes and offered.for_response:
        return True
    return offered.for_response if draw(case.dataset, seed).is_regression else offered.for_classes


def measure_drawn(run: Run) -> Record:
    """Fit a method on a drawn table, and score it on the test rows."""
    offered, drawn = load_everyday(run.method), draw(run.case.dataset, run.seed)
    X, y = (array[: run.case.n_train] for array in (drawn.train.X, drawn.train.y))
    wanted = Wanted(None if drawn.is_regression else 2, run.budget)
    model, seconds = fit_everyday(offered, X, y, wanted)
    test = drawn.test
    row: dict[str, Any] = {
        **describe(run),
        "kind": "response" if drawn.is_regression else "class",
        "n": X.shape[0],
        "d": X.shape[1],
        **score_model(model, test.X, test.y, wanted),
    }
    row["share"] = share_of_way(row["score"], test.y, drawn)
    selected = select(offered, model, test.X)
    if selected is not None:
        row["f1"] = metrics.score_selection(selected, test.relevant).f1 if test.relevant.any() else np.nan
        row |= {"n_open": float(np.median(selected.sum(axis=1))), "mask": share_of_mask(selected, drawn)}
    row |= {"cpu_s": seconds, "start": getattr(model, "start_", None)}
    return {"row": row, "arrays": {}}


def share_of_mask(selected: np.ndarray, drawn: Drawn) -> float:
    """How far a plain model gets from the mask alone, learned on half of the test rows, judged on the rest."""
    if (selected == selected[0]).all():
        return 0.0
    mask, y = selected.astype(float), drawn.test.y
    learned = np.arange(len(y)) % 2 == 0
    if drawn.is_regression:
        reader: Any = RidgeCV(np.logspace(-1, 4, 10))
    else:
        reader = LogisticRegressionCV(
            l1_ratios=(0.0,), Cs=5, cv=3, max_iter=300, scoring="accuracy", use_legacy_attributes=False
        )
    fit_quietly(reader, Samples(mask[learned], y[learned], "mask", drawn.is_regression))
    judged = y[~learned]
    score = accuracy_or_r2(reader.predict(mask[~learned]), judged, is_regression=drawn.is_regression)
    return share_of_way(score, judged, drawn)


def tabulate_shares(frame: pd.DataFrame) -> list[str]:
    """A line a method, a column a family: the share of the way, and F1 in brackets where the method selects."""
    families = list(dict.fromkeys(frame["dataset"]))
    lines = ["| method | " + " | ".join(families) + " |", "|---" * (len(families) + 1) + "|"]
    for method in dict.fromkeys(frame["method"]):
        cells = [cell(frame[(frame["method"] == method) & (frame["dataset"] == family)]) for family in families]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def cell(runs: pd.DataFrame) -> str:
    f1 = format_spread(runs["f1"], 2)
    return format_spread(runs["share"], 2) + ("" if f1 == NOTHING else f" ({f1})")


def list_ahead(frame: pd.DataFrame) -> list[str]:
    """A line for every mean of another method that is better than ours in the same family."""
    lines = []
    for score, name, sign in SCORES:
        means = frame.pivot_table(index="method", columns="dataset", values=score, sort=False)
        for family in means:
            scores = means[family].dropna()
            if OURS in scores:
                lines += [
                    f"- {family}, {name}: {method} {theirs:.3f}, {OURS} {scores[OURS]:.3f}"
                    for method, theirs in scores.items()
                    if sign * (theirs - scores[OURS]) > 0
                ]
    return lines or ["Nowhere."]


def count_starts(frame: pd.DataFrame) -> list[str]:
    """How often ours started from what, a line a family."""
    ours = frame[frame["method"] == OURS]
    if ours["start"].isna().all():
        return []
    counts = ours.groupby("dataset", sort=False)["start"].value_counts().unstack(fill_value=0)
    lines = ["| family | " + " | ".join(counts.columns) + " |", "|---" * (len(counts.columns) + 1) + "|"]
    return lines + [
        f"| {family} | " + " | ".join(str(n) for n in row) + " |" for family, *row in counts.itertuples()
    ]


def report(results: Results, name: str, families: tuple[str, ...], caption: str) -> None:
    """Table and figure, families in the given order."""
    place = {family: number for number, family in enumerate(families)}
    frame = results.frame.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    frame = frame.reindex(columns=frame.columns.union(SOMETIMES, sort=False))
    classes = frame[frame["kind"] == "class"]
    parts = {
        "Share of the way to the ceiling (F1 of the selection)": tabulate_shares(frame),
        f"Where another method is ahead of {OURS}, in the mean": list_ahead(frame),
        "Open features of the median test row": tabulate(frame, "n_open", columns="dataset", digits=1),
        "Mask alone: share of the way from the selection without values": tabulate(
            frame, "mask", columns="dataset", digits=2
        ),
        "Log loss (classes)": tabulate(classes, "log_loss", columns="dataset", digits=3),
        "Expected calibration error (classes, 15 bins)": tabulate(classes, "ece", columns="dataset", digits=3),
        "CPU seconds of a fit, choice of settings and compilation included": tabulate(
            frame, "cpu_s", columns="dataset", digits=2
        ),
        f"What {OURS} started from, number of tables": count_starts(frame),
    }
    origin = [caption, "", *describe_seeds(frame)]
    write_markdown(results.folder / f"{name}.md", "Drawn tables with known truth", parts, frame, origin)
    draw_shares(frame, results.folder / f"{name}.png")


def draw_shares(frame: pd.DataFrame, path: Path) -> None:
    """Share of the way above, F1 below, a column a family."""
    methods, families = (list(dict.fromkeys(frame[column])) for column in ("method", "dataset"))
    figure = new_figure(1.6 + 1.9 * len(families), 1.4 + 0.42 * len(methods))
    grid = make_axes(figure, 2, len(families), sharey=True)
    for column, family in enumerate(families):
        runs = frame[frame["dataset"] == family]
        for axes, score, label in zip(grid[:, column], ("share", "f1"), ("share of the way", "F1"), strict=True):
            draw_dots(axes, runs, score, methods, {})
            axes.set(xlabel=label, xlim=(min(0, runs[score].min()) - 0.05, 1.05))
        grid[0, column].set_title(family)
        grid[1, column].set_visible(bool(runs["f1"].notna().any()))  # where nothing matters there is no F1
    figure.suptitle("Test rows, mean ± sd over seeds", fontsize=9)
    save_figure(figure, path)


def plan_suite(
    name: str, families: tuple[str, ...], methods: tuple[str, ...] = METHODS, caption: str = CAPTION
) -> Experiment:
    """The experiment on some families."""
    return Experiment(
        name,
        methods=methods,
        cases=tuple(Case(family) for family in families),
        quick_methods=methods,
        quick_cases=tuple(Case(family, n_train=60) for family in families[:2]),
        report=partial(report, name=name, families=families, caption=caption),
        seeds=SEEDS,
        measure=measure_drawn,
        applies=suits_all,
        suits_seed=suits_drawn,
    )


EXPERIMENT = plan_suite("suite", FAMILIES)

if __name__ == "__main__":
    conduct(EXPERIMENT)

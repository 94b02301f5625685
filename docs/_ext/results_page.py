"""Figures and tables of the results page, from the files in ``benchmarks/results``."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
OURS = "#c1440e"
STYLE = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "lspin"}
MARKERS = "osD^vP<>Xhp8"
NAMES = {
    "lspin_auto": "lspin, as it comes", "lspin": "lspin", "llspin": "lspin, linear",
    "lspin_official": "authors' recipe",
    "llspin_members": "lspin, linear, 5 members", "cox_lspin_auto": "lspin, as it comes",
    "cox_members": "lspin, 5 members", "cox_lspin": "lspin, tuned", "cox_llspin": "lspin, linear, tuned",
    "cox_llspin_auto": "lspin, linear", "cox_stg": "STG", "cox_stg_linear": "STG, linear", "cox_lasso": "LASSO",
    "deepsurv": "DeepSurv", "survival_forest": "survival forest", "stg": "STG", "invase": "INVASE", "l2x": "L2X",
    "realx": "REAL-X", "protogate": "ProtoGate", "tabnet": "TabNet", "rf_shap": "RF-SHAP", "ebm": "EBM",
    "lasso": "LASSO", "lasso_capped": "LASSO, < 50", "linear_svc": "linear SVM", "mlp": "MLP",
    "xgboost": "XGBoost",
    "linear_svc_capped": "linear SVM, < 50", "lightgbm": "LightGBM", "random_forest": "random forest",
    "boosted_trees": "boosted trees", "cluster_lasso": "LASSO in clusters", "contextual_lasso": "contextual lasso",
    "naive_bayes": "naive Bayes", "ransac": "RANSAC", "ridge": "ridge",
}  # fmt: skip


class Experiment(NamedTuple):
    """Where a figure's numbers are."""

    file: str
    title: str
    score: str  # column
    score_name: str
    features: str  # column; where it is empty, all columns are used
    columns: str  # column with the number of all columns
    ours: str  # the method that is the package as it comes
    left_out: tuple[str, ...] = ()  # tables without a score of this kind

    def read(self) -> pd.DataFrame:
        """One row a run, with the columns that figures need."""
        frame = pd.read_csv(RESULTS / f"{self.file}.csv")
        frame = frame[~frame["dataset"].isin(self.left_out)].dropna(subset=[self.score])
        features = frame[self.features].fillna(frame[self.columns])
        return pd.DataFrame(
            {
                "method": frame["method"],
                "dataset": frame["dataset"],
                "seed": frame["seed"],
                "score": frame[self.score],
                "features": features,
            }
        )


EXPERIMENTS = (
    Experiment("table1", "The paper's synthetic tables", "accuracy", "accuracy (%)", "n_features", "n_columns",
               "lspin_auto", ("E5",)),
    Experiment("table3", "Wide real tables", "accuracy", "accuracy (%)", "n_features", "n_columns", "llspin"),
    Experiment("suite", "Drawn tables with known truth", "share", "share of what can be learned", "n_open", "d",
               "lspin", ("nothing",)),
    Experiment("suite_wide", "Drawn tables with fewer rows than columns", "share", "share of what can be learned",
               "n_open", "d", "lspin", ("nothing",)),
    Experiment("ordinary", "Ordinary real tables", "score", "accuracy or R²", "n_features", "d", "lspin"),
    Experiment("survival_curve", "Cohorts with survival times", "best_test_c", "Harrell's C", "best_mean_features",
               "n_columns", "cox_lspin_auto"),
)  # fmt: skip


def average(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread of score and features over the seeds, for each table and method."""
    groups = runs.groupby(["dataset", "method"], sort=False)
    table = groups.agg(score=("score", "mean"), spread=("score", "std"), features=("features", "mean"))
    return table.reset_index()


def find_front(points: pd.DataFrame) -> pd.DataFrame:
    """The methods that no other beats in score with fewer features."""
    ordered = points.sort_values(["features", "score"], ascending=[True, False])
    return ordered[ordered["score"] > ordered["score"].cummax().shift(fill_value=-math.inf)]


def is_rival(method: str) -> bool:
    """Whether a method is not ours; the authors' recipe is written by us and is theirs."""
    return method == "lspin_official" or ("lspin" not in method and method != "cox_members")


def style_of(methods: list[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each method; ours is the same in all figures."""
    rivals = [method for method in methods if is_rival(method)]
    colours = mpl.colormaps["tab10"]
    looks = {
        name: {"color": colours([0, 2, 4, 5, 7, 8, 9][i % 7]), "marker": MARKERS[i % len(MARKERS)]}
        for i, name in enumerate(rivals)
    }
    own = [method for method in methods if method not in looks]
    shapes = dict(zip(own, "*dHPX", strict=False))
    looks |= {"lspin_official": {"color": "black", "marker": "."}} if "lspin_official" in looks else {}
    return {method: looks.get(method) or {"color": OURS, "marker": shapes.get(method, "*")} for method in methods}


def draw_pareto(experiment: Experiment) -> Figure:
    """Score against features a row, one panel a table."""
    points = average(experiment.read())
    datasets = list(dict.fromkeys(points["dataset"]))
    looks = style_of(list(dict.fromkeys(points["method"])))
    n_across = min(len(datasets), 6 if len(datasets) > 12 else 3)
    n_down = math.ceil(len(datasets) / n_across)
    figure = Figure(figsize=(7.2, 2.1 * n_down + 0.8) if n_across == 3 else (9.6, 1.5 * n_down + 0.8))
    figure.set_layout_engine("constrained")
    panels = figure.subplots(n_down, n_across, squeeze=False).ravel()
    for axes, name in zip(panels, datasets, strict=False):
        draw_panel(axes, points[points["dataset"] == name], looks)
        axes.set_title(name, fontsize=8, loc="left")
    for axes in panels[len(datasets) :]:
        axes.set_visible(False)
    figure.supxlabel("features a row", fontsize=8)
    figure.supylabel(experiment.score_name, fontsize=8)
    marks = [
        mpl.lines.Line2D([], [], linestyle="", markersize=5, label=NAMES.get(m, m), **looks[m]) for m in looks
    ]
    figure.legend(handles=marks, loc="outside right center", frameon=False, fontsize=7)
    return figure


def draw_panel(axes: Axes, points: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    """The methods on one table, with the line of those that no other beats."""
    front = find_front(points)
    axes.step(front["features"], front["score"], where="post", color="0.8", linewidth=1, zorder=0)
    for row in points.itertuples():
        size = 7 if looks[row.method]["color"] == OURS else 4
        axes.errorbar(
            row.features, row.score, yerr=row.spread if row.spread > 0 else None, markersize=size, linewidth=0.5,
            alpha=0.9, **looks[row.method],
        )  # fmt: skip
    if points["features"].max() > 20 * points["features"].min():
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    low = points["score"].quantile(0.15) if len(points) > 6 else points["score"].min()
    high = (points["score"] + points["spread"].fillna(0)).max()
    axes.set_ylim(low - 0.3 * (high - low), high + 0.1 * (high - low))


def keep_common_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of the seeds that all methods have: others were timed on another machine."""
    seeds = set.intersection(*(set(here["seed"]) for _, here in runs.groupby("method")))
    return runs[runs["seed"].isin(seeds)]


def draw_times() -> Figure:
    """CPU seconds of one fit against rows and against columns."""
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    for axes, (file, by, label) in zip(
        figure.subplots(1, 2),
        (("time_n", "n_train", "rows (E1)"), ("time_d", "n_columns", "columns (E2)")),
        strict=True,
    ):
        runs = keep_common_seeds(pd.read_csv(RESULTS / f"{file}.csv"))
        times = runs.groupby(["method", by])["fitting_cpu_seconds"].median().unstack("method")
        looks = style_of(list(times))
        for method in times:
            known = times[method].dropna()
            axes.plot(
                known.index, known, label=NAMES.get(method, method), markersize=4, linewidth=1, **looks[method]
            )
        axes.set(xlabel=label, ylabel="CPU seconds of one fit", yscale="log")
        axes.set_xscale("log" if by == "n_columns" else "linear")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=7)
    return figure


def list_losses(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Tables on which a rival has the better mean score, over the seeds that both have."""
    runs = experiment.read()
    for dataset, here in runs.groupby("dataset", sort=False):
        scores = here.pivot_table(index="seed", columns="method", values="score")
        features = here.groupby("method")["features"].mean()
        rivals = [m for m in scores if is_rival(m)]
        common = {m: scores[[experiment.ours, m]].dropna() for m in rivals}
        ahead = {m: float((pair[m] - pair[experiment.ours]).mean()) for m, pair in common.items() if len(pair)}
        best = max(ahead, key=lambda m: ahead[m], default=None)
        if best is None or ahead[best] <= 0:
            continue
        gaps = common[best][best] - common[best][experiment.ours]
        yield {
            "experiment": experiment.title,
            "table": dataset,
            "score": experiment.score_name,
            "ours": f"{common[best][experiment.ours].mean():.3g} [{features[experiment.ours]:.0f}]",
            "best rival": f"{NAMES.get(best, best)} {common[best][best].mean():.3g} [{features[best]:.0f}]",
            "difference": f"{ahead[best]:.2g} ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1g}",
            "rivals ahead": f"{sum(gap > 0 for gap in ahead.values())} of {len(ahead)}",
        }


def write_losses(path: Path) -> None:
    """Where we lose, as a Markdown table."""
    rows = [row for experiment in EXPERIMENTS for row in list_losses(experiment)]
    n_tables = sum(experiment.read()["dataset"].nunique() for experiment in EXPERIMENTS)
    lines = [f"A rival has the better mean on {len(rows)} of {n_tables} tables.", ""]
    lines += ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_results(app: Any) -> None:
    """Everything that the page includes, in the folder ``results``."""
    folder = Path(app.srcdir) / "results"
    folder.mkdir(exist_ok=True)
    newest = max(path.stat().st_mtime for path in (*RESULTS.glob("*.csv"), Path(__file__)))
    if (folder / "losses.md").exists() and (folder / "losses.md").stat().st_mtime > newest:
        return
    with mpl.rc_context(STYLE):
        for experiment in EXPERIMENTS:
            draw_pareto(experiment).savefig(folder / f"pareto_{experiment.file}.svg", metadata={"Date": None})
        draw_times().savefig(folder / "times.svg", metadata={"Date": None})
    write_losses(folder / "losses.md")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_results)
    return {"parallel_read_safe": True}

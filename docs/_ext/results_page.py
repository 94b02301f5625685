"""Figures and tables of the results page, from the files in ``benchmarks/results``."""

import math
import shutil
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
STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "lspin",
}
# A rival has the same look in all figures: families of methods share a colour.
LOOKS = {
    "#0072b2": {"lasso": "o", "lasso_capped": "s", "cox_lasso": "o", "cluster_lasso": "D", "contextual_lasso": "^",
                "localized_lasso": "v"},
    "#56b4e9": {"ridge": "o", "linear_svc": "s", "linear_svc_capped": "D", "naive_bayes": "^", "ransac": "v"},
    "#009e73": {"random_forest": "o", "survival_forest": "o", "xgboost": "s", "lightgbm": "D",
                "boosted_trees": "^", "rf_shap": "v", "ebm": "P"},
    "#cc79a7": {"invase": "o", "l2x": "s", "realx": "D", "stg": "^", "cox_stg": "^", "cox_stg_linear": "v",
                "protogate": "P", "tabnet": "X"},
    "0.35": {"mlp": "o", "deepsurv": "o", "lspin_official": "s", "tabpfn": "D", "tabicl": "^"},
}  # fmt: skip
MARKERS_OF_OURS = "*dHPX"
LEGEND_COLUMNS = 5
PICTURES = ("mnist", "mnist_rotated", "marker_genes", "markers", "cell_scale")  # drawn by their experiments
FEWEST_SEEDS = 3  # of a method that is shown
CLEARLY = 2  # standard errors of a difference
TITLES = {
    "basehock": "BASEHOCK", "relathe": "RELATHE", "pcmac": "PCMAC", "pbmc": "PBMC T cells", "colon": "COLON",
    "tox171": "TOX-171", "metabric": "METABRIC", "gbsg": "GBSG", "support": "SUPPORT", "seer_breast": "SEER",
}  # fmt: skip
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
DIGIT_METHODS = NAMES | {
    "llspin": "LLSPIN", "llspin_stable": "LLSPIN, stable", "llspin_24": "LLSPIN, many pixels", "lspin": "LSPIN",
    "lspin_stable": "LSPIN, stable", "lspin_honest": "LSPIN, honest mask",
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
        """One row a run, with the columns that figures need, of methods with several seeds."""
        frame = pd.read_csv(RESULTS / f"{self.file}.csv")
        frame = frame[~frame["dataset"].isin(self.left_out)].dropna(subset=[self.score])
        n_seeds = frame.groupby("method")["seed"].nunique()
        frame = frame[frame["method"].map(n_seeds) >= FEWEST_SEEDS]
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


def style_of(methods: list[str], default: str) -> dict[str, dict[str, Any]]:
    """Colour and marker of each method: rivals, then ours; the package as it comes is the star."""
    known = {name: {"color": c, "marker": marker} for c, marks in LOOKS.items() for name, marker in marks.items()}
    rivals = [method for method in known if method in methods]
    own = sorted((method for method in methods if not is_rival(method)), key=lambda method: method != default)
    ours = {name: {"color": OURS, "marker": marker} for name, marker in zip(own, MARKERS_OF_OURS, strict=False)}
    if missing := set(methods) - set(rivals) - set(ours):
        raise ValueError(f"the figures of results have no colour for {', '.join(sorted(missing))}")
    return {name: known[name] for name in rivals} | ours


def arrange_panels(n_panels: int) -> tuple[int, int, float, float]:
    """Rows and columns of panels, with the width and height of one in inches."""
    n_across = {4: 2, 24: 6}.get(n_panels, min(n_panels, 3))
    width, height = {2: (3.6, 2.3), 3: (2.4, 2.0)}.get(n_across, (1.6, 1.45))
    return math.ceil(n_panels / n_across), n_across, width, height


def draw_pareto(experiment: Experiment) -> Figure:
    """Score against features a row, one panel a table."""
    points = average(experiment.read())
    datasets = list(dict.fromkeys(points["dataset"]))
    looks = style_of(list(dict.fromkeys(points["method"])), experiment.ours)
    n_down, n_across, width, height = arrange_panels(len(datasets))
    n_lines = math.ceil(len(looks) / LEGEND_COLUMNS)
    size = (width * n_across + 0.3, height * n_down + 0.3 + 0.17 * n_lines)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(n_down, n_across, squeeze=False).ravel()
    for axes, name in zip(panels, datasets, strict=False):
        draw_panel(axes, points[points["dataset"] == name], looks)
        axes.set_title(TITLES.get(name, name), fontsize=8, loc="left")
    for axes in panels[len(datasets) :]:
        axes.set_visible(False)
    for axes in panels[len(datasets) - n_across : len(datasets)]:
        axes.set_xlabel("features a row")
    for axes in panels[: len(datasets) : n_across]:
        axes.set_ylabel(experiment.score_name)
    marks = [
        mpl.lines.Line2D([], [], linestyle="", markersize=5, label=NAMES.get(m, m), **looks[m]) for m in looks
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=LEGEND_COLUMNS, frameon=False, fontsize=7)
    return figure


def draw_panel(axes: Axes, points: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    """The methods on one table, with the line of those that no other beats."""
    front, low, high = find_front(points), *find_limits(points)
    axes.step(front["features"], front["score"], where="post", color="0.75", linewidth=0.8, zorder=0)
    for row in points[points["score"] > low].itertuples():
        is_ours = not is_rival(row.method)
        axes.errorbar(
            row.features, row.score, yerr=row.spread if row.spread > 0 else None, markersize=7 if is_ours else 4.5,
            elinewidth=0.5, markeredgewidth=0, zorder=3 if is_ours else 2, **looks[row.method],
        )  # fmt: skip
    axes.set_ylim(low, high)
    least, most = points["features"].min(), points["features"].max()
    if most > 20 * least > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5) if most < 40 * least else (1,)))
        axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    else:
        axes.set_xlim(0, 1.06 * most)
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter("{x:,.7g}")


def find_limits(points: pd.DataFrame) -> tuple[float, float]:
    """The scores between which a panel shows its methods: all of ours, and most rivals."""
    is_ours = ~points["method"].map(is_rival)
    low = min(points["score"].quantile(0.15 if len(points) > 6 else 0), points.loc[is_ours, "score"].min())
    high = (points["score"] + points["spread"].fillna(0)).max()
    return low - 0.3 * (high - low), high + 0.1 * (high - low)


def keep_common_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs of the seeds that all methods have: others were timed on another machine."""
    seeds = set.intersection(*(set(here["seed"]) for _, here in runs.groupby("method")))
    return runs[runs["seed"].isin(seeds)]


def draw_times() -> Figure:
    """CPU seconds of one fit against rows and columns, and of the whole of ``fit`` against rows."""
    figure = Figure(figsize=(7.5, 2.9), layout="constrained")
    by_rows, by_columns, whole = figure.subplots(1, 3)
    for axes, file, by in ((by_rows, "time_n", "n_train"), (by_columns, "time_d", "n_columns")):
        runs = keep_common_seeds(pd.read_csv(RESULTS / f"{file}.csv"))
        times = runs.groupby(["method", by])["fitting_cpu_seconds"].median().unstack("method")
        for method, look in style_of(list(times), "lspin").items():
            known = times[method].dropna()
            axes.plot(known.index, known, label=NAMES.get(method, method), markersize=4, linewidth=1, **look)
    runs = pd.read_csv(RESULTS / "rows.csv").query("n_columns == 20")
    for method, look in style_of(list(runs["method"].unique()), "lspin_auto").items():
        here = runs[runs["method"] == method]
        label = NAMES.get(method, method)
        whole.plot(here["n_train"], here["cpu_seconds"], linestyle="", label=label, markersize=5, **look)
    for axes, title, label in (
        (by_rows, "one fit at a given price", "rows (E1)"),
        (by_columns, "one fit at a given price", "columns (E2)"),
        (whole, "the whole of fit, three draws", "rows of 20 columns"),
    ):
        axes.set(xlabel=label, xscale="linear" if axes is by_rows else "log", yscale="log")
        axes.set_title(title, fontsize=8, loc="left")
        axes.yaxis.set_major_formatter("{x:,.7g}")
        axes.xaxis.set_major_formatter("{x:,.7g}")
    by_rows.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))
    by_rows.set_ylabel("CPU seconds")
    handles = [*by_rows.get_legend_handles_labels()[0], *whole.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=LEGEND_COLUMNS, frameon=False, fontsize=7)
    return figure


def write_ordinary(path: Path) -> None:
    """Mean ranks on ordinary tables, and the features of a row, as a Markdown table."""
    runs = pd.read_csv(RESULTS / "ordinary.csv")
    rows = {}
    for score, label, sign in (("score", "accuracy or R²", 1), ("log_loss", "log loss", -1)):
        means = runs.pivot_table(index="dataset", columns="method", values=score).dropna()
        rows[f"mean rank by {label}, {len(means)} tables"] = (
            (sign * -means).rank(axis=1).mean().map("{:.2f}".format)
        )
    used = runs.assign(used=runs["n_features"].fillna(runs["d"])).groupby(["dataset", "method"])["used"].mean()
    rows["features a row, median of tables"] = used.groupby("method").median().map("{:.1f}".format)
    write_table(path, pd.DataFrame(rows).T.rename(columns=NAMES))


def write_speed(path: Path) -> None:
    """CPU seconds of the committed measurement, as a Markdown table, and the version that was measured."""
    runs = pd.read_csv(RESULTS / "speed.csv")
    rows = [
        {"table": table, "what": what, "CPU seconds, median of seeds": f"{here['seconds'].median():.2g}"}
        for (table, what), here in runs.groupby(["table", "what"], sort=False)
    ]
    write_table(path, pd.DataFrame(rows).set_index("table"))
    version = " and ".join(sorted(set(runs["lspin"])))
    path.write_text(f"{path.read_text('utf-8')}\nMeasured with version {version}.\n", encoding="utf-8")


def write_digits(path: Path) -> None:
    """What methods reach on MNIST, and the paper's measures of their explanations, as a Markdown table."""
    runs = pd.read_csv(RESULTS / "mnist.csv")
    formats = {
        "accuracy": "{:.2f}", "n_features": "{:.0f}", "stability": "{:.2f}", "diversity": "{:.1f}",
        "svm": "{:.1f}", "k_means": "{:.1f}", "mask": "{:.1f}",
    }  # fmt: skip
    means = runs.groupby("method", sort=False)[list(formats)].mean()
    cells = {
        name: means[name].map(lambda value, text=text: "–" if np.isnan(value) else text.format(value))
        for name, text in formats.items()
    }
    heads = ["accuracy (%)", "pixels", "stability", "diversity", "SVM (%)", "k-means (%)", "mask alone (%)"]
    frame = pd.DataFrame(cells).set_axis(heads, axis=1)
    write_table(path, frame.rename(index=DIGIT_METHODS))


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """A frame as a Markdown table, its index as the first column."""
    lines = [f"| {frame.index.name or ''} | " + " | ".join(frame) + " |", "|" + "---|" * (frame.shape[1] + 1)]
    lines += [
        f"| {name} | " + " | ".join(map(str, row)) + " |"
        for name, row in zip(frame.index, frame.values, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
        error = gaps.std(ddof=1) / np.sqrt(len(gaps))
        bold = "**" if ahead[best] > CLEARLY * error else ""
        ours = say_score(common[best][experiment.ours].mean(), features[experiment.ours])
        theirs = say_score(common[best][best].mean(), features[best])
        yield {
            "table": TITLES.get(dataset, dataset),
            "kind": experiment.title.lower(),
            "score": experiment.score_name,
            "ours": ours,
            "best rival": f"{NAMES.get(best, best)} {theirs}",
            "difference": f"{bold}{say_difference(ahead[best], error)}{bold}",
            "rivals ahead": f"{sum(gap > 0 for gap in ahead.values())} of {len(ahead)}",
        }


def say_score(score: float, n_features: float) -> str:
    """A score with the features of a row, on one line."""
    return f"{score:.{3 if abs(score) <= 1 else 1}f}\N{NO-BREAK SPACE}[{n_features:,.0f}]"


def say_difference(difference: float, error: float) -> str:
    """A difference with its standard error, to two digits of the error."""
    n_decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{difference:.{n_decimals}f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{error:.{n_decimals}f}"


def write_losses(path: Path) -> None:
    """Where we lose, as a Markdown table."""
    rows = [row for experiment in EXPERIMENTS for row in list_losses(experiment)]
    n_tables = sum(experiment.read()["dataset"].nunique() for experiment in EXPERIMENTS)
    n_clear = sum(row["difference"].startswith("**") for row in rows)
    lines = [
        f"A rival has the better mean on {len(rows)} of {n_tables} tables, on {n_clear} of them by more than "
        f"{CLEARLY} standard errors (in bold).",
        "",
    ]
    rows.sort(key=lambda row: not row["difference"].startswith("**"))
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
    write_ordinary(folder / "ordinary.md")
    write_speed(folder / "speed.md")
    write_digits(folder / "mnist.md")
    for name in PICTURES:
        shutil.copy(RESULTS / f"{name}.png", folder)
    write_losses(folder / "losses.md")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_results)
    return {"parallel_read_safe": True}

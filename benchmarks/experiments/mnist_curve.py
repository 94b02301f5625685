"""Accuracy against pixels on MNIST: ``make bench-mnist_curve``.

One run of ours with a rising price, each level of which is judged on validation images; and every method of
``mnist`` as a point, with the accuracy and the pixels that its CSV has for the same images.
"""

import pandas as pd

from benchmarks.digits import METHODS, load_digits
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import make_axes, name_of, new_figure, save_figure, style_of
from benchmarks.protocol import CpuTimer
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import write_markdown
from lspin import LSPINClassifier

PREDICTORS: dict[str, tuple[int, ...]] = {"llspin_path": (), "lspin_path": (100,)}
PART_HELD_OUT = 0.05  # of the training images: fewer than the validation images, so that these judge alone
CAPTION = (
    "5,000 validation images; 20,000 training images for the path, 55,000 for the points (rivals fewer: "
    "`mnist.md`). A level of the path is a draft: what the run was when its price was there, with a predictor "
    "that has settled behind its gates. Models that are fitted at one price, as the points are, are better. "
    "Pixels: those of the median image."
)


def measure(run: Run) -> Record:
    """Train once, and keep what every level of the price reaches."""
    rehearsed = run.budget.epochs is not None
    data = load_digits(run.case.n_train, 300 if rehearsed else None)
    model = LSPINClassifier(
        PREDICTORS[run.method], start="networks", validation_fraction=PART_HELD_OUT, random_state=run.seed,
        n_restarts=1, max_epochs=run.budget.epochs,
    )  # fmt: skip
    with CpuTimer() as timer:
        model.fit(data.train.X, data.train.y, eval_set=(data.valid.X, data.valid.y))
    levels = model.path_[model.path_["n_features"] > 0]
    path = {name: levels[name].tolist() for name in ("sparsity", "validation_score", "n_features")}
    chosen = levels.iloc[(levels["sparsity"] - model.sparsity_).abs().argmin()]
    row = {"chosen_sparsity": model.sparsity_, "chosen_n_features": chosen["n_features"], "cpu_s": timer.seconds}
    return {"row": {**describe(run), "n_train": len(data.train.y), **row}, "arrays": path}


def list_levels(results: Results) -> pd.DataFrame:
    """A row for each level of each path."""
    parts = [
        pd.DataFrame(record["arrays"]).assign(
            method=record["row"]["method"], accuracy=lambda part: 100 * part.validation_score
        )
        for record in results.records
    ]
    return pd.concat(parts, ignore_index=True)


def list_points(results: Results) -> pd.DataFrame:
    """Accuracy and pixels of the models of ``mnist`` on validation images, means over seeds."""
    path = results.folder / "mnist.csv"
    if not path.exists():
        return pd.DataFrame(columns=["method", "accuracy", "n_features"])
    frame = pd.read_csv(path)
    columns = {"valid_accuracy": "accuracy", "valid_n_features": "n_features"}
    means = frame.groupby("method", sort=False)[list(columns)].mean().rename(columns=columns).reset_index()
    return means[means["n_features"].notna()]


def report(results: Results) -> None:
    levels, points = list_levels(results), list_points(results)
    parts = {}
    for method, rows in levels.groupby("method", sort=False):
        lines = [f"| {row.sparsity:.3g} | {row.n_features:g} | {row.accuracy:.2f} |" for row in rows.itertuples()]
        parts[f"Levels of {method}"] = ["| price | pixels | accuracy (%) |", "|---|---|---|", *lines]
    if len(points):
        lines = [f"| {row.method} | {row.n_features:g} | {row.accuracy:.2f} |" for row in points.itertuples()]
        parts["Models of `mnist`"] = ["| method | pixels | accuracy (%) |", "|---|---|---|", *lines]
    title = "MNIST, accuracy against pixels"
    write_markdown(results.folder / "mnist_curve.md", title, parts, results.frame, caption=[CAPTION])
    draw(levels, points, results)


def draw(levels: pd.DataFrame, points: pd.DataFrame, results: Results) -> None:
    names = [*PREDICTORS, *METHODS]
    figure = new_figure(6, 4)
    axes = make_axes(figure, 1, 1)[0, 0]
    for method, rows in levels.groupby("method", sort=False):
        axes.plot(rows["n_features"], rows["accuracy"], label=name_of(method), **style_of(method, names))
    for row in points.itertuples():
        style = style_of(row.method, names)
        axes.plot(row.n_features, row.accuracy, linestyle="", markersize=8, label=name_of(row.method), **style)
    axes.set(xscale="log", xlabel="pixels of the median validation image", ylabel="accuracy (%)")
    axes.legend(loc="lower right", ncols=2)
    save_figure(figure, results.folder / "mnist_curve.png")


EXPERIMENT = Experiment(
    "mnist_curve",
    methods=tuple(PREDICTORS),
    cases=(Case("mnist", 20_000),),
    quick_methods=("llspin_path",),
    quick_cases=(Case("mnist", 500),),
    report=report,
    seeds=range(1),
    measure=measure,
    applies=lambda method, case: True,
)


def main(arguments: list[str] | None = None) -> None:
    conduct(EXPERIMENT, arguments)


if __name__ == "__main__":
    main()

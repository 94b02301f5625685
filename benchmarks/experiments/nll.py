"""Negative log-likelihood and calibration on the wide real tables: ``make bench-nll``.

The models are those of Table 3; nothing is fitted here where that table is there.
"""

import numpy as np
import pandas as pd

from benchmarks.experiment import Results, recall
from benchmarks.experiments.table3 import DATASETS, EXPERIMENT, NAMES, caption_of, make_grid, write_part
from benchmarks.figures import draw_dots, save_figure
from benchmarks.tables import tabulate, write_markdown

# What the paper prints for LLSPIN and for a network of all features, in the order of DATASETS.
PAPER = {
    "llspin": (0.367, 0.879, 0.816, 1.012, 0.884, 0.760),
    "mlp": (1.813, 1.858, 1.873, 4.062, 1.071, 3.968),
}
PAPER["lspin_official"] = PAPER["llspin"]
# The same on MNIST, where the paper's unit is not nats.
PAPER_DIGITS = {
    ("llspin", "MNIST"): 0.826, ("mlp", "MNIST"): 1.043, ("invase", "MNIST"): 2.008,
    ("llspin_small", "MNIST, 6,000 images"): 1.985, ("mlp_small", "MNIST, 6,000 images"): 3.311,
}  # fmt: skip
DIGITS_NOTE = (
    "The paper's NLL on MNIST is not in nats: at equal accuracy it is about 12 times ours. Compare it within the "
    "paper only. Its INVASE on 6,000 images: 4.675."
)
INVASE = (0.668, 1.098, 0.905, 1.441, 1.318, 2.593)
COLUMNS = ["method", "dataset", "n_train", "n_columns", "seed", "accuracy", "nll", "ece", "lspin"]


def tabulate_digits(results: Results) -> list[str]:
    """Log losses on MNIST, if its experiments have been run."""
    files = {"mnist.csv": "MNIST", "mnist_small.csv": "MNIST, 6,000 images"}
    frames = [
        pd.read_csv(results.folder / file).assign(table=name)
        for file, name in files.items()
        if (results.folder / file).exists()
    ]
    if not frames:
        return []
    digits = pd.concat(frames, ignore_index=True)
    return [*tabulate(digits, "log_loss", columns="table", digits=3, paper=PAPER_DIGITS), "", DIGITS_NOTE]


def report(frame: pd.DataFrame, results: Results) -> None:
    paper = {(m, NAMES[d]): value for m, row in PAPER.items() for d, value in zip(DATASETS, row, strict=True)}
    named = frame.assign(table=frame["dataset"].map(NAMES))
    named["place"] = named["dataset"].map(DATASETS.index)
    named = named.sort_values("place", kind="stable")
    invase = ", ".join(f"{NAMES[d]} {value}" for d, value in zip(DATASETS, INVASE, strict=True))
    parts = {
        "Negative log-likelihood (nats)": [
            *tabulate(named, "nll", columns="table", digits=3, paper=paper),
            "",
            f"The paper's INVASE: {invase}.",
        ],
        "Expected calibration error (15 bins)": tabulate(named, "ece", columns="table", digits=3),
    }
    if digits := tabulate_digits(results):
        parts["Negative log-likelihood on MNIST (nats)"] = digits
    title = "Negative log-likelihood on wide real tables"
    write_markdown(results.folder / "nll.md", title, parts, frame, caption=caption_of(results.frame))


def draw(frame: pd.DataFrame, results: Results) -> None:
    figure, grid, methods, datasets = make_grid(frame)
    for column, dataset in enumerate(datasets):
        runs, place = frame[frame["dataset"] == dataset], DATASETS.index(dataset)
        printed = {method: PAPER[method][place] for method in methods if method in PAPER}
        draw_dots(grid[0, column], runs, "nll", methods, printed)
        draw_dots(grid[1, column], runs, "ece", methods, {})
        n_classes = {"pbmc": 4, "tox171": 4}.get(dataset, 2)
        grid[0, column].axvline(np.log(n_classes), color="#999999", linewidth=0.8, linestyle=":")
        grid[0, column].set(title=NAMES[dataset], xlabel="negative log-likelihood", xscale="log", xlim=(0.03, 20))
        grid[1, column].set(xlabel="calibration error", xlim=(0, None))
    title = "Test rows, mean ± sd over splits; open diamond: the paper; dotted: all classes equally likely"
    figure.suptitle(title, fontsize=9)
    save_figure(figure, results.folder / "nll.png")


def main(arguments: list[str] | None = None) -> None:
    results = recall(EXPERIMENT, arguments)
    frame = write_part(results, "nll", "nll", COLUMNS)
    report(frame, results)
    draw(frame, results)


if __name__ == "__main__":
    main()

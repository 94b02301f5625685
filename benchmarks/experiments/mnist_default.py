"""MNIST with 10,000 images and no setting at all: ``make bench-mnist_default``.

Images are drawn anew for every seed, for a default that works on one draw only is none.
"""

import numpy as np

from benchmarks.digits import list_shown, load_digits, rate
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.mnist import draw_shown
from benchmarks.protocol import CpuTimer, fit_quietly
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate_scores, write_markdown
from lspin import LSPINClassifier

DIGITS = {"accuracy": 2, "n_features": 1, "union": 0, "log_loss": 3, "ece": 3, "cpu_s": 0}  # of each score
CAPTION = (
    "`LSPINClassifier(random_state=seed)` on 10,000 training images, drawn anew for each seed. Scores are of "
    "10,000 test images: accuracy (%), pixels of the median image (`n_features`), pixels that any image uses "
    "(`union`), log loss (nats) and calibration error. `cpu_s` is the whole fit, with compilation."
)


def measure_default(run: Run) -> Record:
    """Fit the package as it comes to a draw of images."""
    data = load_digits(None, None if run.budget.epochs is None else 300)
    rows = np.random.default_rng(run.seed).choice(len(data.train.y), run.case.n_train, replace=False)
    train = data.train._replace(X=data.train.X[rows], y=data.train.y[rows])
    with CpuTimer() as timer:
        model = fit_quietly(LSPINClassifier(random_state=run.seed, max_epochs=run.budget.epochs), train)
    row = {**describe(run), "n_train": len(rows), **rate(model, data.test, ""), "cpu_s": timer.seconds}
    return {"row": row, "arrays": {"selected": list_shown(model, data.test)}}


def report(results: Results) -> None:
    """Write the table and the picture."""
    frame = results.frame
    parts = {"Test images": tabulate_scores(frame, DIGITS, {})}
    caption = [CAPTION, "", *describe_seeds(frame)]
    title = "MNIST with 10,000 images, as it comes"
    write_markdown(results.folder / "mnist_default.md", title, parts, frame, caption=caption)
    draw_shown(results, "mnist_default")


EXPERIMENT = Experiment(
    "mnist_default",
    methods=("lspin_auto",),
    cases=(Case("mnist", 10_000),),
    quick_methods=("lspin_auto",),
    quick_cases=(Case("mnist", 40),),
    report=report,
    seeds=range(3),
    measure=measure_default,
    applies=lambda method, case: True,
)


def main(arguments: list[str] | None = None) -> None:
    conduct(EXPERIMENT, arguments)


if __name__ == "__main__":
    main()

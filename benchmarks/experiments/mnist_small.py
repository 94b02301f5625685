"""MNIST with 6,000 training images, beside the paper's network of all pixels: ``make bench-mnist_small``."""

from benchmarks.digits import OF_FEW_IMAGES, measure_digits
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.experiments.mnist import draw_shown, present
from benchmarks.runs import Case
from benchmarks.tables import describe_seeds, tabulate_scores, write_markdown

PAPER = {"llspin_small": {"accuracy": 94.8, "n_features": 10}, "mlp_small": {"accuracy": 94.2}}
CAPTION = (
    "6,000 training images, drawn once; settings were chosen on 5,000 other training images. Accuracy, log loss "
    "(nats) and calibration error are of 10,000 test images; `mnist.md` says how the other scores are taken. The "
    "paper's network of all pixels has layers of 300 and 100 units and a tanh."
)


def report(results: Results) -> None:
    """Write the table and the pictures."""
    frame = results.frame
    parts = {"Test images": tabulate_scores(frame, present(frame), PAPER)}
    title = "MNIST with 6,000 training images"
    write_markdown(
        results.folder / "mnist_small.md", title, parts, frame, caption=[CAPTION, "", *describe_seeds(frame)]
    )
    draw_shown(results, "mnist_small")


EXPERIMENT = Experiment(
    "mnist_small",
    methods=OF_FEW_IMAGES,
    cases=(Case("mnist", 6000),),
    quick_methods=("llspin_small", "mlp_small"),
    quick_cases=(Case("mnist", 500),),
    report=report,
    seeds=range(5),
    measure=measure_digits,
    applies=lambda method, case: True,
)


def main(arguments: list[str] | None = None) -> None:
    conduct(EXPERIMENT, arguments)


if __name__ == "__main__":
    main()

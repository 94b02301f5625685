"""Turned test images: accuracy, log loss and calibration, and who notices: ``make bench-mnist_rotated``.

The models are those of ``mnist``, with an ensemble of its seeds; nothing of ours is fitted here if that has kept
them. Beyond the paper: whether wrong predictions are told by low confidence, by an unusual number of open gates or
by members that disagree.
"""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.digits import ANGLES, fit_digits, load_digits, model_path, turn
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import add_legend, make_axes, new_figure, save_figure, style_of
from benchmarks.protocol import Samples, rate_probabilities
from benchmarks.runs import Case, Record, Run, describe
from benchmarks.tables import describe_seeds, tabulate, write_markdown
from lspin import load

MEMBERS = "llspin_ensemble"
N_MEMBERS = 3  # seeds of the ensemble
# What the paper prints from 10 to 90 degrees.
PAPER = {
    ("llspin", "accuracy"): (96.9, 92.1, 77.9, 59.8, 40.1, 27.8, 19.49, 14.24, 11.7),
    ("llspin", "log_loss"): (1.403, 3.777, 10.341, 20.532, 31.006, 40.641, 48.614, 55.249, 60.477),
    ("llspin", "ece"): (0.014, 0.039, 0.126, 0.243, 0.377, 0.473, 0.543, 0.601, 0.637),
    ("mlp", "accuracy"): (96.8, 90.8, 75.8, 56.4, 38.6, 26.8, 18.4, 14.6, 12.3),
    ("mlp", "log_loss"): (1.987, 6.455, 19.859, 43.771, 71.346, 96.177, 119.586, 139.701, 155.147),
    ("mlp", "ece"): (0.023, 0.071, 0.195, 0.367, 0.532, 0.643, 0.724, 0.769, 0.795),
}
TITLES = {"accuracy": ("Accuracy (%)", 1), "log_loss": ("Log loss (nats)", 3), "ece": ("Calibration error", 3)}
CAPTION = (
    "10,000 test images, turned counter-clockwise and linearly interpolated; training images are upright. The "
    "ensemble averages the scores of the models of three seeds. The paper's unit of NLL is not nats: at equal "
    "accuracy it is about 12 times ours, so compare it within the paper only."
)
NOTICING = (
    "Area under the ROC curve: how well a sign tells wrong predictions from right ones. The signs: a low "
    "probability of the likeliest digit, a number of open gates that is far from the median, and "
    "the share of members that name another digit."
)


class Ensemble:
    """The mean of the scores of some models."""

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of each member, shape ``(n_members, n, 10)``."""
        return np.stack([model.decision_function(X) for model in self.models])


def measure_rotated(run: Run) -> Record:
    """Turn the test images, and rate what a model says of them."""
    rehearsed = run.budget.epochs is not None
    data = load_digits(run.case.n_train, 300 if rehearsed else None)
    if run.method == MEMBERS:
        model: Any = Ensemble([find_model("llspin", run._replace(seed=n), data.train) for n in range(N_MEMBERS)])
    else:
        model = find_model(run.method, run, data.train)
    rows = [
        {"angle": angle, **rate_turned(model, turn(data.test.X, angle), data.test)}
        for angle in (ANGLES[:2] if rehearsed else ANGLES)
    ]
    flat = {f"{name}_{row['angle']}": row[name] for row in rows for name in row if name != "angle"}
    return {"row": {**describe(run), **flat}, "arrays": {}}


def find_model(method: str, run: Run, train: Samples) -> Any:
    """The model that ``mnist`` has kept, or one that is fitted now."""
    path = model_path(method, run.case.n_train, run.seed)
    if path.exists() and run.budget.epochs is None:
        return load(path)
    return fit_digits(method, train, run.seed, run.budget)[0]


def rate_turned(model: Any, X: np.ndarray, test: Samples) -> dict[str, float]:
    """Scores of turned images, and how well each sign tells which predictions are wrong."""
    signs = {}
    if isinstance(model, Ensemble):
        scores = model.scores(X)
        probabilities = soften(scores.mean(axis=0))
        said = probabilities.argmax(axis=1)
        signs["disagreement"] = (scores.argmax(axis=2) != said).mean(axis=0)
    else:
        probabilities = model.predict_proba(X)
        said = probabilities.argmax(axis=1)
    if hasattr(model, "selected"):
        n_open = model.selected(X).sum(axis=1)
        signs["gates"] = np.abs(n_open - np.median(n_open))
    signs["confidence"] = -probabilities.max(axis=1)
    is_wrong = said != test.y
    row = {"accuracy": 100 * float(np.mean(~is_wrong)), **rate_probabilities(probabilities, test.y)}
    if is_wrong.any() and not is_wrong.all():
        row |= {f"notices_by_{name}": float(roc_auc_score(is_wrong, sign)) for name, sign in signs.items()}
    return row


def soften(scores: np.ndarray) -> np.ndarray:
    """Probabilities from scores."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def lengthen(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each run and angle."""
    names = ("accuracy", "log_loss", "ece", "notices_by_confidence", "notices_by_gates", "notices_by_disagreement")
    parts = [
        frame[["method", "seed"]].assign(
            angle=angle, **{name: frame[f"{name}_{angle}"] for name in names if f"{name}_{angle}" in frame}
        )
        for angle in ANGLES
        if f"accuracy_{angle}" in frame
    ]
    return pd.concat(parts, ignore_index=True)


def report(results: Results) -> None:
    """Write the tables, and draw the scores against the angle."""
    frame = lengthen(results.frame)
    parts = {}
    for score, (title, digits) in TITLES.items():
        paper = {
            (method, angle): value
            for (method, what), row in PAPER.items()
            for angle, value in zip(ANGLES[1:], row, strict=True)
            if what == score
        }
        parts[title] = tabulate(frame, score, columns="angle", digits=digits, paper=paper)
    parts["Who notices?"] = [NOTICING]
    for name in ("confidence", "gates", "disagreement"):
        lines = tabulate(frame, f"notices_by_{name}", columns="angle", digits=2)
        parts["Who notices?"] += ["", f"By {name}:", "", *lines] if lines else []
    title = "MNIST, turned test images"
    caption = [CAPTION, "", *describe_seeds(results.frame)]
    write_markdown(results.folder / "mnist_rotated.md", title, parts, results.frame, caption=caption)
    draw(frame, results)


def draw(frame: pd.DataFrame, results: Results) -> None:
    methods = list(dict.fromkeys(frame["method"]))
    figure = new_figure(9, 3)
    for axes, (score, (title, _)) in zip(make_axes(figure, 1, 3)[0], TITLES.items(), strict=True):
        for method in methods:
            means = frame[frame["method"] == method].groupby("angle")[score].mean()
            axes.plot(means.index, means, label=method, **style_of(method, methods))
        axes.set(xlabel="degrees", title=title)
    add_legend(figure, methods, loc="outside lower center", ncols=len(methods))
    save_figure(figure, results.folder / "mnist_rotated.png")


EXPERIMENT = Experiment(
    "mnist_rotated",
    methods=("llspin", MEMBERS, "mlp"),
    cases=(Case("mnist"),),
    quick_methods=("llspin", "mlp"),
    quick_cases=(Case("mnist", 500),),
    report=report,
    seeds=range(3),
    measure=measure_rotated,
    applies=lambda method, case: True,
    suits_seed=lambda method, case, seed: method != MEMBERS or seed == 0,
)


def main(arguments: list[str] | None = None) -> None:
    conduct(EXPERIMENT, arguments)


if __name__ == "__main__":
    main()

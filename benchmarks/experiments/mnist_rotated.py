"""Turned test images: accuracy, log loss and calibration, and who notices: ``make bench-mnist_rotated``.

The models are those of ``mnist``, with an ensemble of its seeds; nothing of ours is fitted here if that has kept
them. Beyond the paper: whether wrong predictions are told by low confidence, by an unusual number of open gates or
by members that disagree, and how right a model is that does not answer where such a sign is strong.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.digits import ANGLES, fit_digits, load_digits, model_path, turn
from benchmarks.experiment import Experiment, Results, conduct
from benchmarks.figures import add_legend, make_axes, name_of, new_figure, save_figure, style_of
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
    "probability of the likeliest digit; a number of open gates (of the ensemble: the mean of its members) that "
    "is far from the usual one; and the share of members that name another digit."
)
ABSTAINING = (
    "A model that does not answer where a sign is strong. The limit is that which 5 % of the upright validation "
    "images exceed, and no turned image chose it. Members disagree on fewer images, so any disagreement counts."
)
SIGNS = ("confidence", "gates", "disagreement")
UNANSWERED = 0.05  # of the validation images
FIGURES = {"unanswered": ("Images left unanswered (%)", 1), "answered": ("Accuracy on the others (%)", 1)}


class Said(NamedTuple):
    """What a model says of some images, and how strong each sign is that it may be wrong."""

    probabilities: np.ndarray  # (n, 10)
    signs: dict[str, np.ndarray]  # (n,) each


class Ensemble:
    """The mean of the scores of some models."""

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of each member, shape ``(n_members, n, 10)``."""
        return np.stack([model.decision_function(X) for model in self.models])

    def count_open(self, X: np.ndarray) -> np.ndarray:
        """Open gates of each image, the mean over members."""
        return np.mean([model.selected(X).sum(axis=1) for model in self.models], axis=0)


def measure_rotated(run: Run) -> Record:
    """Turn the test images, and rate what a model says of them."""
    rehearsed = run.budget.epochs is not None
    data = load_digits(run.case.n_train, 300 if rehearsed else None)
    if run.method == MEMBERS:
        model: Any = Ensemble([find_model("llspin", run._replace(seed=n), data.train) for n in range(N_MEMBERS)])
    else:
        model = find_model(run.method, run, data.train)
    usual = measure_usual(model, data.valid.X)
    rows = [
        {"angle": angle, **rate_turned(model, turn(data.test.X, angle), data.test.y, usual)}
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


class Usual(NamedTuple):
    """What is usual for upright images that no model learned from."""

    n_open: float  # open gates of the median image
    limits: dict[str, float]  # of each sign


def measure_usual(model: Any, X: np.ndarray) -> Usual:
    """The number of open gates, and what a sign is that few images exceed."""
    counts = count_open(model, X)
    n_open = 0.0 if counts is None else float(np.median(counts))
    signs = judge_images(model, X, n_open).signs
    return Usual(n_open, {name: float(np.quantile(sign, 1 - UNANSWERED)) for name, sign in signs.items()})


def count_open(model: Any, X: np.ndarray) -> np.ndarray | None:
    """Open gates of each image; none for a model without gates."""
    if isinstance(model, Ensemble):
        return model.count_open(X)
    return model.selected(X).sum(axis=1) if hasattr(model, "selected") else None


def judge_images(model: Any, X: np.ndarray, n_usual: float) -> Said:
    """Probabilities of the digits, and the signs of a wrong one."""
    signs = {}
    if isinstance(model, Ensemble):
        scores = model.scores(X)
        probabilities = soften(scores.mean(axis=0))
        signs["disagreement"] = (scores.argmax(axis=2) != probabilities.argmax(axis=1)).mean(axis=0)
    else:
        probabilities = model.predict_proba(X)
    counts = count_open(model, X)
    if counts is not None:
        signs["gates"] = np.abs(counts - n_usual)
    signs["confidence"] = -probabilities.max(axis=1)
    return Said(probabilities, signs)


def rate_turned(model: Any, X: np.ndarray, y: np.ndarray, usual: Usual) -> dict[str, float]:
    """Scores of turned images, how well each sign tells wrong predictions, and what is gained by its limit."""
    probabilities, signs = judge_images(model, X, usual.n_open)
    is_wrong = probabilities.argmax(axis=1) != y
    row = {"accuracy": 100 * float(np.mean(~is_wrong)), **rate_probabilities(probabilities, y)}
    for name, sign in signs.items():
        answered = sign <= usual.limits[name]
        row[f"unanswered_by_{name}"] = 100 * float(np.mean(~answered))
        if answered.any():
            row[f"answered_by_{name}"] = 100 * float(np.mean(~is_wrong[answered]))
        if is_wrong.any() and not is_wrong.all():
            row[f"notices_by_{name}"] = float(roc_auc_score(is_wrong, sign))
    return row


def soften(scores: np.ndarray) -> np.ndarray:
    """Probabilities from scores."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def lengthen(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each run and angle."""
    names = [*TITLES, *(f"{what}_by_{sign}" for what in ("notices", *FIGURES) for sign in SIGNS)]
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
    parts["Who notices?"] = [NOTICING, *tabulate_signs(frame, "notices", 2)]
    for what, (title, digits) in FIGURES.items():
        parts[title] = [ABSTAINING, *tabulate_signs(frame, what, digits)]
    title = "MNIST, turned test images"
    caption = [CAPTION, "", *describe_seeds(results.frame)]
    write_markdown(results.folder / "mnist_rotated.md", title, parts, results.frame, caption=caption)
    draw(frame, results)


def tabulate_signs(frame: pd.DataFrame, what: str, digits: int) -> list[str]:
    """A table for each sign."""
    found: list[str] = []
    for sign in SIGNS:
        lines = tabulate(frame, f"{what}_by_{sign}", columns="angle", digits=digits)
        found += ["", f"By {sign}:", "", *lines] if lines else []
    return found


def draw(frame: pd.DataFrame, results: Results) -> None:
    """Scores above; below, how a model does that does not answer where a sign is strong."""
    methods = list(dict.fromkeys(frame["method"]))
    signs = [f"{method} by {sign}" for method in methods for sign in SIGNS]
    figure = new_figure(9, 6.4)
    above, below = figure.subfigures(2, 1)
    for axes, (score, (title, _)) in zip(make_axes(above, 1, 3)[0], TITLES.items(), strict=True):
        for method in methods:
            means = frame[frame["method"] == method].groupby("angle")[score].mean()
            axes.plot(means.index, means, label=name_of(method), **style_of(method, methods))
        axes.set(xlabel="degrees", title=title)
    add_legend(above, [name_of(method) for method in methods], loc="outside lower center", ncols=len(methods))
    for axes, (what, (title, _)) in zip(make_axes(below, 1, 2)[0], FIGURES.items(), strict=True):
        for method in methods:
            for sign in SIGNS:
                score = f"{what}_by_{sign}"
                means = frame[frame["method"] == method].groupby("angle")[score].mean() if score in frame else None
                if means is None or means.isna().all():
                    continue
                name = f"{method} by {sign}"
                axes.plot(means.index, means, label=name_of(name), markersize=4, **style_of(name, signs))
        axes.set(xlabel="degrees", title=title, ylim=(0, 102))
    add_legend(below, [name_of(name) for name in signs], loc="outside right upper")
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

"""MNIST as a table of 784 columns: rows, methods with their settings, and what is measured of each.

All methods learn from the same 55,000 images (or 6,000 of them), settings are chosen on the other 5,000 of the
training images, and test images are looked at once.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import rotate
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.method import UnavailableError
from benchmarks.methods.rf_shap import explain
from benchmarks.methods.tabnet import TabNet
from benchmarks.protocol import Budget, CpuTimer, Samples, fit_quietly, rate_probabilities, score_mask
from benchmarks.runs import SHOWN_SEED, Record, Run, describe
from benchmarks.tables import RESULTS
from lspin import LSPINClassifier, metrics
from lspin.baselines import INVASEClassifier, L2XClassifier, REALXClassifier

SIDE = 28
N_VALID = 5000
SPLIT_SEED = 1  # of the validation images, the same for all methods and seeds
N_LEARNED = 6000  # training images that the SVM and the reader of masks learn from
N_NEIGHBOURS = 3000  # test images among which neighbours are looked for, for stability
N_EXPLAINED = 500  # images of each kind that RF-SHAP explains: Shapley values of a row take long
N_REMOVED = 50  # test images in which pixels are removed one by one
N_PIXELS = 10  # that RF-SHAP and L2X show, as in the paper
ANGLES = tuple(range(0, 91, 10))


class Digits(NamedTuple):
    """Images as rows of pixels in 0 to 255, and their digits."""

    train: Samples
    valid: Samples
    test: Samples


def require_digits() -> Path:
    """Where the images are; an error that says what is missing if they are not there."""
    path = Path(os.environ.get("LSPIN_DATA", ".")) / "mnist.npz"
    if not path.exists():
        raise UnavailableError(f"{path} is not there: save X_train, y_train, X_test, y_test of MNIST in it")
    return path


def load_digits(n_train: int | None, n_test: int | None = None) -> Digits:
    """The images, those of a smaller training set drawn once."""
    stored = np.load(require_digits())
    order = np.random.default_rng(SPLIT_SEED).permutation(len(stored["y_train"]))
    valid, train = order[:N_VALID], order[N_VALID:][:n_train]
    X, y = stored["X_train"], stored["y_train"].astype(int)
    test = Samples(stored["X_test"][:n_test], stored["y_test"][:n_test].astype(int), "mnist", False)
    return Digits(*(Samples(X[rows], y[rows], "mnist", False) for rows in (train, valid)), test)


def turn(images: np.ndarray, angle: float) -> np.ndarray:
    """Images turned by some degrees, linearly interpolated."""
    stack = images.reshape(-1, SIDE, SIDE).astype(np.float32)
    return rotate(stack, angle, axes=(2, 1), reshape=False, order=1).reshape(len(images), -1)


# Methods -----------------------------------------------------------------------------------------------------


class Scaled:
    """A method of scikit-learn on pixels between 0 and 1."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Scaled":
        self.model.fit(X / np.float32(255), y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(X / np.float32(255))


class Attentive(Scaled):
    """TabNet on pixels between 0 and 1."""

    def selected(self, X: np.ndarray) -> np.ndarray:
        return self.model.selected(X / np.float32(255))


class ForestShap(Scaled):
    """A random forest, and of each row the pixels with the largest Shapley values for the class it predicts."""

    def importance(self, X: np.ndarray) -> np.ndarray:
        parts = explain(self.model, X / np.float32(255)).parts
        predicted = self.predict_proba(X).argmax(axis=1)
        return np.abs(parts[np.arange(len(X)), :, predicted])

    def selected(self, X: np.ndarray) -> np.ndarray:
        largest = np.argsort(-self.importance(X), axis=1)[:, :N_PIXELS]
        selected = np.zeros(X.shape, bool)
        np.put_along_axis(selected, largest, True, axis=1)
        return selected


Make = Callable[[int, int | None], Any]  # seed, and epochs of a rehearsal -> an unfitted model


def ours(*layers: int, **settings: Any) -> Make:
    return lambda seed, epochs: LSPINClassifier(layers, random_state=seed, max_epochs=epochs, **settings)


def rival(kind: Any, n_epochs: int, **settings: Any) -> Make:
    return lambda seed, epochs: kind(max_epochs=epochs or n_epochs, random_state=seed, **settings)


def mlp(seed: int, epochs: int | None) -> Scaled:
    """The paper's network of all pixels."""
    return Scaled(
        MLPClassifier((300, 100), activation="tanh", batch_size=128, max_iter=epochs or 20, random_state=seed)
    )


def forest(seed: int, epochs: int | None) -> ForestShap:
    n_trees = 30 if epochs is None else 3
    return ForestShap(RandomForestClassifier(n_trees, max_depth=15, random_state=seed))


def tabnet(seed: int, epochs: int | None) -> Attentive:
    network = TabNet(
        lambda_sparse=0.01, learning_rate=0.02, valid=None, n_epochs=epochs or 15, batch_size=512,
        virtual_batch_size=256, seed=seed,
    )  # fmt: skip
    return Attentive(network)


# The prices of the linear predictor were chosen on validation images of smaller runs; others are untuned.
METHODS: dict[str, Make] = {
    "llspin": ours(sparsity=0.02),
    "llspin_stable": ours(sparsity=0.02, stability=0.01, affinity="labels"),
    "lspin": ours(100, sparsity=0.02),
    "lspin_stable": ours(100, sparsity=0.02, stability=0.01, affinity="labels"),
    "lspin_honest": ours(100, sparsity=0.005, gate_exchange=0.5),
    "llspin_24": ours(sparsity=0.003),
    "llspin_small": ours(sparsity=0.05),
    "llspin_members": ours(sparsity=0.05, n_members=3),
    "mlp": mlp,
    "mlp_small": lambda seed, epochs: mlp(seed, epochs or 60),
    "rf_shap": forest,
    "realx": rival(REALXClassifier, 10, sparsity=0.01),
    "l2x": rival(L2XClassifier, 10, n_features=N_PIXELS),
    "invase": rival(INVASEClassifier, 10, sparsity=0.01),
    "tabnet": tabnet,
}
OF_FEW_IMAGES = ("llspin_small", "llspin_members", "mlp_small")
OF_ALL_IMAGES = tuple(method for method in METHODS if method not in OF_FEW_IMAGES)
CUT = {
    "rf_shap": 10_000,
    "realx": 20_000,
    "l2x": 20_000,
    "invase": 20_000,
    "tabnet": 20_000,
}  # training images, for the sake of time


# Measures ----------------------------------------------------------------------------------------------------


def measure_digits(run: Run) -> Record:
    """Fit a method, and measure its predictions and explanations on test images."""
    rehearsed = run.budget.epochs is not None
    n_train = min(run.case.n_train or 10**9, CUT.get(run.method, 10**9))
    data = load_digits(n_train, 300 if rehearsed else None)
    model, seconds = fit_digits(run.method, data.train, run.seed, run.budget)
    row = {
        **describe(run),
        "n_train": len(data.train.y),
        **rate(model, data.valid, "valid_"),
        **rate(model, data.test, ""),
        "cpu_s": seconds,
    }
    arrays = {}
    if hasattr(model, "selected") and run.seed == SHOWN_SEED:
        n_judged, n_learned, n_removed = (200, 300, 2) if rehearsed else (None, N_LEARNED, N_REMOVED)
        if isinstance(model, ForestShap):
            n_judged = n_learned = N_EXPLAINED
        judged, learned = first(data.test, n_judged), first(data.train, n_learned)
        row |= rate_explanations(model, learned, judged, first(judged, n_removed))
        arrays = {"selected": list_shown(model, data.test)}
    save_model(run, model)
    return {"row": row, "arrays": arrays}


def fit_digits(method: str, train: Samples, seed: int, budget: Budget) -> tuple[Any, float]:
    """A fitted model, and its processor time with compilation."""
    with CpuTimer() as timer:
        model = fit_quietly(METHODS[method](seed, budget.epochs), train)
    return model, timer.seconds


def first(samples: Samples, n: int | None) -> Samples:
    return samples._replace(X=samples.X[:n], y=samples.y[:n])


def rate(model: Any, samples: Samples, prefix: str) -> dict[str, float]:
    """Accuracy in percent, log loss in nats, calibration error, and pixels an image."""
    probabilities = model.predict_proba(samples.X)
    scores: dict[str, Any] = {
        "accuracy": 100 * float(np.mean(probabilities.argmax(axis=1) == samples.y)),
        **rate_probabilities(probabilities, samples.y),
    }
    if hasattr(model, "selected") and not isinstance(model, ForestShap):
        selected = model.selected(samples.X)
        counts = selected.sum(axis=1)
        scores |= {"n_features": float(np.median(counts)), "union": int(selected.any(axis=0).sum())}
        scores["n_selected"] = json.dumps(dict(sorted(Counter(counts.tolist()).items())))
    return {f"{prefix}{name}": value for name, value in scores.items()}


def rate_explanations(model: Any, learned: Samples, judged: Samples, removed: Samples) -> dict[str, float]:
    """The paper's measures of an explanation, and what the mask alone tells."""
    weights, masks = (weigh(model, part.X) for part in (learned, judged))
    selected = masks > 0
    gated = [gates * part.X / 255 for gates, part in zip((weights, masks), (learned, judged), strict=True)]
    general = metrics.generalizability(gated[0], learned.y, gated[1], judged.y)
    scores = {
        "stability": metrics.stability(judged.X[:N_NEIGHBOURS] / 255, masks[:N_NEIGHBOURS]),
        "diversity": metrics.diversity(selected, judged.y),
        "faithfulness": metrics.faithfulness(
            model.predict_proba, removed.X.astype(float), attribute(model, removed.X)
        ),
        "svm": 100 * general.svm,
        "k_means": 100 * general.k_means,
        "mask": score_mask(weights > 0, learned.y, selected, judged.y),
    }
    if isinstance(model, ForestShap):
        counts = selected.sum(axis=1)
        scores |= {"n_features": float(np.median(counts)), "union": int(selected.any(axis=0).sum())}
    return scores


def weigh(model: Any, X: np.ndarray) -> np.ndarray:
    """The gates of each row, or 1 for a selected pixel."""
    gates = model.gates(X) if hasattr(model, "gates") else model.selected(X)
    return np.asarray(gates.toarray() if sp.issparse(gates) else gates, np.float64)


def attribute(model: Any, X: np.ndarray) -> np.ndarray:
    """What each pixel adds to the class that is predicted; how far it is open where that is not known."""
    if isinstance(model, LSPINClassifier) and not model.hidden_layer_sizes:
        coefficients = model.coef_[model.predict_proba(X).argmax(axis=1)]
        return model.gates(X) * X * coefficients
    return model.importance(X) if hasattr(model, "importance") else weigh(model, X)


def list_shown(model: Any, test: Samples) -> list[list[int]]:
    """The selected pixels of two images of each digit, for the figures."""
    rows = choose_shown(test.y)
    return [np.flatnonzero(mask).tolist() for mask in weigh(model, test.X[rows]) > 0]


def choose_shown(y: np.ndarray, n_each: int = 2) -> np.ndarray:
    """The first images of each digit."""
    return np.concatenate([np.flatnonzero(y == digit)[:n_each] for digit in range(10)])


def save_model(run: Run, model: Any) -> None:
    """Keep a model of ours for other experiments, beside the runs; not that of a rehearsal."""
    if isinstance(model, LSPINClassifier) and run.budget.epochs is None:
        path = model_path(run.method, run.case.n_train, run.seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path)


def model_path(method: str, n_train: int | None, seed: int) -> Path:
    """Where the model of a run is kept."""
    return RESULTS / "runs" / "models" / f"{method}-n{n_train or ''}-s{seed}.lspin"

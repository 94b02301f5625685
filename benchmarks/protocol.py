"""What every method is given and asked for: rows, a budget, tuning on validation rows, scores, seconds."""

import io
import math
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import lspin
from lspin import metrics
from lspin.datasets import Part

REGRESSION = ("E5", "linear", "unequal")  # tables with a response instead of classes


class Samples(NamedTuple):
    """What a method is shown of a table; never which features matter."""

    X: np.ndarray  # (n_samples, n_features)
    y: np.ndarray  # (n_samples,)
    dataset: str
    is_regression: bool


class Budget(NamedTuple):
    """What a method may spend before the test rows are looked at."""

    fits: int = 20  # models judged on validation rows
    epochs: int | None = None  # passes over the rows at the most, for a rehearsal; None: as many as it takes


@dataclass(frozen=True)
class Fitted:
    """A model as the experiments use it."""

    predict: Callable[[np.ndarray], np.ndarray]
    select: Callable[[np.ndarray], np.ndarray] | None  # features each row used; None: the method does not select
    settings: dict[str, Any]  # the chosen ones
    tuning_seconds: float  # of processor time, for all fits
    fitting_seconds: float  # for one
    gates: Callable[[np.ndarray], np.ndarray] | None = None  # (n_samples, n_features), in [0, 1]
    probabilities: Callable[[np.ndarray], np.ndarray] | None = None  # (n_samples, n_classes), if it gives any
    costs: dict[str, Any] = field(default_factory=dict)  # fits made and failed


LEAST_SECONDS = 1e-6  # a difference of two times that is lost in their noise, so that it can be drawn


class CpuTimer:
    """Seconds of processor time spent in a block."""

    def __enter__(self) -> "CpuTimer":
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._start


def show(part: Part, dataset: str) -> Samples:
    """The rows of a part as a method may see them."""
    return Samples(part.X, part.y, dataset, dataset in REGRESSION)


def tune(
    make: Callable[..., Any],
    space: dict[str, Any],
    train: Samples,
    valid: Samples,
    budget: Budget,
    seed: int,
    *,
    select: Callable[[Any, np.ndarray], np.ndarray] | None = None,
    first: dict[str, Any] | None = None,
) -> Fitted:
    """Search settings with Optuna and keep the model that does best on the validation rows.

    Parameters
    ----------
    make
        Settings by name in, an unfitted model with ``fit`` and ``predict`` out.
    space
        Optuna's distribution of each setting.
    train, valid
        Rows to fit on, and to judge by: error rate of classes, mean squared error of a response.
    budget
        How many fits to make. A fit that fails or predicts no number is one of them.
    seed
        Of the sampler.
    select
        Model and rows in, the features each row used out; ``None`` for a method that does not select.
    first
        Settings to try first.

    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    if first is not None:
        study.enqueue_trial(first)
    best: tuple[float, Any, dict[str, Any], float] | None = None
    failures: list[str] = []
    with CpuTimer() as all_fits:
        for _ in range(budget.fits):
            trial = study.ask(space)
            try:
                with CpuTimer() as one_fit:
                    model = fit_quietly(make(**trial.params), train)
                loss = validation_loss(model, valid)
            except Exception as error:  # whatever a rival's settings lead to, the search goes on
                failures.append(f"{type(error).__name__}: {error}")
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            study.tell(trial, loss)
            if best is None or loss < best[0]:
                best = loss, model, trial.params, one_fit.seconds
    if best is None:
        raise RuntimeError(f"all {budget.fits} fits failed, the last with {failures[-1]}")
    _, model, settings, seconds = best
    return Fitted(
        predict=model.predict,
        select=None if select is None else partial(select, model),
        settings=settings,
        tuning_seconds=all_fits.seconds,
        fitting_seconds=seconds,
        gates=getattr(model, "gates", None),
        probabilities=getattr(model, "predict_proba", None),
        costs={"n_fits": budget.fits, "n_failed": len(failures)},
    )


def fit_quietly(model: Any, train: Samples) -> Any:
    """A model that stops early, or scores few rows on its way, is judged like any other and need not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return model.fit(train.X, train.y)


@contextmanager
def quiet_torch() -> Iterator[None]:
    """Torch on one thread, and neither prints nor warnings of what is built on it."""
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def validation_loss(model: Any, valid: Samples) -> float:
    """What tuning minimises, as in the paper: the error rate, or the mean squared error."""
    predicted = model.predict(valid.X)
    wrong = (predicted - valid.y) ** 2 if valid.is_regression else predicted != valid.y
    loss = float(np.mean(wrong))
    if not math.isfinite(loss):
        raise ValueError("predictions are not finite")
    return loss


def select_everywhere(mask: np.ndarray, X: np.ndarray) -> np.ndarray:
    """One set of features for all rows."""
    return np.broadcast_to(np.ravel(mask), X.shape)


def select_important(model: Any, X: np.ndarray) -> np.ndarray:
    """What trees select: the features with an importance above 0, for every row."""
    return select_everywhere(model.feature_importances_ > 0, X)


def score_selection(selected: np.ndarray, relevant: np.ndarray) -> dict[str, float]:
    """F1, true positive rate and false discovery rate, pooled over samples as in the paper, and how many a row."""
    scores = metrics.score_selection(selected, relevant)
    return scores._asdict() | {"n_features": float(np.median(selected.sum(axis=1)))}


def score_prediction(predicted: np.ndarray, y: np.ndarray, *, is_regression: bool) -> dict[str, float]:
    """Accuracy in percent, or mean squared error and R²."""
    if not is_regression:
        return {"accuracy": 100 * float(np.mean(predicted == y))}
    mse = float(np.mean((predicted - y) ** 2))
    return {"mse": mse, "r2": 1 - mse / float(np.var(y))}


def rate_probabilities(probabilities: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Log loss and expected calibration error (15 bins of equal width) for the classes 0, 1, ...

    A probability of 0 counts as 2e-16, as in scikit-learn.
    """
    probabilities = np.asarray(probabilities, np.float64)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)  # single precision: 1 but roughly
    return {
        "log_loss": log_loss(y, probabilities, labels=np.arange(probabilities.shape[1])),
        "ece": metrics.expected_calibration_error(y, probabilities),
    }


def accuracy_or_r2(predicted: np.ndarray, y: np.ndarray, *, is_regression: bool) -> float:
    """One score for both kinds of target, as ``score`` of scikit-learn's models gives it."""
    if not is_regression:
        return float(np.mean(predicted == y))
    return float(1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def score_mask(train_mask: np.ndarray, train_y: np.ndarray, test_mask: np.ndarray, test_y: np.ndarray) -> float:
    """What the mask alone tells: percent of the test rows that logistic regression on 0/1 masks gets right."""
    reader = LogisticRegression(max_iter=1000).fit(train_mask.astype(float), train_y)
    return 100 * float(reader.score(test_mask.astype(float), test_y))


def score_gates(gates: np.ndarray, where: str) -> dict[str, float]:
    """Percent of the gates that are shut and that are fully open; the rest is between."""
    return {f"{where}_shut": 100 * float(np.mean(gates <= 0)), f"{where}_open": 100 * float(np.mean(gates >= 1))}


def versions() -> dict[str, str]:
    """What a number depends on."""
    packages = ("jax", "numpy", "scikit-learn")
    return {"python": platform.python_version(), "lspin": lspin.__version__} | {p: version(p) for p in packages}

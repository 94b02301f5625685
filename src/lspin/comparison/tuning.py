"""The settings of a method, chosen on rows that are held out of its training rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from lspin.targets import Kind

HELD_OUT = 0.25  # part of the training rows
CHOSEN_BY = {"classify": "log_loss", "regress": "r2", "count": "d2", "survive": "c_index"}


def choose_settings(
    make: Callable[..., Any],
    candidates: Sequence[Mapping[str, Any]],
    kind: Kind,
    X: Any,
    y: np.ndarray,
    seed: int,
) -> Mapping[str, Any]:
    """The settings with the best score on held-out rows, the first of equal ones.

    Parameters
    ----------
    make
        Makes the method from a seed and settings.
    candidates
        Settings to choose from. Those that the table does not allow, such as more features than it has columns,
        are passed over.
    kind
        Of the target.
    X, y
        Training rows with a tidy target.
    seed
        Of the rows that are held out and of the method.

    """
    learned, held_out = _split(kind.strata(kind.read_known(kind.entries(y, trains=False))), seed)
    judge = kind.judge(y[learned], y[held_out])
    metric = next(metric for metric in judge.metrics if metric.key == CHOSEN_BY[kind.task])
    sign = 1 if metric.better == "high" else -1
    every_row = [np.arange(len(held_out))]
    scores, reason = [], ""
    for settings in candidates:
        try:
            model = make(seed, **settings).fit(_safe_indexing(X, learned), y[learned])
            score = judge.score(judge.forecast(model, _safe_indexing(X, held_out)), every_row)[metric.key].value
        except ValueError as error:
            score, reason = np.nan, str(error)
        scores.append(sign * score if np.isfinite(score) else -np.inf)
    if not np.isfinite(scores).any():
        raise ValueError(reason or "no settings could be judged on held-out rows")
    return candidates[int(np.argmax(scores))]


def _split(strata: np.ndarray, seed: int) -> list[np.ndarray]:
    """Places of the rows to learn from and of those held out; strata keep their shares where they can."""
    sizes = np.unique(strata, return_counts=True)[1]
    can_keep = len(sizes) > 1 and sizes.min() >= 2 and len(sizes) <= HELD_OUT * len(strata)
    return train_test_split(
        np.arange(len(strata)), test_size=HELD_OUT, stratify=strata if can_keep else None, random_state=seed
    )

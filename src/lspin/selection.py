"""Stability selection: the features that halves of a cohort select again and again, and how many may be false."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from lspin.fitting.ensemble import wanting_whole_fits, warn_of_cut
from lspin.fitting.path import take_whole
from lspin.fitting.progress import Progress
from lspin.fitting.running import LostWorkerError, run_tasks
from lspin.targets import kind_of

WORST, UNIMODAL = "worst case", "unimodal"
THRESHOLDS = np.arange(0.51, 1.001, 0.01)
LARGEST_RATE = 1 / np.sqrt(3)  # of selection, up to which the unimodal bound is proven


@dataclass(frozen=True, repr=False, eq=False)
class StabilitySelection:
    """Features that fits to halves of the rows select again and again, with a bound on the false ones.

    ``frame`` has one row for each feature, the most frequent first: ``frequency`` (share of the halves that select
    it), ``expected_false`` (bound on the expected number of false features among all that are as frequent) and
    ``selected`` (whether it is above the threshold).
    """

    frame: pd.DataFrame
    threshold: float  # of the frequency
    expected_false: float  # bound at the threshold
    n_selected: float  # features that a half selects, the mean
    n_pairs: int
    assumption: str

    def __repr__(self) -> str:
        chosen = ", ".join(str(name) for name in self.selected) or "none"
        return (
            f"{len(self.selected)} of {len(self.frame)} features selected: {chosen}\n"
            f"Each is selected by at least {self.threshold:.0%} of {2 * self.n_pairs} halves of the rows; a half "
            f"selects {self.n_selected:.1f} features in the mean.\n"
            f"Expected number of false ones: at most {self.expected_false:.2f} ({self.assumption})."
        )

    @property
    def selected(self) -> list:
        """Names of the selected features, the most frequent first."""
        return self.frame.index[self.frame["selected"]].tolist()

    def bound(self, threshold: float) -> float:
        """Bound on the expected number of false features at another threshold.

        Parameters
        ----------
        threshold : float
            Share of the halves that must select a feature.

        Returns
        -------
        float
            The bound, under the same assumption.

        """
        return bound_false(
            threshold, self.n_selected, len(self.frame), n_pairs=self.n_pairs, assumption=self.assumption
        )


def stability_selection(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    max_false: float = 1.0,
    threshold: float | None = None,
    n_pairs: int = 25,
    min_share: float = 0.05,
    most: int | None = None,
    assumption: str = UNIMODAL,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> StabilitySelection:
    """Select the features of a cohort with a bound on the expected number of false ones.

    Parameters
    ----------
    estimator : estimator
        Any estimator with ``selected(X)``: those of this package and its rivals. It is cloned.
    X, y : table and target
        All rows.
    max_false : float, default=1.0
        Bound on the expected number of false features. The lowest threshold that keeps it is taken.
    threshold : float, default=None
        Share of the halves that must select a feature, above 0.5, instead of ``max_false``.
    n_pairs : int, default=25
        Times that the rows are divided into two halves at random; each half takes a fit.
    min_share : float, default=0.05
        A fit selects a feature if the gates of at least this share of its rows are open.
    most : int, default=None
        Features that a fit may select: the most important ones, or of a rival those open for most rows. Fewer
        make the bound lower.
    assumption : str, default="unimodal"
        ``"worst case"`` or ``"unimodal"``, the tighter bound; see the notes.
    n_jobs : int, default=None
        Fits to run in parallel, as in joblib.
    random_state : int, default=0
        Seed of the halves.
    verbose : int, default=0
        1 shows progress and the time left.

    Returns
    -------
    StabilitySelection
        ``print`` it, or take its ``frame`` and ``selected``.

    Notes
    -----
    Complementary pairs of Shah and Samworth (2013). Of ``p`` features, a fit to half of the rows selects ``q`` in
    the mean. A feature is *false* if a fit selects it with a probability of at most ``q / p``, no more often than
    guessing would. In the worst case at most ``q² / (p (2 t - 1))`` false ones are expected at a threshold ``t``,
    as by Meinshausen and Bühlmann (2010), but without their assumption that noise features are exchangeable.
    ``"unimodal"`` assumes that the number of pairs in which both halves select a false feature has one mode. Half
    as many rows have less power: true features may be missed. Strata (classes, events) are halved one by one.

    Examples
    --------
    >>> from lspin import LSPINRegressor
    >>> from lspin.selection import stability_selection
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = stability_selection(LSPINRegressor(start="groups"), X, y, n_pairs=5, most=2)
    >>> found.selected
    ['bmi', 's5']

    """
    if assumption not in (WORST, UNIMODAL):
        raise ValueError(f"assumption must be {WORST!r} or {UNIMODAL!r}, got {assumption!r}")
    if threshold is not None and not 0.5 < threshold <= 1:
        raise ValueError(f"threshold must be above 0.5 and at most 1, got {threshold!r}")
    X = X if hasattr(X, "shape") else np.asarray(X)
    halves = _divide(estimator, y, X.shape[0], n_pairs, random_state)
    tasks = [(estimator, X, y, rows, min_share, most) for rows in halves]
    done: dict[int, np.ndarray] = {}
    try:
        with Progress(len(halves), shown=verbose > 0) as progress:
            run_tasks(_select, tasks, n_jobs=n_jobs, progress=progress, done=done)
    except (KeyboardInterrupt, LostWorkerError) as error:
        n_whole = sum(map(bool, take_whole(done, len(halves), 2)))
        if n_whole == 0:
            raise
        warn_of_cut(error, f"kept the {n_whole} of {n_pairs} pairs of halves that are finished")
    pairs = [pair for pair in take_whole(done, len(halves), 2) if pair]
    chosen = np.sum(pairs, axis=(0, 1))
    names = list(X.columns) if hasattr(X, "columns") else [f"x{column}" for column in range(X.shape[1])]
    return _conclude(
        pd.Series(chosen / (2 * len(pairs)), pd.Index(names, name="feature"), name="frequency"),
        max_false=max_false,
        threshold=threshold,
        n_pairs=len(pairs),
        assumption=assumption,
    )


def bound_false(
    threshold: float, n_selected: float, n_features: int, *, n_pairs: int, assumption: str = UNIMODAL
) -> float:
    """Bound on the expected number of false features that are selected.

    Parameters
    ----------
    threshold : float
        Share of the halves that must select a feature, above 0.5.
    n_selected : float
        Features that a fit to half of the rows selects, the mean.
    n_features : int
        All features.
    n_pairs : int
        Pairs of halves.
    assumption : str, default="unimodal"
        ``"worst case"``: equation 5 of Shah and Samworth (2013); ``"unimodal"``: their theorem 2, where it holds
        and is lower.

    Returns
    -------
    float
        The bound; all features at a threshold of one half and below.

    """
    if threshold <= 0.5:
        return float(n_features)
    rate = n_selected / n_features
    worst = rate * n_selected / (2 * threshold - 1)
    if assumption == WORST or rate > LARGEST_RATE:
        return float(worst)
    least = min(0.5 + rate**2, 0.5 + 1 / (2 * n_pairs) + 0.75 * rate**2)
    if threshold <= least:
        return float(worst)
    if threshold <= 0.75:
        factor = 1 / (2 * (2 * threshold - 1 - 1 / (2 * n_pairs)))
    else:
        factor = 4 * (1 - threshold + 1 / (2 * n_pairs)) / (1 + 1 / n_pairs)
    return float(min(worst, factor * rate * n_selected))


def _conclude(
    frequency: pd.Series, *, max_false: float, threshold: float | None, n_pairs: int, assumption: str
) -> StabilitySelection:
    n_selected, n_features = float(frequency.sum()), len(frequency)

    def bound(share: float) -> float:
        return bound_false(share, n_selected, n_features, n_pairs=n_pairs, assumption=assumption)

    if threshold is None:
        kept = [share for share in THRESHOLDS if bound(share) <= max_false]
        if not kept:
            raise ValueError(
                f"no threshold keeps the expected number of false features at {max_false:g}: a half selects "
                f"{n_selected:.1f} of {n_features} features in the mean, which allows {bound(1.0):.2f} at best; "
                "let fits select fewer (most, or n_features of the estimator), or allow more"
            )
        threshold = float(kept[0])
    frame = frequency.to_frame().sort_values("frequency", ascending=False, kind="stable")
    frame["expected_false"] = [bound(share) for share in frame["frequency"]]
    frame["selected"] = frame["frequency"] >= threshold - 1e-9
    return StabilitySelection(frame, threshold, bound(threshold), n_selected, n_pairs, assumption)


def _divide(estimator: Any, y: Any, n_rows: int, n_pairs: int, seed: int) -> list[np.ndarray]:
    """Pairs of halves that share no row; of an odd number of rows, one is left out."""
    rng = np.random.default_rng(seed)
    kind = estimator._kind() if hasattr(estimator, "_kind") else kind_of(estimator)
    kind, numbers = kind.read(kind.entries(y, trains=True))
    strata = kind.strata(numbers)
    if len(strata) != n_rows:
        raise ValueError(f"X and y differ in their number of rows: {n_rows} and {len(strata)}")
    halves = []
    for _ in range(n_pairs):
        mixed = rng.permutation(n_rows)
        mixed = mixed[np.argsort(strata[mixed], kind="stable")]
        pairs = mixed[: n_rows // 2 * 2].reshape(-1, 2)
        turned = rng.random(len(pairs)) < 0.5  # who goes where is a coin flip for each neighbouring pair
        pairs[turned] = pairs[turned][:, ::-1]
        halves += [np.sort(pairs[:, 0]), np.sort(pairs[:, 1])]
    return halves


def _select(
    estimator: Any,
    X: Any,
    y: Any,
    rows: np.ndarray,
    min_share: float,
    most: int | None,
    report: Callable[..., None] | None = None,
) -> np.ndarray:
    """Whether a fit to some rows selects each feature."""
    part = _safe_indexing(X, rows)
    with wanting_whole_fits():
        model = clone(estimator).fit(part, _take(y, rows))
    shares = np.asarray(model.selected(part).mean(axis=0), float).ravel()
    chosen = (shares > 0) & (shares >= min_share)
    if most is not None and chosen.sum() > most:
        strength = getattr(model, "feature_importances_", shares)
        kept = np.argsort(-np.asarray(strength), kind="stable")[:most]
        chosen &= np.isin(np.arange(len(shares)), kept)
    return chosen


def _take(y: Any, rows: np.ndarray) -> Any:
    """Some rows of a target; of a pair of times and events, of both."""
    return tuple(_take(part, rows) for part in y) if isinstance(y, tuple) else _safe_indexing(y, rows)

"""The methods of a leaderboard, by task: how each is made, and how it reads a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LogisticRegressionCV, PoissonRegressor, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lspin import baselines
from lspin.estimators import LSPINClassifier, LSPINCox, LSPINRegressor
from lspin.survival import breslow_hazard
from lspin.tables.reading import as_numbers, columns_of_inputs, read_table

N_TREES = 300
STRENGTHS = np.logspace(-2, 2, 9)  # of logistic regressions, chosen by cross-validation
PENALTIES = np.logspace(-2, 4, 13)  # of ridges
INNER_FOLDS = 3

OURS, RIVAL, FAMILIAR, REFERENCE = "ours", "rival", "familiar", "reference"


AS_IT_COMES, CROSSED = "as it comes", "strength by cross-validation"


def _each(name: str, *values: float) -> list[dict[str, float]]:
    return [{name: value} for value in values]


# What a method chooses from on held-out training rows: five settings around its own, or around the usual ones.
STRENGTHS_OF = {
    "STG": _each("sparsity", 0.003, 0.01, 0.03, 0.1, 0.3),
    "INVASE": _each("sparsity", 0.003, 0.01, 0.03, 0.1, 0.3),
    "L2X": _each("n_features", 1, 2, 4, 8, 16),
    "REALX": _each("sparsity", 0.001, 0.003, 0.01, 0.03, 0.1),
    "ContextualLasso": _each("radius", 0.5, 1.0, 2.0, 4.0, 8.0),
    "ProtoGate": _each("sparsity", 0.0001, 0.0003, 0.001, 0.003, 0.01),
}
LOCALIZED = [
    *({"network": 0.1, "exclusive": price} for price in (0.0001, 0.001, 0.01)),
    *({"network": price, "exclusive": 0.001} for price in (0.01, 1.0)),
]
FORESTS = [{"max_features": part, "min_samples_leaf": size} for part in ("sqrt", 0.33) for size in (1, 5)]
BOOSTED = [{"learning_rate": rate, "max_leaf_nodes": leaves} for rate in (0.03, 0.1) for leaves in (4, 31)]


class Contender(NamedTuple):
    """A method: what kind it is, how its settings are chosen, and how it is made from a seed and settings."""

    kind: str  # one of OURS, RIVAL, FAMILIAR, REFERENCE
    note: str
    make: Callable[..., Any]
    candidates: tuple[Mapping[str, Any], ...] = ()  # settings to choose from on held-out training rows


class OnNumbers:
    """A model of scikit-learn that reads tables with categories and missing values.

    Categories become one input a level. Linear models get missing values filled by the mean and inputs of variance
    1; trees get both as they are.
    """

    def __init__(self, model: Any, *, is_linear: bool) -> None:
        self._is_linear = is_linear
        self._steps = (
            make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), model)
            if is_linear
            else make_pipeline(model)
        )

    def fit(self, X: Any, y: np.ndarray) -> Self:
        """Fit the model to a table."""
        table, self._levels = read_table(as_numbers(X))
        self._n_columns = X.shape[1]
        self._steps.fit(_with_gaps(table, self._n_columns, self._levels), y)
        self.classes_ = getattr(self._steps[-1], "classes_", None)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the model."""
        return self._steps.predict(self._read(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes."""
        return self._steps.predict_proba(self._read(X))

    def count_used(self, X: Any) -> float:
        """Columns that a prediction uses: of a linear model those whose coefficients are not 0, else all."""
        if not self._is_linear:
            return 0.0 if isinstance(self._steps[-1], DummyClassifier | DummyRegressor) else float(self._n_columns)
        models = getattr(self._steps[-1], "estimators_", [self._steps[-1]])
        used = np.any([np.atleast_2d(model.coef_).any(axis=0) for model in models], axis=0)
        return float(len(np.unique(columns_of_inputs(self._n_columns, self._levels)[used])))

    def _read(self, X: Any) -> np.ndarray:
        table, _ = read_table(as_numbers(X), self._levels)
        return _with_gaps(table, self._n_columns, self._levels)


def _with_gaps(table: Any, n_columns: int, levels: Any) -> np.ndarray:
    """Numbers of a table, not-a-number where missing."""
    values = _dense(table.values).astype(np.float64)
    if table.missing is None:
        return values
    return np.where(_dense(table.missing)[:, columns_of_inputs(n_columns, levels)], np.nan, values)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


class OneCurve:
    """The same survival curve for everyone: that of Nelson and Aalen."""

    def fit(self, X: Any, y: np.ndarray) -> Self:
        """Learn the curve."""
        curve = breslow_hazard(y, log_hazard=np.zeros(len(y)))
        self.unique_times_, self.cumulative_baseline_hazard_ = curve.x, curve.y
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The same risk for every row."""
        return np.zeros(X.shape[0])

    def count_used(self, X: Any) -> float:
        """No column."""
        return 0.0


def list_contenders(task: str) -> dict[str, Contender]:
    """The methods for a task by name, in the order in which they are run.

    Parameters
    ----------
    task : str
        ``"classify"``, ``"regress"``, ``"count"`` or ``"survive"``.

    Returns
    -------
    dict of str to Contender
        What each is and how it is made.

    """
    return {"classify": _classifiers, "regress": _regressors, "count": _counters, "survive": _survivors}[task]()


def _classifiers() -> dict[str, Contender]:
    forest, trees = _make(RandomForestClassifier, n_estimators=N_TREES), _make(HistGradientBoostingClassifier)
    return {
        "lspin": Contender(OURS, AS_IT_COMES, _make(LSPINClassifier)),
        **_name_rivals("Classifier", ["STG", "INVASE", "L2X", "REALX", "ContextualLasso", "ProtoGate"]),
        "L1": Contender(FAMILIAR, f"logistic regression, {CROSSED}", _on_numbers(_logistic(1.0), is_linear=True)),
        "ridge": Contender(
            FAMILIAR, f"logistic regression, {CROSSED}", _on_numbers(_logistic(0.0), is_linear=True)
        ),
        "forest": _tuned(FAMILIAR, _on_numbers(forest), FORESTS),
        "boosting": _tuned(FAMILIAR, _on_numbers(trees), BOOSTED),
        "constant": Contender(REFERENCE, "shares of the classes", _on_numbers(_make(DummyClassifier))),
    }


def _regressors() -> dict[str, Contender]:
    forest, trees = _make(RandomForestRegressor, n_estimators=N_TREES), _make(HistGradientBoostingRegressor)
    lasso = _make(LassoCV, cv=INNER_FOLDS, alphas=30, tol=1e-3)
    return {
        "lspin": Contender(OURS, AS_IT_COMES, _make(LSPINRegressor)),
        **_name_rivals("Regressor", ["STG", "INVASE", "L2X", "REALX", "ContextualLasso"]),
        "LocalizedLasso": _tuned(RIVAL, _unseeded(baselines.LocalizedLassoRegressor), LOCALIZED),
        "L1": Contender(FAMILIAR, f"lasso, {CROSSED}", _on_numbers(lasso, is_linear=True)),
        "ridge": Contender(FAMILIAR, CROSSED, _on_numbers(_unseeded(RidgeCV, PENALTIES), is_linear=True)),
        "forest": _tuned(FAMILIAR, _on_numbers(forest), FORESTS),
        "boosting": _tuned(FAMILIAR, _on_numbers(trees), BOOSTED),
        "constant": Contender(REFERENCE, "the mean", _on_numbers(_unseeded(DummyRegressor))),
    }


def _counters() -> dict[str, Contender]:
    poisson = _unseeded(PoissonRegressor, max_iter=1000)
    forest = _make(RandomForestRegressor, n_estimators=N_TREES, criterion="poisson")
    trees = _make(HistGradientBoostingRegressor, loss="poisson")
    return {
        "lspin": Contender(OURS, AS_IT_COMES, _make(LSPINRegressor, loss="poisson")),
        "ridge": _tuned(
            FAMILIAR, _on_numbers(poisson, is_linear=True), _each("alpha", 0.01, 0.1, 1.0, 10.0, 100.0)
        ),
        "forest": _tuned(FAMILIAR, _on_numbers(forest), FORESTS),
        "boosting": _tuned(FAMILIAR, _on_numbers(trees), BOOSTED),
        "constant": Contender(REFERENCE, "the mean", _on_numbers(_unseeded(DummyRegressor))),
    }


def _survivors() -> dict[str, Contender]:
    decays = _each("weight_decay", 0.3, 1.0, 3.0, 10.0, 30.0)
    prices = _each("sparsity", 0.0005, 0.0015, 0.005, 0.015, 0.05)
    return {
        "lspin": Contender(OURS, AS_IT_COMES, _make(LSPINCox)),
        "STG": _tuned(RIVAL, _make(baselines.STGCox), prices),
        "L1": Contender(FAMILIAR, f"Cox regression, {CROSSED}", _make(baselines.CoxLasso)),
        "Cox regression": _tuned(FAMILIAR, _make(baselines.DeepSurv, hidden_layer_sizes=()), decays),
        "DeepSurv": _tuned(RIVAL, _make(baselines.DeepSurv), decays),
        "one curve": Contender(REFERENCE, "for everyone", _unseeded(OneCurve)),
    }


def _name_rivals(suffix: str, names: list[str]) -> Mapping[str, Contender]:
    return {name: _tuned(RIVAL, _make(getattr(baselines, name + suffix)), STRENGTHS_OF[name]) for name in names}


def _tuned(kind: str, make: Callable[..., Any], candidates: Sequence[Mapping[str, Any]]) -> Contender:
    names = " and ".join(dict.fromkeys(name for settings in candidates for name in settings))
    return Contender(kind, f"{names} chosen of {len(candidates)} on held-out rows", make, tuple(candidates))


def _make(kind: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    return lambda seed, **settings: kind(**fixed | settings, random_state=seed)


def _unseeded(kind: Callable[..., Any], *given: Any, **fixed: Any) -> Callable[..., Any]:
    return lambda seed, **settings: kind(*given, **fixed | settings)


def _on_numbers(make: Callable[..., Any], *, is_linear: bool = False) -> Callable[..., Any]:
    return lambda seed, **settings: OnNumbers(make(seed, **settings), is_linear=is_linear)


def _logistic(l1_ratio: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        settings = {"Cs": STRENGTHS, "cv": INNER_FOLDS, "scoring": "neg_log_loss", "random_state": seed}
        settings |= {"use_legacy_attributes": False, "l1_ratios": (l1_ratio,)}
        if l1_ratio == 0:
            return LogisticRegressionCV(max_iter=1000, **settings)
        # The one solver that is quick with an L1 penalty knows two classes only.
        return OneVsRestClassifier(LogisticRegressionCV(solver="liblinear", **settings))

    return make

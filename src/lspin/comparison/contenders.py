"""The methods of a leaderboard, by task: how each is made, and how it reads a table."""

from collections.abc import Callable, Mapping
from functools import partial
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
NETWORK_DECAY = 3.0  # of survival models of all features
INNER_FOLDS = 3

OURS, RIVAL, FAMILIAR, REFERENCE = "ours", "rival", "familiar", "reference"


class Contender(NamedTuple):
    """A method: what kind it is, how its settings are chosen, and how it is made from a seed."""

    kind: str  # one of OURS, RIVAL, FAMILIAR, REFERENCE
    note: str
    make: Callable[[int], Any]


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
    rivals = _name_rivals("Classifier", ["STG", "INVASE", "L2X", "REALX", "ContextualLasso", "ProtoGate"])
    chosen = "strength by cross-validation"
    return {
        "lspin": Contender(OURS, "as it comes", _seeded(LSPINClassifier)),
        **rivals,
        "L1": Contender(FAMILIAR, f"logistic regression, {chosen}", _on_numbers(_logistic(1.0), is_linear=True)),
        "ridge": Contender(
            FAMILIAR, f"logistic regression, {chosen}", _on_numbers(_logistic(0.0), is_linear=True)
        ),
        "forest": Contender(FAMILIAR, f"{N_TREES} trees", _on_numbers(_seeded(RandomForestClassifier, N_TREES))),
        "boosting": Contender(FAMILIAR, "as it comes", _on_numbers(_seeded(HistGradientBoostingClassifier))),
        "constant": Contender(REFERENCE, "shares of the classes", _on_numbers(_seeded(DummyClassifier))),
    }


def _regressors() -> dict[str, Contender]:
    rivals = ["STG", "INVASE", "L2X", "REALX", "ContextualLasso"]
    forest, trees = _seeded(RandomForestRegressor, N_TREES), _seeded(HistGradientBoostingRegressor)
    lasso = partial(LassoCV, cv=INNER_FOLDS, alphas=30, tol=1e-3)
    chosen = "strength by cross-validation"
    return {
        "lspin": Contender(OURS, "as it comes", _seeded(LSPINRegressor)),
        **_name_rivals("Regressor", rivals),
        "LocalizedLasso": Contender(RIVAL, "as it comes", lambda seed: baselines.LocalizedLassoRegressor()),
        "L1": Contender(FAMILIAR, f"lasso, {chosen}", _on_numbers(_seeded(lasso), is_linear=True)),
        "ridge": Contender(FAMILIAR, chosen, _on_numbers(lambda seed: RidgeCV(PENALTIES), is_linear=True)),
        "forest": Contender(FAMILIAR, f"{N_TREES} trees", _on_numbers(forest)),
        "boosting": Contender(FAMILIAR, "as it comes", _on_numbers(trees)),
        "constant": Contender(REFERENCE, "the mean", _on_numbers(lambda seed: DummyRegressor())),
    }


def _counters() -> dict[str, Contender]:
    poisson = partial(PoissonRegressor, max_iter=1000)
    trees = _seeded(partial(HistGradientBoostingRegressor, loss="poisson"))
    forest = _seeded(partial(RandomForestRegressor, criterion="poisson"), N_TREES)
    return {
        "lspin": Contender(OURS, "as it comes", _seeded(partial(LSPINRegressor, loss="poisson"))),
        "ridge": Contender(FAMILIAR, "Poisson, penalty 1", _on_numbers(lambda seed: poisson(), is_linear=True)),
        "forest": Contender(FAMILIAR, f"{N_TREES} trees, Poisson loss", _on_numbers(forest)),
        "boosting": Contender(FAMILIAR, "Poisson loss", _on_numbers(trees)),
        "constant": Contender(REFERENCE, "the mean", _on_numbers(lambda seed: DummyRegressor())),
    }


def _survivors() -> dict[str, Contender]:
    network = partial(baselines.DeepSurv, weight_decay=NETWORK_DECAY)
    note = f"weight decay {NETWORK_DECAY:g}"
    return {
        "lspin": Contender(OURS, "as it comes", _seeded(LSPINCox)),
        "STG": Contender(RIVAL, "as it comes", _seeded(baselines.STGCox)),
        "Cox regression": Contender(FAMILIAR, note, _seeded(partial(network, ()))),
        "DeepSurv": Contender(RIVAL, note, _seeded(network)),
        "one curve": Contender(REFERENCE, "for everyone", lambda seed: OneCurve()),
    }


def _name_rivals(suffix: str, names: list[str]) -> Mapping[str, Contender]:
    return {name: Contender(RIVAL, "as it comes", _seeded(getattr(baselines, name + suffix))) for name in names}


def _seeded(make: Callable[..., Any], *settings: Any) -> Callable[[int], Any]:
    return lambda seed: make(*settings, random_state=seed)


def _on_numbers(make: Callable[[int], Any], *, is_linear: bool = False) -> Callable[[int], Any]:
    return lambda seed: OnNumbers(make(seed), is_linear=is_linear)


def _logistic(l1_ratio: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        settings = {"Cs": STRENGTHS, "cv": INNER_FOLDS, "scoring": "neg_log_loss", "random_state": seed}
        settings |= {"use_legacy_attributes": False, "l1_ratios": (l1_ratio,)}
        if l1_ratio == 0:
            return LogisticRegressionCV(max_iter=1000, **settings)
        # The one solver that is quick with an L1 penalty knows two classes only.
        return OneVsRestClassifier(LogisticRegressionCV(solver="liblinear", **settings))

    return make

"""The estimators: how each reads its target, and how outputs become predictions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from lspin.base import LSPINBase
from lspin.parameters import fill_docstring
from lspin.persistence import read_model
from lspin.targets import ClassTarget, ResponseTarget, SurvivalTarget


@fill_docstring
class LSPINClassifier(ClassTarget, LSPINBase):
    """Classifier that opens, for each sample, the gates of the few features its prediction rests on.

    {parameters}
    class_weight
        Weights of the classes, or ``"balanced"``.
    {more}
    classes_
        The classes, in sorted order.
    coef_, center_, intercept_
        Of a linear predictor: a row's scores are ``intercept_ + (gates(X) * (X - center_)) @ coef_.T``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from lspin import LSPINClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LSPINClassifier(random_state=0).fit(X, y)
    >>> patients = X.head(3)
    >>> probabilities, reasons = model.predict_proba(patients), model.selected(patients)
    """

    _learned: ClassVar[dict[str, type]] = {**LSPINBase._learned, "classes_": np.ndarray}
    _parameter_constraints: ClassVar[dict] = {
        **LSPINBase._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] | str = "auto",
        *,
        gate_hidden_layer_sizes: tuple[int, ...] | None = None,
        sparsity: float | str = "auto",
        n_features: int | None = None,
        stability: float = 0.0,
        diversity: float = 0.0,
        affinity: str | Callable | np.ndarray = "rbf",
        gate_exchange: float | None = None,
        noise_scale: float | None = None,
        learning_rate: float | None = None,
        zero_is_absent: bool = False,
        anchor: str | np.ndarray | None = "auto",
        weight_decay: float | str = "auto",
        max_epochs: int | None = None,
        batch_size: int = 128,
        validation_fraction: float = 0.2,
        patience: int | None = None,
        n_restarts: int | str = "auto",
        n_members: int = 1,
        bootstrap: bool = False,
        class_weight: dict | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            gate_hidden_layer_sizes=gate_hidden_layer_sizes,
            sparsity=sparsity,
            n_features=n_features,
            stability=stability,
            diversity=diversity,
            affinity=affinity,
            gate_exchange=gate_exchange,
            noise_scale=noise_scale,
            learning_rate=learning_rate,
            zero_is_absent=zero_is_absent,
            anchor=anchor,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            batch_size=batch_size,
            validation_fraction=validation_fraction,
            patience=patience,
            n_restarts=n_restarts,
            n_members=n_members,
            bootstrap=bootstrap,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of the table; a row's own are these times its gates."""
        return self._coefficients

    @property
    def intercept_(self) -> np.ndarray:
        """Scores of a row whose gates are all shut."""
        return self._linear_member.networks.prediction[0].bias


@fill_docstring
class LSPINRegressor(ResponseTarget, LSPINBase):
    """Regressor that opens, for each sample, the gates of the few features its prediction rests on.

    {parameters}
    {more}
    target_mean_, target_scale_
        Mean and standard deviation of the target, in units of which the loss is counted.
    coef_, center_, intercept_
        Of a linear predictor: a row's prediction is ``intercept_ + (gates(X) * (X - center_)) @ coef_``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lspin import LSPINRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LSPINRegressor(n_features=3, random_state=0).fit(X, y)
    >>> predictions, reasons = model.predict(X), model.gates(X)
    """

    _learned: ClassVar[dict[str, type]] = {**LSPINBase._learned, "target_mean_": float, "target_scale_": float}

    def _adjust_anchor(self, weights: np.ndarray) -> np.ndarray:
        return weights / self.target_scale_

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of table and target; a row's own: these times its gates."""
        return self._coefficients[0] * self.target_scale_

    @property
    def intercept_(self) -> float:
        """Prediction for a row whose gates are all shut."""
        bias = self._linear_member.networks.prediction[0].bias[0]
        return float(self.target_mean_ + self.target_scale_ * bias)


@fill_docstring
class LSPINCox(SurvivalTarget, LSPINBase):
    """Survival model that opens, for each sample, the gates of the few features its risk rests on.

    {parameters}
    ties
        How events at one time are counted: ``"efron"`` or ``"breslow"``.
    {more}
    unique_times_, cumulative_baseline_hazard_
        Times of the training rows, and the cumulative hazard of a row of risk 0 at these, by Breslow.
    coef_, center_, intercept_
        Of a linear predictor: a row's risk is ``intercept_ + (gates(X) * (X - center_)) @ coef_``.

    Notes
    -----
    The likelihood compares a row that has its event with all that are still followed then. A table of up to
    ``batch_size`` rows is taken whole, and the likelihood is exact. In batches, a row is compared with those of
    its batch: where a log-hazard is the true one, it is best for batches too, but events count differently and
    steps are noisier, the more the smaller the batch. On three cohorts the mean gradient of batches of 32 was 3 to
    6 % short, that of batches of 512 not to be told from the exact one; see ``docs/method.md``.

    Examples
    --------
    >>> from lspin import LSPINCox
    >>> from lspin.datasets import load_table
    >>> cohort = load_table("metabric")
    >>> model = LSPINCox(random_state=0).fit(cohort.X, cohort.y)
    >>> risks, reasons = model.predict(cohort.X), model.selected(cohort.X)
    """

    _learned: ClassVar[dict[str, type]] = {**LSPINBase._learned, **SurvivalTarget._survival_learned}
    _parameter_constraints: ClassVar[dict] = {
        **LSPINBase._parameter_constraints,
        "ties": [StrOptions({"efron", "breslow"})],
    }

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] | str = "auto",
        *,
        gate_hidden_layer_sizes: tuple[int, ...] | None = None,
        sparsity: float | str = "auto",
        n_features: int | None = None,
        stability: float = 0.0,
        diversity: float = 0.0,
        affinity: str | Callable | np.ndarray = "rbf",
        gate_exchange: float | None = None,
        noise_scale: float | None = None,
        learning_rate: float | None = None,
        zero_is_absent: bool = False,
        anchor: str | np.ndarray | None = "auto",
        weight_decay: float | str = "auto",
        max_epochs: int | None = None,
        batch_size: int = 512,
        validation_fraction: float = 0.2,
        patience: int | None = None,
        n_restarts: int | str = "auto",
        n_members: int = 1,
        bootstrap: bool = False,
        ties: str = "efron",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            gate_hidden_layer_sizes=gate_hidden_layer_sizes,
            sparsity=sparsity,
            n_features=n_features,
            stability=stability,
            diversity=diversity,
            affinity=affinity,
            gate_exchange=gate_exchange,
            noise_scale=noise_scale,
            learning_rate=learning_rate,
            zero_is_absent=zero_is_absent,
            anchor=anchor,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            batch_size=batch_size,
            validation_fraction=validation_fraction,
            patience=patience,
            n_restarts=n_restarts,
            n_members=n_members,
            bootstrap=bootstrap,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.ties = ties

    @property
    def coef_(self) -> np.ndarray:
        """Log hazard ratios of a linear predictor in units of the table; a row's own are these times its gates."""
        return self._coefficients[0]

    @property
    def intercept_(self) -> float:
        """Risk of a row whose gates are all shut."""
        return float(self._linear_member.networks.prediction[0].bias[0])


ESTIMATORS: dict[str, type[LSPINBase]] = {
    kind.__name__: kind for kind in (LSPINClassifier, LSPINRegressor, LSPINCox)
}


def load(path: str | Path) -> Any:
    """Read a model that ``save`` wrote; nothing in the file is run as code."""
    saved = read_model(path)
    if saved.kind not in ESTIMATORS:
        raise ValueError(f"{path} holds a {saved.kind!r}, which this version does not know")
    try:
        return ESTIMATORS[saved.kind]._restore(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be loaded as a model: {error}") from error

"""The estimators: how each reads its target, and how outputs become predictions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight

from lspin.base import LSPINBase
from lspin.losses import complete_scores
from lspin.parameters import fill_docstring
from lspin.persistence import read_model
from lspin.tables import (
    SMALLEST,
    Rows,
    read_labels,
    read_response,
    refuse_constant,
)


@fill_docstring
class LSPINClassifier(ClassifierMixin, LSPINBase):
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

    _loss = "cross_entropy"
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

    def _read_target(self, y: Any) -> np.ndarray:
        self.classes_, codes = read_labels(y)
        return codes

    def _read_known_target(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        unknown = sorted(set(y.tolist()) - set(self.classes_.tolist()), key=repr)
        if unknown:
            raise ValueError(f"eval_set holds the class {unknown[0]!r}, which the training rows do not")
        return np.searchsorted(self.classes_, y)

    def _learn_target(self, rows: Rows) -> None:
        self._class_factors = np.ones(len(self.classes_))
        if self.class_weight is not None:
            self._class_factors = compute_class_weight(
                self.class_weight,
                classes=self.classes_,
                y=self.classes_[rows.target],
                sample_weight=rows.weight,
            )
            if not (np.isfinite(self._class_factors) & (self._class_factors >= 0)).all():
                raise ValueError(f"class_weight must hold finite numbers of at least 0, got {self.class_weight}")
            if not self._class_factors.any():
                raise ValueError(f"class_weight={self.class_weight} leaves no class to learn from")

    def _count_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _adjust(self, rows: Rows) -> Rows:
        return rows._replace(weight=rows.weight * self._class_factors[rows.target])

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores before the softmax: one a row for two classes, else one a row and class."""
        outputs = self._predict(X).outputs
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``."""
        return softmax(complete_scores(self._predict(X).outputs), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        return self._decide(self._predict(X).outputs)

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        return self.classes_[complete_scores(outputs).argmax(axis=1)]

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of the table; a row's own are these times its gates."""
        return self._coefficients

    @property
    def intercept_(self) -> np.ndarray:
        """Scores of a row whose gates are all shut."""
        return self._linear_member.networks.prediction[0].bias


@fill_docstring
class LSPINRegressor(RegressorMixin, LSPINBase):
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

    _loss = "squared_error"
    _learned: ClassVar[dict[str, type]] = {**LSPINBase._learned, "target_mean_": float, "target_scale_": float}

    def _read_target(self, y: Any) -> np.ndarray:
        target = read_response(y)
        refuse_constant(target)
        return target

    def _read_known_target(self, y: Any) -> np.ndarray:
        return read_response(y)

    def _learn_target(self, rows: Rows) -> None:
        largest = np.abs(rows.target).max()  # squares of numbers near the largest float would overflow
        mean = np.average(rows.target / largest, weights=rows.weight)
        spread = np.sqrt(np.average((rows.target / largest - mean) ** 2, weights=rows.weight))
        self.target_mean_ = float(mean * largest)
        self.target_scale_ = float(max(spread * largest, SMALLEST))

    def _count_outputs(self) -> int:
        return 1

    def _adjust(self, rows: Rows) -> Rows:
        return rows._replace(target=(rows.target - self.target_mean_) / self.target_scale_)

    def _adjust_anchor(self, weights: np.ndarray) -> np.ndarray:
        return weights / self.target_scale_

    def predict(self, X: Any) -> np.ndarray:
        """The expected response of each row."""
        return self._decide(self._predict(X).outputs)

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        return self.target_mean_ + self.target_scale_ * outputs[:, 0]

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of table and target; a row's own: these times its gates."""
        return self._coefficients[0] * self.target_scale_

    @property
    def intercept_(self) -> float:
        """Prediction for a row whose gates are all shut."""
        bias = self._linear_member.networks.prediction[0].bias[0]
        return float(self.target_mean_ + self.target_scale_ * bias)


ESTIMATORS: dict[str, type[LSPINBase]] = {kind.__name__: kind for kind in (LSPINClassifier, LSPINRegressor)}


def load(path: str | Path) -> Any:
    """Read a model that ``save`` wrote; nothing in the file is run as code."""
    saved = read_model(path)
    if saved.kind not in ESTIMATORS:
        raise ValueError(f"{path} holds a {saved.kind!r}, which this version does not know")
    try:
        return ESTIMATORS[saved.kind]._restore(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be loaded as a model: {error}") from error

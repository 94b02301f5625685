"""The estimators: classifier, regressor and survival model."""

from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from lspin.estimators import settings
from lspin.estimators.base import LSPINBase
from lspin.estimators.saving import read_model
from lspin.estimators.settings import ATTRIBUTES
from lspin.targets import Classifier, Counts, Regressor, Response, SurvivalModel
from lspin.targets.settings import Setting, declare

LINEAR_ATTRIBUTES = "coef_, center_, intercept_"


@declare(
    attributes=ATTRIBUTES
    | {
        "classes_ : numpy.ndarray": "The classes, in sorted order.",
        "pos_label_ : str, int, float or None": "The event: the one of two classes whose odds explanations, "
        "plots and reports speak of. None if there are more classes.",
        LINEAR_ATTRIBUTES: "Of a linear predictor: a row's scores are "
        "`intercept_ + (gate_signs(X) * gates(X) * (X - center_)) @ coef_.T`.",
    }
)
class LSPINClassifier(Classifier, LSPINBase):
    """Classifier that selects a few features for each sample and predicts from these.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from lspin import LSPINClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LSPINClassifier(random_state=0).fit(X, y)
    >>> patients = X.head(3)
    >>> probabilities, reasons = model.predict_proba(patients), model.selected(patients)
    """

    class_weight: dict | str | None = Setting(
        [dict, StrOptions({"balanced"}), None], "Weights of the classes, or `'balanced'`."
    )(None)
    pos_label: str | float | None = Setting(
        [None, str, Real, "boolean"],
        "The event: the one of two classes whose odds explanations, plots and reports speak of. By default the "
        "one whose word says that something happened (`'yes'`, 1, `'died'`, `'malignant'`), else the second in "
        "sorted order. Predictions, `classes_`, `coef_` and `decision_function` do not depend on it.",
    )(None)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of the table; multiply by the gates for those of a row."""
        return self._coefficients

    @property
    def intercept_(self) -> np.ndarray:
        """Scores of a row whose gates are all shut."""
        return self._linear_member.networks.prediction[0].bias


@declare(
    attributes=ATTRIBUTES
    | {
        "target_mean_, target_scale_ : float": "Mean and standard deviation of the target, in units of which the "
        "loss is measured.",
        LINEAR_ATTRIBUTES: "Of a linear predictor: a row's prediction is "
        "`intercept_ + (gate_signs(X) * gates(X) * (X - center_)) @ coef_` (its logarithm for counts).",
    }
)
class LSPINRegressor(Regressor, LSPINBase):
    """Regressor that selects a few features for each sample and predicts from these.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lspin import LSPINRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LSPINRegressor(n_features=3, random_state=0).fit(X, y)
    >>> predictions, reasons = model.predict(X), model.gates(X)
    """

    loss: str = Setting(
        [StrOptions({"squared_error", "poisson"})],
        "`'squared_error'`, or `'poisson'` for counts: the rate is predicted, and contributions are on the scale "
        "of its logarithm.",
    )("squared_error")

    def _kind(self) -> Response:
        return Counts() if self.loss == "poisson" else Response()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear predictor in units of table and target; multiply by the gates for a row."""
        return self._coefficients[0] * self.kind_.unit

    @property
    def intercept_(self) -> float:
        """Prediction for a row whose gates are all shut; with ``loss="poisson"``, its logarithm."""
        bias = self._linear_member.networks.prediction[0].bias[0]
        return float(self.kind_.origin + self.kind_.unit * bias)


@declare(
    attributes=ATTRIBUTES
    | {
        "unique_times_, cumulative_baseline_hazard_ : numpy.ndarray": "Times of the training rows, and Breslow's "
        "estimate of the cumulative hazard of a row of risk 0 at these.",
        "mean_log_hazard_ : float": "Mean risk of the training rows, relative to which risks are told.",
        LINEAR_ATTRIBUTES: "Of a linear predictor: a row's risk is "
        "`intercept_ + (gate_signs(X) * gates(X) * (X - center_)) @ coef_`.",
    }
)
class LSPINCox(SurvivalModel, LSPINBase):
    """Cox survival model that selects a few features for each sample and predicts the risk from these.

    Notes
    -----
    The likelihood compares a row that has its event with all rows that are still followed then. A table of up to
    ``batch_size`` rows is taken whole, and the likelihood is exact. In batches, a row is compared with those of
    its batch. Minibatches share the optimum, but steps are noisier, the more the smaller the batch: on three
    cohorts the mean gradient of batches of 32 was 3 to 6 % short, that of batches of 512 equal to the exact one
    within the noise; see ``docs/method.md``.

    Examples
    --------
    >>> from lspin import LSPINCox
    >>> from lspin.datasets import load_table
    >>> cohort = load_table("metabric")
    >>> model = LSPINCox(random_state=0).fit(cohort.X, cohort.y)
    >>> risks, reasons = model.predict(cohort.X), model.selected(cohort.X)
    """

    batch_size: int = settings.BATCH_SIZE(512)
    ties: str = Setting(
        [StrOptions({"efron", "breslow"})], "How events at one time are counted: `'efron'` or `'breslow'`."
    )("efron")

    @property
    def coef_(self) -> np.ndarray:
        """Log hazard ratios of a linear predictor in units of the table; multiply by the gates for a row."""
        return self._coefficients[0]

    @property
    def intercept_(self) -> float:
        """Risk of a row whose gates are all shut."""
        return float(self._linear_member.networks.prediction[0].bias[0])


ESTIMATORS: dict[str, type[LSPINBase]] = {
    kind.__name__: kind for kind in (LSPINClassifier, LSPINRegressor, LSPINCox)
}


def load(path: str | Path) -> Any:
    """Load a model that ``save`` wrote. No code from the file is run.

    Parameters
    ----------
    path
        File that ``save`` or ``lspin fit`` wrote.

    Returns
    -------
    LSPINClassifier, LSPINRegressor or LSPINCox
        The fitted estimator: :class:`LSPINClassifier`, :class:`LSPINRegressor` or :class:`LSPINCox`.
    """
    saved = read_model(path)
    if saved.kind not in ESTIMATORS:
        raise ValueError(f"{path} holds a {saved.kind!r}, which this version does not know")
    try:
        return ESTIMATORS[saved.kind]._restore(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be loaded as a model: {error}") from error

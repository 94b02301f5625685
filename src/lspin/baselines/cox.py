"""Survival models: a network without gates, and one behind gates that are the same for all rows."""

from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from lspin.baselines.net import Net
from lspin.baselines.stg import STG
from lspin.targets import SurvivalTarget

TIES = [StrOptions({"efron", "breslow"})]


class DeepSurv(SurvivalTarget, Net):
    """Cox model whose log-hazard is a fully connected network; unlike LSPIN's it sees every feature of every row.

    Parameters
    ----------
    hidden_layer_sizes
        Widths of the hidden layers; ``()`` is the linear Cox model.
    ties
        How events at one time are counted: ``"efron"`` or ``"breslow"``.
    learning_rate
        Of Adam, at the start of a cosine.
    weight_decay
        Part of each weight that decays in a step of learning rate 1.
    max_epochs
        Passes over the rows; by default about 2,000 steps.
    batch_size
        Rows of a step, which are compared with one another.
    random_state
        Seed: the same seed gives the same fit.

    References
    ----------
    Katzman, Shaham, Cloninger, Bates, Jiang and Kluger, «DeepSurv», BMC Medical Research Methodology 2018.

    """

    _parameter_constraints: ClassVar[dict] = {**Net._parameter_constraints, "ties": TIES}

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (32, 32),
        *,
        ties: str = "efron",
        learning_rate: float = 0.005,
        weight_decay: float = 1.0,
        max_epochs: int | None = None,
        batch_size: int = 512,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            batch_size=batch_size,
            random_state=random_state,
        )
        self.ties = ties


class STGCox(SurvivalTarget, STG):
    """Cox model behind stochastic gates; unlike LSPIN's they are the same for all rows.

    See :class:`STGClassifier` and :class:`DeepSurv` for the parameters, and the former for the reference.
    """

    _parameter_constraints: ClassVar[dict] = {**STG._parameter_constraints, "ties": TIES}

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, ...] = (32, 32),
        *,
        sparsity: float = 0.005,
        noise_scale: float = 0.5,
        ties: str = "efron",
        learning_rate: float = 0.005,
        weight_decay: float = 1.0,
        max_epochs: int | None = None,
        batch_size: int = 512,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes,
            sparsity=sparsity,
            noise_scale=noise_scale,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            batch_size=batch_size,
            random_state=random_state,
        )
        self.ties = ties

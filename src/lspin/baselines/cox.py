"""Survival models: a network without gates, and one behind gates that are the same for all rows."""

from sklearn.utils._param_validation import StrOptions

from lspin.baselines.net import Net
from lspin.baselines.rival import BATCH_SIZE, WEIGHT_DECAY
from lspin.baselines.stg import STG
from lspin.targets import SurvivalModel
from lspin.targets.settings import LAYERS, NOT_NEGATIVE, Setting, declare, first

HIDDEN_LAYER_SIZES = Setting(LAYERS, "Widths of the hidden layers; `()` is the linear Cox model.")
TIES = Setting([StrOptions({"efron", "breslow"})], "How events at one time are counted: `'efron'` or `'breslow'`.")
COMPARED = BATCH_SIZE._replace(help="Rows of a step, which are compared with one another.")


@declare()
class DeepSurv(SurvivalModel, Net):
    """Cox model whose log-hazard is a fully connected network. Unlike LSPIN, it uses all features of every row.

    References
    ----------
    Katzman, Shaham, Cloninger, Bates, Jiang and Kluger, «DeepSurv», BMC Medical Research Methodology 2018.

    """

    hidden_layer_sizes: tuple[int, ...] = first(HIDDEN_LAYER_SIZES, default=(32, 32))
    ties: str = TIES("efron")
    weight_decay: float = WEIGHT_DECAY(1.0)
    batch_size: int = COMPARED(512)


@declare()
class STGCox(SurvivalModel, STG):
    """Cox model with stochastic gates. Unlike in LSPIN, all rows have the same gates.

    See :class:`STGClassifier` for the reference.
    """

    hidden_layer_sizes: tuple[int, ...] = first(HIDDEN_LAYER_SIZES, default=(32, 32))
    sparsity: float = Setting([NOT_NEGATIVE], "Price of an open gate, in nats an event.")(0.005)
    ties: str = TIES("efron")
    weight_decay: float = WEIGHT_DECAY(1.0)
    batch_size: int = COMPARED(512)

"""The rivals: methods that LSPIN is compared with, as scikit-learn estimators with its vocabulary."""

from lspin.baselines.contextual_lasso import ContextualLassoClassifier, ContextualLassoRegressor
from lspin.baselines.localized_lasso import LocalizedLassoRegressor
from lspin.baselines.net import NetClassifier, NetRegressor
from lspin.baselines.protogate import ProtoGateClassifier
from lspin.baselines.stg import STGClassifier, STGRegressor

__all__ = [
    "ContextualLassoClassifier",
    "ContextualLassoRegressor",
    "LocalizedLassoRegressor",
    "NetClassifier",
    "NetRegressor",
    "ProtoGateClassifier",
    "STGClassifier",
    "STGRegressor",
]

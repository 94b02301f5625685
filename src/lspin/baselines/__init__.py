"""Rivals: the methods that LSPIN is compared with, as scikit-learn estimators with the same methods as LSPIN's."""

from lspin.baselines.contextual_lasso import ContextualLassoClassifier, ContextualLassoRegressor
from lspin.baselines.cox import DeepSurv, STGCox
from lspin.baselines.cox_lasso import CoxLasso
from lspin.baselines.invase import INVASEClassifier, INVASERegressor
from lspin.baselines.l2x import L2XClassifier, L2XRegressor
from lspin.baselines.localized_lasso import LocalizedLassoRegressor
from lspin.baselines.net import NetClassifier, NetRegressor
from lspin.baselines.protogate import ProtoGateClassifier
from lspin.baselines.realx import EvalXClassifier, EvalXRegressor, REALXClassifier, REALXRegressor
from lspin.baselines.stg import STGClassifier, STGRegressor

__all__ = [
    "ContextualLassoClassifier",
    "ContextualLassoRegressor",
    "CoxLasso",
    "DeepSurv",
    "EvalXClassifier",
    "EvalXRegressor",
    "INVASEClassifier",
    "INVASERegressor",
    "L2XClassifier",
    "L2XRegressor",
    "LocalizedLassoRegressor",
    "NetClassifier",
    "NetRegressor",
    "ProtoGateClassifier",
    "REALXClassifier",
    "REALXRegressor",
    "STGClassifier",
    "STGCox",
    "STGRegressor",
]

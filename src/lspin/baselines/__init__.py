"""The rivals: methods that LSPIN is compared with, as scikit-learn estimators with its vocabulary."""

from lspin.baselines.invase import INVASEClassifier, INVASERegressor
from lspin.baselines.net import NetClassifier, NetRegressor
from lspin.baselines.realx import EvalXClassifier, EvalXRegressor, REALXClassifier, REALXRegressor
from lspin.baselines.stg import STGClassifier, STGRegressor

__all__ = [
    "EvalXClassifier", "EvalXRegressor", "INVASEClassifier", "INVASERegressor",
    "NetClassifier", "NetRegressor", "REALXClassifier", "REALXRegressor", "STGClassifier", "STGRegressor",
]  # fmt: skip

"""The rivals: methods that LSPIN is compared with, as scikit-learn estimators with its vocabulary."""

from lspin.baselines.cox import DeepSurv, STGCox
from lspin.baselines.net import NetClassifier, NetRegressor
from lspin.baselines.stg import STGClassifier, STGRegressor

__all__ = ["DeepSurv", "NetClassifier", "NetRegressor", "STGClassifier", "STGCox", "STGRegressor"]

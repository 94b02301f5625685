"""scikit-learn's boosted trees on histograms, with its defaults."""

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.method import Everyday, Method, Wanted


def make_default(wanted: Wanted) -> HistGradientBoostingClassifier | HistGradientBoostingRegressor:
    kind = HistGradientBoostingRegressor if wanted.is_regression else HistGradientBoostingClassifier
    return kind(max_iter=100 if wanted.budget.epochs is None else 10, random_state=0)


METHOD = Method(everyday=Everyday(make_default, reads_frames=True))

"""scikit-learn's own checks, on every estimator, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lspin import LSPINClassifier, LSPINRegressor


# The convergence of a full fit is tested elsewhere; these checks fit some hundred models.
@parametrize_with_checks(
    [
        LSPINClassifier((16,), gate_hidden_layer_sizes=(16,), sparsity=0.001, max_epochs=100, random_state=0),
        LSPINRegressor((16,), gate_hidden_layer_sizes=(16,), sparsity=0.001, max_epochs=100, random_state=0),
        LSPINRegressor((16,), loss="poisson", gate_hidden_layer_sizes=(16,), sparsity=0.001, max_epochs=100),
        # Groups and networks compete.
        LSPINClassifier(max_epochs=5, random_state=0),
        LSPINRegressor(max_epochs=5, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
def test_sklearn_contract(estimator, check):
    check(estimator)

"""What a report says while a copy of the model is fitted."""

import numpy as np
import pytest

from lspin import LSPINRegressor
from lspin.reporting.held_out import compare

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)


@pytest.mark.parametrize("verbose", [0, 1])
def test_the_copy_shows_its_progress_if_the_report_does(verbose, monkeypatch, speaking):
    model, seen = LSPINRegressor(start="groups", random_state=0, verbose=0).fit(X, Y), []
    fit = LSPINRegressor.fit
    monkeypatch.setattr(LSPINRegressor, "fit", lambda self, *given: seen.append(self.verbose) or fit(self, *given))
    compare(model, X, Y, eval_set=None, random_state=0, verbose=verbose)
    assert seen == [verbose]
    assert ("lspin: 3 of 3 models judged, 00:00 left" in speaking()) == bool(verbose)


def test_a_copy_that_is_cut_short_is_not_judged(regressor, table, press_after):
    press_after(3)
    with pytest.raises(KeyboardInterrupt):
        compare(regressor, *table, eval_set=None, random_state=0)

"""What a report says while a copy of the model is fitted."""

import numpy as np
import pandas as pd
import pytest

from lspin import LSPINRegressor
from lspin.reporting import held_out
from lspin.reporting.held_out import compare
from lspin.reporting.page import _read_patients

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


def test_rows_of_one_patient_are_set_aside_together(monkeypatch):
    patients = np.arange(60) // 3  # each three times
    parts, refit = [], held_out._refit
    monkeypatch.setattr(held_out, "_refit", lambda *given, **more: parts.append(given[2]) or refit(*given, **more))
    model = LSPINRegressor(start="groups", random_state=0).fit(X, Y)
    found = compare(model, X, Y, eval_set=None, random_state=0, patients=patients)
    (learned,) = parts
    judged = np.setdiff1d(np.arange(60), learned)
    assert found.n_test == len(judged) == 15
    assert not set(patients[learned]) & set(patients[judged])
    assert "15 of the 60 rows, drawn at random and set aside, all rows of one name together." in found.how
    alone = compare(model, X, Y, eval_set=None, random_state=0, patients=np.arange(60))
    assert "together" not in alone.how


def test_classes_keep_their_shares_where_rows_of_a_patient_stay_together():
    patients, strata = np.arange(400) // 2, np.repeat(np.arange(200) % 5 == 0, 2)
    learned, judged = held_out._split(strata, 0, patients)
    assert len(judged) == pytest.approx(100, abs=4)
    assert strata[judged].mean() == pytest.approx(0.2, abs=0.03)
    assert not set(patients[learned]) & set(patients[judged])


def test_patients_are_named_by_the_user_or_by_an_index_and_empty_names_are_of_different_ones():
    frame = pd.DataFrame({"a": np.arange(4.0)}, index=["p", "q", "p", ""])
    assert len(set(_read_patients(frame, 4, given=False))) == 3
    assert len(set(_read_patients(["", "", None, "p"], 4, given=True))) == 4
    assert _read_patients(X, 60, given=False) is None
    with pytest.raises(ValueError, match="patients has 3 entries, and X has 60 rows"):
        _read_patients([1, 2, 3], 60, given=True)

"""What is put into a table is found; what is in most tables is not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from lspin.checks import check_table
from lspin.checks.oddities import group_spellings
from messy_tables import make_patients

PATIENTS = make_patients()
X, DIED = PATIENTS[["age", "crp", "platelets"]], PATIENTS["died"].to_numpy()


def texts(table, y=DIED, **options):
    return [finding.text for finding in check_table(table, y, target_name="died", **options).findings]


def test_nothing_is_wrong_with_the_patients():
    assert texts(X) == texts(X.assign(sex=PATIENTS["sex"].astype("category"))) == []


def test_masked_arrays_and_pyarrow_tables_are_checked_as_frames_are():
    pa = pytest.importorskip("pyarrow")
    gaps = X.assign(crp=X["crp"].where(DIED == "yes"))
    said = texts(gaps)
    assert texts(pa.Table.from_pandas(gaps, preserve_index=False)) == said
    filled = np.ma.masked_array(gaps.fillna(0.0).to_numpy(np.float64), mask=gaps.isna().to_numpy())
    assert texts(filled) == [said[0].replace("'crp'", "'1'")]


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris, load_diabetes])
def test_public_tables_give_few_findings(load):
    table, y = load(return_X_y=True, as_frame=True)
    found = check_table(table, y.to_numpy()).findings
    assert {finding.check for finding in found} <= {"single column", "duplicates"}
    assert len(found) <= 1


def test_values_that_are_missing_by_class_are_named():
    icu = np.where((DIED == "no") & (np.arange(120) % 10 > 0), np.nan, X["age"])
    assert texts(X.assign(icu=icu)) == [
        "'icu' is missing in 88% of the rows of 'no' and in 0% of the rows of 'yes'; is it recorded "
        "after the outcome?"
    ]
    assert texts(X.assign(crp=X["crp"].where(np.arange(120) % 3 > 0))) == []


def test_text_and_dates_of_a_frame_are_looked_at():
    died = DIED == "yes"
    days = pd.date_range("2024-01-01", periods=120)
    late = {
        "day": days.to_series(index=X.index).where(died),
        "written": pd.Series(days.astype(str), X.index).where(died),
        "cause": pd.Series([f"cause {row}" for row in range(120)], X.index).where(died),
        "note": pd.Series("done", X.index).where(died),
    }
    for name, column in late.items():
        (text,) = texts(X.assign(**{name: column}))
        assert text == f"column {name!r} alone predicts 'died' perfectly; is it known before the outcome?"
    filled = X.assign(day=days, cause=late["cause"].fillna("none"), ward=np.tile(["a", "b", "c"], 40))
    assert texts(filled.assign(cause=[f"cause {row}" for row in range(120)])) == []
    numbered = X.assign(day=late["day"]).set_axis(range(4), axis=1)
    assert texts(numbered) == ["column '3' alone predicts 'died' perfectly; is it known before the outcome?"]
    pl = pytest.importorskip("polars")
    (text,) = texts(pl.from_pandas(X.assign(day=late["day"])))
    assert text.startswith("column 'day' alone")


def test_values_that_are_constant_in_a_class_are_named():
    rng = np.random.default_rng(0)
    days = np.where((DIED == "yes") & (rng.random(120) < 0.8), rng.integers(1, 9, 120), 0)
    (text,) = texts(X.assign(days=days))
    assert text.startswith("'days' is 0 in all rows of 'no', and in ")
    rare = np.where((DIED == "yes") & (np.arange(120) % 10 == 0), 1, 0)  # a rare mutation is no leak
    assert texts(X.assign(rare=rare)) == []


def test_rows_that_are_there_twice_are_counted():
    twice = pd.concat([X, X[:5]], ignore_index=True)
    other = np.append(DIED, DIED[:5])
    other[122:] = np.where(other[2:5] == "yes", "no", "yes")
    (finding,) = check_table(twice, other).findings
    assert finding.text == (
        "10 rows have all values in common with another row, 6 rows of them with different outcomes; are patients "
        "there twice?"
    )
    assert len(finding.rows) == 2
    assert finding.rows[1] == finding.rows[0] + 120
    (text,) = texts(X[:100], DIED[:100], test=X[90:])
    assert text == "10 rows to judge by are among the training rows, so the scores are too high"
    assert texts((X[["crp"]] > 2).astype(int)) == []  # of few values, rows must be equal
    one = pd.DataFrame({"crp": np.tile(np.round(np.linspace(1, 9, 60), 2), 2)})  # each value twice, in one column
    assert texts(one) == []


def test_rows_that_are_alike_by_chance_are_no_copies():
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        age, crp = rng.normal(60, 9, 120).round(), np.exp(rng.normal(size=120)).round(2)
        drawn = pd.DataFrame({"age": age, "crp": crp, "sex": pd.Categorical(rng.choice(["m", "f"], 120))})
        named += len(texts(drawn, rng.choice(["no", "yes"], 120)))
    assert named <= 2  # of 20 tables without copies


@pytest.mark.parametrize("code", [-99, -1, 9999999, 99999, 999])
def test_codes_for_missing_values_are_named(code):
    coded = X.assign(crp=X["crp"].where(np.arange(120) % 20 > 0, code))
    found = texts(coded)
    if code == 9999999:  # no usual code
        assert found == []
    else:
        expected = f"'crp' is {code} in 6 rows, far from the others; does it stand for a missing value?"
        assert found == [expected]


def test_ordinary_numbers_are_no_codes():
    table = pd.DataFrame({"age": np.arange(1, 121), "change": np.arange(-60, 60), "score": np.arange(120) % 100})
    assert texts(table, DIED) == []


def test_spellings_of_levels_and_classes_are_named():
    sex = np.where(np.arange(120) < 9, "M", np.where(np.arange(120) % 2, "m", "f"))
    (text,) = texts(X.assign(sex=pd.Categorical(sex)))
    assert (
        text
        == "'sex' has levels that differ in spelling only: 'M' (9 rows), 'm' (56 rows); they count as different"
    )
    spelled = np.where(np.arange(120) < 3, np.char.upper(DIED.astype(str)), DIED)
    assert "the target has classes that differ in spelling only" in " ".join(texts(X, spelled))
    assert group_spellings(["a b", "A  B", "c", 1]) == [["a b", "A  B"]]


def test_small_numbers_of_rows_can_be_hidden():
    sex = np.where(np.arange(120) < 3, "M", np.where(np.arange(120) % 2, "m", "f"))
    (text,) = texts(X.assign(sex=pd.Categorical(sex)), fewest=5)
    assert "'M' (fewer than 5 rows)" in text


def test_progress_is_shown_if_asked_for(speaking):
    check_table(X, DIED)
    assert speaking() == ""
    check_table(X, DIED, verbose=1)
    assert "lspin: 6 of 6 data checks, 00:00 left" in speaking()

"""Text and dates in frames: days and categories that were made by hand give the same model."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lspin import LSPINRegressor, load, report
from lspin.tables.settling import settle_columns

RNG = np.random.default_rng(0)
N = 80
DAYS = RNG.integers(0, 400, N)
DATES = [date(2020, 1, 15) + timedelta(days=int(day)) for day in DAYS]
SITE = RNG.choice(["north", "south", "west"], N)
AGE = RNG.normal(60, 10, N)
Y = DAYS / 100 + (SITE == "west") + 0.1 * RNG.normal(size=N)
FRAME = pd.DataFrame({"visit": pd.to_datetime(DATES), "site": SITE, "age": AGE})
BY_HAND = pd.DataFrame({"visit": (DAYS - DAYS.min()).astype(float), "site": pd.Categorical(SITE), "age": AGE})


def make(**settings):
    return LSPINRegressor(start="groups", random_state=0, **settings)


@pytest.fixture(scope="module")
def model():
    return make(columns="auto").fit(FRAME, Y)


def test_the_model_is_that_of_days_and_categories_made_by_hand(model):
    expected = make().fit(BY_HAND, Y)
    np.testing.assert_array_equal(model.predict(FRAME), expected.predict(BY_HAND))
    assert model.selected(FRAME)[:, 0].all()
    assert (
        model.explain(FRAME).to_frame().query("feature == 'site'")["value"].isin(["north", "south", "west"]).all()
    )


FORMS = {
    "text": FRAME.assign(visit=[str(day) for day in DATES]),
    "objects": FRAME.assign(visit=pd.Series(DATES, dtype=object)),
    "zoned": FRAME.assign(visit=pd.to_datetime(DATES).tz_localize("UTC")),
    "polars": pl.DataFrame({"visit": DATES, "site": SITE.tolist(), "age": AGE}),
}


@pytest.mark.parametrize("form", FORMS)
def test_dates_in_other_forms_are_the_same_days(form, model):
    frame, learned = settle_columns(FORMS[form])
    np.testing.assert_array_equal(np.asarray(frame["visit"].to_numpy(), float), BY_HAND["visit"])
    assert learned["column"].tolist() == ["visit"]
    np.testing.assert_array_equal(model.predict(FORMS[form]), model.predict(FRAME))


def test_new_rows_count_from_the_first_day_of_the_training_table(model, tmp_path):
    later = FRAME.assign(visit=FRAME["visit"] + pd.Timedelta(days=1000))
    by_hand = BY_HAND.assign(visit=BY_HAND["visit"] + 1000)
    expected = make().fit(BY_HAND, Y).predict(by_hand)
    np.testing.assert_array_equal(model.predict(later[:7]), expected[:7])
    model.save(tmp_path / "model.lspin")
    np.testing.assert_array_equal(load(tmp_path / "model.lspin").predict(later), expected)


def test_days_are_not_counted_twice(model):
    settled = model._settle(FRAME, reset=False)
    np.testing.assert_array_equal(settled["visit"], BY_HAND["visit"])
    np.testing.assert_array_equal(model.predict(settled), model.predict(FRAME))


def test_a_report_reads_dates_and_texts_too(model, tmp_path):
    page = report(model, FRAME, Y, tmp_path / "report.html", audits=False).read_text()
    assert '"visit"' in page
    assert '"site"' in page


def test_missing_dates_and_texts_are_missing(model):
    frame = FRAME.copy()
    frame.loc[2, "visit"], frame.loc[3, "site"] = pd.NaT, None
    gates = model.gates(frame)
    assert gates[2, 0] == gates[3, 1] == 0


def test_what_is_neither_is_refused_by_name():
    names = FRAME.assign(name=[f"patient {row}" for row in range(N)])
    with pytest.raises(ValueError, match="column 'name' holds 80 different texts"):
        make(columns="auto").fit(names, Y)
    with pytest.raises(ValueError, match="column 'site' holds text"):
        make().fit(FRAME[["site", "age"]], Y)
    with pytest.raises(ValueError, match="column 'visit' is of type Datetime"):
        make().fit(FRAME[["visit", "age"]], Y)
    model = make(columns="auto").fit(FRAME, Y)
    with pytest.raises(ValueError, match="column 'visit' held dates when the model was fitted"):
        model.predict(FRAME.assign(visit="soon"))

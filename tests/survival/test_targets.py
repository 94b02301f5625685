"""Times and events in every form people have them, and a sentence that helps for every form that is wrong."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lspin.survival import Survival, find_time_columns, make_survival, read_survival
from lspin.survival.targets import sign_times, split_times

TIME = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])
EVENT = np.array([True, True, False, True, True, True])
RNG = np.random.default_rng(0)


def structured(time_name="time", event_name="event"):
    return np.array(list(zip(EVENT, TIME, strict=True)), dtype=[(event_name, bool), (time_name, float)])


FORMS = {
    "tuple": (TIME, EVENT),
    "tuple of lists": (TIME.tolist(), EVENT.tolist()),
    "0 and 1": (TIME, EVENT.astype(int)),
    "structured": structured(),
    "other names": structured("days", "death"),
    "dict": {"months": TIME, "died": EVENT},
    "dict of 0 and 1": {"died": EVENT.astype(float), "months": TIME},
    "array": np.column_stack([EVENT, TIME]),
    "pandas": pd.DataFrame({"months": TIME, "died": EVENT}),
    "pandas nullable": pd.DataFrame({"months": TIME, "died": EVENT}).convert_dtypes(),
    "pandas object": pd.DataFrame({"months": TIME, "died": EVENT}).astype(object),
    "polars": pl.DataFrame({"died": EVENT, "months": TIME}),
    "polars 0 and 1": pl.DataFrame({"died": EVENT.astype(int), "months": TIME}),
    "record": Survival(TIME, EVENT),
}


def test_time_zero_keeps_its_event():
    survival = read_survival((with_entry(TIME, 4, 0.0), EVENT))
    assert survival.time[4] == 0
    back = split_times(sign_times(survival))
    np.testing.assert_array_equal(back.time, survival.time)
    np.testing.assert_array_equal(back.event, EVENT)
    censored = split_times(sign_times(Survival(np.zeros(2), np.array([True, False]))))
    assert censored.event.tolist() == [True, False]
    assert censored.time.tolist() == [0, 0]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_times_and_events(form):
    survival = read_survival(FORMS[form])
    np.testing.assert_array_equal(survival.time, TIME)
    np.testing.assert_array_equal(survival.event, EVENT)
    assert (survival.time.dtype, survival.event.dtype) == (np.float64, bool)


def test_names_are_those_of_the_table():
    survival = read_survival(pd.DataFrame({"months": TIME, "died": EVENT}))
    assert (survival.time_name, survival.event_name) == ("months", "died")


def test_columns_named_time_and_event_need_no_guess():
    survival = read_survival({"Event": [1, 0, 1, 1, 1, 1], "Time": [1, 1, 1, 1, 1, 1]})
    assert survival.event.tolist() == [True, False, True, True, True, True]


def test_a_structured_array_has_the_event_first():
    target = make_survival(TIME, EVENT)
    assert target.dtype.names == ("event", "time")
    np.testing.assert_array_equal(target, structured())


def with_entry(values, row, entry):
    values = list(values)
    values[row] = entry
    return values


WRONG = {
    "all censored": ((TIME, np.zeros(6, bool)), "all 6 samples are censored.*'event'"),
    "negative": ((with_entry(TIME, 2, -1.0), EVENT), "'time' is negative in 1 of 6 rows, the first is row 2"),
    "missing time": ((with_entry(TIME, 3, np.nan), EVENT), "missing in 1 of 6 rows, the first is row 3"),
    "no time": ((with_entry(TIME, 3, None), EVENT), "missing in 1 of 6 rows, the first is row 3"),
    "infinite": ((with_entry(TIME, 1, np.inf), EVENT), "infinite in 1 of 6 rows.*last seen"),
    "missing event": ((TIME, with_entry(EVENT, 5, None)), "'event' is missing in 1 of 6 rows, the first is row 5"),
    "1 and 2": ({"days": TIME, "status": EVENT + 1}, r"1 \(1 rows\), 2 \(5 rows\).*y\['status'\] == 2"),
    "0, 1 and 2": ((TIME, [0, 1, 2, 0, 1, 2]), "different events"),
    "other codes": ((TIME, [0, 9, 9, 0, 9, 0]), r"holds 0 \(3 rows\), 9 \(3 rows\)"),
    "yes and no": ({"days": TIME, "death": ["yes", "no"] * 3}, r"'no', 'yes'.*y\['death'\] == 'yes'"),
    "unknown words": ((TIME, ["foo", "bar"] * 3), r"'bar', 'foo'.*== <the word for the event>"),
    "text of numbers": ((TIME, ["0", "1"] * 3), "== '1'"),
    "words": (pd.DataFrame({"days": TIME, "state": ["alive", "Dead"] * 3}), r"y\['state'\] == 'Dead'"),
    "category": (
        pd.DataFrame({"days": TIME, "state": pd.Categorical(["alive", "dead"] * 3)}),
        r"y\['state'\] == 'dead'",
    ),
    "both 0 and 1": ({"a": [0, 1, 1], "b": [1, 1, 0]}, "'a' and 'b' could both be the event.*name the columns"),
    "neither": ({"a": [3, 4, 7], "b": [1, 9, 2]}, "'a' and 'b' could neither be the event"),
    "lengths": ((TIME, EVENT[:4]), "'time' has 6 rows and 'event' has 4"),
    "matrix": ((TIME[:, None], EVENT), r"shape is \(6, 1\)"),
    "empty": (([], []), "no rows"),
    "three columns": ({"a": TIME, "b": EVENT, "c": TIME}, r"has 3: \['a', 'b', 'c'\]"),
    "dates": ((np.array(["2020-01-01"] * 6, "datetime64[D]"), EVENT), "'2020-01-01', which is no number"),
    "text as time": ((["3 months"] * 6, EVENT), "'3 months', which is no number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_target_is_refused_with_its_names_and_numbers(case):
    y, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        read_survival(y)


@pytest.mark.parametrize("y", [TIME, TIME.tolist(), pd.Series(TIME)])
def test_times_alone_are_refused(y):
    with pytest.raises(TypeError, match="which is which"):
        read_survival(y)


def test_few_events_are_warned_about():
    event = np.arange(6) < 4
    with pytest.warns(UserWarning, match="only 4 of 6 samples had the event"):
        read_survival((TIME, event))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_survival((TIME, event), needs_events=False)


@pytest.mark.parametrize(
    "disguise", [lambda t: t, lambda t: -3 * t, np.log, np.floor, lambda t: t + 0.3 * RNG.random(len(t))]
)
def test_a_column_that_tells_the_time_is_found(disguise):
    time = RNG.permutation(np.arange(1, 101) / 3)
    X = RNG.normal(size=(100, 4))
    X[:, 2] = disguise(time)
    X[:5, 2] = np.nan
    assert find_time_columns(X, time) == [2]


def test_what_follows_the_time_by_chance_is_no_copy_of_it():
    time = np.arange(1.0, 8.0)
    constant, split = np.ones(100), np.arange(100) > 50
    assert find_time_columns(time[:, None], time) == []
    assert find_time_columns(np.column_stack([constant, split]), np.arange(1.0, 101.0)) == []
    assert find_time_columns(np.full((100, 1), np.nan), np.arange(1.0, 101.0)) == []


@pytest.mark.parametrize("masked", ["time", "event"])
@pytest.mark.parametrize("form", [dict, lambda y: (y["time"], y["event"])])
def test_a_masked_entry_is_missing(masked, form):
    y = {"time": np.array([1.0, 2.0, 3.0]), "event": np.array([True, False, True])}
    y[masked] = np.ma.masked_array(y[masked], mask=[False, True, False])
    with pytest.raises(
        ValueError, match=rf"the {masked} '{masked}' is missing in 1 of 3 rows, the first is row 1"
    ):
        read_survival(form(y))

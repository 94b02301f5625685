"""What is said about the columns of a table, on tables in which it is known."""

import numpy as np
import pandas as pd
import pytest

from lspin.intake.columns import (
    choose_features,
    read_column,
    read_like,
)
from lspin.intake.files import Source
from lspin.intake.outcomes import Outcome, guess_task, name_event, read_outcome, read_survival_outcome
from lspin.intake.remarks import find_column

RNG = np.random.default_rng(0)
N = 40


def source_of(frame, **rest):
    return Source(frame, "table.csv", "made up", **rest)


def said(remarks):
    return " | ".join(remark.text for remark in remarks)


@pytest.mark.parametrize(
    ("entries", "task"),
    [
        (["a", "b"] * 20, "classify"),
        ([0, 1] * 20, "classify"),
        ([True, False] * 20, "classify"),
        ([0.5, 1.5] * 20, "classify"),
        ([1, 2, 3, 4] * 10, "classify"),
        (list(range(40)), "regress"),
        (RNG.normal(size=40), "regress"),
        ([1.5, 2.5, 3.5, 4.5] * 10, "regress"),
        ([1, 2, 3, 4], "regress"),
        ([f"{value:.2f}" for value in RNG.normal(size=39)] + ["<1"], "regress"),
    ],
)
def test_the_task_is_guessed_from_the_target(entries, task):
    assert guess_task(pd.Series(entries))[0] == task


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([3.0] * N, "constant"),
        ([3.0] * 30 + [None] * 10, "constant"),
        ([None] * N, "constant"),
        (RNG.normal(size=N), "number"),
        (RNG.integers(0, 5, N), "number"),
        (RNG.permutation(N), "number"),
        (range(1, N + 1), "id"),
        ([True, False] * 20, "number"),
        ([True, False, None, True] * 10, "number"),
        (["f", "m"] * 20, "category"),
        ([f"P{i}" for i in range(N)], "id"),
        ([f"seen on ward {i}, then went home" for i in range(N)], "text"),
        ([f"word{i % 25}" for i in range(N)], "text"),
        ([f"20{i % 20 + 10}-03-{i % 28 + 1:02}" for i in range(N)], "date"),
        ([f"{i % 28 + 1}.3.2021" for i in range(N)], "date"),
        (pd.date_range("2020", periods=N), "date"),
        ([20210301 + i % 28 for i in range(N)], "date"),
        ([str(value) for value in RNG.normal(size=N - 1)] + ["<0.5"], "number"),
    ],
)
def test_kinds_of_columns(entries, kind):
    assert read_column(pd.Series(entries, name="x"))[1] == kind


@pytest.mark.parametrize(
    "name", ["id", "patient_id", "PatientID", "Sample ID", "Unnamed: 0", "barcode", "Patienten-Nr.", "Patient No."]
)
def test_numbers_under_the_name_of_an_identifier_are_one(name):
    assert read_column(pd.Series(RNG.permutation(N) * 7, name=name))[1] == "id"


@pytest.mark.parametrize("name", ["lipid", "android", "valid", "Covid"])
def test_a_word_that_ends_alike_is_no_identifier(name):
    assert read_column(pd.Series(RNG.permutation(N) * 7, name=name))[1] == "number"


def test_entries_that_are_no_numbers_are_counted_as_missing_and_said():
    read = read_column(pd.Series([str(i / 3) for i in range(N - 2)] + ["lost", "broken"], name="crp"))
    assert read.values.isna().sum() == 2
    assert "2 entries are no numbers and count as missing: 'lost' (row 39), 'broken' (row 40)" in said(
        read.remarks
    )


@pytest.mark.parametrize(
    ("name", "answer"),
    [("Age", "did you mean 'age'"), ("agee", "did you mean 'age'"), ("zzz", "there are 'age', 'weight'")],
)
def test_a_wrong_name_is_answered_with_near_ones(name, answer):
    with pytest.raises(ValueError, match=answer):
        find_column(name, ["age", "weight"])


def make_frame():
    frame = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
    frame["y"] = np.where(np.arange(N) % 2, "ill", "well")
    return frame


def test_rows_without_a_target_are_left_out():
    frame = make_frame()
    frame.loc[[1, 5], "y"] = None
    outcome = read_outcome(frame, "y")
    assert "left out 2 rows without 'y'" in said(outcome.remarks)
    chosen = choose_features(source_of(frame), outcome)
    assert len(chosen.X) == len(outcome.target) == N - 2
    assert list(chosen.X.index[:2]) == ["1", "3"]  # rows are counted from 1, the second is gone


@pytest.mark.parametrize(
    ("column", "classes"),
    [
        (pd.Series([2**62, 2**62 + 1] * 8), [2**62, 2**62 + 1]),
        (pd.Series([2**63, 2**63 + 1] * 8, dtype="UInt64"), [2**63, 2**63 + 1]),
        (pd.Series([1e19, 2e19] * 8), [1e19, 2e19]),
        (pd.Series([1.0, 2.0] * 8), [1, 2]),
    ],
)
def test_whole_numbers_of_any_size_stay_different_classes(column, classes):
    target = read_outcome(pd.DataFrame({"y": column}), "y").target
    assert sorted(set(target.tolist())) == classes
    assert {type(label) for label in target.tolist()} == {type(classes[0])}


def test_whole_numbers_with_a_gap_stay_whole_classes():
    outcome = read_outcome(pd.DataFrame({"y": [0.0, 1.0, np.nan, 1.0]}), "y")
    assert outcome.target.tolist() == [0, 1, 1]
    assert outcome.target.dtype.kind == "i"


@pytest.mark.parametrize(
    "days", [["2024-07-13", "2024-02-11", "3.4.2024"] * 4, pd.date_range("2024-01-01", periods=12)]
)
def test_a_target_of_dates_is_no_target_of_classes_unless_asked_for(days):
    frame = pd.DataFrame({"admitted": days})
    with pytest.raises(
        ValueError, match=r"'admitted' holds dates, such as '2024-0.*days since some day.*--task classify"
    ):
        read_outcome(frame, "admitted")
    assert read_outcome(frame, "admitted", "classify").task == "classify"


def test_an_empty_target_is_refused():
    with pytest.raises(ValueError, match="'y' is empty in all 3 rows"):
        read_outcome(pd.DataFrame({"y": [None] * 3}), "y")


def test_the_first_identifier_names_the_samples_and_none_is_a_feature():
    frame = make_frame().assign(patient_id=[f"P{i}" for i in range(N)], other_id=range(100, 100 + N))
    chosen = choose_features(source_of(frame), read_outcome(frame, "y"))
    assert list(chosen.X.columns) == ["a", "b"]
    assert chosen.X.index[0] == "P0"
    assert chosen.id_name == "patient_id"
    assert "'other_id'" in said(chosen.remarks)


@pytest.mark.parametrize("kind", ["date", "constant", "text", "id"])
def test_columns_that_are_left_out_and_filled_after_the_event_only_are_named(kind):
    died = np.arange(N) % 2 == 1
    entries = {
        "date": pd.date_range("2024-01-01", periods=N).astype(str),
        "constant": ["done"] * N,
        "text": [f"died of cause {number} at home" for number in range(N)],
        "id": [f"certificate-{number}" for number in range(N)],
    }[kind]
    frame = pd.DataFrame({"age": RNG.normal(size=N), "name": [f"P{row}" for row in range(N)], "late": entries})
    frame["late"] = frame["late"].where(died)
    frame["always"] = pd.date_range("2023-01-01", periods=N).astype(str)
    found = (
        "'late' is missing in 100% of the rows of {} and in 0% of the rows of {}; is it recorded after the outcome"
    )
    y = frame.assign(died=np.where(died, "yes", "no"))
    (remark,) = [r for r in choose_features(source_of(y), read_outcome(y, "died")).remarks if r.is_warning]
    assert remark.text.startswith(found.format("'no'", "'yes'"))
    assert remark.text.endswith("leave these out too")
    followed = frame.assign(months=RNG.exponential(size=N), died=died)
    outcome = read_survival_outcome(followed, "months", "died")
    (remark,) = [r for r in choose_features(source_of(followed), outcome).remarks if r.is_warning]
    assert "missing in 100% of the rows of those without the event" in remark.text


def test_scores_of_patients_with_several_rows_are_doubted_in_a_fit_only():
    frame = make_frame().dropna(subset="y")
    frame["patient"] = [f"P{row // 2}" for row in range(len(frame))]
    fitted = choose_features(source_of(frame), read_outcome(frame, "y"), id_name="patient")
    assert "held-out scores are too high" in said(fitted.remarks)
    read = read_like(source_of(frame), ["a"], {}, "patient")
    assert "several times" in said(read.remarks)
    assert "held-out" not in said(read.remarks)


def test_columns_to_drop_and_annotations_are_no_features():
    frame = make_frame().assign(batch=RNG.normal(size=N))
    outcome = read_outcome(frame, "y")
    chosen = choose_features(source_of(frame, annotations=("batch",)), outcome, dropped=["a"])
    assert list(chosen.X.columns) == ["b"]
    with pytest.raises(ValueError, match="no column is left"):
        choose_features(source_of(frame), outcome, dropped=["a", "b", "batch"])
    with pytest.raises(ValueError, match="no column 'A'; did you mean 'a'"):
        choose_features(source_of(frame), outcome, dropped=["A"])


# Survival ----------------------------------------------------------------------------------------------------


def times(events):
    return pd.DataFrame({"t": np.arange(1.0, 5.0), "status": events})


@pytest.mark.parametrize(
    ("events", "option"),
    [
        ([1, 0, 1, 0], "status"),
        ([True, False, True, False], "status"),
        (["dead", "alive", "dead", "alive"], "status"),
        (["Yes", "No", "Yes", "No"], "status"),
        (["ja", "nein", "ja", "nein"], "status"),
        (["tot", "lebt", "tot", "lebt"], "status"),
        ([2, 1, 2, 1], "status"),
        ([2, 1, 2, 1], "status=2"),
        (["x", "y", "x", "z"], "status=x"),
    ],
)
def test_events_in_words_and_codes(events, option):
    outcome = read_survival_outcome(times(events), "t", option)
    assert outcome.target["event"].tolist() == [True, False, True, False]
    assert outcome.target["time"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("events", "option", "reason"),
    [
        (
            ["x", "y", "x", "y"],
            "status",
            r"'x' \(2 rows\), 'y' \(2 rows\); say .* event: --event status=x or --event status=y",
        ),
        (["x", "y", "x", "z"], "status", r"'z' \(1 row\); .*--event status=VALUE"),
        ([2, 1, 2, 1], "status=3", "'status' is nowhere '3'; there are '1', '2'"),
        ([1, 0, 1, 0], "statsu", "did you mean 'status'"),
    ],
)
def test_events_that_need_a_word_are_refused_with_it(events, option, reason):
    with pytest.raises(ValueError, match=reason):
        read_survival_outcome(times(events), "t", option)


def test_an_event_that_no_word_tells_is_a_warning():
    outcome = Outcome("classify", np.array(["p", "q", "q"]), np.ones(3, bool), {"target": "y"}, ())
    (guessed,) = name_event(outcome).remarks
    assert guessed.is_warning
    assert guessed.text.startswith("the event is 'q' (2 rows), the last in order, for no word tells which; if it")
    (asked,) = name_event(outcome, "p").remarks
    assert (asked.is_warning, asked.text) == (False, "the event is 'p' (1 row), as asked for")
    (told,) = name_event(outcome._replace(target=np.array(["yes", "no", "no"]))).remarks
    assert not told.is_warning


def test_the_event_is_said_with_its_counts():
    table = times(["ja", "nein", "nein", "nein"]).rename(columns={"status": "gestorben"})
    outcome = read_survival_outcome(table, "t", "gestorben")
    assert "'ja' (1 row) in 'gestorben' counts as the event, 'nein' (3 rows) as censored" in said(outcome.remarks)
    assert outcome.columns["happened"] == "ja"  # for tables to come, in which it may happen to nobody
    later = read_survival_outcome(table[1:], "t", "gestorben=ja", trains=False)
    assert not later.target["event"].any()


@pytest.mark.parametrize("events", [["yes", "no", "no", "no"], [1, 0, 0, 0], [True, False, False, False]])
def test_who_is_alive_is_censored(events):
    outcome = read_survival_outcome(times(events).rename(columns={"status": "alive"}), "t", "alive")
    assert outcome.target["event"].tolist() == [False, True, True, True]
    assert "in 'alive' counts as the event" in said(outcome.remarks)


def test_codes_as_in_r_are_taken_with_a_warning():
    (remark,) = read_survival_outcome(times([2, 1, 2, 2]), "t", "status").remarks
    assert remark.text == (
        "'status' holds '1' (1 row) and '2' (3 rows); '2' counts as the event, as in R. If 1 is the event: "
        "--event status=1"
    )
    assert remark.is_warning


def test_an_event_at_the_start_counts_and_is_said():
    table = times([1, 0, 1, 0]).assign(t=[0.0, 0.0, 0.0, 3.0])
    outcome = read_survival_outcome(table, "t", "status")
    assert outcome.target["event"].tolist() == [True, False, True, False]
    assert "'t' is 0 in 3 rows: 2 events at the start, and 1 censored there" in said(outcome.remarks)


def test_a_wrong_time_is_named_by_its_column_and_row():
    table = pd.DataFrame({"monate": [1.0, None, 2.0, -3.5], "tot": [1, 1, 0, 1]})
    with pytest.raises(ValueError, match=r"'monate' is negative in 1 of 3 rows, such as -3.5 in row 4"):
        read_survival_outcome(table, "monate", "tot")
    dates = table.assign(monate=["2020-01-01", None, "2020-01-02", "2021-01-01"])
    with pytest.raises(ValueError, match=r"'monate' holds no number in 3 of 3 rows, such as '2020-01-01'"):
        read_survival_outcome(dates, "monate", "tot")


# New tables --------------------------------------------------------------------------------------------------

NEW = pd.DataFrame({"stage": [1, 2.0, None, 9], "age": ["50", "old", "60", None], "who": list("abcd")})


def test_a_new_table_is_read_as_the_model_needs_it():
    read = read_like(source_of(NEW), ["age", "stage"], {1: ("1", "2")}, "who")
    assert list(read.X.columns) == ["age", "stage"]
    np.testing.assert_array_equal(read.X["age"], [50, np.nan, 60, np.nan])
    assert isinstance(read.X["stage"].dtype, pd.CategoricalDtype)  # so that it can be fitted again
    assert read.X["stage"].isna().tolist() == [False, False, True, True]
    assert read.X["stage"].tolist()[:2] == ["1", "2"]
    assert list(read.X.index) == list("abcd")
    assert "'old'" in said(read.remarks)
    assert "'9'" in said(read.remarks)


def test_columns_that_a_new_table_lacks_are_named():
    with pytest.raises(ValueError, match=r"lacks 1 column of the 2 .*'Stage'; did you mean 'stage'"):
        read_like(source_of(NEW), ["age", "Stage"], {}, None)

"""A file read in Python is what the command line fits on."""

import numpy as np
import pandas as pd
import pytest

import lspin
from messy_tables import make_patients, write_english, write_german

PATIENTS = make_patients()


def test_german_and_english_files_give_the_same_table(tmp_path):
    write_german(PATIENTS, tmp_path / "de.csv", {(4, "CRP"): "<0,5"})
    write_english(PATIENTS, tmp_path / "en.csv", {(4, "crp"): "<0.5"})
    german = lspin.read_table(tmp_path / "de.csv", target="gestorben", drop=["monate"])
    english = lspin.read_table(tmp_path / "en.csv", target="died", drop=["months"])
    assert german.task == english.task == "classify"
    assert (german.pos_label, english.pos_label) == ("ja", "yes")
    assert lspin.read_table(tmp_path / "de.csv", target="gestorben", positive="nein").pos_label == "nein"
    pd.testing.assert_frame_equal(german.X.set_axis(english.X.columns, axis=1), english.X, check_dtype=False)
    assert list(german.X.index[:2]) == ["P001", "P002"]
    np.testing.assert_array_equal(german.y == "ja", english.y == "yes")
    np.testing.assert_array_equal(english.X["platelets"], PATIENTS["platelets"])
    assert "'CRP': 1 entry is a limit and counts as its number: '<0,5' as 0.5" in german.remarks


def test_times_and_events_are_read(tmp_path):
    write_german(PATIENTS, tmp_path / "de.csv")
    table = lspin.read_table(tmp_path / "de.csv", time="monate", event="gestorben")
    np.testing.assert_allclose(table.y["time"], PATIENTS["months"])
    np.testing.assert_array_equal(table.y["event"], PATIENTS["died"] == "yes")
    assert table.task == "survive"


@pytest.mark.parametrize(
    "options", [{}, {"time": "months"}, {"target": "died", "time": "months", "event": "died"}]
)
def test_the_target_must_be_named(options, tmp_path):
    write_english(PATIENTS, tmp_path / "en.csv")
    with pytest.raises(ValueError, match="name the target, or both time and event"):
        lspin.read_table(tmp_path / "en.csv", **options)


def test_one_column_to_drop_may_be_a_word(tmp_path):
    write_english(PATIENTS, tmp_path / "en.csv")
    assert "months" not in lspin.read_table(tmp_path / "en.csv", target="died", drop="months").X


def test_a_model_is_no_table_and_a_table_no_model(tmp_path):
    write_english(PATIENTS, tmp_path / "en.csv")
    with pytest.raises(ValueError, match="cannot be loaded as a model: it is no file that save or lspin fit"):
        lspin.load(tmp_path / "en.csv")
    table = lspin.read_table(tmp_path / "en.csv", target="died", drop="months")
    lspin.LSPINClassifier(start="groups", random_state=0).fit(table.X, table.y).save(tmp_path / "m.lspin")
    with pytest.raises(ValueError, match="it is a model; open it with"):
        lspin.read_table(tmp_path / "m.lspin", target="died")


def test_remarks_name_parameters_instead_of_options(tmp_path):
    write_german(PATIENTS.assign(leak=PATIENTS["died"] == "yes"), tmp_path / "de.csv")
    said = "\n".join(lspin.read_table(tmp_path / "de.csv", target="gestorben").remarks)
    assert "if it is 'nein' (60 rows): positive='nein'" in said
    assert "If not: drop=['leak']" in said
    assert "--" not in said
    words = PATIENTS.assign(died=np.where(PATIENTS["died"] == "yes", "stage a", "stage b"))
    write_english(words, tmp_path / "en.csv")
    with pytest.raises(ValueError, match="is the event: event='died=stage a' or event='died=stage b'"):
        lspin.read_table(tmp_path / "en.csv", time="months", event="died")
    said = lspin.read_table(tmp_path / "en.csv", target="died").remarks
    assert any("positive='stage a'" in remark for remark in said)

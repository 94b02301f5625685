"""Cells of known content are read as the number they stand for, or counted as what they are."""

import numpy as np
import pandas as pd
import pytest

from lspin.intake.cells import Notation, choose_notation, read_cell, read_numbers, remark_cells, say_strange
from lspin.intake.columns import choose_features, read_like
from lspin.intake.files import read_source
from lspin.intake.outcomes import read_outcome
from messy_tables import make_patients, write_english, write_german

GERMAN = Notation(",", ".")


@pytest.mark.parametrize(
    ("word", "notation", "number"),
    [
        ("3,5", Notation(","), 3.5),
        ("-1.234,5", GERMAN, -1234.5),
        ("1,234,567.25", Notation(".", ","), 1234567.25),
        ("1'234.5", Notation(), 1234.5),
        ("12\u00a0345", Notation(), 12345),
        ("\N{MINUS SIGN}2,5", Notation(","), -2.5),
        ("1,5e-3", Notation(","), 0.0015),
        (",5", Notation(","), 0.5),
        ("True", Notation(), 1),
        ("12.03.2021", GERMAN, np.nan),
        ("1.5", GERMAN, np.nan),
        ("3,5", Notation(), np.nan),
        ("dreiundachtzig", Notation(","), np.nan),
        ("", Notation(), np.nan),
        ("<", Notation(), np.nan),
    ],
)
def test_a_cell_is_read_in_the_notation_of_the_file(word, notation, number):
    np.testing.assert_equal(read_cell(word, notation), (number, False))


@pytest.mark.parametrize("word", ["<0,5", "< 0,5", "<=0,5", "≤0,5", ">0,5"])
def test_a_limit_is_read_as_the_limit(word):
    assert read_cell(word, Notation(",")) == (0.5, True)


@pytest.mark.parametrize(
    ("words", "usual", "chosen"),
    [
        (["3,5", "2,25", "odd"], Notation(","), Notation(",")),
        (["3.5", "2.25", "7"], Notation(","), Notation(".")),
        (["3,5", "2,25"], Notation(), Notation(",")),
        (["987", "1.234", "2.500"], Notation(","), GERMAN),
        (["987", "1,234", "2,500"], Notation(), Notation(".", ",")),
        (["251.234", "402.500"], Notation(","), GERMAN),
        (["0.987", "1.234"], Notation(","), Notation(".")),
        (["1.234,5", "2,5"], Notation(), GERMAN),
    ],
)
def test_a_column_may_have_a_notation_of_its_own(words, usual, chosen):
    assert choose_notation(np.array(words, object), usual) == chosen


def test_every_entry_that_is_no_plain_number_is_said_with_its_row():
    column = pd.Series(["3,5", "<0,5", "n.b.", "n.b.", "dreiundachtzig", None, "4"], name="crp")
    cells = read_numbers(column, Notation(","))
    np.testing.assert_array_equal(cells.numbers, [3.5, 0.5, np.nan, np.nan, np.nan, np.nan, 4])
    limit, strange = remark_cells("crp", cells)
    assert limit.text == "'crp': 1 entry is a limit and counts as its number: '<0,5' as 0.5"
    assert strange.text == (
        "'crp': 3 entries are no numbers and count as missing: 'n.b.' (rows 3, 4), 'dreiundachtzig' (row 5)"
    )
    assert strange.is_warning  # half of the column is lost
    assert not limit.is_warning
    many = pd.Series(["k.A."] * 1200 + ["lost"], [f"P{row}" for row in range(1, 1202)])
    assert say_strange(many).endswith("'k.A.' (rows 'P1', 'P2', 'P3' and 1,197 more), 'lost' (row 'P1201')")


def test_infinity_is_no_number():
    cells = read_numbers(pd.Series([1.0, np.inf]))
    assert cells.numbers.isna().tolist() == [False, True]
    assert "'inf' (row 2)" in remark_cells("x", cells)[0].text


# Whole files -------------------------------------------------------------------------------------------------

ODD = {(16, "age"): "dreiundachtzig", (3, "crp"): "<0,5", (7, "crp"): "<0,5"}
ENGLISH = {(row, name): entry.replace(",", ".") for (row, name), entry in ODD.items()}
GERMAN_ODD = {(row, {"age": "alter", "crp": "CRP"}[name]): entry for (row, name), entry in ODD.items()}


def expect(table):
    """The numbers that the files stand for."""
    numbers = table[["age", "crp", "platelets"]].copy()
    numbers.loc[16, "age"], numbers.loc[[3, 7], "crp"] = np.nan, 0.5
    return numbers.to_numpy(np.float64)


@pytest.mark.parametrize(
    ("write", "odd", "names", "target"),
    [
        (write_german, GERMAN_ODD, ["alter", "CRP", "platelets"], "gestorben"),
        (write_english, ENGLISH, ["age", "crp", "platelets"], "died"),
    ],
)
def test_odd_cells_cost_themselves_and_no_others(write, odd, names, target, tmp_path):
    table = make_patients()
    write(table, tmp_path / "t.csv", odd)
    source = read_source(tmp_path / "t.csv")
    outcome = read_outcome(source.frame, target, notation=source.notation)
    fitted = choose_features(source, outcome, dropped=[source.frame.columns[-1]])
    used = read_like(source, [*names, "sex"], {3: ("f", "m")}, "patient_id")
    for read in (fitted, used):
        np.testing.assert_array_equal(read.X[names].to_numpy(np.float64), expect(table))
        said = " | ".join(remark.text for remark in read.remarks)
        assert f"'{names[0]}': 1 entry is no number and counts as missing: 'dreiundachtzig' (row 17)" in said
        limits = f"'{names[1]}': 2 entries are limits and count as their numbers: '{odd[3, names[1]]}' as 0.5"
        assert limits in said


def test_dates_beside_thousands_stay_dates(tmp_path):
    rows = [f"{n}.234,5;{n:02}.03.2021;{n}.5;2,5" for n in range(1, 10)]
    (tmp_path / "t.csv").write_text("\n".join(["a;seen;lab;b", *rows]))
    source = read_source(tmp_path / "t.csv")
    outcome = read_outcome(source.frame, "a", notation=source.notation)
    assert outcome.target[:2].tolist() == [1234.5, 2234.5]
    chosen = choose_features(source, outcome)
    assert chosen.X["lab"].tolist() == [n + 0.5 for n in range(1, 10)]
    said = " | ".join(remark.text for remark in chosen.remarks)
    assert "of dates (days since some day would be a number to learn from): 'seen'" in said
    assert "read with decimal points: 'lab'" in said


def test_a_lab_value_that_is_often_not_determined_stays_a_number(tmp_path):
    table = make_patients()
    write_german(table, tmp_path / "t.csv", {(row, "CRP"): "n.b." for row in range(0, 100, 3)})
    source = read_source(tmp_path / "t.csv")
    chosen = choose_features(source, read_outcome(source.frame, "gestorben"), dropped=["monate"])
    assert chosen.X["CRP"].isna().sum() == 34
    assert "34 entries are no numbers and count as missing: 'n.b.' (rows 1, 4, 7 and 31 more)" in " ".join(
        remark.text for remark in chosen.remarks if remark.is_warning
    )


def test_a_target_of_numbers_may_have_an_odd_entry(tmp_path):
    table = make_patients()
    write_german(table, tmp_path / "t.csv", {(5, "CRP"): "Hämolyse", (6, "CRP"): "<0,5"})
    source = read_source(tmp_path / "t.csv")
    outcome = read_outcome(source.frame, "CRP", notation=source.notation)
    assert outcome.task == "regress"
    np.testing.assert_array_equal(outcome.target, table["crp"].where(table.index != 6, 0.5).drop(index=5))
    said = " | ".join(remark.text for remark in outcome.remarks)
    assert "left out 1 row whose 'CRP' is no number, such as 'Hämolyse' in row 6" in said

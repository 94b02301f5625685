"""Units in the names of columns, and round times within the follow-up."""

import numpy as np
import pytest

from lspin.survival.units import choose_times, guess_unit, read_times, word_time


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("OS_MONTHS", "months"),
        ("survivalDays", "days"),
        ("Überlebenszeit (Monate)", "months"),
        ("années de suivi", "years"),
        ("time", None),
        ("daylight", None),
        ("days per month", None),  # two units
    ],
)
def test_a_unit_is_read_from_the_name_of_a_column(name, unit):
    assert guess_unit(name) == unit


@pytest.mark.parametrize(
    ("last", "unit", "times"),
    [
        (100, "months", [12, 36, 60]),
        (40, "months", [12, 36]),
        (3000, "days", [365.25, 1095.75, 1826.25]),
        (200, "days", [30, 90, 180]),
        (9, None, [2.5, 5.0, 7.5]),
        (0.4, "years", [30 / 365.25, 90 / 365.25]),
    ],
)
def test_risks_are_given_at_round_times_within_the_follow_up(last, unit, times):
    found = choose_times(np.full(50, last), unit)
    assert found == pytest.approx(times, rel=1e-5)


def test_rows_followed_for_no_time_have_no_times():
    assert choose_times(np.zeros(9), None) == []


def test_times_that_nobody_was_followed_to_are_refused():
    assert read_times([60, 12], 80) == [12, 60]
    with pytest.raises(ValueError, match="at time 90: the times of the training rows range from 0 to 80"):
        read_times([12, 90], 80)
    with pytest.raises(ValueError, match="at time 0"):
        read_times([0], 80)


@pytest.mark.parametrize(
    ("at", "unit", "words"),
    [(36, "months", "3 years"), (12, "months", "1 year"), (30, "days", "30 days"), (7, None, "time 7")],
)
def test_times_are_worded(at, unit, words):
    assert word_time(at, unit) == words

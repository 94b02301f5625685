"""Words whose meaning a speaker of the language knows."""

import pytest

from lspin.survival.words import find_event


@pytest.mark.parametrize(
    ("event", "other"),
    [
        ("ja", "nein"), ("yes", "no"), ("Yes", "No"), ("Y", "N"), ("oui", "non"), ("sí", "no"), ("si", "no"),
        ("sim", "não"), ("J", "N"), ("true", "false"), (True, False), (1, 0), (1.0, 0.0), ("1", "0"), (1, -1),
        ("tot", "lebt"), ("dead", "alive"), ("Deceased", "Living"), ("gestorben", "überlebt"),
        ("verstorben", "zensiert"), ("décédé", "vivant"), ("muerto", "vivo"), ("event", "censored"),
        ("malignant", "benign"), ("bösartig", "gutartig"), ("positive", "negative"), ("Rezidiv", "kein Rezidiv"),
        ("recurrence-events", "no-recurrence-events"), ("case", "control"), ("krank", "gesund"), ("ill", "well"),
        ("tumor", "normal"), ("died", "discharged"), ("transferred", "alive"),
    ],
)  # fmt: skip
def test_the_event_is_found_in_either_order(event, other):
    assert find_event([event, other]) == find_event([other, event]) == event


@pytest.mark.parametrize("name", ["alive", "Alive", "lebt", "survived", "is_alive", "Überlebt"])
@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("ja", "nein"), (1, 0), (True, False)])
def test_who_is_alive_has_not_had_the_event(name, yes, no):
    assert find_event([yes, no], name) == no
    assert find_event(["dead", "alive"], name) == "dead"


@pytest.mark.parametrize(
    "labels", [(1, 2), ("a", "b"), ("m", "f"), ("dead", "died"), ("yes",), ("yes", "no", "x")]
)
def test_what_words_do_not_tell_is_not_guessed(labels):
    assert find_event(labels) is None

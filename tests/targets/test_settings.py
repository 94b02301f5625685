"""Settings that are declared once: the signature, the help and the check of values follow from the declaration."""

import inspect
import re

import pytest
from sklearn.base import BaseEstimator

import lspin
import lspin.baselines
from lspin.targets.settings import COUNT, POSITIVE, Setting, declare, first

ESTIMATORS = [getattr(lspin, name) for name in ("LSPINClassifier", "LSPINRegressor", "LSPINCox")]
ESTIMATORS += [getattr(lspin.baselines, name) for name in lspin.baselines.__all__]
RATE = Setting([POSITIVE], "How fast.", is_general=True)


@declare()
class Base(BaseEstimator):
    """A base."""

    rate: float = RATE(0.1)


@declare(attributes={"found_": "What was found."})
class Thing(Base):
    """A thing.

    Notes
    -----
    Of no use.
    """

    size: int = first(Setting([COUNT], "How large."), default=3)
    rate: float = RATE(0.5)


def test_one_setting_may_be_given_by_position_and_the_others_by_keyword():
    assert str(inspect.signature(Thing)) == "(size: int = 3, *, rate: float = 0.5) -> None"
    assert Thing(7).get_params() == {"size": 7, "rate": 0.5}
    assert Base().rate == 0.1


def test_help_lists_settings_with_type_and_default_before_the_notes():
    doc = inspect.getdoc(Thing)
    assert doc.index("size : int, default=3\n    How large.") < doc.index(
        "rate : float, default=0.5\n    How fast."
    )
    assert doc.index("How fast.") < doc.index("found_\n    What was found.") < doc.index("Notes\n-----")


def test_values_are_checked_as_declared():
    with pytest.raises(ValueError, match="'size' parameter of Thing must be an int"):
        Thing(0)._validate_params()


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_of_every_estimator_has_help_and_a_check(kind):
    _, _, listed = inspect.getdoc(kind).partition("\nParameters\n----------\n")
    described = re.findall(r"^(\w+) : .+, default=.+\n    \S", listed, re.MULTILINE)
    assert len(described) == len(set(described))
    assert set(described) == set(kind().get_params()) == set(kind._parameter_constraints)

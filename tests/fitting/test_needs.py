"""Columns that a model needs, against rows drawn at random and weights set by hand."""

import numpy as np
import pytest

from lspin.core.model import Networks
from lspin.core.networks import Layer
from lspin.fitting.needs import find_needed, find_openable, find_seen
from lspin.fitting.prediction import Member, predict_member
from lspin.tables.encoding import Encoding, give_context
from lspin.tables.grid import Grid

D = 4


def encoding(context=None, sees_missing=False):
    plain = Encoding(
        n_columns=D,
        features=np.arange(D),
        owners=np.arange(D),
        center=np.zeros(D),
        scale=np.ones(D),
        levels={},
        sees_missing=sees_missing,
    )
    return plain if context is None else give_context(plain, np.array(context), context_only=False)


def member(gating, *, own=None, groups=None, **settings):
    prediction = (Layer(np.ones((D, 1)), np.zeros(1)),)
    return Member(encoding(**settings), Networks(gating, prediction, own, groups))


def random_layer(rng, n_inputs, n_outputs, bias=0.0):
    return Layer(rng.normal(size=(n_inputs, n_outputs)), bias + rng.normal(size=n_outputs))


FORMS = {
    "linear": lambda rng, n: {"gating": (random_layer(rng, n, D, -2),)},
    "hidden": lambda rng, n: {"gating": (random_layer(rng, n, 3), random_layer(rng, 3, D, -3))},
    "deep": lambda rng, n: {
        "gating": (random_layer(rng, n, 3), random_layer(rng, 3, 2), random_layer(rng, 2, D, -2))
    },
    "groups": lambda rng, n: {"groups": random_layer(rng, n, 2), "gating": (random_layer(rng, 2, D, -1),)},
    "own": lambda rng, n: {
        "gating": (random_layer(rng, n, 3), random_layer(rng, 3, D, -4)), "own": rng.normal(size=D),
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_no_row_opens_a_gate_that_is_said_never_to_open(form, seed):
    rng = np.random.default_rng(seed)
    context = None if form == "own" else [1, 3]
    model = member(**FORMS[form](rng, D if context is None else 2), context=context)
    rows = Grid(rng.normal(scale=10.0 ** rng.integers(-1, 4, size=(5000, 1)), size=(5000, D)), None)
    opened = (predict_member(model, rows).gates > 0).any(axis=0)
    assert not (opened & ~find_openable(model)).any()


@pytest.mark.parametrize("form", FORMS)
def test_other_values_in_a_column_that_is_not_needed_change_nothing(form):
    rng = np.random.default_rng(0)
    made = FORMS[form](rng, D)
    made["gating"][-1].bias[:] = [-40.0, 0.0, -40.0, 0.0]  # the first and the third never open
    made["gating"][-1].weights[:, [0, 2]] *= form != "linear"
    first = made.get("groups", made["gating"][0])
    first.weights[[0, 1]] = 0.0  # nobody looks at the first two
    model = member(**made)
    assert find_needed([model]).tolist() == [1, 2, 3]
    assert find_seen(model).tolist() == [False, False, True, True]
    rows = rng.normal(size=(50, D))
    changed = rows.copy()
    changed[:, 0] = rng.normal(scale=100, size=50)
    for one, other in zip(*(predict_member(model, Grid(v, None)) for v in (rows, changed)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_flag_of_a_missing_value_is_looked_at_too():
    weights = np.zeros((4, D))  # two inputs, then the flags of two features
    weights[3, 0] = 1.0
    model = member((Layer(weights, np.full(D, -1.0)),), context=[1, 3], sees_missing=True)
    assert find_seen(model).tolist() == [False, False, False, True]


def test_members_need_what_any_of_them_needs():
    shut = Layer(np.zeros((D, D)), np.full(D, -1.0))
    opened = [Layer(shut.weights, np.where(np.arange(D) == place, 0.0, -1.0)) for place in (3, 1)]
    assert find_needed([member((layer,)) for layer in opened]).tolist() == [1, 3]
    assert find_needed([member((shut,))]).tolist() == []


def test_one_group_needs_no_column_that_tells_it():
    layer = Layer(np.array([[1.0, -1.0, -1.0, -1.0]]), np.zeros(D))
    model = member((layer,), groups=Layer(np.ones((D, 1)), np.zeros(1)))
    assert find_needed([model]).tolist() == [0]

"""Panels: which columns are worth a place, which sizes are tried, and which one is taken."""

from types import SimpleNamespace

import numpy as np
import pytest

from lspin.fitting.columns import RELATED, Orders, Source
from lspin.fitting.groups import find_basis, look_at
from lspin.fitting.panels import Sized, choose_size, list_sizes, list_sources
from lspin.structure.divisions import WHOLE, Rule
from lspin.tables.encoding import learn_encoding
from lspin.tables.grid import Grid, Rows
from lspin.targets import Response

TWO_GROUPS = Rule("components", 2)
COUNTING, TELLING = {0, 1, 2, 3}, {4, 5, 6}


@pytest.fixture(scope="module")
def orders():
    """Columns of a table whose groups are told by three columns and have two columns each that count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 15))
    is_first = np.arange(200) % 2 == 0
    X[:, 4:7] += np.where(is_first, 2.0, -2.0)[:, None]
    y = np.where(is_first, X[:, 0] - X[:, 1], X[:, 2] + X[:, 3])
    rows = Rows(Grid(X, None), (y - y.mean()) / y.std(), np.ones(200), np.arange(200))
    sight = look_at(rows, learn_encoding(rows, {}, 15), Response())
    return lambda fixed: Orders({rule: find_basis(sight, rule) for rule in (WHOLE, TWO_GROUPS)}, fixed)


def test_columns_that_count_and_columns_that_tell_the_groups_share_a_panel(orders):
    assert set(orders([]).pick(Source(TWO_GROUPS, 3), 7)) == COUNTING | TELLING
    for n_telling in (0, 1, 2, 3):
        assert len(TELLING & set(orders([]).pick(Source(TWO_GROUPS, n_telling), 4))) == n_telling


def test_groups_may_be_told_by_what_the_columns_leave_that_clearly_count(orders):
    sources = list_sources([orders([])], [TWO_GROUPS], 12)
    assert [source.n_telling for source in sources] == [0, 0, 3, 6, 9, 12 - len(COUNTING)]


@pytest.mark.parametrize("source", [Source(WHOLE), Source(WHOLE, by=RELATED), Source(TWO_GROUPS, 1)])
def test_a_panel_has_its_size_and_the_columns_that_every_panel_has(orders, source):
    for size in range(2, 16):
        panel = orders([9, 12]).pick(source, size)
        assert {9, 12} <= set(panel)
        assert len(panel) == size
        assert (np.diff(panel) > 0).all()


def test_sizes_are_halved_down_to_what_every_panel_has():
    assert list_sizes(20, 0) == [20, 10, 5, 2, 1]
    assert list_sizes(20, 3) == [20, 10, 5]
    assert list_sizes(3, 3) == [3]


def tried(size, losses):
    level = SimpleNamespace(loss=np.mean(losses), losses=np.array(losses), weight=np.ones(len(losses)))
    return Sized(size, Source(WHOLE), SimpleNamespace(level=level, gain=1.0))


def test_the_smallest_panel_is_taken_that_is_nearly_as_good_as_the_best():
    large, middle, small = tried(8, [0.1, 0.3]), tried(4, [0.3, 0.11]), tried(2, [0.9, 0.9])
    assert choose_size([large, middle, small], tolerance=0.02) is middle
    assert choose_size([large, middle, small], tolerance=0.001) is large

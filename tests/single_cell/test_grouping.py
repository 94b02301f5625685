"""Which cells train, choose and judge."""

import numpy as np
import pandas as pd
import pytest

from lspin.single_cell.grouping import Groups, assign_roles

CODES = np.arange(120) % 3 - (np.arange(120) == 0)  # the first cell belongs to no group
GROUPS = Groups(np.array(["a", "b", "c"]), CODES, [0, 1, 2], None)


def assign(n_donors):
    donors = pd.Series([f"donor {(place // 3) % n_donors}" for place in range(120)], name="donor")
    return donors.to_numpy(), assign_roles(GROUPS, donors if n_donors > 1 else None, np.random.RandomState(0))


@pytest.mark.parametrize("n_donors", [1, 2, 3, 10])
def test_each_cell_of_a_group_has_one_role(n_donors):
    _, roles = assign(n_donors)
    np.testing.assert_array_equal(np.sum(roles, axis=0), CODES >= 0)
    for role in roles:
        assert set(CODES[role]) == {0, 1, 2}


@pytest.mark.parametrize("n_donors", [3, 10])
def test_no_donor_has_two_roles(n_donors):
    donors, roles = assign(n_donors)
    owned = [set(donors[role]) for role in roles]
    assert sum(map(len, owned)) == n_donors


def test_of_two_donors_one_judges_and_cells_of_the_other_choose():
    donors, roles = assign(2)
    assert len(set(donors[roles.judges])) == 1
    assert not set(donors[roles.judges]) & set(donors[roles.chooses | roles.trains])


def test_a_fifth_judges_and_a_fifth_of_the_others_chooses():
    _, roles = assign(1)
    assert [int(role.sum()) for role in roles] == [78, 18, 23]  # of groups of 39, 40 and 40 cells

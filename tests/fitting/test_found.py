"""What models of groups have found, against slow loops over rows and members, and groups that are known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from lspin import LSPINClassifier, LSPINRegressor
from lspin.fitting.found import match_divisions
from small_clouds import draw_groups

N = 160


def divide(labels):
    return np.eye(max(labels) + 1)[np.asarray(labels)]


@pytest.fixture(scope="module")
def members():
    """Two groups found by ten members, and the table."""
    X, y, group = draw_groups(1, n_rows=N)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    settings = {"start": "groups", "n_members": 10, "bootstrap": True, "random_state": 0}
    return LSPINRegressor(**settings).fit(frame, y), frame, group


def test_groups_with_other_numbers_are_the_same():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60)
    found = match_divisions([divide(labels), divide(np.array([2, 0, 1])[labels])], np.ones(60))
    assert found["common"].tolist() == [0, 1, 2, 1, 2, 0]
    np.testing.assert_allclose(found["share"][:3], np.bincount(labels) / 60)


@pytest.mark.parametrize("seed", range(5))
def test_common_groups_share_more_than_half_of_their_rows(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=50)
    weight = rng.integers(1, 4, size=50).astype(float)
    labels = [np.where(rng.random(50) < 0.3, rng.integers(4, size=50), truth) for _ in range(4)]
    found = match_divisions([divide(part) for part in labels], weight)
    typical = next(m for m, rows in found.groupby("member") if (rows["common"] == rows["group"]).all())
    for row in found.itertuples():
        inside = labels[row.member] == row.group
        assert row.share == pytest.approx(weight[inside].sum() / weight.sum())
        same = [
            number
            for number in range(labels[typical].max() + 1)
            if weight[inside & (labels[typical] == number)].sum()
            > weight[inside | (labels[typical] == number)].sum() / 2
        ]
        assert [row.common] == (same or [-1])


def test_halves_of_a_group_are_none_of_the_common_ones():
    whole, halves = np.arange(40) % 2, np.arange(40) % 4
    found = match_divisions([divide(whole), divide(halves), divide(whole)], np.ones(40))
    assert found["common"].tolist() == [0, 1, -1, -1, -1, -1, 0, 1]


def test_a_division_into_one_group_is_compared_too():
    found = match_divisions([divide(np.zeros(9, int)), divide(np.arange(9) % 3)], np.ones(9))
    assert found["common"].tolist() == [0, -1, -1, -1]


def test_the_structure_has_the_share_of_each_group_and_the_signs_of_its_features(members):
    model, _, group = members
    found = model.structure_
    np.testing.assert_allclose(found.groupby("member")["share"].sum(), 1)
    first = found[found["member"] == 0].set_index("features")
    assert dict(first["signs"]) == {("d", "e"): (1.0, -1.0), ("f",): (1.0,)}
    assert first.loc[[("f",)], "share"].item() == pytest.approx(group.mean(), abs=0.05)


def test_weights_count_in_the_share_of_a_group():
    X, y, group = draw_groups(1, n_rows=N)
    weight = np.where(group == 1, 3.0, 1.0)
    model = LSPINRegressor(start="groups", random_state=0).fit(X, y, sample_weight=weight)
    inside = np.bincount(model.memberships(X).argmax(axis=1), weight)
    np.testing.assert_allclose(model.structure_["share"], inside / weight.sum())


def test_frequencies_are_those_of_a_loop_over_the_members(members):
    model, _, _ = members
    structure, frequency = model.structure_, model.structure_frequency_
    assert {"group", "tells", "counts"} == set(frequency["role"])
    for row in frequency.itertuples():
        found = structure[structure["common"] == row.group]
        if row.role != "group":
            names = found["told_by" if row.role == "tells" else "features"]
            found = found[[row.feature in inside for inside in names]]
        interval = binomtest(len(found), 10).proportion_ci(method="wilson")
        assert (row.n_found, row.found) == (len(found), len(found) / 10)
        assert (row.lower, row.upper) == pytest.approx((interval.low, interval.high))
    counts = frequency[frequency["role"] == "counts"].set_index("feature")
    assert counts["sign"].to_dict() == {"d": 1.0, "e": -1.0, "f": 1.0}


def test_high_values_speak_for_a_group_or_against_it(members):
    model, frame, group = members
    frequency = model.structure_frequency_
    high = model.memberships(frame)[group == 1].mean(axis=0).argmax()
    telling = frequency[(frequency["role"] == "tells") & frequency["feature"].isin(list("abc"))]
    assert (telling["sign"] == np.where(telling["group"] == high, 1, -1)).all()


def test_memberships_tell_the_groups(members):
    model, frame, group = members
    shares = model.memberships(frame)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    agreement = np.mean(shares.argmax(axis=1) == group)
    assert max(agreement, 1 - agreement) > 0.97


def test_categories_and_several_classes_have_no_sign():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N), "kind": pd.Categorical(rng.choice(["u", "v"], N))})
    response = frame["a"] + 2.0 * (frame["kind"] == "u")
    model = LSPINRegressor(start="groups", random_state=0).fit(frame, response)
    counts = model.structure_frequency_.query("role == 'counts'").set_index("feature")
    assert counts.loc["a", "sign"] == 1
    assert np.isnan(counts.loc["kind", "sign"])
    classes = LSPINClassifier(start="groups", random_state=0).fit(frame, np.digitize(response, [0, 1.5]))
    assert classes.structure_frequency_["sign"].isna().all()


def test_networks_have_no_groups():
    X, y, _ = draw_groups(n_rows=N)
    model = LSPINRegressor(start="networks", max_epochs=2, sparsity=0.1, random_state=0).fit(X, y)
    assert model.structure_.empty
    assert model.structure_frequency_.empty
    with pytest.raises(AttributeError, match="no groups: start_ is 'networks'"):
        model.memberships(X)

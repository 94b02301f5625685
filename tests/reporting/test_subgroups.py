"""The subgroups of a report against what the model says of the same rows."""

import numpy as np
import pandas as pd
import pytest

from lspin import LSPINRegressor
from lspin.reporting.page import report
from pages import read_content
from small_clouds import draw_groups

N, N_MEMBERS = 160, 4
HOSTILE = "</script><b>c</b>"
MEASURES = ["n_found", "found", "lower", "upper"]


@pytest.fixture(scope="module")
def grouped():
    """Two groups told by a, b and a column with a hostile name; a fifth of a relevant column is missing."""
    X, y, _ = draw_groups(1, n_rows=N)
    frame = pd.DataFrame(X, columns=["a", "b", HOSTILE, *"defgh"])
    frame.loc[::5, "f"] = np.nan
    settings = {"start": "groups", "n_members": N_MEMBERS, "bootstrap": True, "random_state": 0}
    return LSPINRegressor(**settings).fit(frame, y), frame, y


@pytest.fixture(scope="module")
def page(grouped, tmp_path_factory):
    return report(*grouped, tmp_path_factory.mktemp("report") / "report.html", audits=False)


@pytest.fixture(scope="module")
def content(page):
    return read_content(page)


def test_groups_are_those_of_the_model_with_their_size_and_outcome(grouped, content):
    model, frame, y = grouped
    groups = model.memberships(frame).argmax(axis=1)
    assert content["samples"]["group"] == groups.tolist()
    for number, group in enumerate(content["groups"]):
        inside = groups == number
        assert group["size"] == inside.sum()
        assert group["share"] == pytest.approx(inside.mean(), rel=1e-4)
        assert group["observed"] == pytest.approx([y[inside].mean()])
        assert group["predicted"] == pytest.approx([model.predict(frame)[inside].mean()])


def test_a_feature_counts_for_a_sample_if_half_of_the_members_use_it(grouped, content):
    used = grouped[0].selection_frequency(grouped[1]) >= 0.5
    assert content["model"]["median"] == np.median(used.sum(axis=1))
    assert content["model"]["n_selected"] == grouped[0].selected(grouped[1]).any(axis=0).sum()


def test_what_tells_a_group_and_what_counts_in_it_are_apart_with_how_often_they_are_found(grouped, content):
    found = grouped[0].structure_frequency_
    for number, group in enumerate(content["groups"]):
        own = found[found["group"] == number]
        assert group["found"] == pytest.approx(own.loc[own["role"] == "group", MEASURES].iloc[0], rel=1e-2)
        for key, role in (("told_by", "tells"), ("counts", "counts")):
            part = own[own["role"] == role]
            assert group[key]["name"] == part["feature"].tolist()
            np.testing.assert_allclose(group[key]["found"], part[MEASURES], rtol=1e-2)
    counts = {name: way for group in content["groups"] for name, way in _sure(group["counts"])}
    assert counts.items() >= {"d": "high raises", "e": "high lowers", "f": "high raises"}.items()
    told = [dict(_sure(group["told_by"])) for group in content["groups"]]
    assert sorted(way["a"] for way in told) == ["high", "low"]


def _sure(features):
    return [(name, way) for name, way, found in zip(*features.values(), strict=True) if found[0] > N_MEMBERS / 2]


def test_missing_values_are_no_group_of_a_model_of_groups(grouped, content):
    missing = grouped[1]["f"].isna().to_numpy()
    groups = np.array(content["samples"]["group"])
    shares = [np.mean(groups[part] == 1) for part in (missing, ~missing)]
    assert abs(shares[0] - shares[1]) < 0.1
    assert len(content["groups"]) == 2


def test_what_competed_is_told(grouped, content):
    contest = grouped[0].contest_
    assert [row[0] for row in content["again"]["contest"]] == contest["model"].tolist()
    assert [row[4] for row in content["again"]["contest"]] == contest["chosen"].tolist()
    assert [row[1] for row in content["again"]["contest"]] == [
        None if np.isnan(loss) else pytest.approx(loss) for loss in contest["loss"]
    ]


def test_groups_are_told_without_samples(grouped, tmp_path):
    path = report(*grouped, tmp_path / "r.html", shows_samples=False, audits=False)
    groups = read_content(path)["groups"]
    assert "a" in groups[0]["told_by"]["name"]
    assert groups[0]["said"]


def test_the_same_features_for_all_are_one_group(table, tmp_path):
    X, _ = table
    model = LSPINRegressor(start="groups", random_state=0).fit(X, X[:, 0] - X[:, 1])
    content = read_content(report(model, X, X[:, 0] - X[:, 1], tmp_path / "r.html", audits=False))
    assert len(content["groups"]) == 1
    counts = content["groups"][0]["counts"]
    directions = dict(zip(counts["name"], counts["direction"], strict=True))
    assert directions.items() >= {"x0": "high raises", "x1": "high lowers"}.items()


@pytest.mark.parametrize("width", [1400, 400])
def test_a_page_shows_the_groups_and_is_no_wider_than_the_window(browser, page, content, width):
    wrongs = []
    window = browser.new_page(viewport={"width": width, "height": 900})
    window.on("pageerror", lambda error: wrongs.append(str(error)))
    window.goto(page.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    cards = window.locator("#groups li").all_text_contents()
    assert len(cards) == len(content["groups"])
    assert all(HOSTILE in card for card in cards)
    for group, card in zip(content["groups"], cards, strict=True):
        assert f"Found by {group['found'][0]} of 4 members" in card
    window.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    n_rows = sum(1 + len(group["told_by"]["name"]) + len(group["counts"]["name"]) for group in content["groups"])
    assert window.locator("#frequencies tbody tr").count() == n_rows
    assert "not tried" in window.text_content("#contest")
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    window.close()
    assert wrongs == []


def test_groups_told_by_yes_and_no_say_which(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"fever": np.arange(160) % 2, **dict(zip("ab", rng.normal(size=(2, 160)), strict=True))})
    y = np.where(X["fever"] == 1, 3 * X["a"] + 1, -3 * X["b"])
    model = LSPINRegressor(start="groups", random_state=0).fit(X, y)
    path = report(model, X, y, tmp_path / "r.html", audits=False)
    directions = [
        dict(zip(g["told_by"]["name"], g["told_by"]["direction"], strict=True))
        for g in read_content(path)["groups"]
    ]
    assert {told["fever"] for told in directions} == {"high", "low"}
    window = browser.new_page()
    window.goto(path.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    for told, card in zip(directions, window.locator("#groups li").all_text_contents(), strict=True):
        assert ("fever: yes" if told["fever"] == "high" else "fever: no") in card
    window.close()

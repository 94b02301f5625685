"""Pages of all kinds but survival in windows of three widths: nothing is cut off, every number can be read."""

import numpy as np
import pandas as pd
import pytest

from lspin import LSPINClassifier, LSPINRegressor
from lspin.reporting.page import report
from pages import WIDTHS, find_cut, find_odd_numbers, read_content

N = 80  # rows, of which a quarter judges
NAMES = ["Alter (Jahre)", "CRP (mg/l)", "a very long name of a laboratory value indeed [mmol/l]", "d", "e"]
CLASSES = ["Adenokarzinom", "Kleinzellig", "Plattenepithelkarzinom der Lunge"]


def draw():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 5)), columns=NAMES)
    X["Geschlecht"] = pd.Categorical(rng.choice(["männlich", "weiblich"], N))
    response = X["CRP (mg/l)"] - X["Alter (Jahre)"] + 0.2 * rng.normal(size=N)
    return rng, X, response


def draw_classes():
    _, X, response = draw()
    return LSPINClassifier, X, np.where(response > 0, "ja", "nein")


def draw_several():
    _, X, response = draw()
    return LSPINClassifier, X, np.array(CLASSES)[np.digitize(response, [-0.8, 0.8])]


def draw_response():
    _, X, response = draw()
    return LSPINRegressor, X, pd.Series(1e5 * response, name="Kosten (EUR)")


def draw_wide():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 90))).add_prefix("ENSG00000")
    return LSPINClassifier, X, np.where(X.iloc[:, 0] > 0, "ill", "well")


def draw_one():
    rng, X, _ = draw()
    return LSPINClassifier, X[["d"]], np.where(X["d"] + 0.3 * rng.normal(size=N) > 0, "ja", "nein")


def draw_none():
    rng, X, _ = draw()
    return LSPINClassifier, X, rng.choice(["ja", "nein"], N)


KINDS = {
    "classes": draw_classes, "several classes": draw_several, "response": draw_response, "wide": draw_wide,
    "one feature": draw_one, "no feature": draw_none,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_kind_can_be_read_at_every_width(browser, kind, tmp_path):
    make, X, y = KINDS[kind]()
    n = N * 3 // 4
    model = make(start="groups", random_state=0).fit(X[:n], y[:n])
    path = report(model, X[:n], y[:n], tmp_path / "r.html", eval_set=(X[n:], y[n:]), audits=False)
    n_selected = read_content(path)["model"]["n_selected"]
    assert n_selected == {"no feature": 0, "one feature": 1}.get(kind, n_selected)
    assert kind == "no feature" or n_selected > 0
    wrongs = []
    window = browser.new_page()
    window.on("pageerror", lambda error: wrongs.append(str(error)))
    window.goto(path.as_uri())
    window.wait_for_selector("html[data-ready=yes]")
    assert find_odd_numbers(window.inner_text("main")) == []
    assert {width: find_cut(window, width) for width in WIDTHS} == {width: [] for width in WIDTHS}
    window.close()
    assert wrongs == []

"""A German table from a clinic, as messy as they are, from the file to the page that is read."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import lspin
from lspin.cli.commands import app
from messy_tables import make_patients, write_german
from pages import read_content

ODD = {
    (3, "CRP"): "<0,5",
    (17, "CRP"): "dreiundachtzig",
    (40, "alter"): "999",
    (60, "platelets"): "k.A.",
    (5, "patient_id"): "P005",  # that of the row before
}


def run(*arguments):
    result = CliRunner().invoke(app, [str(part) for part in arguments])
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A folder with the table, its model and its page, and what the commands said."""
    folder = tmp_path_factory.mktemp("clinic")
    table = make_patients(160)
    table["todesdatum"] = [f"{1 + row % 28:02}.03.2021" if died == "yes" else "" for row, died in
                           enumerate(table["died"])]  # fmt: skip
    write_german(table, folder / "klinik.csv", ODD)
    options = ["-t", "gestorben", "--drop", "monate", "--sparsity", "0.02", "--epochs", "20"]
    fitted = run("fit", folder / "klinik.csv", *options, "-o", folder / "m.lspin").stderr
    written = run("report", folder / "m.lspin", folder / "klinik.csv", "-o", folder / "page.html").stderr
    return folder, fitted, written


LATE = "'todesdatum' is missing in 100% of the rows of 'nein' and in 0% of the rows of 'ja'"


def test_a_date_of_death_is_warned_of_by_fit_report_and_page(clinic):
    folder, fitted, written = clinic
    assert LATE in fitted
    assert f"! Warning: {LATE}" in written
    findings = read_content(folder / "page.html")["trust"]["checks"]["findings"]
    (found,) = [text for text in findings if text.startswith(LATE)]
    assert "It was left out, but other columns may be recorded as late" in found
    assert not any("monate" in text for text in findings)  # it was asked to be dropped


def test_odd_entries_are_said_and_the_page_has_the_numbers_of_the_file(clinic):
    folder, fitted, _ = clinic
    assert "'CRP': 1 entry is a limit and counts as its number: '<0,5' as 0.5" in fitted
    assert "'CRP': 1 entry is no number and counts as missing: 'dreiundachtzig' (row 18)" in fitted
    assert "'P005' in rows 5 and 6" in re.sub(r"\s+", " ", fitted)
    content = read_content(folder / "page.html")
    assert "'alter' is 999 in 1 row" in " ".join(content["trust"]["checks"]["findings"])
    assert content["model"]["event_words"] == "gestorben = ja"
    names = content["samples"]["name"]
    assert {"P001", "P005 (row 5)", "P005 (row 6)"} <= set(names)
    assert "drawn at random and set aside, all rows of one name together. " in content["judged"]["how"]
    place, samples = content["features"]["name"].index("CRP"), content["samples"]
    rows = np.repeat(np.arange(len(names)), np.diff(samples["starts"]))
    entries = zip(rows, samples["entries"]["feature"], samples["entries"]["value"], strict=True)
    shown = {row: value for row, feature, value in entries if feature == place}
    given = pd.read_csv(folder / "klinik.csv", sep=";", encoding="cp1252")["CRP"]
    given = pd.to_numeric(given.str.replace("<", "").str.replace(",", "."), errors="coerce")
    assert len(shown) > 100
    assert 17 not in shown
    np.testing.assert_allclose([*shown.values()], given[[*shown]], rtol=1e-3)


def test_python_reads_the_same_table_and_passes_on_what_it_left_out(clinic, tmp_path):
    folder = clinic[0]
    table = lspin.read_table(folder / "klinik.csv", "gestorben", drop="monate")
    assert table.left_out.columns.tolist() == ["todesdatum"]
    assert table.left_out.index.equals(table.X.index)
    model = lspin.load(folder / "m.lspin")
    held = (table.X[120:], table.y[120:])
    given = {"eval_set": held, "left_out": table.left_out[:120], "audits": False}
    page = lspin.report(model, table.X[:120], table.y[:120], tmp_path / "r.html", **given)
    content = read_content(page)
    findings = content["trust"]["checks"]["findings"]
    assert any(text.startswith("'todesdatum' is missing in 100%") for text in findings)
    happened = [label == "ja" for label in held[1]]
    area = roc_auc_score(happened, model.predict_proba(held[0])[:, model.classes_.tolist().index("ja")])
    assert content["judged"]["contenders"][0]["scores"]["auc"][0] == pytest.approx(area, rel=1e-4)
    with pytest.raises(ValueError, match="left_out has 5 rows, and X has 160"):
        lspin.report(model, table.X, table.y, tmp_path / "r.html", left_out=table.left_out[:5])

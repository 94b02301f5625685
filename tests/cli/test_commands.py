"""The command line as someone at a terminal meets it: what it reads, says, writes and returns."""

import io
import json
import re
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import lspin
from lspin import load
from lspin.cli import commands as cli
from lspin.cli import fitting, workflow
from lspin.cli.app import ending_in_order

RUNNER = CliRunner()
TINY = ["--sparsity", "0.02", "--epochs", "20"]
N = 60


def run(*arguments, code=0, stdin=None):
    """Run a command in this process; its result, once the exit code is as expected."""
    result = RUNNER.invoke(cli.app, [str(part) for part in arguments], input=stdin)
    assert result.exit_code == code, (result.stderr, result.exception)
    return result


def refuse(*arguments, code=1, stdin=None):
    """What a command that fails says: one line, no traceback, nothing on the standard output."""
    result = run(*arguments, code=code, stdin=stdin)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=["crp", "bmi", "größe"]).round(3)
    table.insert(0, "patient_id", [f"P{i:02}" for i in range(N)])
    table["sex"] = rng.choice(["f", "m"], N)
    table["diagnosis"] = np.where(table["crp"] + 0.3 * rng.normal(size=N) > 0, "ill", "well")
    table["response"] = (table["crp"] * 2 + 0.3 * rng.normal(size=N)).round(4)
    table["months"] = rng.exponential(np.exp(-table["crp"])).round(4) + 0.01
    table["died"] = rng.choice(["yes", "no"], N)
    return table


TARGETS = ["diagnosis", "response", "months", "died"]


@pytest.fixture(scope="module")
def folder(patients, tmp_path_factory):
    """A folder with the table, and a model of each kind."""
    folder = tmp_path_factory.mktemp("work")
    patients.to_csv(folder / "patients.csv", index=False)
    fits = {
        "classify": ["--target", "diagnosis", "--drop", "response", "--drop", "months", "--drop", "died"],
        "regress": ["--target", "response", "--drop", "diagnosis", "--drop", "months", "--drop", "died"],
        "survive": ["--time", "months", "--event", "died", "--drop", "diagnosis", "--drop", "response"],
    }
    for name, options in fits.items():
        result = run("fit", folder / "patients.csv", *options, "-o", folder / f"{name}.lspin", *TINY)
        (folder / f"{name}.out").write_text(result.stdout)
        (folder / f"{name}.err").write_text(result.stderr)
    return folder


# Fitting -----------------------------------------------------------------------------------------------------


def test_fit_says_what_was_read_noticed_fitted_and_written(folder):
    messages, result = (folder / "classify.err").read_text(), (folder / "classify.out").read_text()
    assert "Read patients.csv: 60 rows x 9 columns (separated by commas, UTF-8)." in messages
    assert "task: classify, for 'diagnosis' holds 2 values: ill, well" in messages
    assert "samples are named by 'patient_id'" in messages
    assert "taken as a category: 'sex'" in messages
    assert re.search(
        r"the event is 'ill' \(\d+ rows\), by its name; if it is 'well' \(\d+ rows\): --positive well", messages
    )
    assert "classifier, on 60 rows x 4 features" in result
    assert "Features per sample" in result
    assert re.search(r"crp +\d+% of samples", result)
    assert result.endswith(f"Written to {folder / 'classify.lspin'}.\n")


def test_explanations_speak_of_the_event_that_is_asked_for(folder, patients, tmp_path):
    out = tmp_path / "well.lspin"
    drop = ["--drop", "response", "--drop", "months", "--drop", "died"]
    result = run("fit", folder / "patients.csv", "-t", "diagnosis", *drop, "--positive", "well", "-o", out, *TINY)
    assert re.search(r"the event is 'well' \(\d+ rows\), as asked for", result.stderr)
    assert load(out).pos_label_ == "well"
    ill, well = (
        json.loads(run("explain", model, folder / "patients.csv", "--json").stdout)
        for model in (folder / "classify.lspin", out)
    )
    assert ill["baseline"] == [-well["baseline"][0]]
    assert "sum: log-odds of well" in run("explain", out, folder / "patients.csv", "-s", "P01").stdout


def test_the_task_decides_the_estimator(folder):
    kinds = {name: type(load(folder / f"{name}.lspin")).__name__ for name in ("classify", "regress", "survive")}
    assert kinds == {"classify": "LSPINClassifier", "regress": "LSPINRegressor", "survive": "LSPINCox"}
    assert "task: regress, for 'response' holds numbers" in (folder / "regress.err").read_text()
    assert re.search(r"'yes' \(\d+ rows\) in 'died' counts as the event", (folder / "survive.err").read_text())


@pytest.mark.parametrize("form", ["latin-1", "xlsx", "parquet", "stdin"])
def test_the_same_table_in_another_form_gives_the_same_model(form, folder, patients, tmp_path):
    path, stdin = tmp_path / f"table.{form}", None
    if form == "latin-1":
        patients.to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1")
    elif form == "xlsx":
        pytest.importorskip("openpyxl")
        patients.to_excel(path, index=False)
    elif form == "parquet":
        pytest.importorskip("pyarrow")
        patients.to_parquet(path)
    else:
        path, stdin = "-", patients.to_csv(index=False, sep="\t").encode()
    options = ["--target", "diagnosis", "--drop", "response", "--drop", "months", "--drop", "died", "--json"]
    result = run("fit", path, *options, "-o", tmp_path / "model.lspin", *TINY, stdin=stdin)
    summary = json.loads(result.stdout)
    assert summary["task"] == "classify"
    assert summary["most_used"]
    X = patients.set_index("patient_id").drop(columns=TARGETS).astype({"sex": "category"})
    expected = load(folder / "classify.lspin").predict_proba(X)
    np.testing.assert_array_equal(load(tmp_path / "model.lspin").predict_proba(X), expected)


def test_a_wanted_number_of_features_comes_with_a_held_out_score(folder, tmp_path):
    options = ["--target", "response", "--drop", "diagnosis", "--drop", "months", "--drop", "died"]
    output = tmp_path / "model.lspin"
    result = run(
        "fit", folder / "patients.csv", *options, "-n", "1", "--epochs", "20", "--json", "-q", "-o", output
    )
    summary = json.loads(result.stdout)
    assert summary["score_name"] == "R²"
    assert -1 < summary["held_out_score"] <= 1
    later = json.loads(run("info", output, "--json").stdout)
    for name in ("held_out_score", "helped_to_choose", "chance_score", "chance_note"):
        assert later[name] == summary[name]


def test_a_model_of_groups_is_told_in_words(patients, tmp_path):
    table, output = tmp_path / "table.csv", tmp_path / "model.lspin"
    rng = np.random.default_rng(0)
    arms = pd.concat([patients, patients.assign(crp=patients["bmi"], bmi=patients["crp"])], ignore_index=True)
    arms = arms[["crp", "bmi", "größe"]].assign(arm=np.repeat(["old", "new"], N))
    arms["response"] = np.where(arms["arm"] == "old", arms["crp"], 1 + 2 * arms["bmi"]) + 0.1 * rng.normal(
        size=120
    )
    arms.to_csv(table, index=False)
    shown = run("fit", table, "-t", "response", "-o", output).stdout
    assert "A linear regressor with rules for 2 groups of rows, on 120 rows x 4 features." in shown
    assert re.search(r"arm +100% of samples", shown)
    shown = run("info", output).stdout
    assert "a linear regressor with rules for 2 groups of rows, written by" in shown
    assert re.search(r"^Sparsity: up to [\d.e-]+ a feature$", shown, re.MULTILINE)
    assert "Numbers of features tried, each with the sparsity up to which it pays (* the chosen one):" in shown
    assert shown.count(" *  ") == 1
    result = json.loads(run("info", output, "--json").stdout)
    assert result["start"] == "groups"
    assert result["held_out_score"] > 0.9
    assert "The same rows helped to choose the model, so this is a little too high" in shown
    assert result["helped_to_choose"]


def test_a_model_of_one_group_is_told_in_words(folder, tmp_path):
    options = ["-t", "response", "--drop", "diagnosis", "--drop", "months", "--drop", "died", "--epochs", "2"]
    shown = run("fit", folder / "patients.csv", *options, "-o", tmp_path / "m.lspin").stdout
    assert "A linear regressor with one rule for all rows, on 60 rows x 4 features." in shown


def test_h5ad_is_fitted_by_an_annotation(patients, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "ignore")
        code = """if True:
            import sys, pandas as pd, anndata
            table = pd.read_csv(sys.argv[1])
            obs = table[["diagnosis", "sex"]].set_index(table["patient_id"])
            data = anndata.AnnData(table[["crp", "bmi"]].set_index(obs.index), obs)
            data.write_h5ad(sys.argv[2])
        """
        pytest.importorskip("anndata")
        patients.to_csv(tmp_path / "table.csv", index=False)
        path = tmp_path / "cells.h5ad"
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "table.csv"), str(path)], check=True)
        command = [sys.executable, "-m", "lspin.cli", "fit", str(path), "-t", "diagnosis", "--json"]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "model.lspin"), *TINY], check=True, capture_output=True, text=True
        )
    assert json.loads(done.stdout)["columns"] == 2
    assert list(load(tmp_path / "model.lspin").feature_names_in_) == ["crp", "bmi"]


def test_quiet_shows_the_result_only(folder, tmp_path):
    result = run(
        "fit", folder / "patients.csv", "-t", "response", "--drop", "diagnosis", "-q", *TINY,
        "-o", tmp_path / "m.lspin", "--drop", "months", "--drop", "died", "--drop", "crp",
    )  # fmt: skip
    assert result.stderr == ""
    assert "regressor, on 60 rows x 3 features" in result.stdout
    assert (tmp_path / "m.lspin").exists()


def test_chance_is_the_same_number_after_a_fit_and_in_its_file(patients, tmp_path):
    uneven = patients.assign(diagnosis=np.where(np.arange(N) % 3 == 0, "ill", "well"))[["crp", "bmi", "diagnosis"]]
    uneven.to_csv(tmp_path / "t.csv", index=False)
    fitted = run("fit", tmp_path / "t.csv", "-t", "diagnosis", "-o", tmp_path / "m.lspin", "--epochs", "2").stdout
    for shown in (fitted, run("info", tmp_path / "m.lspin").stdout):
        assert "(majority class: 0.667)" in shown


# Wrong tables and wrong words --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("", ["-t", "y"], "Error: t.csv cannot be read as a table: it is empty"),
        ("a,y\n", ["-t", "y"], "Error: t.csv holds no table: 0 rows and 2 columns were found"),
        ("age,y\n1,2\n3,4\n", ["-t", "Y"], "Error: there is no column 'Y'; did you mean 'y'?"),
        ("a,y\n1,\n3,\n", ["-t", "y"], "Error: 'y' is empty in all 2 rows"),
        ("a,y\n1,2\n3,4\n", ["-t", "y", "--drop", "b"], "Error: there is no column 'b'; there are 'a', 'y'"),
        (
            "a,y\n1,x\n3,z\n",
            ["-t", "y", "--positive", "Z"],
            "Error: 'y' is nowhere 'Z'; did you mean 'z'?",
        ),
        (
            "a,y\n1,x\n3,z\n2,w\n",
            ["-t", "y", "--positive", "x"],
            "Error: the event is one of two classes, and the target holds 3",
        ),
        (
            "a,y\n1,1.5\n3,2.5\n2,3.5\n",
            ["-t", "y", "--positive", "x"],
            "Error: 'x' cannot be the event: the task is 'regress', which has no classes",
        ),
        ("y\n1\n3\n", ["-t", "y"], "Error: no column is left to learn from"),
        ("a,y\n1,x\n3,x\n", ["-t", "y"], "Error: the target holds one class only"),
        (
            "a,y\n1,x\n3,z\n",
            ["-t", "y", "--task", "regress"],
            "Error: 'y' holds no number in 2 of 2 rows, such as 'x' in row 1",
        ),
    ],
)
def test_a_table_that_cannot_be_fitted_is_refused_in_a_sentence(content, options, sentence, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    output = tmp_path / "m.lspin"
    assert refuse("fit", tmp_path / "t.csv", *options, "-o", output).startswith(sentence)
    assert not output.exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--time", "t"],
        ["--task", "survive"],
        ["--target", "y", "--time", "t", "--event", "e"],
        ["--target", "y", "--task", "guess"],
        ["--target", "y", "--features", "0"],
        ["--unknown"],
    ],
)
def test_wrong_usage_ends_with_2(options, tmp_path):
    run("fit", "t.csv", "-o", tmp_path / "m.lspin", *options, code=2)


def test_files_that_are_not_there_are_named(folder, tmp_path):
    assert (
        refuse("fit", "none.csv", "-t", "y", "-o", tmp_path / "m") == "Error: none.csv: No such file or directory"
    )
    assert "none.lspin: No such file" in refuse("info", "none.lspin")
    assert "cannot be loaded as a model" in refuse("info", folder / "patients.csv")


@pytest.mark.parametrize("command", ["predict", "explain", "report"])
def test_a_table_in_the_place_of_a_model_is_said(command, folder, tmp_path):
    model, table = folder / "classify.lspin", folder / "patients.csv"
    output = ["-o", tmp_path / "page.html"] if command == "report" else []
    line = refuse(command, table, model, *output)
    assert line == f"Error: the model comes first, then the table: {model} is a model; write {model} {table}"
    assert refuse("fit", model, "-t", "y", "-o", tmp_path / "m") == f"Error: {model} is a model, not a table"


def test_a_damaged_archive_in_the_place_of_a_table_is_one_sentence(folder, tmp_path):
    damaged = tmp_path / "t.xlsx"
    content = (folder / "classify.lspin").read_bytes().replace(b"model.json", b"sheet.json")  # no model any more
    damaged.write_bytes(content.replace(b"PK\x01\x02", b"PK\x00\x00"))  # nor a list of files
    assert "t.xlsx cannot be read as a table" in refuse("fit", damaged, "-t", "y", "-o", tmp_path / "m")


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path):
    output = tmp_path / "nowhere" / "m.lspin"
    assert "there is no folder" in refuse("fit", "none.csv", "-t", "y", "-o", output)


def test_no_command_writes_over_what_it_reads(folder, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "m.lspin"
    table.write_bytes((folder / "patients.csv").read_bytes())
    model.write_bytes((folder / "classify.lspin").read_bytes())
    commands = [
        ("fit", table, "-t", "diagnosis", "-o", table),
        ("predict", model, table, "-o", table),
        ("explain", model, table, "-o", table),
        ("report", model, table, "-o", model),
        ("report", model, folder / "patients.csv", "--test", table, "-o", table),
    ]
    for command in commands:
        for force in [[], ["--force"]] if command[0] in ("fit", "report") else [[]]:
            assert "is what the command reads" in refuse(*command, *force)
    assert table.read_bytes() == (folder / "patients.csv").read_bytes()
    assert model.read_bytes() == (folder / "classify.lspin").read_bytes()


def test_a_file_of_another_kind_is_replaced_if_forced_and_this_is_said(folder, tmp_path):
    (tmp_path / "notes.txt").write_text("of years")
    command = ["fit", folder / "patients.csv", "-t", "diagnosis", "-o", tmp_path / "notes.txt", *TINY]
    assert "notes.txt is there already and is no model" in refuse(*command)
    assert (tmp_path / "notes.txt").read_text() == "of years"
    for option in (["--force"], []):
        said = run(*command, *option, "--drop", "response", "--drop", "months", "--drop", "died").stderr
        assert "notes.txt is there already and will be replaced." in said
    assert load(tmp_path / "notes.txt").classes_.tolist() == ["ill", "well"]


def test_a_leak_is_pointed_out(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
    table["y"] = np.where(table["a"] > 0, "p", "q")
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "-t", "y", "-q", *TINY, "-o", tmp_path / "m.lspin")
    asked = "column 'a' alone predicts 'y' perfectly; is it known before the outcome? If not: --drop a"
    assert asked in result.stderr
    table["y"] = np.where(rng.random(N) > 0.5, "p", "q")
    kept = (table["y"] == "p") & (np.arange(N) % 4 > 0)  # some gaps in the other class too
    table.assign(b=table["b"].where(kept)).to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "-t", "y", "-q", *TINY, "-o", tmp_path / "m.lspin")
    assert "is it recorded after the outcome? If so: --drop b" in result.stderr


# Using a model -----------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model_with_the_names_of_the_samples(folder, patients, tmp_path):
    output = tmp_path / "out.csv"
    result = run("predict", folder / "classify.lspin", folder / "patients.csv", "-o", output)
    assert result.stdout == ""
    assert re.search(r"accuracy \d\.\d+ on 60 rows", result.stderr)
    frame = pd.read_csv(output)
    assert frame["patient_id"].tolist() == patients["patient_id"].tolist()
    model = load(folder / "classify.lspin")
    X = patients.drop(columns=["patient_id", *TARGETS])
    assert frame["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(frame[["probability ill", "probability well"]], model.predict_proba(X), rtol=1e-4)
    selected = model.selected(X)
    assert frame["n_features"].tolist() == selected.sum(axis=1).tolist()
    listed = [set() if pd.isna(entry) else set(entry.split("; ")) for entry in frame["features"]]
    assert listed == [set(X.columns[row]) for row in selected]


@pytest.mark.parametrize(
    ("name", "column"), [("classify", "prediction"), ("regress", "prediction"), ("survive", "log-hazard")]
)
def test_predictions_are_piped_as_csv_or_json(name, column, folder, patients):
    stdin = patients.drop(columns=TARGETS).head(7).to_csv(index=False).encode()
    result = run("predict", folder / f"{name}.lspin", "-", "-q", stdin=stdin)
    assert result.stderr == ""
    assert result.stdout.splitlines()[0].startswith(f"patient_id,{column}")
    assert len(result.stdout.splitlines()) == 8
    records = json.loads(run("predict", folder / f"{name}.lspin", "-", "--json", stdin=stdin).stdout)
    assert [record["patient_id"] for record in records] == [f"P{i:02}" for i in range(7)]
    assert column in records[0]


def test_risks_are_given_at_the_times_asked_for(folder, patients):
    stdin = patients.drop(columns=TARGETS).head(7).to_csv(index=False).encode()
    result = run("predict", folder / "survive.lspin", "-", "-q", "--at", "0.5,0.2", stdin=stdin)
    frame = pd.read_csv(io.StringIO(result.stdout))
    model = load(folder / "survive.lspin")
    curves = model.predict_survival_function(patients.drop(columns=["patient_id", *TARGETS]).head(7))
    for at in (0.2, 0.5):
        np.testing.assert_allclose(frame[f"risk at {at}"], [1 - curve(at) for curve in curves], rtol=1e-4)
    line = refuse("predict", folder / "survive.lspin", "-", "--at", "900", stdin=stdin)
    assert "no risk can be given at time 900" in line
    line = refuse("predict", folder / "classify.lspin", "-", "--at", "12", stdin=stdin)
    assert "--at asks for risks at times, and the model is a classifier" in line
    for wrong in ("soon", "12,-3", ""):
        run("predict", folder / "survive.lspin", "-", "--at", wrong, stdin=stdin, code=2)


def test_a_new_table_without_a_column_is_refused(folder, patients):
    stdin = patients.rename(columns={"crp": "CRP"}).to_csv(index=False).encode()
    line = refuse("predict", folder / "classify.lspin", "-", stdin=stdin)
    assert "lacks 1 column of the 4 that the model needs: 'crp'; did you mean 'CRP'?" in line


def test_a_new_level_and_a_strange_number_are_missing_and_said(folder, patients):
    table = patients.astype({"crp": object}).head(5)
    table.loc[0, "sex"] = "x"
    table.loc[1, "crp"] = "<0.1"
    result = run("predict", folder / "classify.lspin", "-", stdin=table.to_csv(index=False).encode())
    assert "'sex': 1 entry is no known level and counts as missing: 'x' (row 1)" in result.stderr
    assert "'crp': 1 entry is a limit and counts as its number: '<0.1' as 0.1" in result.stderr


def test_contributions_on_the_screen_add_up(folder):
    shown = run("explain", folder / "regress.lspin", folder / "patients.csv", "--sample", "P03").stdout
    assert "Sample P03: predicted" in shown
    numbers = [float(number) for number in re.findall(r"^  .*([+-]\d+\.\d{3})$", shown, re.MULTILINE)]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=2e-3 * len(numbers))


def test_an_unknown_sample_is_answered_with_near_ones(folder):
    line = refuse("explain", folder / "regress.lspin", folder / "patients.csv", "-s", "P3")
    assert line.startswith("Error: no sample is called 'P3'; did you mean")


@pytest.fixture
def twice(folder, patients, tmp_path):
    """The table with one patient in two rows, and one without a name."""
    table = patients.copy()
    table.loc[11, "patient_id"], table.loc[20, "patient_id"] = "P06", None
    table["stay"] = [f"S{i:02}" for i in range(N)]
    table.to_csv(tmp_path / "twice.csv", index=False)
    return tmp_path / "twice.csv"


def test_names_that_occur_twice_are_said_and_told_apart(folder, twice):
    result = run("explain", folder / "regress.lspin", twice, "--sample", "P06")
    assert (
        "'patient_id' is empty in 1 row and holds 1 name several times, such as 'P06' in rows 7 and 12"
        in result.stderr
    )
    assert "2 samples are called 'P06'; shown are 'P06 (row 7)', 'P06 (row 12)'" in result.stderr
    assert re.findall(r"^Sample (.*):", result.stdout, re.MULTILINE) == ["P06 (row 7)", "P06 (row 12)"]
    result = run("explain", folder / "regress.lspin", twice, "--sample", "P06 (row 12)", "-q")
    assert re.findall(r"^Sample (.*):", result.stdout, re.MULTILINE) == ["P06 (row 12)"]


def test_predictions_keep_names_that_occur_twice_and_add_the_row(folder, twice):
    frame = pd.read_csv(io.StringIO(run("predict", folder / "regress.lspin", twice).stdout))
    assert frame["patient_id"][[6, 11]].tolist() == ["P06", "P06"]
    assert frame["row"].tolist() == list(range(1, N + 1))


def test_samples_may_be_named_by_another_column(folder, twice):
    shown = run("predict", folder / "regress.lspin", twice, "--id", "stay").stdout
    assert shown.splitlines()[1].startswith("S00,")
    assert "no column 'stai'; did you mean 'stay'" in refuse(
        "predict", folder / "regress.lspin", twice, "--id", "stai"
    )


def test_a_fit_says_that_names_occur_twice(twice, tmp_path):
    dropped = [option for name in ("diagnosis", "months", "died", "stay") for option in ("--drop", name)]
    options = ["-t", "response", *dropped, *TINY]
    result = run("fit", twice, *options, "-o", tmp_path / "m.lspin")
    assert "samples are named by 'patient_id'" in result.stderr
    assert re.search(
        r"Warning: 'patient_id' is empty .* rows 7 and 12; the row is added to these names", result.stderr
    )
    assert "held-out scores are too high" in result.stderr
    predicted = run("predict", tmp_path / "m.lspin", twice)
    assert "held-out" not in predicted.stderr
    shown = pd.read_csv(io.StringIO(predicted.stdout))
    assert shown["patient_id"][[6, 11]].tolist() == ["P06", "P06"]
    assert shown["row"][11] == 12


@pytest.mark.parametrize("name", ["classify", "regress", "survive"])
def test_explanations_as_an_overview_a_table_and_json(name, folder, tmp_path):
    model, table = folder / f"{name}.lspin", folder / "patients.csv"
    assert "What matters most over 60 samples" in run("explain", model, table).stdout
    run("explain", model, table, "-o", tmp_path / "out.csv")
    frame = pd.read_csv(tmp_path / "out.csv")
    result = json.loads(run("explain", model, table, "--json").stdout)
    assert len(result["samples"]) == N
    for sample in result["samples"]:
        own = frame[frame["sample"] == sample["sample"]]
        assert own["feature"].tolist() == [feature["feature"] for feature in sample["features"]]
        total = result["baseline"][0] + sum(feature["contribution"] for feature in sample["features"])
        assert total == pytest.approx(sample["prediction"][0], abs=1e-9)


def test_info_shows_what_the_file_holds(folder):
    shown = run("info", folder / "classify.lspin").stdout
    for part in (
        "classifier, written by lspin",
        "Target: diagnosis",
        "Classes: ill, well (event: ill)",
        "sex: f, m",
    ):
        assert part in shown
    assert "Event: died (it happened where this is yes)" in run("info", folder / "survive.lspin").stdout
    result = json.loads(run("info", folder / "survive.lspin", "--json").stdout)
    assert result["target"] == {"time": "months", "event": "died", "happened": "yes"}
    assert result["columns"] == ["crp", "bmi", "größe", "sex"]
    assert result["version"] == lspin.__version__


def test_a_report_is_written_or_the_reason_is_said(folder, tmp_path, monkeypatch):
    calls = []

    class Module:
        @staticmethod
        def report(estimator, X, y, path, **settings):
            calls.append((len(X), len(y), X.index[0], settings))
            assert settings.pop("left_out").shape == (N, 0)  # what was dropped was asked for
            if len(calls) == 2:
                raise ValueError("no more")
            path.write_text("a page")

    monkeypatch.setattr("lspin.reporting.page.report", Module.report)
    arguments = ["report", folder / "classify.lspin", folder / "patients.csv", "-o", tmp_path / "report.html"]
    run(*arguments, "--no-samples")
    settings = {"eval_set": None, "target_name": "diagnosis", "shows_samples": False, "verbose": 1}
    settings |= {"at": None, "time_unit": None, "leaderboard": None, "patients": None}
    assert calls == [(N, N, "P00", settings)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    (tmp_path / "report.html").unlink()
    assert refuse(*arguments) == "Error: no more"
    assert list(tmp_path.iterdir()) == []


def test_a_report_may_hold_a_leaderboard(folder, tmp_path, monkeypatch):
    boards = []
    monkeypatch.setattr("lspin.reporting.page.report", lambda *_, leaderboard, **__: boards.append(leaderboard))
    arguments = ["report", folder / "classify.lspin", folder / "patients.csv", "-o", tmp_path / "report.html"]
    messages = run(*arguments, "--compare", "ridge, constant").stderr
    assert f"Comparing methods on {N} rows." in messages
    assert [row["name"] for row in boards[0].describe()["contenders"]] == ["ridge", "constant"]
    assert boards[0].task == "classify"


def test_a_report_of_survival_is_told_the_times_and_their_unit(folder, tmp_path, monkeypatch):
    calls = []

    def report(estimator, X, y, path, **settings):
        path.write_text("a page")
        calls.append((settings["at"], settings["time_unit"], settings["target_name"]))

    monkeypatch.setattr("lspin.reporting.page.report", report)
    arguments = ["report", folder / "survive.lspin", folder / "patients.csv", "-o", tmp_path / "r.html", "--force"]
    run(*arguments, "--at", "0.2,0.5")
    run(*arguments, "--unit", "weeks")
    assert calls == [([0.2, 0.5], "months", "died"), (None, "weeks", "died")]


def test_a_report_can_judge_by_rows_of_another_table(folder, patients, tmp_path, monkeypatch):
    given = []

    def report(estimator, X, y, path, *, eval_set, **settings):
        path.write_text("a page")
        given.extend([X, *eval_set])

    monkeypatch.setattr("lspin.reporting.page.report", report)
    patients[:7].to_csv(tmp_path / "new.csv", index=False)
    command = ["report", folder / "classify.lspin", folder / "patients.csv", "--test", tmp_path / "new.csv"]
    found = json.loads(run(*command, "-o", tmp_path / "r.html", "--json").stdout)
    assert found["rows"] == [N, 7]
    X, new, labels = given
    pd.testing.assert_frame_equal(new, X[:7])
    assert list(labels) == list(patients["diagnosis"][:7])


def test_a_report_needs_the_target(folder, patients, tmp_path):
    stdin = patients.drop(columns=TARGETS).to_csv(index=False).encode()
    line = refuse("report", folder / "classify.lspin", "-", "-o", tmp_path / "r.html", stdin=stdin)
    assert "lacks the target" in line


def test_datasets_are_listed():
    assert "metabric" in run("datasets").stdout
    assert "metabric" in json.loads(run("datasets", "--json").stdout)
    run("datasets", "metabric", code=2)
    assert "there is no table 'metabrik'" in refuse("datasets", "metabrik", "-o", "m.csv")


def test_the_demo_is_run(monkeypatch):
    monkeypatch.setattr("lspin.demo.run", lambda: print("here it is"))
    assert run("demo").stdout == "here it is\n"


# Interrupts --------------------------------------------------------------------------------------------------


def test_an_interrupt_before_there_is_a_model_ends_with_130(folder, tmp_path, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("lspin.intake.files.read_source", interrupt)
    output = tmp_path / "m.lspin"
    assert refuse("fit", "t.csv", "-t", "y", "-o", output, code=130) == "Interrupted. Nothing was written."
    assert not output.exists()


def test_an_interrupt_before_any_model_is_finished_says_so(folder, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("lspin.fitting.contest.glance_at", interrupt)
    options = ["-t", "diagnosis", "--drop", "response", "-o", tmp_path / "m.lspin"]
    said = run("fit", folder / "patients.csv", *options, code=130).stderr
    assert said.splitlines()[-1] == "Interrupted before any model was finished. Nothing was written."
    assert not (tmp_path / "m.lspin").exists()


def test_an_interrupt_while_fitting_keeps_what_there_is(folder, tmp_path, press_after):
    press_after(3)
    output = tmp_path / "m.lspin"
    options = ["-t", "diagnosis", "--drop", "response", "--sparsity", "0.02", "--epochs", "1000000"]
    result = run("fit", folder / "patients.csv", *options, "-o", output)
    kept = "Interrupted: no fit is finished, kept the one under way after 100000 of 1000000 epochs"
    assert kept in result.stderr
    assert f"Written to {output}." in result.stdout
    assert set(load(output).classes_) == {"ill", "well"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.lspin"]


def test_an_interrupt_while_a_model_is_judged_once_more_ends_only_that(classifier, table, labels, press_after):
    X = pd.DataFrame(table[0])
    press_after(30)  # in the second of five folds
    assert workflow.fit_held_out(classifier, X, SimpleNamespace(target=labels)) is None


@pytest.mark.parametrize("is_busy", [False, True])
def test_the_command_ends_at_once_if_a_compilation_goes_on_without_it(is_busy):
    code = (
        "import atexit, signal, sys, threading\n"
        "from lspin.cli import commands, main; from lspin.core import interrupts\n"
        "commands.app = lambda: (print('done'), sys.exit(3))\n"
        "left = threading.Event()\n"
        f"name = interrupts.APART if {is_busy} else 'other'\n"
        "threading.Thread(target=left.wait, name=name, daemon=name == 'other').start()\n"
        "atexit.register(signal.raise_signal, signal.SIGINT)\n"
        "main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (3, "done\n")


def test_a_worker_that_is_killed_is_one_sentence(tmp_path, monkeypatch):
    def lose_a_worker(path):
        raise BrokenProcessPool("A worker process managed by the executor was unexpectedly terminated. ...")

    monkeypatch.setattr("lspin.intake.files.read_source", lose_a_worker)
    said = refuse("fit", "t.csv", "-t", "y", "-o", tmp_path / "m.lspin")
    assert said.startswith("Error: a worker process was killed")


def test_a_request_to_end_unwinds_and_the_handler_before_comes_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as end, ending_in_order():
        signal.raise_signal(signal.SIGTERM)
    assert end.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError])
def test_a_model_that_was_written_ends_with_0_whatever_comes_of_telling_it(error, folder, tmp_path, monkeypatch):
    def fail(result):
        raise error

    monkeypatch.setattr(fitting, "show_fit", fail)
    options = ["-t", "diagnosis", "--drop", "response", "--drop", "months", "--drop", "died", *TINY]
    said = run("fit", folder / "patients.csv", *options, "-o", tmp_path / "m.lspin").stderr
    assert "Nothing was written" not in said
    assert load(tmp_path / "m.lspin").classes_.tolist() == ["ill", "well"]


# The command itself ------------------------------------------------------------------------------------------


def test_the_version_is_shown():
    assert run("--version").stdout == f"lspin {lspin.__version__}\n"


def test_help_imports_nothing_heavy():
    call = "from lspin.cli.commands import app; app(['--help'], standalone_mode=False)"
    code = f"import sys; {call}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "explain" in done.stdout
    assert {"jax", "sklearn", "pandas", "numpy", "scipy"}.isdisjoint(done.stdout.split())


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    command = f"{sys.executable} -m lspin.cli predict {folder}/classify.lspin {folder}/patients.csv -q | head -1"
    done = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("patient_id,prediction")
    assert done.stderr == ""


# Contexts ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def subtypes(tmp_path_factory):
    """A folder with a table whose subtype says which of two columns counts, and a model that is told so."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(160, 6)), columns=[f"gene{i}" for i in range(6)]).round(3)
    table["subtype"] = rng.choice(["luminal", "basal"], 160)
    table["age"] = np.where(np.arange(160) % 9 == 0, np.nan, rng.normal(60, 10, 160).round())
    table["y"] = np.where(table["subtype"] == "basal", table["gene0"], table["gene1"])
    folder = tmp_path_factory.mktemp("context")
    table.to_csv(folder / "all.csv", index=False)
    context = ["--context", "subtype, age", "--context-only", "--sparsity", "0.03", "--epochs", "250"]
    fitted = run("fit", folder / "all.csv", "--target", "y", "-o", folder / "model.lspin", *context)
    (folder / "fit.out").write_text(fitted.stdout)
    return folder, table


def test_a_context_is_fitted_and_said(subtypes):
    folder, _ = subtypes
    for said in ((folder / "fit.out").read_text(), run("info", folder / "model.lspin").stdout):
        assert "Gates look at subtype, age only, which the prediction does not use." in said
        assert re.search(r"A new row needs \d columns: gene0, gene1, .*subtype", said)
    assert load(folder / "model.lspin").context == ("subtype", "age")
    said = json.loads(run("info", folder / "model.lspin", "--json").stdout)
    assert said["context"] == ["subtype", "age"]
    assert {"gene0", "gene1", "subtype"} <= set(said["columns_needed"])


def test_columns_that_a_model_does_not_need_may_be_absent(subtypes, tmp_path):
    folder, table = subtypes
    needed = json.loads(run("info", folder / "model.lspin", "--json").stdout)["columns_needed"]
    assert len(needed) < 8
    table[needed[::-1]].to_csv(tmp_path / "new.csv", index=False)
    for command in ("predict", "explain"):
        whole, part = (
            run(command, folder / "model.lspin", path) for path in (folder / "all.csv", tmp_path / "new.csv")
        )
        assert part.stdout == whole.stdout
    table[needed].drop(columns="gene0").to_csv(tmp_path / "short.csv", index=False)
    said = refuse("predict", folder / "model.lspin", tmp_path / "short.csv")
    assert f"lacks 1 column of the {len(needed)} that the model needs: 'gene0'" in said
    table[[*needed, "y"]].to_csv(tmp_path / "known.csv", index=False)
    said = refuse("report", folder / "model.lspin", tmp_path / "known.csv", "-o", tmp_path / "report.html")
    assert "of the 8 that the model needs" in said


def test_a_panel_is_all_that_a_new_row_needs(subtypes, tmp_path):
    folder, table = subtypes
    panel = ["--panel", "3", "--drop", "age", "--epochs", "50", "--sparsity", "0.03"]
    said = run("fit", folder / "all.csv", "--target", "y", "-o", tmp_path / "model.lspin", *panel).stdout
    needed = load(tmp_path / "model.lspin").columns_needed_.tolist()
    assert len(needed) <= 3
    assert f"A new row needs {len(needed)} columns: {', '.join(needed)}." in said
    table[needed].to_csv(tmp_path / "new.csv", index=False)
    whole, part = (
        run("predict", tmp_path / "model.lspin", path) for path in (folder / "all.csv", tmp_path / "new.csv")
    )
    assert part.stdout == whole.stdout


def test_a_sample_is_explained_given_its_context(subtypes):
    folder, table = subtypes
    said = run("explain", folder / "model.lspin", folder / "all.csv", "--sample", "1").stdout
    assert f"Given subtype {table['subtype'][0]}, age missing, it rests on:" in said
    samples = json.loads(run("explain", folder / "model.lspin", folder / "all.csv", "--json").stdout)["samples"]
    assert samples[1]["context"] == {"subtype": table["subtype"][1], "age": table["age"][1]}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--context", "subtyp"], "there is no column 'subtyp'; did you mean 'subtype'?"),
        (["--context", "y"], "column 'y' cannot be a context, for it is left out of the table"),
        (["--context", "age,age"], "'age' 2 times"),
    ],
)
def test_a_wrong_context_is_one_sentence(options, reason, subtypes, tmp_path):
    folder, _ = subtypes
    assert reason in refuse("fit", folder / "all.csv", "--target", "y", "-o", tmp_path / "model", *options)


def test_context_only_needs_a_context(subtypes, tmp_path):
    arguments = ["fit", subtypes[0] / "all.csv", "--target", "y", "-o", tmp_path / "model", "--context-only"]
    assert "about the columns of --context" in " ".join(run(*arguments, code=2).stderr.split())

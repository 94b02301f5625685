"""Predicting where the data are: Parquet files part by part, and partitions of Dask frames."""

import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from conftest import QUICK
from lspin import LSPINClassifier, load
from lspin.cli.commands import app
from lspin.intake import streaming

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table, labels):
    path = tmp_path_factory.mktemp("streamed")
    X = pd.DataFrame(table[0], columns=list("abcde"))
    LSPINClassifier(**QUICK, sparsity=0.01).fit(X, labels).save(path / "m.lspin")
    (path / "parts").mkdir()
    for number, start in enumerate((0, 40, 80)):
        X.iloc[start : start + 40].reset_index(drop=True).to_parquet(path / "parts" / f"{number}.parquet")
    X.to_parquet(path / "whole.parquet")
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(part) for part in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("name", ["parts", "whole.parquet"])
def test_parts_are_predicted_as_the_whole_is(folder, tmp_path, monkeypatch, ending, name):
    read = {"csv": pd.read_csv, "tsv": pd.read_table, "parquet": pd.read_parquet}[ending]
    whole, streamed = (tmp_path / f"{word}.{ending}" for word in ("whole", "streamed"))
    run("predict", folder / "m.lspin", folder / "whole.parquet", "-o", whole)
    monkeypatch.setattr(streaming, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(streaming, "LARGE", 50)
    said = run("predict", folder / "m.lspin", folder / name, "-o", streamed).stderr
    assert "Wrote 96 predictions" in said
    pd.testing.assert_frame_equal(read(streamed), read(whole))


def test_no_more_rows_than_a_part_are_held_at_one_time(folder, monkeypatch):
    monkeypatch.setattr(streaming, "ROWS_AT_ONCE", 7)
    sizes = [len(source.frame) for _, source in streaming.read_parts(sorted((folder / "parts").iterdir()))]
    assert max(sizes) == 7
    assert sum(sizes) == 96


def test_parts_that_were_read_are_let_go(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200_000, 5)))
    frame.rename(columns=str).to_parquet(tmp_path / "large.parquet", row_group_size=5_000)
    n_bytes = frame.to_numpy().nbytes
    before = arrow.total_allocated_bytes()
    held = [arrow.total_allocated_bytes() for _ in streaming.read_parts([tmp_path / "large.parquet"])]
    assert len(held) == 10
    assert max(held) - before < n_bytes / 3


def test_a_long_prediction_says_how_far_it_is(folder, tmp_path, monkeypatch, speaking):
    monkeypatch.setattr(streaming, "ROWS_AT_ONCE", 20)
    said = run("predict", folder / "m.lspin", folder / "parts", "-o", tmp_path / "p.csv").stderr
    assert "lspin: 3 of 5 parts predicted" in said  # two parts of each file of 40 rows, one of the file of 16
    assert run("predict", folder / "m.lspin", folder / "parts", "-o", tmp_path / "p.csv", "-q").stderr == ""


def test_no_file_of_a_folder_that_is_read_is_replaced(folder, tmp_path):
    parts = tmp_path / "parts"
    shutil.copytree(folder / "parts", parts)
    (tmp_path / "same").symlink_to(parts)
    (tmp_path / "outside.parquet").write_bytes((parts / "0.parquet").read_bytes())
    (parts / "3.parquet").symlink_to(tmp_path / "outside.parquet")
    before = {path.name: path.read_bytes() for path in parts.iterdir()}
    for output, reason in {
        "parts/0.parquet": "is in the folder that the command reads",
        "same/0.parquet": "is in the folder that the command reads",
        "outside.parquet": "is what the command reads",
        "parts/new.parquet": "is in the folder that the command reads",
        "same/new.parquet": "is in the folder that the command reads",
    }.items():
        result = run("predict", folder / "m.lspin", parts, "-o", tmp_path / output, code=1)
        assert reason in result.stderr
    assert {path.name: path.read_bytes() for path in parts.iterdir()} == before


def test_what_cannot_be_streamed_is_said(folder, tmp_path):
    model = folder / "m.lspin"
    assert "written as .csv" in run("predict", model, folder / "parts", "-o", tmp_path / "p.xlsx", code=1).stderr
    assert "part by part" in run("predict", model, folder / "parts", "--json", code=1).stderr
    (tmp_path / "empty").mkdir()
    assert "without files" in run("predict", model, tmp_path / "empty", code=1).stderr
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "x.parquet").write_bytes(b"PAR1 and nothing else")
    assert "cannot be read as Parquet" in run("predict", model, tmp_path / "odd", code=1).stderr


@pytest.mark.filterwarnings("default")
def test_partitions_of_a_dask_frame_are_predicted_by_a_model_file(folder):
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'dask[dataframe]'")
    path, frame = folder / "m.lspin", dask.read_parquet(folder / "parts")
    said = frame.map_partitions(lambda part: pd.Series(load(path).predict(part)), meta=(None, object)).compute()
    whole = pd.read_parquet(folder / "whole.parquet")
    np.testing.assert_array_equal(said.to_numpy(), load(path).predict(whole))

"""Every code block of README, user guide and start page runs, in the order in which a reader meets it."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed: pip install 'lspin[plots]'")

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "bash", "text"}
NOT_RUN = ("pip ", "make ", "git ", "cd ", "ray ", "dask ", "lspin demo")  # installs, builds or goes on for long
NEEDS = {"dask.distributed": "distributed", "anndata": "anndata", "scanpy": "scanpy"}


def read_blocks(path):
    return [(language, text) for language, text in BLOCK.findall(path.read_text("utf-8"))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tables of patients as the pages name them: some with a diagnosis, and new ones, among them P042."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.insert(0, "patient", [f"P{row:03d}" for row in range(len(X))])
    table = X.assign(diagnosis=y.map({0: "malignant", 1: "benign"}))
    pd.concat([table[100:400]]).to_csv(tmp_path / "patients.csv", index=False)
    X[:100].to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    yield tmp_path
    plt.close("all")


def run_shell(text):
    """Run the lines that call lspin; the others are installations."""
    from lspin.cli.commands import app

    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words or line.startswith(NOT_RUN):
            continue
        assert words[0] == "lspin", f"this page has a line that no test runs: {line}"
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_code_block_of_a_page_runs(page, capsys):
    names = {"__name__": "__main__"}
    for language, text in read_blocks(page):
        assert language in LANGUAGES
        for module, package in NEEDS.items():
            if f"from {module}" in text or f"import {module}" in text:
                pytest.importorskip(package, reason=f"{package} is not installed")
        if language == "python":
            exec(compile(text, f"{page.name}", "exec"), names)
        elif language == "bash":
            run_shell(text)
    capsys.readouterr()

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
BLOCK = re.compile(r"^[ ]*(?:`{3}|~{3})([^\n]*)\n(.*?)^[ ]*(?:`{3}|~{3})$", re.MULTILINE | re.DOTALL)
DIRECTIVES = ("{image}", "{figure}", "{toctree}", "{glossary}", "{include}")
CELL = "{code-cell} ipython3"  # Python that the site shows with its output
# What no test runs, and why.
NOT_RUN = {
    "pip ": "installs; packaging/try_wheel does the same",
    "make ": "builds or tests everything",
    "lspin demo": "takes a while; packaging/try_wheel runs it",
}
NEEDS = {
    "dask.dataframe": "dask.dataframe",
    "dask.distributed": "distributed",
    "pyarrow": "pyarrow",
    "anndata": "anndata",
    "scanpy": "scanpy",
}


def read_blocks(path):
    blocks = BLOCK.findall(path.read_text("utf-8"))
    return [("python" if head == CELL else head, text) for head, text in blocks if not head.startswith(DIRECTIVES)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_code_block_of_a_page_is_overlooked(page):
    lines = page.read_text("utf-8").splitlines()
    fences = [line for line in lines if line.strip().startswith(("```", "~~~"))]
    assert len(fences) == 2 * len(BLOCK.findall(page.read_text("utf-8")))
    # A drawing or a file's content has no language; code has one of two that are run.
    assert {head for head, _ in read_blocks(page)} <= {"python", "bash", "", "text"}
    quiet = [text for head, text in read_blocks(page) if head in ("", "text")]
    assert not [text for text in quiet if re.search(r"^\s*(?:lspin|pip|import|from|>>>) ", text, re.MULTILINE)]


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
        if not words or line.startswith(tuple(NOT_RUN)):
            continue
        assert words[0] == "lspin", f"this page has a line that no test runs: {line}"
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_code_block_of_a_page_runs(page, capsys):
    names = {"__name__": "__main__"}
    for language, text in read_blocks(page):
        for module, package in NEEDS.items():
            if f"from {module}" in text or f"import {module}" in text:
                pytest.importorskip(package, reason=f"{package} is not installed")
        if language == "python":
            exec(compile(text, f"{page.name}", "exec"), names)
        elif language == "bash":
            run_shell(text)
    capsys.readouterr()

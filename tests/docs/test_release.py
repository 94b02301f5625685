"""What is said of a release in several files is the same everywhere."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import lspin

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## (\S+)"),
        ("packaging/conda-forge/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_a_file_names_the_version_of_the_package(file, pattern):
    assert re.search(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)[1] == lspin.__version__


def test_the_recipe_of_conda_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text("utf-8")
    listed = re.findall(r"^    - (\S+) (>=\S+)$", recipe.split("  run:\n")[1].split("tests:")[0], re.MULTILINE)
    assert ["".join(pair) for pair in listed] == [f"python{project['requires-python']}", *project["dependencies"]]


def test_license_and_title_are_the_same_for_all_archives():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    zenodo = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert zenodo["license"] == project["license"]
    assert f"license: {project['license']}\n" in citation
    assert f'title: "{zenodo["title"]}"\n' in citation

"""What is said of a release in several files is the same everywhere."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import lspin

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text("utf-8")
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


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
    listed = re.findall(r"^    - (\S+) (>=\S+)$", RECIPE.split("  run:\n")[1].split("tests:")[0], re.MULTILINE)
    assert ["".join(pair) for pair in listed] == [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]


def test_the_recipe_of_conda_installs_the_same_command_from_the_same_project():
    [(command, function)] = PROJECT["scripts"].items()
    assert f"- {command} = {function}\n" in RECIPE
    assert f"homepage: {PROJECT['urls']['Homepage']}\n" in RECIPE
    assert f"license: {PROJECT['license']}\n" in RECIPE


def test_license_and_title_are_the_same_for_all_archives():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    assert zenodo["license"] == PROJECT["license"]
    assert f"license: {PROJECT['license']}\n" in CITATION
    assert f'title: "{zenodo["title"]}"\n' in CITATION


def test_the_license_is_an_spdx_expression_with_a_file():
    assert PROJECT["license"] == "BSD-3-Clause"
    assert not [
        line for line in PROJECT["classifiers"] if line.startswith("License ::")
    ]  # PEP 639 allows one of both
    [file] = PROJECT["license-files"]
    assert (ROOT / file).read_text("utf-8").startswith("BSD 3-Clause License\n")


def test_the_paper_has_one_address():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    number = PROJECT["urls"]["Paper"].removeprefix("https://arxiv.org/abs/")
    assert zenodo["related_identifiers"][0]["identifier"] == f"arXiv:{number}"
    assert f'url: "{PROJECT["urls"]["Paper"]}"' in CITATION


def test_the_day_of_the_release_is_that_of_the_changelog():
    day = re.search(r"^## \S+ \((.*)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[1]
    assert f'date-released: "{day}"\n' in CITATION


def test_every_python_that_is_named_is_tried():
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    tests = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    tried = re.search(r'\$\{@:-(.*?)\}"', (ROOT / "packaging" / "try_wheel").read_text("utf-8"))[1]
    assert json.loads(re.search(r"^        python: (\[.*\])$", tests, re.MULTILINE)[1]) == named
    assert re.findall(r"python(3\.\d+)", tried) == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_types_are_declared_and_shipped():
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (Path(lspin.__file__).parent / "py.typed").is_file()

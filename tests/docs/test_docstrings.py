"""Every public name has a docstring that numpydoc accepts, and its examples run."""

import doctest
import inspect
import os
import runpy
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed").validate

ROOT = Path(__file__).parents[2]
LISTED = runpy.run_path(str(ROOT / "docs" / "_ext" / "api_index.py"))["ROOMS"]  # those of the API reference
ROOMS = [room for room in LISTED if find_spec(room)]
# Sections stand where there is something to say; types stand in the signature, and the site shows them from there;
# a noun is no verb in the third person; general parameters are listed last; ruff looks after blank lines.
NOT_ASKED = {"SA01", "EX01", "ES01", "PR04", "PR03", "SS05", "GL02", "GL03"}


def list_public(room):
    """What users of a room may call, by name."""
    module = import_module(room)
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == room]
    names = [name for name in getattr(module, "__all__", own) if not name.startswith("_")]
    values = {f"{room}.{name}": getattr(module, name) for name in names}
    return {name: value for name, value in values.items() if inspect.isroutine(value) or inspect.isclass(value)}


def list_methods(kind):
    """Methods and properties of a class that are ours."""
    for key in dir(kind) if inspect.isclass(kind) else ():
        member = inspect.getattr_static(kind, key)
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not key.startswith("_") and inspect.isfunction(function) and function.__module__.startswith("lspin"):
            yield key


def find_faults(name, value):
    is_record = hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__")
    for part in (name, *(f"{name}.{key}" for key in list_methods(value))):
        for code, text in validate(part)["errors"]:
            # Fields of a record are explained beside them.
            if code not in NOT_ASKED and not (code == "PR01" and part == name and is_record):
                yield f"{part}: {code} {text}"


@pytest.mark.parametrize("room", ROOMS)
def test_numpydoc_accepts_every_public_docstring(room):
    public = list_public(room)
    assert public
    assert not [fault for name, value in public.items() for fault in find_faults(name, value)]


def list_examples():
    """Examples of public names and of their methods, each once: estimators share methods."""
    finder = doctest.DocTestFinder(recurse=False)
    public = [item for room in ROOMS for item in list_public(room).items()]
    methods = [(f"{name}.{key}", getattr(kind, key)) for name, kind in public for key in list_methods(kind)]
    tests = [test for name, value in [*public, *methods] for test in finder.find(value, name) if test.examples]
    return list({test.docstring: test for test in tests}.values())


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """The file that examples speak of, in the folder they are run in."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = X.iloc[:120, :5].assign(diagnosis=y[:120].map({0: "malignant", 1: "benign"}))
    pd.DataFrame(table).to_csv(tmp_path / "patients.csv", index=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("patients")
@pytest.mark.parametrize("example", list_examples(), ids=lambda test: test.name)
def test_examples_of_docstrings_run(example, capsys):
    if "load_table" in example.docstring and not os.environ.get("LSPIN_DATA"):
        pytest.skip("LSPIN_DATA does not name a folder of tables")
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.failed == 0, capsys.readouterr().out

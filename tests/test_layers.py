"""Who may import whom: rooms stand in layers, a room imports from lower ones only, and no room goes in circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lspin

LAYERS = [
    {"core", "tables", "structure", "survival", "metrics", "storage"},
    {"targets", "datasets"},
    {"fitting"},
    {"explanation", "audit", "checks", "conformal", "selection"},
    {"estimators", "baselines", "plots", "intake"},
    {"reporting", "comparison", "single_cell", "demo"},  # the demo knows the package's own names only, as a user
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
PACKAGE = Path(lspin.__file__).parent
SOURCES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
MODULES = {name: path for name, path in SOURCES.items() if name != "__init__"}
ROOMS = sorted({name.split(".")[0] for name in MODULES})
HEAVY = {
    "jax",
    "optax",
    "matplotlib",
    "anndata",
    "pooch",
    "h5py",
    "rdata",
    "shap",
    "openpyxl",
    "pyarrow",
    "scanpy",
}
DOOR = {
    "LSPINClassifier",
    "LSPINCox",
    "LSPINRegressor",
    "compare",
    "load",
    "read_table",
    "report",
    "__version__",
}  # names of lspin itself


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def used_modules(name):
    """Modules of the package that a module imports, anywhere in it."""
    for module, names in imports_of(ast.parse(SOURCES[name].read_text())):
        if module == "lspin":
            yield from (other for other in names if other not in DOOR)
        elif module.startswith("lspin."):
            inside = module.removeprefix("lspin.")
            found = [f"{inside}.{other}" for other in names if f"{inside}.{other}" in MODULES]
            yield from found or [inside]


def test_every_room_has_a_layer_and_there_are_seven():
    assert set(ROOMS) == set(LEVEL)
    assert len(LAYERS) <= 7


@pytest.mark.parametrize("name", MODULES)
def test_a_room_imports_from_lower_rooms_only(name):
    room = name.split(".")[0]
    others = {other.split(".")[0] for other in used_modules(name)} - {room}
    assert all(LEVEL[other] < LEVEL[room] for other in others), f"{name} imports {others}"


@pytest.mark.parametrize("room", ROOMS)
def test_the_modules_of_a_room_import_each_other_in_no_circle(room):
    inside = [name for name in MODULES if name.split(".")[0] == room]
    graph = {name: {other for other in used_modules(name) if other.split(".")[0] == room} for name in inside}
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


@pytest.mark.parametrize("room", [room for room in ROOMS if (PACKAGE / room).is_dir()])
def test_the_first_line_of_a_room_says_what_it_is_for(room):
    assert ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text()))


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"core.training"}))
def test_only_training_loads_heavy_packages_on_import(name):
    imports = [n for n in ast.parse(SOURCES[name].read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)]
    roots = {module.split(".")[0] for module, _ in imports_of(ast.Module(imports, []))}
    assert not roots & HEAVY

"""Who may import whom: a module imports from lower layers only."""

import ast
from pathlib import Path

import pytest

import lspin

LAYERS = [
    {"noise"},
    {"hazards"},
    {
        "gates",
        "networks",
        "losses",
        "tables",
        "entries",
        "parameters",
        "progress",
        "metrics",
        "survival.targets",
        "datasets.synthetic",
        "datasets.originals",
    },
    {"penalties", "anchors", "datasets.real", "outcomes", "survival.curves"},
    {"shell", "model", "datasets", "survival.scores"},
    {"training", "inference", "recipes", "survival"},
    {"preparation", "persistence", "targets", "contributions", "audit"},
    {"fitting", "explanation"},
    {"descent", "cohort"},
    {"path", "plots"},
    {"members"},
    {"base"},
    {"estimators", "baselines.rival"},
    {"baselines.net", "baselines.draws"},
    {
        "baselines.contextual_lasso",
        "baselines.invase",
        "baselines.l2x",
        "baselines.localized_lasso",
        "baselines.protogate",
        "baselines.realx",
        "baselines.stg",
    },
    {"baselines.cox"},
    {"baselines", "comparison"},
    {"page"},
    {"__init__"},
    {"demo", "files"},
    {"columns"},
    {"workflow"},
    {"screen"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
PACKAGE = Path(lspin.__file__).parent
SOURCES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
HEAVY = {"jax", "optax", "matplotlib", "anndata", "pooch", "h5py", "rdata", "shap", "openpyxl", "pyarrow"}


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def test_every_module_has_a_layer():
    assert set(SOURCES) == set(LEVEL)


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_imports_from_lower_layers_only(name):
    for module, names in imports_of(ast.parse(SOURCES[name].read_text())):
        if module == "lspin":
            used = [n if n in LEVEL else "__init__" for n in names]
        elif module.startswith("lspin."):
            used = [module.removeprefix("lspin.")]
        else:
            continue
        assert all(LEVEL[other] < LEVEL[name] for other in used), f"{name} imports {used}"


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"training", "descent"}))
def test_only_training_loads_heavy_packages_on_import(name):
    imports = [n for n in ast.parse(SOURCES[name].read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)]
    roots = {module.split(".")[0] for module, _ in imports_of(ast.Module(imports, []))}
    assert not roots & HEAVY

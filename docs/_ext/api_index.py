"""The index of the API reference: every public name of every public room."""

import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOMS = {
    "lspin": ("Estimators, models, tables and the page", "Estimators follow scikit-learn."),
    "lspin.explanation": ("Explanations", "What ``explain`` returns."),
    "lspin.audit": ("Leakage audit", "Whether the mask itself gives the answer away."),
    "lspin.checks": ("Data checks", "What makes a model too good to be true."),
    "lspin.conformal": ("Conformal prediction", "Sets and intervals that hold the truth as often as asked."),
    "lspin.selection": ("Stability selection", "Features of a cohort, with a bound on the false ones."),
    "lspin.plots": ("Plots", "Each draws on ``ax``, or on new axes. Needs ``pip install 'lspin[plots]'``."),
    "lspin.metrics": ("Metrics", "Of selections and probabilities of any method."),
    "lspin.survival": ("Survival", "Reading, curves and scores of times with censoring."),
    "lspin.single_cell": (
        "Single cells",
        "AnnData in, scanpy's fields out. Needs ``pip install 'lspin[cells]'``.",
    ),
    "lspin.datasets": ("Datasets", "Synthetic tables with their truth, and public ones."),
    "lspin.baselines": ("Rivals", "Methods that LSPIN is compared with, with the same methods."),
}
WITH_METHODS = ("lspin", "lspin.baselines")  # rooms of estimators
MORE_WITH_METHODS = ("lspin.explanation.Explanation",)


def list_names(room: str) -> list[str]:
    """Public functions and classes of a room."""
    module = import_module(room)
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == room]
    names = [name for name in getattr(module, "__all__", own) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    return [f"{room}.{n}" for n, v in values.items() if inspect.isclass(v) or inspect.isfunction(v)]


def write_section(room: str) -> list[str]:
    """Heading, a sentence, and the tables of names: those with a page of methods, and the others."""
    title, text = ROOMS[room]
    names = list_names(room)
    full = [name for name in names if has_methods(room, name)]
    lines = [title, "-" * len(title), "", text, ""]
    for template, chosen in (("estimator.rst", full), (None, [name for name in names if name not in full])):
        if chosen:
            lines += [".. autosummary::", "   :toctree: generated"]
            lines += [f"   :template: {template}"] if template else []
            lines += ["", *(f"   {name}" for name in chosen), ""]
    return lines


def has_methods(room: str, name: str) -> bool:
    """Whether a name is a class whose methods are shown."""
    value = getattr(import_module(room), name.rpartition(".")[2])
    return inspect.isclass(value) and (room in WITH_METHODS or name in MORE_WITH_METHODS)


def write_index(app: Any) -> None:
    """Write ``api/index.rst``, unless it is there and says the same."""
    lines = ["API reference", "=============", ""]
    lines += [line for room in ROOMS if find_spec(room) for line in write_section(room)]
    path = Path(app.srcdir) / "api" / "index.rst"
    path.parent.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx, before pages are looked for."""
    app.connect("config-inited", lambda app, _: write_index(app))
    return {"parallel_read_safe": True}

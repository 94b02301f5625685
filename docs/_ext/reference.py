"""Parameters with type and default, those of estimators in groups, and the fields of records."""

import inspect
import re
from typing import Any

GROUPS = {
    "Data": (
        "context", "context_only", "zero_is_absent", "affinity", "class_weight", "loss", "ties", "pos_label",
        "scaling", "centering", "columns",
    ),
    "Sparsity": (
        "sparsity", "n_features", "n_panel", "rule", "stability", "diversity", "radius", "global_sparsity",
        "exclusive",
    ),
    "Networks": (
        "start", "hidden_layer_sizes", "gate_hidden_layer_sizes", "anchor", "n_members", "bootstrap", "network",
        "graph", "n_neighbors",
    ),
    "Training": (
        "gate_exchange", "noise_scale", "temperature", "learning_rate", "weight_decay", "max_epochs", "max_iter",
        "tol", "batch_size", "validation_fraction", "patience", "n_restarts", "n_jobs", "random_state",
    ),
    "Output": ("verbose",),
}  # fmt: skip
OTHER = "Other"
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
FIELD = re.compile(r"^    ([a-zA-Z]\w*): ([^=#]+)(?:= [^#]+)?(?:# (.*))?$")
ENTRY = re.compile(r"^    \*\*(\w+)\*\* : ")
SKLEARN_LABEL = re.compile(r":ref:`([^<`]+?) <[^>]+>`")  # of its own site, in methods that are inherited
PREFIXES = re.compile(r"\b(?:collections\.abc|pathlib|typing|numpy\.random\.mtrand|lspin(?:\.[a-z_]+)+)\.")


def is_estimator(obj: Any) -> bool:
    """Whether parameters are declared settings."""
    return inspect.isclass(obj) and hasattr(obj, "_parameter_constraints")


def shorten(text: str) -> str:
    """A type as one would say it: without the modules that it comes from."""
    return PREFIXES.sub("", text).replace("'Axes | None'", "Axes | None")


def tell_types(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put type and default, which stand in the signature, behind the name of each parameter."""
    lines[:] = [SKLEARN_LABEL.sub(r"\1", line) for line in lines]
    if is_estimator(obj):
        lines[:] = [shorten(line) if re.match(r"^\w+ : ", line) else line for line in lines]
        return
    if is_record(obj):
        lines += list_fields(obj)
        return
    if not callable(obj) or "Parameters" not in lines:
        return
    signature = inspect.signature(obj).parameters
    start = lines.index("Parameters") + 2
    for at in range(start, len(lines)):
        if at + 1 < len(lines) and lines[at + 1].startswith("---"):
            break
        names = lines[at].split(", ")
        if names[0] in signature and all(each in signature for each in names):
            lines[at] += f" : {tell_type(signature[names[0]])}"


def is_record(obj: Any) -> bool:
    """Whether fields stand below the docstring, each with a comment."""
    return inspect.isclass(obj) and (hasattr(obj, "_fields") or hasattr(obj, "__dataclass_fields__"))


def list_fields(record: type) -> list[str]:
    """The fields of a record, with the comments beside them."""
    found = [FIELD.match(line) for line in inspect.getsource(record).splitlines()]
    fields = [match for match in found if match]
    written = ["", "Attributes", "----------"]
    for name, kind, comment in (match.groups() for match in fields):
        written += [f"{name} : {shorten(kind.strip())}", *([f"    {comment}"] if comment else [])]
    return [*written, ""]


def tell_type(parameter: inspect.Parameter) -> str:
    """Type and default of a parameter; what takes many forms is called so."""
    kind = shorten(inspect.formatannotation(parameter.annotation))
    kind = {"Any": "array-like or object"}.get(kind, kind)
    return kind if parameter.default is parameter.empty else f"{kind}, default={parameter.default!r}"


def group_parameters(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put a heading before the parameters of each group, once numpydoc has written them."""
    if not is_estimator(obj) or ":Parameters:" not in lines:
        return
    start = lines.index(":Parameters:") + 1
    end = next((i for i in range(start, len(lines)) if lines[i] and not lines[i].startswith(" ")), len(lines))
    entries = split_entries(lines[start:end])
    written = [""]
    for group in (*GROUPS, OTHER):
        chosen = [text for parameter, text in entries.items() if GROUP_OF.get(parameter, OTHER) == group]
        if chosen:
            written += [f"    .. rubric:: {group}", "", *(line for text in chosen for line in text), ""]
    lines[start:end] = written


def split_entries(lines: list[str]) -> dict[str, list[str]]:
    """The lines of each parameter, by its name."""
    entries: dict[str, list[str]] = {}
    for line in lines:
        if found := ENTRY.match(line):
            current = entries.setdefault(found[1], [])
        if entries:
            current.append(line)
    return entries


def hide_settings(app: Any, what: str, name: str, obj: Any, *rest: Any) -> tuple[str, str] | None:
    """Show estimators without their thirty parameters in the headline: these are listed below it."""
    return ("(…)", "") if is_estimator(obj) else None


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx: numpydoc has priority 500."""
    app.connect("autodoc-process-docstring", tell_types, priority=400)
    app.connect("autodoc-process-docstring", group_parameters, priority=900)
    app.connect("autodoc-process-signature", hide_settings)
    return {"parallel_read_safe": True}

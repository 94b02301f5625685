"""The page put together: a skeleton, a style sheet and scripts, one file a part, around some content."""

import html
import json
from importlib.resources import files
from typing import Any

# In this order: what a script uses stands before it.
SCRIPTS = (
    "base", "charts", "headline", "performance", "features", "subgroups", "map", "patient", "trust", "reproduce",
)  # fmt: skip


def fill_template(content: dict[str, Any]) -> str:
    """The page around some content, in which nothing can end the element that holds it."""
    data = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(content["title"]).encode("utf-8", "replace").decode()
    parts = {
        "title": title,
        "style": _read("page.css"),
        "content": data,
        "script": "\n".join(_read(f"{name}.js") for name in SCRIPTS),
    }
    pieces = _read("page.html").split("{{")
    filled = [parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:])]
    return pieces[0] + "".join(filled)


def _read(name: str) -> str:
    return files("lspin.reporting").joinpath("template_parts", name).read_text(encoding="utf-8")

"""Settings of estimators, declared once: type, default, what is allowed, and help.

From a declaration come scikit-learn's signature, ``get_params``, ``clone``, the check of values in ``fit``, and
the list of parameters in ``help()``.
"""

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, TypeVar, dataclass_transform

from sklearn.utils._param_validation import Interval

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
FRACTION = Interval(Real, 0, 1, closed="neither")
LAYERS = [tuple, list]

WIDTH = 112  # characters of a line of help
SECTIONS = ("Notes", "References", "Examples", "Attributes")  # before which parameters stand

T = TypeVar("T", bound=type)


class Setting(NamedTuple):
    """What a parameter may be, in scikit-learn's terms, and what it means."""

    allowed: list[Any]
    help: str
    is_general: bool = False  # whether help lists it last, behind what is the method's own

    def __call__(self, default: Any) -> Any:
        """A field of a declared estimator, given by keyword."""
        return field(default=default, metadata=self._asdict())


def first(setting: Setting, *, default: Any, kw_only: Literal[False] = False) -> Any:
    """The field that may be given by position too."""
    return field(default=default, kw_only=kw_only, metadata=setting._asdict())


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(first,))
def declare(*, attributes: Mapping[str, str] | None = None) -> Callable[[T], T]:
    """Turn annotated fields of a class into parameters of an estimator.

    Parameters
    ----------
    attributes
        Help on learned attributes, by name.

    """

    def decorate(kind: T) -> T:
        doc = inspect.cleandoc(kind.__doc__ or "")
        made: Any = dataclass(kw_only=True, eq=False, repr=False)(kind)
        made._parameter_constraints = {f.name: f.metadata["allowed"] for f in fields(made)}
        listed = sorted(fields(made), key=lambda f: (bool(f.kw_only), f.metadata["is_general"]))
        sections = {"Parameters": {_head(f): f.metadata["help"] for f in listed}}
        made.__doc__ = _insert(doc, sections | ({"Attributes": dict(attributes)} if attributes else {}))
        return made

    return decorate


def _head(entry: Any) -> str:
    return f"{entry.name} : {inspect.formatannotation(entry.type)}, default={entry.default!r}"


def _insert(doc: str, sections: Mapping[str, Mapping[str, str]]) -> str:
    """A docstring with sections in their place: behind the summary, before the notes."""
    places = [doc.find(f"\n\n{name}\n---") for name in SECTIONS]
    end = min((place for place in places if place >= 0), default=len(doc))
    listed = "".join(f"\n\n{name}\n{'-' * len(name)}\n{_list(entries)}" for name, entries in sections.items())
    return doc[:end].rstrip() + listed + doc[end:] + "\n"


def _list(entries: Mapping[str, str]) -> str:
    wrap = textwrap.TextWrapper(WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    return "\n".join(f"{head}\n{wrap.fill(text)}" for head, text in entries.items())

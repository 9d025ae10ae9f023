"""The passes with what they do and the options they take, as `sdy-opt --list-passes` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields

from xdsl.passes import ModulePass

from sdy.passes.all import pass_class, pass_names
from sdy.passes.pass_options import option_name


def pass_list() -> str:
    """One paragraph a pass: its name, a sentence, and per option its name and what it is without being given."""
    return "\n".join(line for name in pass_names() for line in _paragraph(name, pass_class(name))) + "\n"


def _paragraph(name: str, kind: type[ModulePass]) -> Iterator[str]:
    yield name
    yield f"    {(kind.__doc__ or '').strip().splitlines()[0]}"
    for field in fields(kind):
        yield f"      {option_name(field.name)}={_default_text(field)}"


def _default_text(field: Field[object]) -> str:
    """The value as it would be written: a list by its items, a truth value in lower case."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "(needed)"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "" if field.default in (None, ()) else str(field.default)

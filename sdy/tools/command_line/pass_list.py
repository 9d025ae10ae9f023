"""The passes with what they do and the options they take, as `sdy-opt --list-passes` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from xdsl.passes import ModulePass

from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.manager.pass_options import option_name
from sdy.report.reference.passes import default_text


def pass_list() -> str:
    """One paragraph a pass: its name, a sentence, and per option its name and what it is without being given."""
    return "\n".join(line for name in pass_names() for line in _paragraph(name, pass_class(name))) + "\n"


def _paragraph(name: str, kind: type[ModulePass]) -> Iterator[str]:
    yield name
    yield f"    {(kind.__doc__ or '').strip().splitlines()[0]}"
    for field in fields(kind):
        yield f"      {option_name(field.name)}={default_text(field)}"

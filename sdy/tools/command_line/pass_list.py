"""Generates the output of `sdy-opt --list-passes`: the passes with their descriptions and options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from xdsl.passes import ModulePass

from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.manager.pass_options import option_name
from sdy.report.reference.passes import default_text


def pass_list() -> str:
    """Return one paragraph per pass: its name, a one-line description, and its options with their defaults."""
    return "\n".join(line for name in pass_names() for line in _paragraph(name, pass_class(name))) + "\n"


def _paragraph(name: str, kind: type[ModulePass]) -> Iterator[str]:
    yield name
    described = (kind.__doc__ or "").strip() or "(no description)"
    yield f"    {described.splitlines()[0]}"
    for field in fields(kind):
        yield f"      {option_name(field.name)}={default_text(field)}"

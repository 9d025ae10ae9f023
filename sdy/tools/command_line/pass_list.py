"""Generates the output of `sdy-opt --list-passes`: the passes with their descriptions and options."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.passes import ModulePass

from sdy.passes.manager.all import pass_class, pass_names
from sdy.passes.manager.option_types import options_of
from sdy.report.reference.passes import default_text


def pass_list() -> str:
    """Return one paragraph per pass: its name, a one-line description, and its options with their defaults."""
    return "\n".join(line for name in pass_names() for line in _paragraph(name, pass_class(name))) + "\n"


def _paragraph(name: str, kind: type[ModulePass]) -> Iterator[str]:
    yield name
    described = (kind.__doc__ or "").strip() or "(no description)"
    yield f"    {described.splitlines()[0]}"
    for name, (field, _) in options_of(kind).items():
        yield f"      {name}={default_text(field)}"

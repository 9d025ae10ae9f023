"""Generates the reference page of passes and pipelines: their descriptions and options."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import Field

from xdsl.passes import ModulePass

from sdy.passes.manager.all import PASSES, pass_class
from sdy.passes.manager.option_types import default_text, options_of
from sdy.tools.markdown import page, summary_of, table, text_of

_TITLE = """\
# Passes

Run a pass with `sdy-opt FILE --NAME` or `--NAME='option=value other=value'`, and several passes with
`--pass-pipeline='builtin.module(NAME,NAME{option=value})'`."""


def passes_page() -> str:
    """Return the text of the page."""
    classes = {name: pass_class(name) for name in sorted(PASSES)}
    shared = Counter(kind.__module__ for kind in classes.values())
    index = table(("pass", "description"), ((f"[`{name}`](#{name})", _summary(kind)) for name, kind in classes.items()))
    sections = (
        block for name, kind in classes.items() for block in _section(name, kind, is_alone=shared[kind.__module__] == 1)
    )
    return page(_TITLE, index, *sections)


def _summary(kind: type[ModulePass]) -> str:
    return summary_of(kind.__doc__ or "")


def _section(name: str, kind: type[ModulePass], *, is_alone: bool) -> Iterator[str | list[str]]:
    """Yield the section of a pass. If its module has no other pass, the module docstring describes the pass too."""
    yield f"## {name}"
    yield from text_of(kind)
    if is_alone:
        yield from text_of(sys.modules[kind.__module__])
    if options := options_of(kind):
        rows = ((f"`{key}`", _type_text(hint), _default(field)) for key, (field, hint) in options.items())
        yield table(("option", "type", "default"), rows)


def _type_text(hint: object) -> str:
    text = hint.__name__ if isinstance(hint, type) else str(hint)
    words = {
        "bool": "`true` or `false`",
        "int": "number",
        "str": "text",
        "tuple[str, ...]": "comma-separated texts",
        "tuple[xdsl.passes.ModulePass, ...]": "comma-separated passes, in quotes",
    }
    return " or ".join(words.get(part, part) for part in text.split(" | ") if part != "None")


def _default(field: Field[object]) -> str:
    text = default_text(field)
    return f"`{text}`" if text else "none"

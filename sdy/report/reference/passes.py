"""The reference page of passes and pipelines: what each does, and the options that it takes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import get_type_hints

from xdsl.passes import ModulePass

from sdy.passes.manager.all import PASSES, pass_class
from sdy.passes.manager.pass_options import option_name
from sdy.report.reference.markdown import page, summary_of, table, text_of

_TITLE = """\
# Passes

What `sdy-opt` runs: `sdy-opt FILE --NAME`, `--NAME='option=value other=value'`, or several in
`--pass-pipeline='builtin.module(NAME,NAME{option=value})'`. This page is made from the code by `make reference`."""


def passes_page() -> str:
    """The text of the page."""
    classes = {name: pass_class(name) for name in sorted(PASSES)}
    shared = Counter(kind.__module__ for kind in classes.values())
    index = table(
        ("pass", "what it does"), ((f"[`{name}`](#{name})", _summary(kind)) for name, kind in classes.items())
    )
    sections = (
        block for name, kind in classes.items() for block in _section(name, kind, is_alone=shared[kind.__module__] == 1)
    )
    return page(_TITLE, index, *sections)


def _summary(kind: type[ModulePass]) -> str:
    return summary_of(kind.__doc__ or "")


def _section(name: str, kind: type[ModulePass], *, is_alone: bool) -> Iterator[str | list[str]]:
    """A module that has one pass tells in its docstring what becomes of a program, and what the pass asks of it."""
    yield f"## {name}"
    yield from text_of(kind)
    if is_alone:
        yield from text_of(sys.modules[kind.__module__])
    if options := fields(kind):
        hints = get_type_hints(kind)
        rows = ((f"`{option_name(each.name)}`", _type_text(hints[each.name]), _default(each)) for each in options)
        yield table(("option", "type", "default"), rows)


def _type_text(hint: object) -> str:
    text = hint.__name__ if isinstance(hint, type) else str(hint)
    words = {
        "bool": "`true` or `false`",
        "int": "number",
        "str": "text",
        "tuple[str, ...]": "texts, with commas between",
    }
    return " or ".join(words.get(part, part) for part in text.split(" | ") if part != "None")


def _default(field: Field[object]) -> str:
    text = default_text(field)
    return f"`{text}`" if text else "none"


def default_text(field: Field[object]) -> str:
    """What an option is without being given, as it would be written; empty where it is nothing."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "(needed)"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "" if field.default in (None, ()) else str(field.default)

"""Generates the reference page of the JSON documents, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from json import dumps
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, is_typeddict

from sdy.report.reference.markdown import page, table
from sdy.tools.command_line.output.documents import DOCUMENTS
from sdy.tools.reference.json_schema import document_types, field_types, json_schema, meaning

_TITLE = """\
# JSON documents

With `--json`, a command prints one JSON document to standard output, and nothing else; diagnostics go to standard error
as without it, and [exit codes](command-line.md#exit-codes) are the same. If a command could not be run, it prints no
document. Numbers are finite. No field is removed or given another meaning; new versions may add fields.

[schema.json](schema.json) has the same as a JSON Schema: `#/$defs/sdy-verify` is the document of `sdy verify`."""


def json_page() -> str:
    """Return the text of the page."""
    commands = table(
        ("command", "document"),
        ((f"`sdy {name} --json`", " or ".join(map(_type_text, forms))) for name, forms in DOCUMENTS.items()),
    )
    return page(_TITLE, commands, *(block for kind in document_types() for block in _section(kind)))


def schema_text() -> str:
    """Return the text of the JSON Schema."""
    return dumps(json_schema(), indent=1) + "\n"


def _section(kind: type) -> Iterator[str | list[str]]:
    yield f"## {kind.__name__}"
    yield getdoc(kind) or ""
    rows = ((f"`{name}`", _type_text(each), meaning(each)) for name, each in field_types(kind).items())
    yield table(("field", "type", "meaning"), rows)


def _type_text(kind: object) -> str:
    """Return a type in words: `list of [Value](#value)`."""
    if isinstance(kind, type) and is_typeddict(kind):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    arguments: tuple[object, ...] = get_args(kind)
    match get_origin(kind):
        case origin if origin is Annotated:
            return _type_text(arguments[0])
        case origin if origin is Literal:
            return ", ".join(f'`"{each}"`' for each in arguments)
        case origin if origin in (Union, UnionType):
            return " or ".join(map(_type_text, arguments))
        case origin if origin is list:
            return f"list of {_type_text(arguments[0])}"
        case origin if origin is dict:
            return f"object of {_type_text(arguments[1])}"
        case _:
            return _SCALARS[kind]


_SCALARS: dict[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    object: "any value",
}

"""Generates the reference page of the JSON documents, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from json import dumps
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from sdy.documents.kinds import DOCUMENTS, OLD_DOCUMENTS
from sdy.tools.markdown import page, table

Schema = dict[str, object]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALAR_TYPES: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}

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


_SCALARS = _SCALAR_TYPES | {object: "any value"}


def json_schema() -> Schema:
    """Return the schema of all documents: `#/$defs/sdy-COMMAND` is that of a command, which has one form or several."""
    documents = DOCUMENTS | OLD_DOCUMENTS
    commands = {f"sdy-{name}": {"anyOf": [type_schema(form) for form in forms]} for name, forms in documents.items()}
    kinds = document_types()
    return {"$schema": DIALECT, "$defs": commands | {kind.__name__: _object_schema(kind) for kind in kinds}}


def type_schema(kind: object) -> Schema:
    """Return the schema of a type; a document is a reference to its own schema."""
    if isinstance(kind, type) and is_typeddict(kind):
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if kind in _SCALAR_TYPES:
        return {"type": _SCALAR_TYPES[kind]}
    arguments: tuple[object, ...] = get_args(kind)
    origin = get_origin(kind)
    if origin is Annotated:
        return type_schema(arguments[0])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (UnionType, Union):
        return {"anyOf": [type_schema(each) for each in arguments]}
    if origin is list:
        return {"type": "array", "items": type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": type_schema(arguments[1])}
    assert kind is object, f"no JSON Schema for {kind}"
    return {}


def field_types(kind: type) -> dict[str, object]:
    """Return the type of each field of a document, annotated with its meaning where it has one."""
    return get_type_hints(kind, include_extras=True)


def meaning(field_type: object) -> str:
    """Return the meaning of a field; empty if its name says enough."""
    return str(get_args(field_type)[1]) if get_origin(field_type) is Annotated else ""


def document_types() -> list[type]:
    """Return the documents of all commands and those inside them, in the order in which a reader meets them."""
    found: dict[type, None] = {}
    for forms in DOCUMENTS.values():
        for form in forms:
            found |= dict.fromkeys(_documents_in(form))
    return list(found)


def _documents_in(kind: object) -> Iterator[type]:
    if isinstance(kind, type) and is_typeddict(kind):
        yield kind
        for each in field_types(kind).values():
            yield from _documents_in(each)
    else:
        for each in get_args(kind):
            yield from _documents_in(each)


def _object_schema(kind: type) -> Schema:
    fields = field_types(kind)
    properties = {
        name: type_schema(each) | ({"description": meaning(each)} if meaning(each) else {})
        for name, each in fields.items()
    }
    return {
        "type": "object",
        "description": (getdoc(kind) or ""),
        "properties": properties,
        "required": list(fields),
        "additionalProperties": False,
    }

"""Derives a JSON Schema from the documents that the commands print: TypedDicts with annotated fields."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from sdy.tools.command_line.output.documents import DOCUMENTS, OLD_DOCUMENTS

Schema = dict[str, object]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


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
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
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

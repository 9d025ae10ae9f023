"""Turns records into JSON documents, as the types of `sdy.documents.kinds` state them.

A field of a document is the attribute of the same name of a record, as plain data of the type of the field: an enum is
its value, an axis its text, a float of bytes an integer. Where a field may be null, it is for empty text and for a
number that is not finite, which JSON cannot express.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints, is_typeddict


def document(kind: str, record: object, **own: object) -> dict[str, object]:
    """Return the document of a kind for a record. `own` has the fields that the record lacks."""
    from sdy.documents import kinds  # imported here, because most runs print no document

    return _document(getattr(kinds, kind), record, own)


def _document(kind: type, record: object, own: Mapping[str, object]) -> dict[str, object]:
    return {
        name: _plain(own[name] if name in own else getattr(record, name), field)
        for name, field in _field_types(kind).items()
    }


def _plain(value: Any, kind: Any) -> Any:
    """Return a value as plain data of a type. A record with `to_json` knows fields that it lacks."""
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin is list:
            return [_plain(each, arguments[0]) for each in value]
        case origin if origin is dict:
            return {_plain(key, str): _plain(each, arguments[1]) for key, each in value.items()}
        case origin if origin in (Union, UnionType):
            kinds = [each for each in arguments if each is not NoneType]
            if len(kinds) < len(arguments) and _is_null(value):
                return None
            return _plain(value, kinds[0]) if len(kinds) == 1 else value
        case _ if is_typeddict(kind):
            if isinstance(value, Mapping):  # a document already
                return cast("Mapping[str, object]", value)
            return value.to_json() if hasattr(value, "to_json") else _document(kind, value, {})
        case _ if isinstance(value, Enum):
            return value.value
        case _ if kind is int:
            return round(value)
        case _:
            return str(value) if kind is str else value


def _is_null(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not isfinite(value))


@cache
def _field_types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)

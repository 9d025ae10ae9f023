"""Build a pass from its name and options as text: `sdy-propagate{keep-rules=true}`."""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, fields
from types import UnionType
from typing import get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from sdy.cost.quantities import parse_bytes
from sdy.passes.manager.all import pass_class
from sdy.passes.manager.pass_request import PassRequest, option_error

OptionValue = bool | int | str | tuple[str, ...]

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class _Option:
    """An option of a pass, and how messages call it."""

    key: str
    pass_name: str

    @property
    def is_byte_count(self) -> bool:
        return self.key.endswith("-bytes")

    def __str__(self) -> str:
        return f"option {self.key} of {self.pass_name}"


def build_pass(request: PassRequest) -> ModulePass:
    """Create the requested pass with its options.

    Raises: SdyError SDY-T003 if the pass is unknown, SDY-T004 if an option or its value is.
    """
    kind = pass_class(request.name)
    types = get_type_hints(kind)
    known = {option_name(field.name): field for field in fields(kind)}
    values: dict[str, OptionValue] = {}
    for key, text in request.options.items():
        field = known.get(key)
        if field is None:
            raise option_error(f"{request.name} has no option {key}", f"options: {', '.join(known) or 'none'}")
        values[field.name] = _value_of(text, types[field.name], _Option(key, request.name))
    missing = [key for key, field in known.items() if field.name not in values and _is_required(field)]
    if missing:
        raise option_error(f"{request.name} requires the option {missing[0]}", f"write {request.name}={missing[0]}=...")
    return kind(**values)


def option_name(field_name: str) -> str:
    """Return the option name of a field; the field of an option that is a Python keyword ends in `_`."""
    return field_name.removesuffix("_").replace("_", "-")


def _is_required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _value_of(text: str, field_type: object, option: _Option) -> OptionValue:
    """Parse the value of an option whose field has this type; for `T | None`, parse a `T`. Bytes may have a unit."""
    choices = [choice for choice in get_args(field_type) if choice is not type(None)]
    if isinstance(field_type, UnionType) and len(choices) == 1:
        return _value_of(text, choices[0], option)
    if field_type is bool:
        if text not in _BOOLEANS:
            raise option_error(f"{option}: expected true or false, got {text!r}", None)
        return _BOOLEANS[text]
    if field_type is int:
        try:
            return int(parse_bytes(text)) if option.is_byte_count else int(text)
        except ValueError:
            expected = "a number of bytes such as 300e6 or 16MB" if option.is_byte_count else "an integer"
            raise option_error(f"{option}: expected {expected}, got {text!r}", None) from None
    if get_origin(field_type) is tuple:
        return tuple(item for item in text.split(",") if item)
    return text

"""Build a pass from its name and options as text: `sdy-propagate{keep-rules=true}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import UnionType
from typing import get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from sdy.cost.quantities import parse_bytes
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_class

OptionValue = bool | int | str | tuple[str, ...]

# A value contains no blanks unless it is quoted or enclosed in one pair of braces.
_OPTION = re.compile(
    r"""\s*(?P<key>[\w-]+)(?:=(?:'(?P<s>[^']*)'|"(?P<d>[^"]*)"|\{(?P<b>[^{}]*)\}|(?P<plain>[^\s]*)))?"""
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class PassRequest:
    """A pass that the user requests: its name, and its options as written."""

    name: str
    options: Mapping[str, str]


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


def parse_options(text: str) -> dict[str, str]:
    """Parse options such as `a=b flag c='d e'`; a key alone means true.

    Raises: SdyError SDY-T004 if the text is not a list of options.
    """
    options: dict[str, str] = {}
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _OPTION.match(text, position)
        if match is None:
            raise _error(f"expected options as key=value, got {text!r}", "separate options by blanks")
        groups = [match[group] for group in ("s", "d", "b", "plain") if match[group] is not None]
        options[match["key"]] = groups[0] if groups else "true"
        position = match.end()
    return options


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
            raise _error(f"{request.name} has no option {key}", f"options: {', '.join(known) or 'none'}")
        values[field.name] = _value_of(text, types[field.name], _Option(key, request.name))
    missing = [key for key, field in known.items() if field.name not in values and _is_required(field)]
    if missing:
        raise _error(f"{request.name} requires the option {missing[0]}", f"write {request.name}={missing[0]}=...")
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
            raise _error(f"{option}: expected true or false, got {text!r}", None)
        return _BOOLEANS[text]
    if field_type is int:
        try:
            return int(parse_bytes(text)) if option.is_byte_count else int(text)
        except ValueError:
            expected = "a number of bytes such as 300e6 or 16MB" if option.is_byte_count else "an integer"
            raise _error(f"{option}: expected {expected}, got {text!r}", None) from None
    if get_origin(field_type) is tuple:
        return tuple(item for item in text.split(",") if item)
    return text


def _error(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T004", message, hint=hint))

"""The types that options of passes can have: how each is read from text, and written as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from sdy.cost.quantities import parse_bytes
from sdy.diagnostics.diagnostic import Diagnostic, SdyError

# A value contains no blanks unless it is quoted or enclosed in one pair of braces.
_OPTION = r"""\s*(?P<key>[\w-]+)(?:=(?:'(?P<s>[^']*)'|"(?P<d>[^"]*)"|\{(?P<b>[^{}]*)\}|(?P<plain>[^\s]*)))?"""

Scalar = bool | int | float | str
OptionValue = Scalar | tuple[Scalar, ...]

KNOWN_TYPES = "bool, int, float, str, Literal, tuple[T, ...] of these, tuple[ModulePass, ...], and T | None"
_BOOLEANS = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}
_SCALARS = frozenset[object]((bool, int, float, str))


def options_of(kind: type[ModulePass]) -> dict[str, tuple[Field[object], object]]:
    """Return the options of a pass: the field and the type of each, by the name of the option.

    A field whose type is a class of its own, such as a schedule of propagation, is set in Python and is not an option.
    Raises: SdyError SDY-T010 if a field has another type that options cannot have.
    """
    try:
        types = get_type_hints(kind)
    except NameError as error:
        raise _type_error(f"the type of an option of pass {kind.name} is unknown: {error}") from None
    found: dict[str, tuple[Field[object], object]] = {}
    for field in fields(kind):
        field_type = types[field.name]
        if is_option_type(field_type):
            found[option_name(field.name)] = field, field_type
        elif not isinstance(field_type, type) or field_type.__module__ == "builtins":
            raise _type_error(f"option {option_name(field.name)} of pass {kind.name} has the type {_name(field_type)}")
    return found


def default_text(field: Field[object]) -> str:
    """Return the default of an option as it would be written, or an empty string if it has none."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "(required)"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "" if field.default in (None, ()) else str(field.default)


def option_name(field_name: str) -> str:
    """Return the option name of a field; the field of an option that is a Python keyword ends in `_`."""
    return field_name.removesuffix("_").replace("_", "-")


def is_option_type(field_type: object) -> bool:
    """Return whether an option can have this type."""
    if is_tuple_of_passes(field_type):
        return True
    arguments = get_args(field_type)
    match get_origin(field_type):
        case None:
            return field_type in _SCALARS
        case origin if origin is Literal:
            return all(isinstance(each, str) for each in arguments)
        case origin if origin in (UnionType, Union):
            return is_option_type(_without_none(field_type))
        case origin:
            return origin is tuple and len(arguments) == 2 and arguments[1] is ... and arguments[0] in _SCALARS


def is_tuple_of_passes(field_type: object) -> bool:
    """Return whether the values of an option of this type are passes: a pipeline inside of an option."""
    return get_origin(field_type) is tuple and get_args(field_type) == (ModulePass, ...)


def read_value(text: str, field_type: object, option: str, *, is_byte_count: bool = False) -> OptionValue:
    """Parse the value of an option of this type; for `T | None`, parse a `T`. A number of bytes may have a unit.

    `option` names the option in messages. Raises: SdyError SDY-T004.
    """
    inner = _without_none(field_type)
    if inner is not None:
        return read_value(text, inner, option, is_byte_count=is_byte_count)
    if get_origin(field_type) is tuple:
        element = get_args(field_type)[0]
        return tuple(_scalar(item, element, option, is_byte_count) for item in text.split(",") if item)
    return _scalar(text, field_type, option, is_byte_count)


def write_value(value: OptionValue) -> str:
    """Return the text of a value that `read_value` reads."""
    if isinstance(value, tuple):
        return ",".join(map(write_value, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scalar(text: str, kind: object, option: str, is_byte_count: bool) -> Scalar:
    if kind is bool:
        if text not in _BOOLEANS:
            raise option_error(f"{option}: expected true or false, got {text!r}", None)
        return _BOOLEANS[text]
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if text not in choices:
            raise option_error(f"{option}: expected {' or '.join(choices)}, got {text!r}", None)
        return text
    expected = "a number of bytes such as 300e6 or 16MB" if is_byte_count else "an integer"
    try:
        if kind is int:
            return int(parse_bytes(text)) if is_byte_count else int(text)
        if kind is float:
            expected = "a number"
            return float(text)
    except ValueError:
        raise option_error(f"{option}: expected {expected}, got {text!r}", None) from None
    return text


def _without_none(field_type: object) -> object | None:
    """Return `T` of `T | None`; None for any other type."""
    if get_origin(field_type) not in (UnionType, Union):
        return None
    choices = [choice for choice in get_args(field_type) if choice is not NoneType]
    return choices[0] if len(choices) == 1 else None


def _name(field_type: object) -> str:
    return field_type.__name__ if isinstance(field_type, type) and not get_args(field_type) else str(field_type)


def _type_error(message: str) -> SdyError:
    return SdyError(Diagnostic("SDY-T010", message, hint=f"options have the types {KNOWN_TYPES}"))


class PassRequest(NamedTuple):
    """A pass that the user requests: its name, and its options as written."""

    name: str
    options: Mapping[str, str]


def parse_options(text: str) -> dict[str, str]:
    """Parse options such as `a=b flag c='d e'`; a key alone means true.

    Raises: SdyError SDY-T004 if the text is not a list of options.
    """
    option = re.compile(_OPTION)
    options: dict[str, str] = {}
    position, end = 0, len(text.rstrip())
    while position < end:
        match = option.match(text, position)
        if match is None:
            raise option_error(f"expected options as key=value, got {text!r}", "separate options by blanks")
        groups = [match[group] for group in ("s", "d", "b", "plain") if match[group] is not None]
        options[match["key"]] = groups[0] if groups else "true"
        position = match.end()
    return options


def write_options(options: Mapping[str, str]) -> str:
    """Return the text of options that `parse_options` reads. No value may contain quotes of both kinds and braces."""
    return " ".join(f"{key}={_quoted(value)}" for key, value in options.items())


def _quoted(value: str) -> str:
    """Return a value as it is if it contains neither blanks nor quotes nor braces, otherwise enclosed in quotes."""
    if re.fullmatch(r"[^\s'\"{}]+", value):
        return value
    for quote in "'\"":
        if quote not in value:
            return f"{quote}{value}{quote}"
    return f"{{{value}}}"


def option_error(message: str, hint: str | None) -> SdyError:
    """Return the error for an option of a pass."""
    return SdyError(Diagnostic("SDY-T004", message, hint=hint))

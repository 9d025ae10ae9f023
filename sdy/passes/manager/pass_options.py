"""From the text of a pass and its options to the pass: `sdy-propagate{keep-rules=true}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import UnionType
from typing import get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.passes.manager.all import pass_class

OptionValue = bool | int | str | tuple[str, ...]

# Values hold no blanks, unless they stand in quotes or in one pair of braces.
_OPTION = re.compile(
    r"""\s*(?P<key>[\w-]+)(?:=(?:'(?P<s>[^']*)'|"(?P<d>[^"]*)"|\{(?P<b>[^{}]*)\}|(?P<plain>[^\s]*)))?"""
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class PassRequest:
    """A pass that the user asks for: its name, and its options as they are spelled."""

    name: str
    options: Mapping[str, str]


def parse_options(text: str) -> dict[str, str]:
    """The options in `a=b flag c='d e'`; a key alone means true.

    Raises: SdyError SDY-T004 where the text is something else.
    """
    options: dict[str, str] = {}
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _OPTION.match(text, position)
        if match is None:
            raise _error(f"cannot read the options {text!r}", "write them as key=value, divided by blanks")
        groups = [match[group] for group in ("s", "d", "b", "plain") if match[group] is not None]
        options[match["key"]] = groups[0] if groups else "true"
        position = match.end()
    return options


def build_pass(request: PassRequest) -> ModulePass:
    """The pass, with the options of the request in its fields.

    Raises: SdyError SDY-T003 where there is no such pass, SDY-T004 where it has no such option or value.
    """
    kind = pass_class(request.name)
    types = get_type_hints(kind)
    known = {option_name(field.name): field for field in fields(kind)}
    values: dict[str, OptionValue] = {}
    for key, spelled in request.options.items():
        field = known.get(key)
        if field is None:
            raise _error(f"{request.name} has no option {key}", f"its options: {', '.join(known) or 'none'}")
        values[field.name] = _value_of(spelled, types[field.name], f"option {key} of {request.name}")
    missing = [key for key, field in known.items() if field.name not in values and _is_required(field)]
    if missing:
        raise _error(f"{request.name} needs the option {missing[0]}", f"write {request.name}={missing[0]}=...")
    return kind(**values)


def option_name(field_name: str) -> str:
    """The option that a field of a pass stands for; a field that would be a keyword of Python ends in `_`."""
    return field_name.removesuffix("_").replace("_", "-")


def _is_required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _value_of(spelled: str, wanted: object, where: str) -> OptionValue:
    """The value of an option whose field has the type `wanted`; of `T | None`, a `T`."""
    choices = [choice for choice in get_args(wanted) if choice is not type(None)]
    if isinstance(wanted, UnionType) and len(choices) == 1:
        return _value_of(spelled, choices[0], where)
    if wanted is bool:
        if spelled not in _BOOLEANS:
            raise _error(f"{where} is true or false, not {spelled!r}", None)
        return _BOOLEANS[spelled]
    if wanted is int:
        try:
            return int(spelled)
        except ValueError:
            raise _error(f"{where} is an integer, not {spelled!r}", None) from None
    if get_origin(wanted) is tuple:
        return tuple(item for item in spelled.split(",") if item)
    return spelled


def _error(message: str, hint: str | None) -> SdyError:
    return SdyError(Diagnostic("SDY-T004", message, hint=hint))

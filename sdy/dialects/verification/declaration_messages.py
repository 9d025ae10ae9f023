"""Messages about an op that does not match its declaration, in the words of its text instead of those of xDSL."""

from __future__ import annotations

import re
from typing import NamedTuple

from xdsl.dialects.builtin import (
    ArrayAttr,
    ArrayOfConstraint,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    ParamAttrConstraint,
    RangeOf,
    VerificationContext,
)
from xdsl.utils.exceptions import VerifyException

from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.constants.dense import DenseElementsAttr

_COUNT = re.compile(r"Expected (.+), but got (\d+)")
_UNKNOWN = re.compile(r"property '(.+?)' is not defined by the operation")
_KINDS: dict[type[Attribute], str] = {
    ArrayAttr: "a list",
    DenseArrayBase: "an array such as array<i64: 0>",
    DenseElementsAttr: "a constant dense<...> : type",
    DictionaryAttr: "a dictionary",
    FloatAttr: "a float",
    FunctionType: "a function type",
    IntegerAttr: "an integer",
    StringAttr: "a string",
    SymbolRefAttr: "a symbol such as @f",
    UnitAttr: "unit",
}


class Explanation(NamedTuple):
    """A message, without the name of the op, and a hint."""

    message: str
    hint: str | None = None


def explain_mismatch(op: Operation, error: VerifyException) -> Explanation:
    """Return the message for an error that xDSL found when it compared an op with its declaration."""
    text = str(error)
    count = _COUNT.fullmatch(text)
    if count is not None:
        return Explanation(f"expected {count[1]}, got {count[2]}")
    if not isinstance(op, IRDLOperation):
        return Explanation(text)
    declared = op.get_irdl_definition().properties
    unknown = _UNKNOWN.match(text)
    if unknown is not None:
        hint = similar_name_hint(unknown[1], declared) or "write an attribute in {...}, not in <{...}>"
        return Explanation(f"unknown property {unknown[1]}", hint)
    for name, definition in declared.items():
        kind = _kind(definition.constr)
        attr = op.properties.get(name)
        if attr is None and text == f"property '{name}' expected in operation '{op.name}'":
            return Explanation(f"expected property {name}" + (f", {kind}" if kind else ""))
        if attr is not None and kind and _problem(definition.constr, attr) == text:
            return Explanation(f"property {name} must be {kind}, got {attr}")
    return Explanation(text)


def _problem(constraint: AttrConstraint, attr: Attribute) -> str | None:
    try:
        constraint.verify(attr, VerificationContext())
    except VerifyException as error:
        return str(error)
    return None


def _kind(constraint: AttrConstraint) -> str:
    """Return what attributes satisfy a constraint, with an article; empty if no words are known for it."""
    match constraint:
        case BaseAttr(attr=kind):
            return _KINDS.get(kind) or f"a #{kind.name} attribute"
        case ParamAttrConstraint(base_attr=kind, param_constrs=parameters):
            types = [each.attr for each in parameters if isinstance(each, EqAttrConstraint)]
            return _kind_of_type(kind, types[0]) if len(types) == 1 else _KINDS.get(kind, "")
        case AnyOf(attr_constrs=choices):
            kinds = [_kind(choice) for choice in choices]
            return " or ".join(kinds) if all(kinds) else ""
        case MessageConstraint(constr=inner):
            return _kind(inner)
        case ArrayOfConstraint(elem_range_constraint=RangeOf(constr=element)):
            return f"a list, each element {kind}" if (kind := _kind(element)) else ""
        case SymbolNameConstraint():
            return _KINDS[StringAttr]
        case _:
            return ""


def _kind_of_type(kind: type[Attribute], element: Attribute) -> str:
    """Return what attributes of a class have a type, or elements of a type."""
    if kind is IntegerAttr and element == i1:
        return "true or false"
    examples: dict[type[Attribute], str] = {
        IntegerAttr: f"an integer such as 0 : {element}",
        FloatAttr: f"a float such as 1.0 : {element}",
        DenseArrayBase: f"an array such as array<{element}: {'true' if element == i1 else 0}>",
    }
    return examples.get(kind, "")

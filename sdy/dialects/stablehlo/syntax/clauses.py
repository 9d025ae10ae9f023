"""Clauses of the op syntax between operands and types: `dims = [0, 1]`, `distribution = UNIFORM`, `EQ`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from enum import Enum
from typing import Generic, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from sdy.dialects.constants.float_formats import FLOAT_FORMATS, bits_of, float_text
from sdy.dialects.stablehlo.attributes.attrs import parse_int, parse_ints, parse_key
from sdy.dialects.stablehlo.attributes.enums import EnumDataAttr, EnumT

PropertyDict = dict[str, Attribute]


class Clause(ABC):
    """A part of the op syntax that represents one or more properties."""

    properties: tuple[str, ...]
    """The names of the properties that the clause represents."""
    start: str
    """The beginning of the clause, for error messages."""
    is_optional: bool = False
    """True if the clause may be omitted."""
    starts_after_comma: bool = True
    """True if a comma separates the clause from the preceding operand or clause."""

    @abstractmethod
    def parse(self, parser: Parser, into: PropertyDict) -> bool:
        """Parse the clause into `into`. Return False, without consuming text, if the clause does not start here."""

    @abstractmethod
    def text(self, op: Operation) -> str | None:
        """Return the clause of `op`, or None if it is omitted."""


class KeywordClause(Clause):
    """`keyword = value` for the property `name`. Subclasses define the syntax of the value."""

    def __init__(self, keyword: str, name: str, *, is_optional: bool = False) -> None:
        self.keyword = keyword
        self.name = name
        self.is_optional = is_optional
        self.properties = (name,)
        self.start = f"{keyword} ="

    def parse(self, parser: Parser, into: PropertyDict) -> bool:
        if parser.parse_optional_keyword(self.keyword) is None:
            return False
        parser.parse_punctuation("=")
        into[self.name] = self.parse_value(parser)
        return True

    def text(self, op: Operation) -> str | None:
        value = op.properties.get(self.name)
        return None if value is None else f"{self.keyword} = {self.value_text(value)}"

    @abstractmethod
    def parse_value(self, parser: Parser) -> Attribute:
        """Parse the value after the equals sign."""

    @abstractmethod
    def value_text(self, value: Attribute) -> str:
        """Return the value as `parse_value` parses it."""


class IntsClause(KeywordClause):
    """`dims = [0, 1]`: an array of i64."""

    def parse_value(self, parser: Parser) -> Attribute:
        return DenseArrayBase.from_list(i64, parse_ints(parser))

    def value_text(self, value: Attribute) -> str:
        return ints_text(value)


class IntClause(KeywordClause):
    """`dim = 0`: an integer attribute of type i64, or of the type `integer`."""

    def __init__(self, keyword: str, name: str, *, is_optional: bool = False, integer: IntegerType = i64) -> None:
        super().__init__(keyword, name, is_optional=is_optional)
        self.integer = integer

    def parse_value(self, parser: Parser) -> Attribute:
        return IntegerAttr(parse_int(parser), self.integer)

    def value_text(self, value: Attribute) -> str:
        return str(cast(IntegerAttr, value).value.data)


class FloatClause(KeywordClause):
    """`tolerance = 1.000000e-02`: an f64, which is omitted if it is the default."""

    def __init__(self, keyword: str, name: str, *, default: FloatAttr[Float64Type], is_optional: bool = False) -> None:
        super().__init__(keyword, name, is_optional=is_optional)
        self.default = default

    def parse_value(self, parser: Parser) -> Attribute:
        return FloatAttr(float(parser.parse_number(allow_boolean=False)), f64)

    def text(self, op: Operation) -> str | None:
        return None if op.properties.get(self.name) == self.default else super().text(op)

    def value_text(self, value: Attribute) -> str:
        layout = FLOAT_FORMATS["f64"]
        return float_text(bits_of(cast("FloatAttr[Float64Type]", value).value.data, layout), layout)


class BoolClause(KeywordClause):
    """`lower = true`: an i1."""

    def parse_value(self, parser: Parser) -> Attribute:
        return IntegerAttr(int(parser.parse_boolean()), i1)

    def value_text(self, value: Attribute) -> str:
        return "true" if cast(IntegerAttr, value).value.data else "false"


class StringClause(KeywordClause):
    """`config = "ab,bc->ac"`."""

    def parse_value(self, parser: Parser) -> Attribute:
        return StringAttr(parser.parse_str_literal())

    def value_text(self, value: Attribute) -> str:
        return f'"{cast(StringAttr, value).data}"'


class EnumClause(KeywordClause, Generic[EnumT]):
    """`distribution = UNIFORM`: a member of an enum."""

    def __init__(self, keyword: str, name: str, attribute: type[EnumDataAttr[EnumT]]) -> None:
        super().__init__(keyword, name)
        self.attribute = attribute

    def parse_value(self, parser: Parser) -> Attribute:
        return self.attribute(self.attribute.parse_parameter(parser))

    def value_text(self, value: Attribute) -> str:
        return str(cast(EnumDataAttr[Enum], value).data.value)


class BareEnumClause(Clause, Generic[EnumT]):
    """`EQ`: a member of an enum, without a keyword."""

    def __init__(self, name: str, attribute: type[EnumDataAttr[EnumT]], *, is_optional: bool = False) -> None:
        self.name = name
        self.attribute = attribute
        self.is_optional = is_optional
        self.properties = (name,)
        self.start = " or ".join(member.value for member in attribute.ENUM)

    def parse(self, parser: Parser, into: PropertyDict) -> bool:
        into[self.name] = self.attribute(self.attribute.parse_parameter(parser))
        return True

    def text(self, op: Operation) -> str | None:
        value = op.properties.get(self.name)
        return None if value is None else str(cast(EnumDataAttr[Enum], value).data.value)


_FORMAT = re.compile(r"e(\d+)m(\d+)")


class FloatFormatClause(Clause):
    """`format = e5m10`: the numbers of exponent and mantissa bits."""

    properties = ("exponent_bits", "mantissa_bits")
    start = "format ="

    def parse(self, parser: Parser, into: PropertyDict) -> bool:
        parse_key(parser, "format")
        position = parser.pos
        text = parser.parse_identifier()
        match = _FORMAT.fullmatch(text)
        if match is None:
            parser.raise_error(f"expected a float format like e5m10, got {text}", position, parser.pos)
        for name, bits in zip(self.properties, match.groups(), strict=True):
            into[name] = IntegerAttr(int(bits), i32)
        return True

    def text(self, op: Operation) -> str:
        exponent, mantissa = (cast(IntegerAttr, op.properties[name]).value.data for name in self.properties)
        return f"format = e{exponent}m{mantissa}"


def ints_of(value: Attribute) -> tuple[int, ...]:
    """Return the elements of an array of integers, `array<i64: 0, 1>`."""
    return cast("DenseArrayBase[IntegerType]", value).get_values()


def ints_text(value: Attribute) -> str:
    """Return an array of integers as `[0, 1]`."""
    return f"[{', '.join(map(str, ints_of(value)))}]"

"""The `arith` dialect, reduced to the only op that Shardy programs use: constants."""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.text.ssa_names import SuggestsResultNames


@irdl_op_definition
class ConstantOp(StablehloOp, SuggestsResultNames):
    """A number or a tensor given as a literal.

    `arith.constant dense<1.000000e+00> : tensor<2xf32>`
    """

    name = "arith.constant"
    value = prop_def(DenseElementsAttr | IntegerAttr | FloatAttr)
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseElementsAttr | IntegerAttr | FloatAttr):
            parser.raise_error(f"expected a number with a type or dense<...>, got {value}", position, parser.pos)
        constant = cast("DenseElementsAttr | IntegerAttr | FloatAttr", value)
        return cls.create(result_types=[constant.type], properties={"value": constant}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def result_names(self) -> tuple[str]:
        if not isinstance(self.value, IntegerAttr):
            return ("cst",)
        number = self.value.value.data
        match self.value.type:
            case IntegerType(width=width) if width.data == 1:
                return ("true" if number else "false",)
            case IndexType():
                return (f"c{number}",)
            case value_type:
                return (f"c{number}_{value_type}",)


ARITH = Dialect("arith", [ConstantOp], [])

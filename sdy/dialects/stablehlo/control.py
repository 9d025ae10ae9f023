"""Control-flow ops, and the terminator of every StableHLO region."""

from __future__ import annotations

from typing import ClassVar, Self, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect

from sdy.dialects.facts.traits import PassesThrough, RegionOnElements
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.base import OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.regions import check_if_or_case, check_map, check_optimization_barrier, check_while
from sdy.dialects.text.func_syntax import parse_optional_operands, parse_types_of, print_types_of
from sdy.dialects.text.ssa_names import SuggestsArgumentNames


@irdl_op_definition
class ReturnOp(StablehloOp):
    """Terminate a region and return its operands.

    `stablehlo.return %0 : tensor<f32>`
    """

    name = "stablehlo.return"
    inputs = var_operand_def()
    traits = traits_def(Pure(), IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parse_optional_operands(parser)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=parse_types_of(parser, operands), attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        print_types_of(self.operands, printer)


@irdl_op_definition
class WhileOp(StablehloOp, SuggestsArgumentNames):
    """Run `body` repeatedly on the loop values while `cond` returns true.

    `stablehlo.while(%iterArg = %0) : tensor<i32> cond { ... } do { ... }`
    """

    name = "stablehlo.while"
    operand = var_operand_def()
    result = var_result_def()
    cond = region_def("single_block")
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_while,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_binding(parser))
        operands = parse_types_of(parser, [operand for _, operand in pairs])
        types = [operand.type for operand in operands]
        attributes = parser.parse_optional_attr_dict_with_keyword()
        arguments = [name.resolve(value_type) for (name, _), value_type in zip(pairs, types, strict=True)]
        parser.parse_keyword("cond")
        cond = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=types,
            attributes=attributes.data if attributes is not None else {},
            regions=[cond, body],
        )

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            for index, (argument, operand) in enumerate(zip(self.body.block.args, self.operands, strict=True)):
                printer.print_string(", " if index else "")
                printer.print_ssa_value(argument)
                printer.print_string(" = ")
                printer.print_ssa_value(operand)
        print_types_of(self.operands, printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        # The header names the arguments of both regions: xDSL's own printer would give those of `cond` other names.
        names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
        named = zip(self.cond.block.args, self.body.block.args, strict=True)
        names.update((argument, names[like]) for argument, like in named if like in names)
        printer.print_string("\ncond ")
        printer.print_region(self.cond, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.body, print_entry_block_args=False)

    def argument_names(self, count: int) -> list[str]:
        return ["iterArg"] * count


def _parse_binding(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    name = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return name, parser.parse_unresolved_operand()


@irdl_op_definition
class IfOp(StablehloOp):
    """Return the results of `true_branch` if `pred` is true, otherwise those of `false_branch`."""

    name = "stablehlo.if"
    pred = operand_def()
    result = var_result_def()
    true_branch = region_def("single_block")
    false_branch = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_if_or_case,)


@irdl_op_definition
class CaseOp(StablehloOp):
    """Return the results of branch `index`, or of the last branch if `index` is out of range."""

    name = "stablehlo.case"
    index = operand_def()
    result = var_result_def()
    branches = var_region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_if_or_case,)


@irdl_op_definition
class MapOp(StablehloOp):
    """Apply a region to the elements of all inputs at each index."""

    name = "stablehlo.map"
    inputs = var_operand_def()
    dimensions = prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    computation = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), RegionOnElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_map,)


@irdl_op_definition
class OptimizationBarrierOp(StablehloOp):
    """Return the operands, all of which are computed before any result is used.

    `stablehlo.optimization_barrier %0, %1 : tensor<2xf32>, tensor<i32>`
    """

    name = "stablehlo.optimization_barrier"
    operand = var_operand_def()
    result = var_result_def()
    traits = traits_def(Pure(), PassesThrough())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_optimization_barrier,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        operands = parse_types_of(parser, parse_optional_operands(parser))
        if not operands:
            parser.parse_punctuation("(")
            parser.parse_punctuation(")")
        types = [operand.type for operand in operands]
        return cls.create(operands=operands, result_types=types, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        if not self.operands:
            printer.print_string("()")
            return
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        print_types_of(self.operands, printer)


ControlFlowOp: TypeAlias = CaseOp | IfOp | WhileOp  # their regions run on tensors: one of them, or one many times

OPS = declared_ops(__name__)

"""The ops of the `sdy` dialect with a body: manual and named computations.

Source: docs/spec/01, 5.5 and 5.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeAlias, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, RecursivelySpeculatable, RecursiveMemoryEffect

from sdy.dialects.facts.traits import StoresShardings
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.sdy.attrs import ManualAxesAttr, TensorShardingPerValueAttr
from sdy.dialects.sdy.notation import is_at_attribute, read_bracketed
from sdy.dialects.text.func_syntax import create_with_signature
from sdy.dialects.text.location_parser import parse_located_argument
from sdy.grammar.parse import SHARDING_LIST
from sdy.grammar.write import write_sharding_list
from sdy.model.sharding import TensorSharding

_AT_BOUNDARY = StoresShardings(("in_shardings", "out_shardings"))
ComputationT = TypeVar("ComputationT", bound=IRDLOperation)


@irdl_op_definition
class ManualComputationOp(IRDLOperation):
    """Compute on shards along `manual_axes`, and on global tensors along the other axes.

    ```
    %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
        (%arg1: tensor<4xf32>) {
      sdy.return %arg1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```
    """

    name = "sdy.manual_computation"
    tensors = var_operand_def()
    in_shardings = prop_def(TensorShardingPerValueAttr)
    out_shardings = prop_def(TensorShardingPerValueAttr)
    manual_axes = prop_def(ManualAxesAttr)
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect(), _AT_BOUNDARY)

    def __init__(
        self,
        tensors: Sequence[SSAValue],
        in_shardings: tuple[TensorSharding, ...],
        out_shardings: tuple[TensorSharding, ...],
        manual_axes: tuple[str, ...],
        body: Region,
        result_types: Sequence[Attribute],
    ) -> None:
        super().__init__(
            operands=[tensors],
            result_types=[result_types],
            regions=[body],
            properties={
                "in_shardings": TensorShardingPerValueAttr(in_shardings),
                "out_shardings": TensorShardingPerValueAttr(out_shardings),
                "manual_axes": ManualAxesAttr(manual_axes),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_op_args_list()
        properties: dict[str, Attribute] = {
            "in_shardings": _parse_shardings(parser, "in_shardings"),
            "out_shardings": _parse_shardings(parser, "out_shardings"),
        }
        parser.parse_keyword("manual_axes")
        parser.parse_punctuation("=")
        properties["manual_axes"] = ManualAxesAttr(ManualAxesAttr.parse_parameter(parser))
        return _parse_rest(cls, parser, operands, properties)

    def print(self, printer: Printer) -> None:
        printer.print_operands(self.tensors)
        _print_shardings(printer, "in_shardings", self.in_shardings)
        _print_shardings(printer, "out_shardings", self.out_shardings)
        printer.print_string(" manual_axes=")
        self.manual_axes.print_parameter(printer)
        _print_rest(self, printer)


class ShardedBodyOp(IRDLOperation):
    """Base class of ops whose body takes the operands and returns the results, and that store shardings of both."""

    in_shardings = opt_prop_def(TensorShardingPerValueAttr)
    out_shardings = opt_prop_def(TensorShardingPerValueAttr)
    body = region_def("single_block")


class CarryingLoopOp(IRDLOperation):
    """Base class of loops whose body takes the carried values, and perhaps an index after them, and returns them."""

    body = region_def("single_block")


@irdl_op_definition
class NamedComputationOp(ShardedBodyOp):
    """A named part of the program. Propagation treats it as if its body were inlined.

    ```
    %0 = sdy.named_computation<"block">(%a) in_shardings=[<@m, [{"x"}]>] (%arg1: tensor<8xf32>) {
      sdy.return %arg1 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```
    """

    name = "sdy.named_computation"
    computation_name = prop_def(StringAttr, prop_name="name")
    tensors = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(
        IsolatedFromAbove(),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        _AT_BOUNDARY,
    )

    def __init__(
        self,
        computation_name: str,
        tensors: Sequence[SSAValue],
        body: Region,
        result_types: Sequence[Attribute],
        in_shardings: tuple[TensorSharding, ...] | None = None,
        out_shardings: tuple[TensorSharding, ...] | None = None,
    ) -> None:
        super().__init__(
            operands=[tensors],
            result_types=[result_types],
            regions=[body],
            properties={
                "name": StringAttr(computation_name),
                "in_shardings": None if in_shardings is None else TensorShardingPerValueAttr(in_shardings),
                "out_shardings": None if out_shardings is None else TensorShardingPerValueAttr(out_shardings),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        with parser.in_angle_brackets():
            properties: dict[str, Attribute] = {"name": StringAttr(parser.parse_str_literal())}
        operands = parser.parse_op_args_list()
        for keyword in ("in_shardings", "out_shardings"):
            shardings = _parse_optional_shardings(parser, keyword)
            if shardings is not None:
                properties[keyword] = shardings
        return _parse_rest(cls, parser, operands, properties)

    def print(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.computation_name.data)
        printer.print_operands(self.tensors)
        for keyword, shardings in (("in_shardings", self.in_shardings), ("out_shardings", self.out_shardings)):
            if shardings is not None:
                _print_shardings(printer, keyword, shardings)
        _print_rest(self, printer)


def _parse_shardings(parser: Parser, keyword: str) -> TensorShardingPerValueAttr:
    shardings = _parse_optional_shardings(parser, keyword)
    if shardings is None:
        parser.raise_error(f"expected {keyword}=[...]")
    return shardings


def _parse_optional_shardings(parser: Parser, keyword: str) -> TensorShardingPerValueAttr | None:
    """Parse `keyword=[<...>, <...>]`; return None if the keyword is missing."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    parser.parse_punctuation("=")
    if is_at_attribute(parser):
        parser.raise_error("expected a list of shardings in square brackets")
    return TensorShardingPerValueAttr(read_bracketed(parser, SHARDING_LIST))


def _parse_rest(
    cls: type[ComputationT], parser: Parser, operands: list[UnresolvedOperand], properties: dict[str, Attribute]
) -> ComputationT:
    """Parse `(%arg: T) { ... } {attributes} : (T) -> T` and create the op."""
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_located_argument(parser))
    body = parser.parse_region(arguments)
    attributes = parser.parse_optional_attr_dict()
    return create_with_signature(cls, parser, operands, properties, attributes, [body])


def _print_shardings(printer: Printer, keyword: str, shardings: TensorShardingPerValueAttr) -> None:
    printer.print_string(f" {keyword}={write_sharding_list(shardings.data)}")


def _print_rest(op: ManualComputationOp | NamedComputationOp, printer: Printer) -> None:
    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(op.body.block.args, printer.print_block_argument)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_function_type(op.tensors.types, op.outputs.types)


ComputationOp: TypeAlias = ManualComputationOp | ShardedBodyOp

OPS = declared_ops(__name__)

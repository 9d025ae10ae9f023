"""The ops of the dialect `mpmd` with a body: named computations, fragments and loops. Source: docs/spec/07, 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, TensorType, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyOf,
    BaseAttr,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, RecursivelySpeculatable, RecursiveMemoryEffect

from sdy.dialects.facts.traits import DividesItsShardings, StoresShardings, terminator_of
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.sdy.regions import CarryingLoopOp, ShardedBodyOp
from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.dialects.text.ssa_names import SuggestsArgumentNames
from sdy.mpmd.dialect.attrs import UserOrigin, UserOriginAttr
from sdy.mpmd.dialect.functions import check_count, check_values, failure
from sdy.mpmd.dialect.ops import CALL_COUNTER, CanonicalizedByMpmd, ui32
from sdy.mpmd.dialect.syntax import OnMeshOp, RegionOp, fragment_header, parse_fragment_header
from sdy.mpmd.dialect.types import MeshTensorType

CONTROL_START = "mpmd.control_operand_start_idx"
INFERRED_BY = "mpmd.inferred_by"
_LOCAL_OR_TOKEN = AnyOf((BaseAttr(TensorType), BaseAttr(TokenType)))
_MESH_OR_TOKEN = AnyOf((BaseAttr(MeshTensorType), BaseAttr(TokenType)))


@irdl_op_definition
class NamedComputationOp(RegionOp):
    """A part of the program to which the user gave a name.

    ```
    %1 = mpmd.named_computation<"f"(1)> (%0) (%arg1: tensor<8xf32>) {
      mpmd.return %arg1 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```
    """

    name = "mpmd.named_computation"
    origin = prop_def(UserOriginAttr)
    tensors = var_operand_def(_LOCAL_OR_TOKEN)
    body = region_def("single_block")
    outputs = var_result_def(_LOCAL_OR_TOKEN)
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect(), RecursivelySpeculatable())

    def verify_(self) -> None:
        super().verify_()
        returned = terminator_of(self.body)
        check_values(self, ("operand", "argument"), list(self.operand_types), self.body.block.arg_types)
        check_values(self, ("result", "returned value"), list(self.result_types), list(returned.operand_types))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_region_op(parser, {"origin": UserOriginAttr(UserOriginAttr.parse_parameter(parser))})

    def print(self, printer: Printer) -> None:
        self.origin.print_parameter(printer)
        self.print_region_op(printer)


@irdl_op_definition
class FragmentOp(RegionOp, OnMeshOp, ShardedBodyOp):
    """A part of the program that runs on one mesh. Its body computes on global tensors.

    ```
    %1 = mpmd.fragment<mesh="m1", origin=["f"], stage=1> (%0) (%arg1: tensor<8xf32>) {
      mpmd.return %arg1 : tensor<8xf32>
    } : (!mpmd.mesh_tensor<"m1", tensor<8xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<8xf32>>
    ```
    """

    name = "mpmd.fragment"
    inputs = var_operand_def(_MESH_OR_TOKEN)
    stage_id = opt_prop_def(IntegerAttr.constr(i64))
    outputs = var_result_def(_MESH_OR_TOKEN)
    traits = traits_def(
        IsolatedFromAbove(),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        StoresShardings(("in_shardings", "out_shardings")),
        DividesItsShardings(),
        CanonicalizedByMpmd(),
    )

    @staticmethod
    def make(
        mesh: str,
        origins: Sequence[UserOrigin],
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region | None = None,
        *,
        stage: int | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> FragmentOp:
        """Return a fragment; without a body, one whose body has an argument per input, and no ops."""
        if body is None:
            types = [each.type.tensor if isinstance(each.type, MeshTensorType) else each.type for each in inputs]
            body = Region(Block(arg_types=types))
        properties: dict[str, Attribute] = {
            "mesh_name": StringAttr(mesh),
            "origin": ArrayAttr(map(UserOriginAttr, origins)),
        }
        if stage is not None:
            properties["stage_id"] = IntegerAttr(stage, i64)
        return FragmentOp.create(
            operands=inputs,
            result_types=result_types,
            properties=properties,
            attributes=attributes or {},
            regions=[body],
        )

    @property
    def is_user_fragment(self) -> bool:
        """Return whether the fragment contains a named computation; others were made by the compiler."""
        return bool(self.origin.data)

    @property
    def stage(self) -> int | None:
        """The stage that the user tied to the name."""
        return None if self.stage_id is None else self.stage_id.value.data

    @property
    def call_counter(self) -> int | None:
        """The number of the microbatch. Raises: SdyError SDY-M002 if it is not a ui32."""
        counter = self.attributes.get(CALL_COUNTER)
        if counter is None:
            return None
        if not isinstance(counter, IntegerAttr) or counter.type != ui32:
            raise failure(self, "SDY-M002", f"{self.name}: {CALL_COUNTER} must be a ui32, got {counter}")
        return counter.value.data

    @property
    def block(self) -> Block:
        """The block of the body."""
        return self.body.block

    @property
    def returned(self) -> Sequence[SSAValue]:
        """The values that the body returns."""
        return terminator_of(self.body).operands

    @property
    def data_operand_count(self) -> int:
        """The number of operands without the control operands at the end, which only order fragments."""
        start = self.attributes.get(CONTROL_START)
        return start.value.data if isinstance(start, IntegerAttr) else len(self.operands)

    def verify_(self) -> None:
        super().verify_()
        if not isinstance(self.parent_op(), FuncOp | ForOp):
            raise failure(self, "SDY-M002", f"{self.name}: expected func.func or mpmd.for as the parent op")
        inputs = list(self.operand_types)[: self.data_operand_count]
        returned = [value.type for value in self.returned]
        check_values(self, ("operand", "argument"), inputs, self.block.arg_types, self.mesh)
        check_values(self, ("result", "returned value"), list(self.result_types), returned, self.mesh)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_region_op(parser, parse_fragment_header(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(fragment_header(self.properties))
        self.print_region_op(printer)


@irdl_op_definition
class ForOp(RegionOp, CarryingLoopOp, SuggestsArgumentNames):
    """A loop with a fixed number of iterations, whose body gets the carried values and the index.

    ```
    %1 = mpmd.for (%0) {iterations = 3 : ui32} (%arg1: tensor<8xf32>, %index: tensor<ui32>) {
      mpmd.return %arg1 : tensor<8xf32>
    } : tensor<8xf32>
    ```
    """

    name = "mpmd.for"
    tensors = var_operand_def()
    iterations = prop_def(IntegerAttr.constr(ui32))
    unroll_factor = opt_prop_def(IntegerAttr.constr(ui32))
    outputs = var_result_def()
    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    def argument_names(self, count: int) -> Sequence[str]:
        """Return the name of the last argument, which is the index; the others have no special names."""
        return [*[""] * (count - 1), "index"][:count]

    def verify_(self) -> None:
        super().verify_()
        arguments, returned = self.body.block.arg_types, list(terminator_of(self.body).operand_types)
        operands = list(self.operand_types)
        check_count(self, ("operand or index", "argument"), [*operands, "index"], arguments)
        check_values(self, ("operand", "argument"), operands, arguments[:-1])
        index = arguments[-1]
        if isinstance(index, TensorType) and not _is_index(cast("TensorType[Attribute]", index)):
            message = f"{self.name}: the index must have the type tensor<i32> or tensor<ui32>, got {index}"
            raise failure(self, "SDY-M002", message)
        check_values(self, ("operand", "returned value"), operands, returned)
        check_values(self, ("operand", "result"), operands, list(self.result_types))
        if len({type(each) for each in operands}) > 1:
            raise failure(self, "SDY-M002", f"{self.name}: all operands must be of one kind, tensors or mesh tensors")
        count = self.iterations.value.data
        if count < 1:
            raise failure(self, "SDY-M002", f"{self.name}: expected 1 or more iterations, got {count}")
        factor = None if self.unroll_factor is None else self.unroll_factor.value.data
        if factor is not None and (factor == 0 or count % factor):
            message = f"{self.name}: the number of iterations, {count}, must be divisible by unroll_factor, {factor}"
            raise failure(self, "SDY-M002", message)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_region_op(parser, {})

    @classmethod
    def parse_types(cls, parser: Parser) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Parse the types of the results, which are those of the operands."""
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return types, types

    def print(self, printer: Printer) -> None:
        self.print_region_op(printer, self.properties)

    def print_types(self, printer: Printer) -> None:
        """Print what `parse_types` reads."""
        printer.print_list(self.result_types, printer.print_attribute)


def _is_index(index: TensorType[Attribute]) -> bool:
    return index.get_num_dims() == 0 and index.element_type in (i32, ui32)


OPS = declared_ops(__name__)

"""The ops of the `sdy` dialect on single values, and the mesh op.

The collectives are in `collectives`, the ops with a body in `regions`; verification is in `dialects.verification`.
Source: docs/spec/01, 5.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolNameConstraint, TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, ReturnLike, SymbolOpInterface

from sdy.dialects.facts.traits import Generates, PassesThrough, StoresShardings
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.sdy.attrs import MeshAttr, TensorShardingAttr
from sdy.dialects.sdy.declared_syntax import DeclaredSyntaxOp
from sdy.dialects.sdy.enums import BarrierDirection, enum_attr
from sdy.dialects.sdy.types import Shaped
from sdy.dialects.stablehlo.syntax.op_syntax import parse_explicit_constant
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


@irdl_op_definition
class MeshOp(DeclaredSyntaxOp):
    """Define a mesh for the shardings of the module.

    `sdy.mesh @mesh = <["x"=2, "y"=4]>`
    """

    name = "sdy.mesh"
    sym_name = prop_def(SymbolNameConstraint())
    mesh = prop_def(MeshAttr)
    traits = traits_def(SymbolOpInterface())
    SYNTAX: ClassVar[str] = "$sym_name `=` $mesh attr-dict"

    def __init__(self, name: str, mesh: Mesh) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), "mesh": MeshAttr(mesh)})


class AnnotatingOp(DeclaredSyntaxOp, ABC):
    """Base class of ops that give a sharding to their result, which has the value of `input`."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    input = operand_def(T)
    sharding = prop_def(TensorShardingAttr)
    result = result_def(T)
    traits = traits_def(PassesThrough(), StoresShardings(("sharding",)))
    SYNTAX: ClassVar[str] = "$input $sharding attr-dict `:` type($result)"

    def __init__(self, value: SSAValue, sharding: TensorSharding) -> None:
        super().__init__(
            operands=[value], result_types=[value.type], properties={"sharding": TensorShardingAttr(sharding)}
        )


@irdl_op_definition
class ShardingConstraintOp(AnnotatingOp):
    """Require a sharding of `input`: at the uses of the result, or everywhere if the result has no uses.

    `%1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]> : tensor<8x8xf32>`
    """

    name = "sdy.sharding_constraint"


@irdl_op_definition
class ReshardOp(AnnotatingOp):
    """Change the sharding of `input`; the global value does not change.

    `%1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>`
    """

    name = "sdy.reshard"
    traits = traits_def(Pure())


@irdl_op_definition
class ReturnOp(DeclaredSyntaxOp):
    """Terminate the body of a manual or named computation.

    `sdy.return %0, %1 : tensor<8xf32>, tensor<4xf32>`
    """

    name = "sdy.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())
    SYNTAX: ClassVar[str] = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class ShardingGroupOp(DeclaredSyntaxOp):
    """Add `input` to a group of tensors that must have the same sharding.

    `sdy.sharding_group %0 group_id=4 : tensor<8x8xf32>`
    """

    name = "sdy.sharding_group"
    input = operand_def(BaseAttr(TensorType))
    group_id = prop_def(IntegerAttr.constr(i64))
    SYNTAX: ClassVar[str] = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)"

    def __init__(self, value: SSAValue, group_id: int) -> None:
        super().__init__(operands=[value], properties={"group_id": IntegerAttr(group_id, i64)})


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant that is not merged with equal constants, so that each use can be sharded differently.

    `%0 = sdy.constant dense<1.0> : tensor<8x8xf32>`
    """

    name = "sdy.constant"
    value = prop_def()
    result = result_def(BaseAttr(TensorType))
    traits = traits_def(Pure(), Generates())

    def __init__(self, value: Attribute, result_type: Attribute | None = None) -> None:
        super().__init__(result_types=[result_type or type_of_elements(value)], properties={"value": value})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_punctuation("(") is not None:
            return parse_explicit_constant(cls, parser)
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = parser.parse_attribute()
        value_type = type_of_elements(value)
        if value_type is None:
            parser.raise_error("expected an attribute with a type, such as dense<0> : tensor<i32>", start, parser.pos)
        return cls.create(result_types=[value_type], properties={"value": value}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if type_of_elements(self.value) != self.result.type:
            printer.print_op_with_default_format(self)
            return
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


def type_of_elements(value: Attribute) -> Attribute | None:
    """Return the type of an attribute that holds the elements of a tensor, or None if it has no type."""
    value_type = getattr(value, "type", None)
    return value_type if isinstance(value_type, Attribute) else None


@irdl_op_definition
class DataFlowEdgeOp(DeclaredSyntaxOp):
    """Represent a data flow edge whose owner is `input`, and store the sharding of all its values.

    `%1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]> : tensor<8xf32>`
    """

    name = "sdy.data_flow_edge"
    T: ClassVar = VarConstraint("T", Shaped)
    input = operand_def(T)
    sharding = opt_prop_def(TensorShardingAttr)
    result = result_def(T)
    traits = traits_def(PassesThrough(), StoresShardings(("sharding",)))
    SYNTAX: ClassVar[str] = "$input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)"

    def __init__(self, value: SSAValue, sharding: TensorSharding | None = None) -> None:
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={"sharding": None if sharding is None else TensorShardingAttr(sharding)},
        )


@irdl_op_definition
class FuncDataFlowEdgeOp(DeclaredSyntaxOp):
    """Represent the data flow edge between a call and its callee; the sharding is stored in `sdy.sharding`.

    `%1 = sdy.func_data_flow_edge %arg0 : tensor<8xf32>`
    """

    name = "sdy.func_data_flow_edge"
    T: ClassVar = VarConstraint("T", Shaped)
    input = operand_def(T)
    result = result_def(T)
    traits = traits_def(PassesThrough())
    SYNTAX: ClassVar[str] = "$input attr-dict `:` type($result)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class PropagationBarrierOp(DeclaredSyntaxOp):
    """Allow propagation only in `allowed_direction`: FORWARD is from operand to result.

    `%1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8xf32>`
    """

    name = "sdy.propagation_barrier"
    T: ClassVar = VarConstraint("T", BaseAttr(TensorType))
    input = operand_def(T)
    allowed_direction = prop_def(IntegerAttr.constr(i32))
    result = result_def(T)
    traits = traits_def(Pure(), PassesThrough())
    SYNTAX: ClassVar[str] = (
        "$input `allowed_direction` `` `=` `` custom<BarrierDirectionDirective>($allowed_direction) "
        "attr-dict `:` type($result)"
    )

    def __init__(self, value: SSAValue, allowed_direction: BarrierDirection) -> None:
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={"allowed_direction": enum_attr(allowed_direction)},
        )


OPS = declared_ops(__name__)

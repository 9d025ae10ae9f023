"""Verification rules of each op of the `sdy` dialect that its declaration cannot express.

`check_structure` runs when the walk visits an op, `check_use` after all ops of the module have a valid structure.
Source: docs/spec/01, 5.1 to 5.11; the letters in docstrings are the rules of that chapter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation

from sdy.diagnostics.diagnostic import Note
from sdy.dialects.data_flow import has_data_flow_edges
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.sdy import collectives
from sdy.dialects.sdy.enums import BarrierDirection, enum_value
from sdy.dialects.sdy.ops import (
    ConstantOp,
    DataFlowEdgeOp,
    FuncDataFlowEdgeOp,
    MeshOp,
    PropagationBarrierOp,
    ReshardOp,
    ShardingConstraintOp,
    type_of_elements,
)
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.sdy.types import value_shape
from sdy.dialects.shardings import sharding_before_barriers
from sdy.dialects.verification.sdy_collectives import check_collective, check_collective_structure
from sdy.dialects.verification.sdy_regions import (
    check_manual,
    check_manual_axes_not_nested,
    check_named,
    check_named_results,
)
from sdy.dialects.verification.sdy_scope import Scope, failure, raise_problem
from sdy.model.checks.check_sharding import check_unreduced_transition
from sdy.model.shape import Shapeless
from sdy.model.sharding import ReductionKind


def check_structure(op: Operation, scope: Scope) -> None:
    """Check the rules of phase B for an op of `STRUCTURE_RULES`."""
    STRUCTURE_RULES[type(op)](op, scope)


def check_use(op: Operation, scope: Scope) -> None:
    """Check the rules of phase C for an op of `USE_RULES`."""
    USE_RULES[type(op)](op, scope)


def _check_mesh(op: MeshOp) -> None:
    if not isinstance(op.parent_op(), ModuleOp):
        raise failure(op, "SDY-D101", "a mesh must be directly inside a module")


def _check_constant(op: ConstantOp) -> None:
    value_type, shape = type_of_elements(op.value), value_shape(op.result.type)
    if isinstance(shape, Shapeless) or None in shape:
        raise failure(op, "SDY-D142", f"expected a result type with a static shape, got {op.result.type}")
    if value_type != op.result.type and not _is_quantized_form_of(op.result.type, value_type):
        raise failure(
            op, "SDY-D142", f"value and result must have the same type, got {value_type} and {op.result.type}"
        )


def _is_quantized_form_of(quantized: Attribute, stored: Attribute | None) -> bool:
    """Return whether `stored` is the storage type of the quantized tensor type `quantized`."""
    if not isinstance(quantized, TensorType) or not isinstance(stored, TensorType):
        return False
    storage = str(cast("TensorType[Attribute]", stored).element_type).lstrip("sui")
    text = str(cast("TensorType[Attribute]", quantized).element_type)
    return quantized.get_shape() == stored.get_shape() and bool(re.match(rf"!quant\.uniform<[iu]{storage}\b", text))


def _check_barrier(op: PropagationBarrierOp) -> None:
    """Check rule PB1."""
    direction = enum_value(op.allowed_direction, BarrierDirection)
    if direction is None:
        raise failure(op, "SDY-D143", f"{op.allowed_direction.value.data} is not a valid direction")
    if direction is BarrierDirection.BOTH:
        raise failure(op, "SDY-D141", "allowed_direction must not be BOTH: such a barrier has no effect")


def _check_reshard(op: ShardingConstraintOp | ReshardOp, scope: Scope) -> None:
    """Check rules SC1 and SC2, or RS1 and RS2."""
    sharding = op.sharding.data
    scope.require_fits(op, sharding, op.result.type)
    old_sharding = sharding_before_barriers(op.input)
    if old_sharding is not None:
        raise_problem(
            check_unreduced_transition(
                [old_sharding],
                [sharding],
                scope.meshes,
                introduced_by=ReductionKind.SUM,
                removed_by=old_sharding.unreduced_kind,
            ),
            op,
        )


def _check_data_flow_edge(op: DataFlowEdgeOp, scope: Scope) -> None:
    """Check rules DE1 to DE4."""
    _check_edge(op)
    producer = op.input.owner
    if isinstance(producer, Operation) and producer.name.startswith("sdy.") and not has_data_flow_edges(producer):
        note = Note(f"{producer.name} has no data flow edges", span_of(producer))
        message = f"the operand must be a result of an op with data flow edges, got {producer.name}"
        raise failure(op, "SDY-D133", message, notes=(note,))
    if op.sharding is not None:
        scope.require_fits(op, op.sharding.data, op.result.type)


def _check_func_data_flow_edge(op: FuncDataFlowEdgeOp) -> None:
    """Check rules FE1 to FE4."""
    _check_edge(op)
    if isinstance(op.input, BlockArgument):
        owner = op.input.owner.parent_op()
        if not isinstance(owner, FuncOp):
            actual = "nothing" if owner is None else owner.name
            raise failure(op, "SDY-D134", f"expected an argument of func.func, got a block argument of {actual}")
    elif not isinstance(op.input.owner, CallOp):
        assert not isinstance(op.input.owner, Block)
        raise failure(op, "SDY-D134", f"expected a result of func.call, got a result of {op.input.owner.name}")


def _check_edge(op: DataFlowEdgeOp | FuncDataFlowEdgeOp) -> None:
    """Check rules DE1 and DE2, or FE1 and FE2."""
    shape = value_shape(op.result.type)
    if isinstance(shape, Shapeless) or None in shape:
        raise failure(op, "SDY-D131", f"expected a type with a static shape, got {op.result.type}")
    if not op.input.has_one_use():
        raise failure(op, "SDY-D132", f"the operand must have one use, got {op.input.uses.get_length()}")


def _any_scope(check: Callable[[Any], None]) -> Callable[[Any, Scope], None]:
    return lambda op, _: check(op)


# Each function takes ops of its class.
STRUCTURE_RULES: dict[type[Operation], Callable[[Any, Scope], None]] = {
    MeshOp: _any_scope(_check_mesh),
    ConstantOp: _any_scope(_check_constant),
    PropagationBarrierOp: _any_scope(_check_barrier),
    ManualComputationOp: check_manual_axes_not_nested,
    NamedComputationOp: _any_scope(check_named_results),
    **dict.fromkeys(collectives.OPS, check_collective_structure),
}
USE_RULES: dict[type[Operation], Callable[[Any, Scope], None]] = {
    ShardingConstraintOp: _check_reshard,
    ReshardOp: _check_reshard,
    ManualComputationOp: check_manual,
    NamedComputationOp: check_named,
    DataFlowEdgeOp: _check_data_flow_edge,
    FuncDataFlowEdgeOp: _any_scope(_check_func_data_flow_edge),
    **dict.fromkeys(collectives.OPS, check_collective),
}

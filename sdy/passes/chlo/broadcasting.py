"""CHLO ops that broadcast their operands: `broadcast_in_dim` for each operand that needs it, then the plain op."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from sdy.dialects.chlo import broadcast as ops
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise as plain
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirectionAttr, ComparisonTypeAttr
from sdy.dialects.stablehlo.attributes.types import element_type_of, rank_of, shape_of
from sdy.dialects.stablehlo.shape import BroadcastInDimOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.passes.chlo.expansion import Expansion
from sdy.passes.chlo.traced import Recorder

EXPANSIONS = OpTable[Expansion]()


@EXPANSIONS.of(ops.BroadcastCompareOp)
def compare_after_broadcast(op: ops.BroadcastCompareOp) -> Expansion:
    """Broadcast the operands and compare them, with StableHLO's own attributes for direction and order."""
    properties: dict[str, Attribute] = {"comparison_direction": ComparisonDirectionAttr(op.comparison_direction.data)}
    if op.compare_type is not None:
        properties["compare_type"] = ComparisonTypeAttr(op.compare_type.data)

    def expand(recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [recorder.value(plain.CompareOp, operands, op.results[0].type, properties)]

    return expand


@EXPANSIONS.of(*(each for each in ops.OPS if ops.plain_op(each) and each is not ops.BroadcastCompareOp))
def after_broadcast(op: Operation) -> Expansion:
    """Broadcast the operands and apply the plain op, with the attributes other than the dims."""
    properties = {name: value for name, value in op.properties.items() if name != "broadcast_dimensions"}
    plain_class = ops.plain_op(type(op))
    assert plain_class is not None

    def expand(recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [recorder.value(plain_class, operands, op.results[0].type, properties)]

    return expand


def operands_in_one_shape(op: Operation) -> list[SSAValue]:
    """Return the operands of `op`, broadcast to the shape of its result if the op broadcasts."""
    operands = list(operands_of(op))
    if not op.name.startswith("chlo.broadcast_"):
        return operands
    recorder, target = Recorder(op, element_type_of(operands[-1])), shape_of(op.results[0])
    given = op.properties.get("broadcast_dimensions")
    return [_broadcast(recorder, operand, target, given) for operand in operands]


def _broadcast(recorder: Recorder, operand: SSAValue, target: Sequence[int], given: Attribute | None) -> SSAValue:
    rank = rank_of(operand)
    if tuple(shape_of(operand)) == tuple(target):
        return operand
    # Dims are matched from the last one, unless the op lists the dims of the smaller operand.
    dims = ints_of(given) if given is not None and rank < len(target) else range(len(target) - rank, len(target))
    properties = {"broadcast_dimensions": DenseArrayBase.from_list(i64, list(dims))}
    return recorder.value(
        BroadcastInDimOp, [operand], TensorType(element_type_of(operand), list(target)), {**properties}
    )

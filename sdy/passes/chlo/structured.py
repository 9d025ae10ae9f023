"""CHLO ops that are not elementwise: constants and top_k."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from sdy.dialects.chlo import structured as ops
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.enums import (
    ComparisonDirection,
    ComparisonDirectionAttr,
    ComparisonType,
    ComparisonTypeAttr,
)
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.dialects.stablehlo.elementwise import CompareOp
from sdy.dialects.stablehlo.linalg import SortOp
from sdy.dialects.stablehlo.shape import ConstantOp, IotaOp
from sdy.dialects.stablehlo.slicing import SliceOp
from sdy.passes.chlo.expansion import Expansion
from sdy.passes.chlo.traced import Recorder

EXPANSIONS = OpTable[Expansion]()


@EXPANSIONS.of(ops.ConstantOp)
def constant(op: ops.ConstantOp) -> Expansion:
    """Replace by `stablehlo.constant`."""
    return lambda recorder, _: [recorder.value(ConstantOp, [], op.results[0].type, {"value": op.value})]


@EXPANSIONS.of(ops.ConstantLikeOp)
def constant_like(op: ops.ConstantLikeOp) -> Expansion:
    """Replace by a constant of the operand's shape."""
    tensor = TensorType(element_type_of(op.result), list(shape_of(op.result)))
    value = op.value.value.data
    return lambda recorder, _: [recorder.constant(tensor, value)]


@EXPANSIONS.of(ops.TopKOp)
def top_k(op: ops.TopKOp) -> Expansion:
    """Sort all elements with their indices in descending order, and slice the first k; NaN is the largest."""

    def expand(recorder: Recorder, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        last = len(shape_of(op.operand)) - 1
        places_type = TensorType(element_type_of(op.indices), list(shape_of(op.operand)))
        indices = recorder.value(IotaOp, [], places_type, {"iota_dimension": IntegerAttr(last, i64)})
        element = element_type_of(op.operand)
        properties: dict[str, Attribute] = {"dimension": IntegerAttr(last, i64), "is_stable": IntegerAttr(1, i1)}
        types = [op.operand.type, places_type]
        comparator = _larger_first(element, element_type_of(op.indices))
        ordered = recorder.op(SortOp, [*operands, indices], types, properties, [comparator])
        return [
            recorder.value(SliceOp, [value], result.type, _first(shape_of(result)))
            for value, result in zip(ordered.results, op.results, strict=True)
        ]

    return expand


def _first(sizes: Sequence[int]) -> dict[str, Attribute]:
    """Return the properties of a slice that starts at 0 in each dim."""
    return {
        "start_indices": DenseArrayBase.from_list(i64, [0] * len(sizes)),
        "limit_indices": DenseArrayBase.from_list(i64, list(sizes)),
        "strides": DenseArrayBase.from_list(i64, [1] * len(sizes)),
    }


def _larger_first(element: Attribute, index_type: Attribute) -> Region:
    scalar, number = TensorType(element, []), TensorType(index_type, [])
    block = Block(arg_types=[scalar, scalar, number, number])
    properties: dict[str, Attribute] = {"comparison_direction": ComparisonDirectionAttr(ComparisonDirection.GT)}
    if not isinstance(element, IntegerType):
        properties["compare_type"] = ComparisonTypeAttr(ComparisonType.TOTALORDER)
    compare = CompareOp.create(operands=block.args[:2], result_types=[TensorType(i1, [])], properties=properties)
    block.add_ops([compare, ReturnOp.create(operands=compare.results)])
    return Region(block)

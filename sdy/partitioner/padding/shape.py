"""Padding of constants, and of ops that look at the sizes of dims.

Source: docs/spec/06, 8.2 (G40).
"""

from __future__ import annotations

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo import calls, shape
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import ints, tensor_of
from sdy.partitioner.padding.padder import Padder, Rule, Sizes, constant_with, is_static

RULES = OpTable[Rule]()


@RULES.of(SdyConstantOp, shape.ConstantOp)
def constant(op: SdyConstantOp | shape.ConstantOp) -> Rule:
    """More elements: zeros, or more of the same."""

    def pad(padder: Padder) -> None:
        (result,) = op.results
        elements = op.properties["value"]
        if not is_static(result) or not isinstance(elements, DenseElementsAttr):
            return
        even = padder.wanted(result)
        if even != shape_of(result):
            op.properties["value"] = constant_with(elements, even)
            is_zero = not elements.is_splat or not any(elements.data.raw)
            padder.resize(result, even, is_zero=is_zero)

    return pad


@RULES.of(shape.ReshapeOp)
def reshape(op: shape.ReshapeOp) -> Rule:
    """Padding stays at the end of a dim only where the dims before and behind it stay as they are."""

    def pad(padder: Padder) -> None:
        even = padder.wanted(op.result)
        true_sizes, own = padder.true_sizes(op.operand), shape_of(op.operand)
        if _strides(own, true_sizes) == _strides(even, shape_of(op.result)):
            padder.resize(op.result, even)
        else:
            padder.compute_whole(op)

    return pad


def _strides(padded: Sizes, true: Sizes) -> tuple[int, list[Sizes]]:
    """How many elements there are, and how many there are, and truly are, up to each padded dim from the minor end."""
    inner = 1
    found: list[Sizes] = []
    for size, own in zip(reversed(padded), reversed(true), strict=True):
        if size != own:
            found.append((inner * size, inner * own))
        inner *= size
    return inner, found


@RULES.of(shape.BroadcastOp)
def broadcast(op: shape.BroadcastOp) -> Rule:
    """The op says how large new dims are."""
    new = len(ints_of(op.broadcast_sizes))

    def pad(padder: Padder) -> None:
        even = padder.wanted(op.result)
        if even[new:] == shape_of(op.operand):
            op.broadcast_sizes = ints(even[:new])
            padder.resize(op.result, even)
        else:
            padder.compute_whole(op)

    return pad


@RULES.of(shape.ReverseOp)
def reverse(op: shape.ReverseOp) -> Rule:
    """Padding must not come to lie at the front."""

    def pad(padder: Padder) -> None:
        if set(ints_of(op.dimensions)).intersection(padder.padded_dims(op.operand)):
            padder.compute_whole(op)
        else:
            padder.make_even(op.results)

    return pad


@RULES.of(calls.CustomCallOp)
def custom_call(op: calls.CustomCallOp) -> Rule:
    """Nobody knows what a custom call makes of padding."""

    def pad(padder: Padder) -> None:
        is_uneven = any(is_static(value) and padder.wanted(value) != shape_of(value) for value in op.results)
        if is_uneven or any(padder.is_padded(value) for value in op.operands):
            padder.compute_whole(op)

    return pad


@RULES.of(shape.GetDimensionSizeOp)
def get_dimension_size(op: shape.GetDimensionSizeOp) -> Rule:
    """The size without the padding."""

    def pad(padder: Padder) -> None:
        if padder.is_padded(op.operand):
            size = padder.true_sizes(op.operand)[op.dimension.value.data]
            padder.replace(op, padder.emitter(op).constant(tensor_of(op.result), [size]))

    return pad

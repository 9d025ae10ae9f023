"""Padding rules of constants and of ops that depend on the sizes of dims.

Source: docs/spec/06, 8.2 (G40).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.stablehlo import calls, shape
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.shape import StaticShape
from sdy.partitioner.emit.emitter import ints, tensor_of
from sdy.partitioner.padding.compute_unpadded import compute_unpadded
from sdy.partitioner.padding.facts import is_static
from sdy.partitioner.padding.padder import Padder

RULES = OpTable[None, [Padder]]()


@RULES.of(SdyConstantOp, shape.ConstantOp)
def constant(op: SdyConstantOp | shape.ConstantOp, padder: Padder) -> None:
    """Enlarge the constant: a splat stays a splat, other constants get zeros."""
    (result,) = op.results
    elements = op.properties["value"]
    if not is_static(result) or not isinstance(elements, DenseElementsAttr):
        return
    even = padder.facts.target_sizes(result)
    if even != shape_of(result):
        op.properties["value"] = padded_constant(elements, even)
        is_zero = not elements.is_splat or not any(elements.data.raw)
        padder.resize(result, even, is_zero=is_zero)


def padded_constant(elements: DenseElementsAttr, sizes: StaticShape) -> DenseElementsAttr:
    """Return the constant with zeros after its last elements along each dim; a splat stays a splat."""
    larger = TensorType(elements.type.get_element_type(), list(sizes))
    if elements.is_splat:
        return DenseElementsAttr.from_bytes(larger, elements.data.raw)
    width = elements.data.codec.byte_width
    return DenseElementsAttr.from_bytes(
        larger, _padded_rows(elements.data.raw, elements.type.get_shape(), sizes, width)
    )


def _padded_rows(raw: bytes, before: Sequence[int], after: Sequence[int], width: int) -> bytes:
    """Return row-major elements of `width` bytes with zeros appended along each dim."""
    if not before:
        return raw
    row = len(raw) // before[0] if before[0] else 0
    rows = [_padded_rows(raw[i * row : (i + 1) * row], before[1:], after[1:], width) for i in range(before[0])]
    joined = b"".join(rows)
    size = width
    for each in after:
        size *= each
    return joined.ljust(size, b"\0")


@RULES.of(shape.ReshapeOp)
def reshape(op: shape.ReshapeOp, padder: Padder) -> None:
    """Keep the padding if the dims with padding, and the sizes before and after them, do not change."""
    even = padder.facts.target_sizes(op.result)
    true_sizes, own = padder.facts.true_sizes(op.operand), shape_of(op.operand)
    if _strides(own, true_sizes) == _strides(even, shape_of(op.result)):
        padder.resize(op.result, even)
    else:
        compute_unpadded(op, padder)


def _strides(padded: StaticShape, true: StaticShape) -> tuple[int, list[StaticShape]]:
    """Return the number of elements, and the strides of each padded dim to its end, with and without padding."""
    inner = 1
    found: list[StaticShape] = []
    for size, own in zip(reversed(padded), reversed(true), strict=True):
        if size != own:
            found.append((inner * size, inner * own))
        inner *= size
    return inner, found


@RULES.of(shape.BroadcastOp)
def broadcast(op: shape.BroadcastOp, padder: Padder) -> None:
    """Set the sizes of the new dims, which are an attribute of the op."""
    new = len(ints_of(op.broadcast_sizes))
    even = padder.facts.target_sizes(op.result)
    if even[new:] == shape_of(op.operand):
        op.broadcast_sizes = ints(even[:new])
        padder.resize(op.result, even)
    else:
        compute_unpadded(op, padder)


@RULES.of(shape.ReverseOp)
def reverse(op: shape.ReverseOp, padder: Padder) -> None:
    """Compute without padding if a reversed dim has padding, which would move to the front."""
    if set(ints_of(op.dimensions)).intersection(padder.facts.padded_dims(op.operand)):
        compute_unpadded(op, padder)
    else:
        padder.resize_to_targets(op.results)


@RULES.of(calls.CustomCallOp)
def custom_call(op: calls.CustomCallOp, padder: Padder) -> None:
    """Compute without padding, because the semantics of a custom call are unknown."""
    is_uneven = any(padder.facts.needs_padding(value) for value in op.results)
    if is_uneven or any(padder.facts.is_padded(value) for value in op.operands):
        compute_unpadded(op, padder)


@RULES.of(shape.GetDimensionSizeOp)
def get_dimension_size(op: shape.GetDimensionSizeOp, padder: Padder) -> None:
    """Replace the op by the size without padding."""
    if padder.facts.is_padded(op.operand):
        size = padder.facts.true_sizes(op.operand)[op.dimension.value.data]
        padder.replace(op, padder.emitter(op).constant(tensor_of(op.result), [size]))

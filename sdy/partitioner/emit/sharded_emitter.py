"""Builders of ops with shardings, for passes between explicit reshards and the local program.

Source: docs/spec/06, 2.4 and 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.shardings import set_result_shardings, sharding_of
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.model.sharding import TensorSharding
from sdy.partitioner.emit.emitter import Emitter, tensor_of, with_shape


def annotated(value: SSAValue, sharding: TensorSharding | None) -> SSAValue:
    """Set the sharding of `value`, the only result of an op, and return `value`."""
    assert isinstance(value.owner, Operation)
    if sharding is not None:
        set_result_shardings(value.owner, (sharding,))
    return value


def zero_scalar(emit: Emitter, like: SSAValue) -> SSAValue:
    """Return a scalar zero of the element type of `like`."""
    return scalar_constant(emit, like, 0)


def select_first(emit: Emitter, one: SSAValue, other: SSAValue, dim: int, count: int) -> SSAValue:
    """Return the first `count` elements of one value along `dim`, followed by the elements of another value."""
    sharding = sharding_of(other)
    return annotated(emit.select(first_elements_mask(emit, other, dim, count, sharding), one, other), sharding)


def scalar_constant(emit: Emitter, like: SSAValue, value: float) -> SSAValue:
    """Return a scalar constant of the element type of `like`."""
    return emit.constant(_scalar_type(like), [value])


def _scalar_type(like: SSAValue) -> AnyTensor:
    element_type = tensor_of(like).element_type
    return with_shape(like, []) if shape_of(like) else AnyTensor(element_type, [])


def padded_to(
    emit: Emitter, value: SSAValue, filler: SSAValue, sizes: Sequence[int], sharding: TensorSharding | None
) -> SSAValue:
    """Pad `value` with `filler` at the end of each dim to `sizes`."""
    high = [size - own for size, own in zip(sizes, shape_of(value), strict=True)]
    return annotated(emit.pad(value, filler, [0] * len(high), high), sharding)


def sliced(
    emit: Emitter,
    value: SSAValue,
    starts: Sequence[int],
    limits: Sequence[int],
    sharding: TensorSharding | None,
    strides: Sequence[int] = (),
) -> SSAValue:
    """Slice `value` from `starts` to before `limits`."""
    return annotated(emit.slice(value, starts, limits, strides), sharding)


def trimmed_to(emit: Emitter, value: SSAValue, sizes: Sequence[int], sharding: TensorSharding | None) -> SSAValue:
    """Slice the first `sizes` elements of `value` along each dim."""
    return sliced(emit, value, [0] * len(sizes), sizes, sharding)


def first_elements_mask(
    emit: Emitter, like: SSAValue, dim: int, count: int, sharding: TensorSharding | None
) -> SSAValue:
    """Return a mask in the shape of `like` that is true for the first `count` indices along `dim`."""
    dim_sharding = None
    if sharding is not None and sharding.dims:
        dim_sharding = TensorSharding(sharding.mesh, (sharding.dims[dim],))
    numbers = TensorType(i32, [shape_of(like)[dim]])
    index = annotated(emit.iota(numbers), dim_sharding)
    end = annotated(emit.broadcast(emit.constant(TensorType(i32, []), [count]), numbers), dim_sharding)
    is_first = annotated(emit.compare(ComparisonDirection.LT, index, end), dim_sharding)
    return annotated(emit.broadcast(is_first, tensor_of(like), [dim]), sharding)


def is_zero_constant(value: SSAValue) -> bool:
    """Return whether `value` is a constant whose bits are all zero."""
    op = value.owner
    if not isinstance(op, ConstantOp | SdyConstantOp):
        return False
    elements = op.properties["value"]
    return isinstance(elements, DenseElementsAttr) and not any(elements.data.raw)

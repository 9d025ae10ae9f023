"""Kernels of the ops that create, reshape and permute tensors."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from sdy.dialects.chlo.structured import ConstantOp as ChloConstantOp
from sdy.dialects.stablehlo import shape as ops
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, dtype_of_type
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, pointwise, uniform
from sdy.interpreter.ops.conversion import bitcast, converted
from sdy.model.shape import StaticShape

KERNELS = KernelTable()


@KERNELS.of(ops.ConstantOp, ChloConstantOp)
def constant(op: ops.ConstantOp | ChloConstantOp) -> Kernel:
    """Return the constant, the same on every device; quantized elements are the bits of the stored integers."""
    array = array_of(op.value.data).astype(dtype_of_type(op.output.type), copy=False)
    return lambda context, _: (context.replicated(array),)


@KERNELS.of(ops.IotaOp)
def iota(op: ops.IotaOp) -> Kernel:
    """Return the index along one dim."""
    array = _iota(shape_of(op.output), op.iota_dimension.value.data, op.output)
    return lambda context, _: (context.replicated(array),)


@KERNELS.of(ops.DynamicIotaOp)
def dynamic_iota(op: ops.DynamicIotaOp) -> Kernel:
    """Return `iota` with the shape that is an operand."""
    dim = op.iota_dimension.value.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return (context.replicated(_iota(_shape_operand(context, arrays[0]), dim, op.result)),)

    return kernel


def _iota(shape: StaticShape, dim: int, result: SSAValue) -> Array:
    indices = converted(np.arange(shape[dim]), dtype_of_type(result.type))
    along = tuple(size if place == dim else 1 for place, size in enumerate(shape))
    return np.broadcast_to(indices.reshape(along), shape)


@KERNELS.of(ops.BroadcastInDimOp)
def broadcast_in_dim(op: ops.BroadcastInDimOp) -> Kernel:
    """Map the operand to `broadcast_dimensions`; repeat it along other dims, and where its size is 1."""
    shape, dims = shape_of(op.result), ints_of(op.broadcast_dimensions)
    return lambda context, arrays: (_broadcast(context, arrays[0], shape, dims),)


@KERNELS.of(ops.DynamicBroadcastInDimOp)
def dynamic_broadcast_in_dim(op: ops.DynamicBroadcastInDimOp) -> Kernel:
    """Broadcast as `broadcast_in_dim` does, to the shape that is an operand."""
    dims = ints_of(op.broadcast_dimensions)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, shape = arrays
        return (_broadcast(context, operand, _shape_operand(context, shape), dims),)

    return kernel


@KERNELS.of(ops.BroadcastOp)
def broadcast(op: ops.BroadcastOp) -> Kernel:
    """Repeat the operand along new leading dims."""
    shape = shape_of(op.result)
    dims = tuple(range(len(ints_of(op.broadcast_sizes)), len(shape)))
    return lambda context, arrays: (_broadcast(context, arrays[0], shape, dims),)


def _broadcast(context: KernelContext, operand: Array, shape: StaticShape, dims: StaticShape) -> Array:
    local, leading = context.local(operand), context.leading(operand)
    ordered = operand.transpose((*range(context.rank), *context.dims(sorted(range(len(dims)), key=dims.__getitem__))))
    size_along = dict(zip(dims, local, strict=True))
    placed = ordered.reshape(leading + tuple(size_along.get(dim, 1) for dim in range(len(shape))))
    return np.broadcast_to(placed, leading + shape)


@KERNELS.of(ops.ReshapeOp)
def reshape(op: ops.ReshapeOp) -> Kernel:
    """Return the elements in row-major order with another shape."""
    shape = shape_of(op.result)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        (operand,) = arrays
        sizes = _with_static_size(shape, prod(context.local(operand)))
        return (operand.reshape(context.leading(operand) + sizes),)

    return kernel


def _with_static_size(shape: StaticShape, count: int) -> StaticShape:
    """Return the shape with its dynamic size computed from the number of elements."""
    known = prod(size for size in shape if size != DYNAMIC_INDEX)
    return tuple(count // max(known, 1) if size == DYNAMIC_INDEX else size for size in shape)


@KERNELS.of(ops.DynamicReshapeOp)
def dynamic_reshape(op: ops.DynamicReshapeOp) -> Kernel:
    """Reshape to the shape that is an operand."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, shape = arrays
        return (operand.reshape(context.leading(operand) + _shape_operand(context, shape)),)

    return kernel


@KERNELS.of(ops.TransposeOp)
def transpose(op: ops.TransposeOp) -> Kernel:
    """Permute dims: dim `i` of the result is dim `permutation[i]` of the operand."""
    permutation = ints_of(op.permutation)
    return lambda context, arrays: (arrays[0].transpose((*range(context.rank), *context.dims(permutation))),)


@KERNELS.of(ops.ReverseOp)
def reverse(op: ops.ReverseOp) -> Kernel:
    """Reverse the order of elements along some dims."""
    dims = ints_of(op.dimensions)
    return lambda context, arrays: (np.flip(arrays[0], context.dims(dims)),)


@KERNELS.of(ops.BitcastConvertOp)
def bitcast_convert(op: ops.BitcastConvertOp) -> Kernel:
    """Reinterpret the bits as another element type."""
    return pointwise(partial(bitcast, dtype=dtype_of_type(op.result.type)))


@KERNELS.of(ops.GetDimensionSizeOp)
def get_dimension_size(op: ops.GetDimensionSizeOp) -> Kernel:
    """Return the size of a dim."""
    dim, dtype = op.dimension.value.data, dtype_of_type(op.result.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        return (context.replicated(np.array(context.local(arrays[0])[dim], dtype)),)

    return kernel


@KERNELS.of(ops.SetDimensionSizeOp)
def set_dimension_size(op: ops.SetDimensionSizeOp) -> Kernel:
    """Keep the first elements along a dim, as many as the operand says."""
    dim = op.dimension.value.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, size = arrays
        count = int(uniform(context, size, "the size of a dim"))
        return (operand[(slice(None),) * (context.rank + dim) + (slice(count),)],)

    return kernel


def _shape_operand(context: KernelContext, array: Array) -> StaticShape:
    return tuple(uniform(context, array, "the shape of the result").tolist())

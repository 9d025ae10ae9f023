"""Quantized elements: compute with the floats that they represent, or move the stored integers.

A stored `q` represents `(q - zero_point) * scale`. Source: StableHLO's `dequantize_op_quantize`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.facts.traits import generates, moves_elements, passes_through
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.quant import UniformQuantization, UniformQuantizedType
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.stablehlo import (
    calls,
    contraction,
    control,
    elementwise,
    shape,
    window,
)
from sdy.dialects.stablehlo.attributes.types import as_tensor, shape_of
from sdy.interpreter.arrays.element_types import Array, dtype_of
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable

Floats = NDArray[np.float64]

# The ops that StableHLO defines for quantized elements: on the floats that they represent.
COMPUTING: tuple[type[Operation], ...] = (
    elementwise.AccuracyOp,
    elementwise.AbsOp,
    elementwise.AddOp,
    elementwise.Atan2Op,
    elementwise.CeilOp,
    elementwise.ClampOp,
    elementwise.CompareOp,
    elementwise.DivideOp,
    elementwise.FloorOp,
    elementwise.MaximumOp,
    elementwise.MinimumOp,
    elementwise.MultiplyOp,
    elementwise.NegateOp,
    elementwise.PowerOp,
    elementwise.RemainderOp,
    elementwise.RoundNearestAfzOp,
    elementwise.RoundNearestEvenOp,
    elementwise.SignOp,
    elementwise.SubtractOp,
    contraction.DotGeneralOp,
    window.ConvolutionOp,
)


def has_quantized(op: Operation) -> bool:
    """Return whether an operand or a result has quantized elements."""
    return any(_quantization(value.type) is not None for value in (*operands_of(op), *op.results))


def kernel_on_quantized(op: Operation, kernels: KernelTable) -> Kernel | None:
    """Return the kernel of an op that has quantized elements.

    Raises: SdyError SDY-X107 if the op is not supported for quantized elements.
    """
    operands = [_quantization(value.type) for value in op.operands]
    results = [_quantization(value.type) for value in op.results]
    for value, each in zip((*op.operands, *op.results), (*operands, *results), strict=True):
        if each is not None and each.axis is not None:
            sizes = shape_of(value)[each.axis : each.axis + 1]
            if sizes != (len(each.scales),):
                problem = f"has {len(each.scales)} scales along dim {each.axis}, of size {sum(sizes)}"
                raise _unsupported(op, f"{problem}; a dim with a scale for each index cannot be sharded")
    if _returns_stored(op):
        return kernels.get(op)
    if moves_elements(op):
        different = sorted({str(UniformQuantizedType(each)) for each in (*operands, *results) if each is not None})
        if len(different) > 1:
            raise _unsupported(op, f"cannot move elements between {different[0]} and {different[1]}")
        return kernels.get(op)
    if isinstance(op, elementwise.UniformQuantizeOp | elementwise.UniformDequantizeOp):
        return _with_conversions(lambda _, floats: floats, operands, results)
    if not isinstance(op, COMPUTING):
        raise _unsupported(op, "does not support quantized elements here")
    kernel = kernels.get(_in_floats(op))
    return None if kernel is None else _with_conversions(kernel, operands, results)


def _returns_stored(op: Operation) -> bool:
    """Return whether an op returns stored elements as they are; operands and results may have different types."""
    is_call = isinstance(op, calls.CompositeOp | CallOp | control.ControlFlowOp)
    is_known = is_call or generates(op) or passes_through(op) or op.name.startswith(f"{SDY.name}.")
    return is_known or isinstance(op, shape.BitcastConvertOp)


def _in_floats(op: Operation) -> Operation:
    """Return the op on the floats that the quantized elements represent."""
    block = Block(arg_types=[_expressed(value.type) for value in op.operands])
    types = [_expressed(value.type) for value in op.results]
    return type(op).create(operands=block.args, result_types=types, properties=op.properties)


def _with_conversions(
    kernel: Kernel, operands: Sequence[UniformQuantization | None], results: Sequence[UniformQuantization | None]
) -> Kernel:
    def quantized_kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        floats = (
            array if each is None else dequantized(array, each, len(context.local(array)))
            for array, each in zip(arrays, operands, strict=True)
        )
        found = kernel(context, tuple(floats))
        return tuple(
            array if each is None else quantized(array, each, len(context.local(array)))
            for array, each in zip(found, results, strict=True)
        )

    return quantized_kernel


def dequantized(stored: Array, quantization: UniformQuantization, rank: int) -> Array:
    """Return the floats that stored elements represent; `rank` counts the dims of the tensor, which come last."""
    scales, zeros = _scales(quantization, rank)
    dtype = dtype_of(quantization.expressed)
    return np.asarray((stored.astype(np.float64) - zeros) * scales).astype(dtype)


def quantized(floats: Array, quantization: UniformQuantization, rank: int) -> Array:
    """Return the elements closest to these floats, ties to even, clamped to the range; NaN is the zero point."""
    scales, zeros = _scales(quantization, rank)
    storage = quantization.storage
    with np.errstate(over="ignore"):
        steps = np.rint(floats.astype(np.float64) / scales)
    stored = np.clip(np.where(np.isnan(steps), 0.0, steps) + zeros, storage.minimum, storage.maximum)
    return stored.astype(np.int64).astype(dtype_of(UniformQuantizedType(quantization)))


def _scales(quantization: UniformQuantization, rank: int) -> tuple[Floats, Floats]:
    """Return scales and zero points, broadcastable to the tensor."""
    sizes = () if quantization.axis is None else (-1, *(1,) * (rank - quantization.axis - 1))
    columns = zip(*quantization.scales, strict=True)
    scales, zeros = (np.array(column, np.float64).reshape(sizes) for column in columns)
    return scales, zeros


def _quantization(value_type: Attribute) -> UniformQuantization | None:
    tensor = as_tensor(value_type)
    element_type = None if tensor is None else tensor.element_type
    return element_type.data if type(element_type) is UniformQuantizedType else None


def _expressed(value_type: Attribute) -> Attribute:
    quantization, tensor = _quantization(value_type), as_tensor(value_type)
    if quantization is None or tensor is None:
        return value_type
    return TensorType(quantization.expressed, tensor.get_shape())


def _unsupported(op: Operation, problem: str) -> SdyError:
    return failure(
        "SDY-X107", f"{op.name} {problem}", hint="insert uniform_dequantize before it and uniform_quantize after it"
    )

"""A roofline model of ops on one device: each op is bound by arithmetic or by memory bandwidth.

Each op is assumed to read its operands from HBM and to write its results there, of slices and updates only the elements
that they use (`accessed_bytes`). A compiler that fuses ops moves less, so the memory time is an upper bound, which is
close for programs of few ops. Only contractions count as arithmetic: the vector unit, which computes the other ops,
keeps up with memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation

from sdy.cost.flops import FLOPS, contraction_flops
from sdy.cost.hardware import Hardware, MatrixRates
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.dialects.constants.elements import IntCodec, codec_of
from sdy.dialects.facts.traits import collective_kind, is_terminator, selects_elements
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.control import ControlFlowOp, OptimizationBarrierOp
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.shape import ConstantOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp

# Ops that take no time themselves: they pass values on, or stand for the ops that they call or have in regions.
FREE_OPS = (ConstantOp, ReshapeOp, OptimizationBarrierOp, CallOp, *get_args(ControlFlowOp))


@dataclass(frozen=True, slots=True)
class OpTime:
    """The seconds that the arithmetic of an op takes and those that its bytes take, which overlap."""

    compute_seconds: float
    memory_seconds: float

    @property
    def seconds(self) -> float:
        """The larger of the two times."""
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def is_compute_bound(self) -> bool:
        """Return whether arithmetic takes longer than moving the bytes."""
        return self.compute_seconds > self.memory_seconds


NO_TIME = OpTime(0.0, 0.0)


def op_time(op: Operation, hardware: Hardware) -> OpTime:
    """Return the time of an op on one device; 0 for collectives and for shapes that are not static."""
    is_free = type(op) in FREE_OPS or collective_kind(type(op)) is not None
    if is_free or (not op.results and is_terminator(op)):
        return NO_TIME
    types = [type_of(value) for value in (*operands_of(op), *op.results)]
    flops = 0
    if type(op) in FLOPS and all(static_shape(each) is not None for each in types):
        flops = contraction_flops(op)
    compute = flops / rate_of(types[0], hardware.rates) if flops else 0.0
    return OpTime(compute, accessed_bytes(op, [tensor_bytes(each) for each in types]) / hardware.hbm_bandwidth)


def accessed_bytes(op: Operation, sizes: Sequence[float]) -> float:
    """Return the bytes that an op reads and writes, given the bytes of its operands, then those of its results.

    An update of a slice and a scatter write into the memory of their operand, of which they read and write no more
    than the updates. Source: `HloCostAnalysis` of XLA, which counts slices, gathers, scatters and updates alike.
    """
    if selects_elements(type(op)):
        operand, *indices, result = sizes
        return min(operand, result) + sum(indices) + result
    if isinstance(op, DynamicUpdateSliceOp):
        _, update, *indices, _ = sizes
        return 2 * update + sum(indices)
    if isinstance(op, ScatterOp):
        count = len(op.inputs)
        return sizes[count] + 3 * sum(sizes[count + 1 : 2 * count + 1])
    return sum(sizes)


def rate_of(operand_type: Attribute, rates: MatrixRates) -> float:
    """Return the operations per second on tensors of this type. 64-bit types have no rate and count as 32-bit ones."""
    tensor = as_tensor(operand_type)
    codec = None if tensor is None else codec_of(tensor.element_type)
    match 0 if codec is None else codec.byte_width:
        case 1:
            return rates.int8 if isinstance(codec, IntCodec) else rates.float8
        case 2:
            return rates.bits16
        case _:
            return rates.bits32

"""How long a local program takes on a machine: each op is bound by arithmetic or by memory, collectives by links.

An op by itself reads its operands from HBM and writes its results there. A compiler that fuses ops moves less, so the
seconds of memory are an upper bound, and for a program of few ops a close one. Arithmetic counts the contractions: the
vector unit, which does the rest, keeps up with memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsTerminator

from sdy.cost.flops import contraction_flops
from sdy.cost.hardware import Hardware, MatrixRates
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.cost.traffic import COLLECTIVE_KINDS
from sdy.dialects.constants.elements import IntCodec, codec_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.control import CaseOp, IfOp, OptimizationBarrierOp, WhileOp
from sdy.dialects.stablehlo.shape import ConstantOp, ReshapeOp

# They hand values on, or stand for the ops inside of them.
FREE_OPS = (ConstantOp, ReshapeOp, OptimizationBarrierOp, CallOp, WhileOp, IfOp, CaseOp)
OPS_WITH_TIMED_BODIES = (FuncOp, WhileOp, IfOp, CaseOp)


@dataclass(frozen=True, slots=True)
class OpTime:
    """Seconds that the arithmetic of an op needs, and seconds that its bytes need: they pass in the meantime."""

    compute_seconds: float
    memory_seconds: float

    @property
    def seconds(self) -> float:
        """The larger one."""
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def is_compute_bound(self) -> bool:
        """Whether fewer bytes would take as long."""
        return self.compute_seconds > self.memory_seconds


def op_time(op: Operation, hardware: Hardware) -> OpTime:
    """Of an op on one device. Shapes that are not static, and collectives, take none."""
    values = (*op.operands, *op.results)
    if isinstance(op, (*FREE_OPS, *COLLECTIVE_KINDS)) or op.has_trait(IsTerminator):
        return OpTime(0.0, 0.0)
    moved = sum(tensor_bytes(value.type) for value in values)
    is_static = all(static_shape(value.type) is not None for value in values)
    flops = contraction_flops(op) if is_static else 0
    compute = flops / rate_of(op.operands[0].type, hardware.rates) if flops else 0.0
    return OpTime(compute, moved / hardware.hbm_bandwidth)


def rate_of(operand_type: Attribute, rates: MatrixRates) -> float:
    """Operations a second on tensors of that type. 64 bits have no rate of their own, and count as 32."""
    tensor = as_tensor(operand_type)
    codec = None if tensor is None else codec_of(tensor.element_type)
    match 0 if codec is None else codec.byte_width:
        case 1:
            return rates.int8 if isinstance(codec, IntCodec) else rates.float8
        case 2:
            return rates.bits16
        case _:
            return rates.bits32

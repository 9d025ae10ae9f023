"""The copies that a compiler makes because an op needs the dims of a tensor in another order in memory.

A library of matrix products reads the batch dims of an operand first (`sdy.cost.allocation.dim_order`). Collectives
gather, scatter and split along the dim that is first in memory, and an all-to-all sends and receives a buffer per
device. So their operands are copied before, and their results after. A kernel of fused ops makes no copy: it writes its
result in the order that its reader needs, and reads a tensor in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, OpResult, SSAValue

from sdy.cost.allocation.dim_order import computes_in_order, reads_in_order, reads_in_place
from sdy.cost.allocation.fusion import Fusion, is_fusible
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.sharded_types import tensor_bytes
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import AllGatherOp, AllToAllOp, ReduceScatterOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.shape import ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.window import ConvolutionOp, SelectAndScatterOp

INDEX_BYTES = 4


@dataclass(frozen=True, slots=True)
class Copies:
    """The memory that an op needs beside its operands and results: copies of these, and bytes of other values."""

    operands: tuple[SSAValue, ...] = ()
    has_results: bool = False
    scratch: int = 0


NO_COPIES = Copies()


def copies(op: Operation, fusion: Fusion) -> Copies:
    """Return the copies that a compiler makes for an op; none if ops run one by one."""
    if not fusion.is_compiled or is_fusible(type(op)):  # most ops
        return NO_COPIES
    operands = operands_of(op)
    match op:
        case DotGeneralOp():
            operands = [value for index, value in enumerate(operands) if not reads_in_place(op, index)]
            has_results = False
        case ConvolutionOp():
            operands = [value for index, value in enumerate(operands) if not reads_in_order(op, index)]
            has_results = not computes_in_order(op)
        case AllToAllOp():
            return Copies(_not_written_for(operands, fusion), has_results=True)
        case AllGatherOp(all_gather_dim=dim) | ReduceScatterOp(scatter_dimension=dim):
            has_results = prod(shape_of(operands[0])[: dim.value.data]) != 1
            operands = operands if has_results else ()
        case SelectAndScatterOp():
            return Copies(scratch=_bytes_of_indices(op))
        case _:
            return NO_COPIES
    readers = (use.operation for result in op.results for use in result.uses)
    has_results = has_results and not all(map(fusion.is_kernel, readers))  # which take it in any order of dims
    return Copies(_not_written_for(operands, fusion), has_results)


def _not_written_for(values: Iterable[SSAValue], fusion: Fusion) -> tuple[SSAValue, ...]:
    return tuple(value for value in values if not _is_written_for(value, fusion))


def _is_written_for(value: SSAValue, fusion: Fusion) -> bool:
    """Return whether a value is in the order that its reader needs.

    This is so if a kernel computes it for that reader alone, or if it is a transposition that the reader takes in.
    """
    if isinstance(value.owner, TransposeOp) and fusion.is_fused(value.owner):
        return True
    while isinstance(value, OpResult) and value.has_one_use():
        if not isinstance(value.op, ReshapeOp):
            return fusion.is_kernel(value.op)
        value = value.op.operand
    return False


def _bytes_of_indices(op: SelectAndScatterOp) -> int:
    """Return the bytes that XLA needs to find the element of each window that `select` chooses.

    It computes the index of each element in every dim, reduces the windows to one element with its indices, and
    scatters the source to these.
    """
    rank = len(shape_of(op.operand))
    elements = prod(shape_of(op.operand)) + prod(shape_of(op.source))
    return INDEX_BYTES * rank * elements + tensor_bytes(op.source.type)

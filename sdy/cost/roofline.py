"""The time of ops on one device: each kernel is bound by arithmetic or by memory bandwidth.

An op adds to a kernel the bytes that no other op of it has read, of slices and updates only the elements that they use
(`accessed_bytes`), and its arithmetic (`sdy.cost.kernels`). Only contractions and kernels of users count as arithmetic:
the vector unit, which computes the other ops, keeps up with memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import NamedTuple, get_args

from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation

from sdy.cost.flops import cost_of_op, op_flops
from sdy.cost.hardware import Hardware, Kernels, MatrixRates
from sdy.cost.kernels.work import Work, unfused_work
from sdy.dialects.constants.elements import IntCodec, codec_of
from sdy.dialects.facts.traits import collective_kind, is_terminator, selects_elements
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.sharded_types import static_shape, tensor_bytes
from sdy.dialects.stablehlo.attributes.types import as_tensor, shape_of
from sdy.dialects.stablehlo.contraction import DotGeneralOp
from sdy.dialects.stablehlo.control import ControlFlowOp, OptimizationBarrierOp
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.shape import ConstantOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import DynamicUpdateSliceOp

# Ops that take no time themselves: they pass values on, or stand for the ops that they call or have in regions.
FREE_OPS = (ConstantOp, ReshapeOp, OptimizationBarrierOp, CallOp, *get_args(ControlFlowOp))
_LEAST_ROWS = 8  # of a product; fewer are a product of a matrix and vectors, which is bound by memory


@dataclass(frozen=True, slots=True)
class OpTime:
    """The seconds that the arithmetic of an op takes and those that its bytes take, which overlap.

    `unhidden` is the share of the shorter one that does not; `start_seconds` comes on top.
    """

    compute_seconds: float
    memory_seconds: float
    start_seconds: float = 0.0
    unhidden: float = 0.0
    is_attention: bool = False  # a part of a kernel of flash attention

    @property
    def seconds(self) -> float:
        """The seconds of one run."""
        return roofline(self.compute_seconds, self.memory_seconds, self.unhidden) + self.start_seconds

    @property
    def is_compute_bound(self) -> bool:
        """Return whether arithmetic takes longer than moving the bytes."""
        return self.compute_seconds > self.memory_seconds


NO_TIME = OpTime(0.0, 0.0)


def roofline(compute: float, memory: float, unhidden: float) -> float:
    """Return the larger of the two times, and a share of the smaller one."""
    return max(compute, memory) + unhidden * min(compute, memory)


def op_time(op: Operation, hardware: Hardware, work: Work | None = None) -> OpTime:
    """Return the time of an op on one device; 0 for collectives and for shapes that are not static.

    `work` is the part of its kernel that the op adds, by default a kernel of its own.
    """
    is_free = type(op) in FREE_OPS or collective_kind(type(op)) is not None
    if is_free or (not op.results and is_terminator(op)):
        return NO_TIME
    work = unfused_work(op) if work is None else work
    types = [type_of(value) for value in (*operands_of(op), *op.results)]
    kernels = hardware.kernels
    compute = 0.0
    if types and all(static_shape(each) is not None for each in types):
        compute = compute_seconds(op_flops(op), types[0], product_of(op), hardware, work)
    cost = cost_of_op(op)
    known = None if cost is None else cost.bytes
    moved = accessed_bytes(op, [tensor_bytes(each) for each in types], work) if known is None else known
    share = kernels.gather_efficiency if isinstance(op, GatherOp | ScatterOp) else 1.0
    memory = moved / (hardware.hbm_bandwidth * kernels.hbm_efficiency * share)
    start = kernels.start_seconds * work.starts
    return OpTime(compute, memory, start, kernels.unhidden, bool(work.attention))


class Product(NamedTuple):
    """The sizes of a product of matrices: how many there are, the rows, the columns, and the contracted dim."""

    matrices: int
    rows: int
    columns: int
    depth: int


def product_of(op: Operation, lhs: Sequence[int] | None = None, rhs: Sequence[int] | None = None) -> Product | None:
    """Return the sizes of a `dot_general`, by default of its own operands; None for any other op."""
    if not isinstance(op, DotGeneralOp):
        return None
    lhs, rhs = lhs or shape_of(op.lhs), rhs or shape_of(op.rhs)
    dims = op.dot_dimension_numbers.data
    count = prod(lhs[dim] for dim in dims.lhs_batching_dimensions)
    depth = prod(lhs[dim] for dim in dims.lhs_contracting_dimensions)
    shared = max(count * depth, 1)
    return Product(count, prod(lhs) // shared, prod(rhs) // shared, depth)


def compute_seconds(
    flops: float, operand_type: Attribute, product: Product | None, hardware: Hardware, work: Work
) -> float:
    """Return the seconds of the arithmetic of a contraction, padded to whole tiles and rounds of tiles."""
    if not flops:
        return 0.0
    kernels = hardware.kernels
    rate = rate_of(operand_type, hardware.rates)
    has_float4 = hardware.rates.float4 and rate == hardware.rates.float4
    efficiency = kernels.float4_efficiency if has_float4 else kernels.matrix_efficiency
    if work.attention:
        efficiency = kernels.attention[work.attention - 1]
    if product is not None and product.matrices > 1 and not work.attention:
        efficiency *= kernels.grouped_efficiency
    padding = 1.0 if product is None else padding_of(product, kernels, is_fused=bool(work.attention))
    start = kernels.float4_start_seconds if has_float4 else 0.0
    return flops * work.flops * padding / (rate * efficiency) + start


def padding_of(product: Product, kernels: Kernels, *, is_fused: bool) -> float:
    """Return the arithmetic of the tiles of a product as a multiple of its own.

    The longer one of rows and columns is the rows of a tile. A kernel of several products has no rounds of its own.
    """
    rows, columns = max(product.rows, product.columns), min(product.rows, product.columns)
    if not all(product) or columns < _LEAST_ROWS:
        return 1.0
    tiles = [ceil(size / tile) for size, tile in zip((rows, columns, product.depth), kernels.tile, strict=True)]
    padded = prod(tiles) * prod(kernels.tile) / (rows * columns * product.depth)
    if is_fused:
        return padded
    rounds = product.matrices * tiles[0] * tiles[1] / kernels.tile_units
    return padded * ceil(rounds) / rounds


def accessed_bytes(op: Operation, sizes: Sequence[float], work: Work) -> float:
    """Return the bytes that an op reads and writes, given the bytes of its operands, then those of its results.

    An update of a slice and a scatter write into the memory of their operand, of which they read and write no more
    than the updates. Source: `HloCostAnalysis` of XLA, which counts slices, gathers, scatters and updates alike.
    """
    counts = (*work.reads, *work.writes)
    if selects_elements(type(op)):
        sizes = [min(sizes[0], sizes[-1]), *sizes[1:]]
    elif isinstance(op, DynamicUpdateSliceOp):
        sizes = [0.0, *sizes[1:-1], sizes[1]]
    elif isinstance(op, ScatterOp):
        inputs = len(op.inputs)
        updates = sizes[inputs + 1 : 2 * inputs + 1]
        sizes = [0.0] * inputs + [sizes[inputs], *updates] + [2 * size for size in updates]
    return sum(size * count for size, count in zip(sizes, counts, strict=True))


def rate_of(operand_type: Attribute, rates: MatrixRates) -> float:
    """Return the operations per second on tensors of this type. 64-bit types have no rate and count as 32-bit ones."""
    tensor = as_tensor(operand_type)
    codec = None if tensor is None else codec_of(tensor.element_type)
    match 0 if codec is None else codec.byte_width:
        case 1:
            if tensor is not None and getattr(tensor.element_type, "name", "").startswith("f4"):
                return rates.float4 or rates.float8
            return rates.int8 if isinstance(codec, IntCodec) else rates.float8
        case 2:
            return rates.bits16
        case _:
            return rates.bits32

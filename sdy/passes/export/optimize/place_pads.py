"""Place a few elements in a sharded dim by masks, instead of padding them to the size of the dim on each device.

    before  %1 = pad %0, %c, low = [0, 61], high = [0, 0]      %0 : tensor<8x3xf32>  %1 : tensor<8x64xf32>, [{}, {"x"}]
    after   %1 = pad %0, %c, low = [0, 13], high = [0, 0]            one of four shards of 16 elements
            %2 = select (iota >= 61), (reshape (broadcast %1 : 8x4x16) : 8x64), %c

Gradients of slices are such pads. Each device would have all elements of the dim, and keep one shard of them.
Requires: closed shardings that divide their dims; pads have no reshards yet.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import XorOp
from sdy.dialects.stablehlo.slicing import PadOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.sharding import UNSHARDED
from sdy.model.sharding_update import with_dim
from sdy.partitioner.emit.emitter import Emitter, Style, tensor_of, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated, first_elements_mask
from sdy.partitioner.emit.slices import slice_along
from sdy.partitioner.on_shards.shard_spans import PartInShard, parts_in_shards
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.rewriting.insertion import replace_by
from sdy.passes.rewriting.op_order import forget_order


class PlacePadsPass(ModulePass):
    """Replace pads of a few elements to a sharded dim by masks."""

    name = "sdy-place-pads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit all pads."""
        shardings = ValueShardings(meshes_of(op))
        found = [
            (inner, dim)
            for inner in pre_order(op)
            if isinstance(inner, PadOp) and (dim := _placed_dim(inner, shardings)) is not None
        ]
        for pad, dim in found:
            _place(pad, dim, shardings.shard_count(pad.result, dim))
        if found:
            forget_order(op)


def _placed_dim(op: PadOp, shardings: ValueShardings) -> int | None:
    """Return the only padded dim if it is sharded, and if the operand has fewer elements of it than a shard.

    An operand that could be sharded like the result stays: its shards are exchanged.
    """
    sizes, operand_sizes = static_shape(op.result.type), static_shape(op.operand.type)
    sharding = shardings.of(op.result)
    if sizes is None or operand_sizes is None or sharding is None or sharding.unreduced or 0 in operand_sizes:
        return None
    low, high, interior = map(ints_of, (op.edge_padding_low, op.edge_padding_high, op.interior_padding))
    padded = [dim for dim, amounts in enumerate(zip(low, high, interior, strict=True)) if any(amounts)]
    if len(padded) != 1:
        return None
    (dim,) = padded
    count = shardings.shard_count(op.result, dim)
    is_few = count > 1 and sizes[dim] % count == 0 and operand_sizes[dim] < sizes[dim] // count
    only_adds = low[dim] >= 0 and high[dim] >= 0 and not interior[dim]
    return dim if is_few and only_adds and operand_sizes[dim] % count else None


def _place(op: PadOp, dim: int, shards: int) -> None:
    """Replace a pad to a dim in `shards` shards by the parts of its operand, copied to each shard and masked."""
    emit, sharding = Emitter(op, Style()), sharding_of(op.result)
    assert sharding is not None  # the dim is sharded
    low, count, size = ints_of(op.edge_padding_low)[dim], shape_of(op.operand)[dim], shape_of(op.result)[dim] // shards
    result = annotated(emit.broadcast(op.padding_value, tensor_of(op.result)), sharding)
    for part in parts_in_shards(low, count, size):
        copies = _copied_to_shards(emit, op, dim, part, size)
        mask = first_elements_mask(emit, result, dim, part.shard * size + part.end, sharding)
        if start := part.shard * size + part.start:
            before = first_elements_mask(emit, result, dim, start, sharding)
            mask = annotated(emit.binary(XorOp, mask, before), sharding)
        result = annotated(emit.select(mask, copies, result), sharding)
    replace_by(op, result)


def _copied_to_shards(emit: Emitter, op: PadOp, dim: int, part: PartInShard, size: int) -> SSAValue:
    """Return a value with a part of the operand at its place in each shard of `size` elements."""
    sharding, sizes = sharding_of(op.result), shape_of(op.result)
    assert sharding is not None  # the dim is sharded
    unsharded = with_dim(sharding, dim, UNSHARDED)
    by_shard = replace(sharding, dims=(*sharding.dims[: dim + 1], UNSHARDED, *sharding.dims[dim + 1 :]))
    first = part.shard * size - ints_of(op.edge_padding_low)[dim]  # of the shard, in the operand
    shard = slice_along(emit, op.operand, dim, first + part.start, first + part.end)
    shard = shard if shard is op.operand else annotated(shard, unsharded)
    low, high = [0] * len(sizes), [0] * len(sizes)
    low[dim], high[dim] = part.start, size - part.end
    if low[dim] or high[dim]:
        shard = annotated(emit.pad(shard, op.padding_value, low, high), unsharded)
    split = with_shape(shard, (*sizes[:dim], sizes[dim] // size, size, *sizes[dim + 1 :]))
    copies = emit.broadcast(shard, split, [each for each in range(len(sizes) + 1) if each != dim])
    return annotated(emit.reshape(annotated(copies, by_shard), sizes), sharding)

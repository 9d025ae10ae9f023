"""Look up a few elements of a sharded dim, such as the last position, instead of moving the tensor to slice it.

    before  %1 = slice %0 [0:8, 63:64]      %0 : tensor<8x64xf32>, [{}, {"x"}]      "x"=4
    after   %1 = gather %0 at 63            each device contributes the element that it holds; an all-reduce adds them

Several elements are looked up as one element of a dim of shards, or as one of each shard that has some of them.

    before  %1 = slice %0 [0:8, 61:64]
    after   %1 = slice (reshape %0 : 8x4x16) [0:8, 0:4, 13:16]
            %2 = reshape (gather %1 at 3 : 8x1x3)

A lookup sends about twice the bytes of the slice. Any other slice along a sharded dim moves shards first. Dims that are
not sharded are sliced before that, so that less is moved.

    before  %1 = slice %0 [0:4, 16:48]
    after   %1 = slice (slice %0 [0:4, 0:64]) [0:4, 16:48]

Requires: closed shardings that divide their dims; slices have no reshards yet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from sdy.dialects.constants.elements import codec_of
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import calls_of
from sdy.dialects.ir.walk import enclosing, pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers, GatherDimensionNumbersAttr
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.control import WhileOp
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.stablehlo.gather_scatter import FALSE, GatherOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.sharding import UNSHARDED, TensorSharding
from sdy.model.sharding_update import with_dim
from sdy.partitioner.emit.emitter import Emitter, Properties, Style, ints, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated, sliced
from sdy.partitioner.emit.slices import clamped_start, slice_along
from sdy.partitioner.on_shards.shard_spans import parts_in_shards
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.rewriting.insertion import replace_by, replace_op

Slice = SliceOp | DynamicSliceOp


class LookUpSlicesPass(ModulePass):
    """Replace slices of a few elements along a sharded dim by lookups, and slice others along unsharded dims first."""

    name = "sdy-look-up-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit all slices along sharded dims.

        Those of a value that a loop does not change stay, since it is gathered before the loop. Those that take half of
        the elements of a dim are not looked up, which costs more than to gather it.
        """
        shardings = ValueShardings(meshes_of(op))
        slices: dict[tuple[SSAValue, int | None], list[tuple[Slice, list[int]]]] = {}
        for inner in pre_order(op):
            if isinstance(inner, SliceOp | DynamicSliceOp) and (dims := _sliced_shards(inner, shardings)):
                dim = _looked_up_dim(inner, dims, shardings)
                slices.setdefault((inner.operand, dim), []).append((inner, dims))
        for (value, dim), taken in slices.items():
            if dim is not None and 2 * sum(shape_of(inner.result)[dim] for inner, _ in taken) >= shape_of(value)[dim]:
                dim = None
            for inner, dims in taken:
                if _is_sliced_again(inner, value, op):
                    continue
                if dim is None:
                    _slice_in_steps(inner, dims, shardings)
                else:
                    _look_up(inner, dim, shardings.shard_count(value, dim))


def _sliced_shards(op: Slice, shardings: ValueShardings) -> list[int]:
    """Return the sharded dims of which a slice takes a part; none if that part is empty."""
    sharding = shardings.of(op.operand)
    sizes, kept = static_shape(op.operand.type), static_shape(op.result.type)
    if sharding is None or sharding.unreduced or sizes is None or kept is None or 0 in kept:
        return []
    return [
        dim for dim, count in enumerate(shardings.shard_counts(op.operand)) if count > 1 and kept[dim] != sizes[dim]
    ]


def _looked_up_dim(op: Slice, dims: Sequence[int], shardings: ValueShardings) -> int | None:
    """Return the only sharded dim that is sliced, if the slice has one element of it, and each shard as many.

    Or if it has several elements next to each other that are not to be sharded, or fewer of them than shards; at a
    start that is not known, fewer than a shard, which moves otherwise.
    """
    if len(dims) != 1 or codec_of(element_type_of(op.operand)) is None:
        return None  # quantized elements cannot be added up
    (dim,) = dims
    sizes, kept, counts = shape_of(op.operand), shape_of(op.result), shardings.shard_counts(op.operand)
    is_whole = not shardings.dim_axes(op.result, dim) or kept[dim] < counts[dim]
    if isinstance(op, SliceOp):
        is_range = ints_of(op.strides)[dim] == 1 and sizes[dim] % counts[dim] == 0
    else:
        is_range = kept[dim] * counts[dim] < sizes[dim]
    return dim if kept[dim] == 1 or (is_range and is_whole) else None


def _is_sliced_again(op: Operation, value: SSAValue, module: ModuleOp) -> bool:
    """Return whether a loop around an op does not change a value: also a loop that calls the function of the op."""
    parent = enclosing(op, WhileOp, FuncOp)
    if isinstance(parent, WhileOp):
        return not _is_changed_by(parent, value)
    if not isinstance(parent, FuncOp) or not isinstance(value, BlockArgument) or value.block.parent_op() is not parent:
        return False
    return any(_is_sliced_again(call, call.operands[value.index], module) for call in calls_of(module, parent))


def _is_changed_by(loop: WhileOp, value: SSAValue) -> bool:
    """Return whether the body of a loop computes a value, or another one for its next iteration."""
    owner = value.owner
    if isinstance(owner, Block):
        return owner is loop.body.block and terminator_of(loop.body).operands[owner.args.index(value)] is not value
    return loop.is_ancestor(owner)


def _look_up(op: Slice, dim: int, shards: int) -> None:
    """Replace a slice of a dim in `shards` shards by one along its other dims, and lookups."""
    emit = Emitter(op, Style())
    operand = _sliced_along(emit, op, op.operand, {dim}, sharding_of(op.operand))
    count = shape_of(op.result)[dim]
    if isinstance(op, DynamicSliceOp):
        found = _elements_from(emit, operand, dim, op.start_indices[dim], count)
    elif count == 1:
        found = _gathered(emit, operand, dim, emit.constant(TensorType(i64, [1]), [ints_of(op.start_indices)[dim]]))
    else:
        found = _elements(emit, operand, dim, shards, ints_of(op.start_indices)[dim], count)
    target = sharding_of(op.result)
    if target is None or not target.dims[dim].axes:
        replace_by(op, annotated(found, target))
    else:
        replace_op(op, ReshardOp(annotated(found, with_dim(target, dim, UNSHARDED)), target))


def _slice_in_steps(op: Slice, dims: Sequence[int], shardings: ValueShardings) -> None:
    """Slice along the dims that stay on each device first, then along sharded dims that stay sharded, then the others.

    `dims` are the sharded dims that are sliced.
    """
    kept, counts = shape_of(op.result), shardings.shard_counts(op.operand)
    uneven = [dim for dim in dims if kept[dim] % counts[dim]]
    emit, value = Emitter(op, Style()), op.operand
    for whole in (dims, uneven) if uneven else (dims,):
        value = _sliced_along(emit, op, value, whole, sharding_of(op.operand))
    if value is not op.operand:
        replace_by(op, _sliced_along(emit, op, value, (), sharding_of(op.result)))


def _sliced_along(
    emit: Emitter, op: Slice, operand: SSAValue, whole: Collection[int], sharding: TensorSharding | None
) -> SSAValue:
    """Return the elements of `operand` that a slice takes along all dims but those in `whole`, or sliced already."""
    sizes, kept = shape_of(operand), shape_of(op.result)
    wide = [sizes[dim] if dim in whole else size for dim, size in enumerate(kept)]
    if wide == list(sizes):
        return operand
    if isinstance(op, DynamicSliceOp):  # a full dim is sliced at 0, whatever the index
        values = [operand, *op.start_indices]
        found = emit.value(DynamicSliceOp, values, with_shape(operand, wide), {"slice_sizes": ints(wide)})
        return annotated(found, sharding)
    bounds = [
        (0, size, 1) if wide[dim] == size else each
        for dim, (size, *each) in enumerate(
            zip(sizes, ints_of(op.start_indices), ints_of(op.limit_indices), ints_of(op.strides), strict=True)
        )
    ]
    starts, limits, strides = zip(*bounds, strict=True)
    return sliced(emit, operand, starts, limits, sharding, strides)


def _elements(emit: Emitter, operand: SSAValue, dim: int, shards: int, start: int, count: int) -> SSAValue:
    """Return `count` elements along a sharded dim: those in each shard as one element of a dim of shards."""
    sharding, sizes = sharding_of(operand), shape_of(operand)
    assert sharding is not None  # the dim is sharded
    dims, size = sharding.dims, sizes[dim] // shards
    by_shard = replace(sharding, dims=(*dims[: dim + 1], UNSHARDED, *dims[dim + 1 :]))
    unsharded = with_dim(by_shard, dim, UNSHARDED)
    split = annotated(emit.reshape(operand, [*sizes[:dim], shards, size, *sizes[dim + 1 :]]), by_shard)
    parts: list[SSAValue] = []
    for shard, first, end in parts_in_shards(start, count, size):
        part = slice_along(emit, split, dim + 1, first, end)
        part = part if part is split else annotated(part, by_shard)
        found = annotated(_gathered(emit, part, dim, emit.constant(TensorType(i64, [1]), [shard])), unsharded)
        part_sizes = [*sizes[:dim], end - first, *sizes[dim + 1 :]]
        parts.append(annotated(emit.reshape(found, part_sizes), with_dim(sharding, dim, UNSHARDED)))
    return emit.concatenate(parts, dim)


def _elements_from(emit: Emitter, operand: SSAValue, dim: int, start: SSAValue, count: int) -> SSAValue:
    """Return `count` elements along a dim from a start on, which is clamped so that there are as many."""
    if count == 1:
        return _gathered(emit, operand, dim, emit.reshape(start, [1]))  # which clamps indices itself
    first = clamped_start(emit, start, shape_of(operand)[dim] - count)
    numbers = TensorType(i64, [count])
    return _gathered(emit, operand, dim, emit.binary(AddOp, emit.iota(numbers), emit.broadcast(first, numbers)))


def _gathered(emit: Emitter, operand: SSAValue, dim: int, indices: SSAValue) -> SSAValue:
    """Return the elements at some indices along a dim, as a gather of one slice, or of one for each."""
    sizes, count = list(shape_of(operand)), shape_of(indices)[0]
    batched = () if count == 1 else (dim,)
    offset_dims = tuple(each for each in range(len(sizes)) if each not in batched)
    numbers = GatherDimensionNumbers(offset_dims, batched, start_index_map=(dim,), index_vector_dim=len(batched))
    properties: Properties = {
        "dimension_numbers": GatherDimensionNumbersAttr(numbers),
        "slice_sizes": ints([*sizes[:dim], 1, *sizes[dim + 1 :]]),
        "indices_are_sorted": FALSE,
    }
    found = with_shape(operand, [*sizes[:dim], count, *sizes[dim + 1 :]])
    return emit.value(GatherOp, [operand, indices], found, properties)

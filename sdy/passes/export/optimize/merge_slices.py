"""Merge slices, pads and concatenations along a sharded dim, so that each element is sent at most once.

    before  %1 = pad %0, low = 3                    %0 : tensor<64xf32>, [{"x"}]    "x"=4
            %2 = slice %1 [1:65]                    %1 : tensor<67xf32>, which the axis does not divide
    after   %2 = pad %0, low = 2, high = -1         each device sends two elements to the next one

    before  %1 = slice %0 [44:64]    %2 = slice %0 [0:44]    %3 = concatenate %1, %2
    after   %1 = pad %0, low = -44, high = 44    %2 = pad %0, low = 20, high = -20    %3 = select %is_before_20, %1, %2

Such ops are shifts by one position, causal convolutions that are written as sums, and `jnp.roll`. An operand of a
concatenation may be computed from a slice element by element, such as the negated half of a rotary embedding: that is
computed of the moved value. A reversal moves after elementwise ops, where it may meet another one that undoes it.
Requires: closed shardings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.facts.traits import is_elementwise, linearity
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import ConstantOp as SdyConstantOp
from sdy.dialects.sharded_types import element_bytes, static_shape
from sdy.dialects.shardings import sharding_of
from sdy.dialects.splats import splat_of
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.elementwise import ConvertOp, NegateOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, ReshapeOp, ReverseOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, PadOp, ShiftingOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import Emitter, Style, ints, with_shape
from sdy.partitioner.emit.sharded_emitter import annotated, scalar_constant, select_first, sliced
from sdy.partitioner.layout_search.linearity import is_zero
from sdy.partitioner.on_shards.regrouping import moving, regrouping
from sdy.partitioner.on_shards.value_shardings import ValueShardings
from sdy.passes.export.optimize.slice_sources import MOST_OPERANDS, slice_sources
from sdy.passes.rewriting.call_graph import callee_name
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.insertion import insert, replace_by
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order
from sdy.passes.simplify.inline import computes_only, inline_call
from sdy.passes.simplify.symbol_dce import SymbolDcePass


class Edges(NamedTuple):
    """The elements that an op adds before and after a dim; negative numbers for those that it removes."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Move:
    """A slice or pad: the value of which it takes elements, the edges of each dim, and the value that it adds, or zero.

    `then` are elementwise ops of one operand that compute each element of the result after the move.
    """

    source: SSAValue
    edges: tuple[Edges, ...]
    filler: SSAValue | None
    then: tuple[Operation, ...] = ()

    @property
    def dims(self) -> list[int]:
        """The dims whose elements move."""
        return [dim for dim, edges in enumerate(self.edges) if any(edges)]


class MergeSlicesPass(ModulePass):
    """Merge slices, pads and concatenations of shards into ops that send each element once."""

    name = "sdy-merge-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the ops in program order, so that an op sees what others before it were merged into."""
        shardings, changed = ValueShardings(meshes_of(op)), _inline_moves(op)
        if changed:
            forget_order(op)
            SymbolDcePass().apply(ctx, op)
        if slice_sources(op, shardings):
            changed = True
            forget_order(op)
            erase_dead_ops(op_order(op).ops)
            forget_order(op)
        if op_order(op).of(ReverseOp):
            changed = True
            _sink_reversals(op, shardings)
            forget_order(op)
        moving_ops = [inner for inner in op_order(op).ops if isinstance(inner, ShiftingOp)]
        for inner in moving_ops:
            if isinstance(inner, ConcatenateOp):
                changed |= _merge_concatenation(inner, shardings)
            else:
                changed |= _merge_move(inner, shardings)
        if not changed:
            keep_order(op)
            return
        erase_dead_ops(moving_ops)
        forget_order(op)


def _inline_moves(module: ModuleOp) -> bool:
    """Inline functions that only move elements, such as that of `jnp.pad`, next to other moves, or by one op."""
    functions, found = functions_of(module), False
    for call in reversed(op_order(module).of(CallOp)):  # functions follow those that call them
        func = functions[callee_name(call)]
        repeats = (BroadcastInDimOp, ReshapeOp, ReverseOp)  # of edges, in functions that pad
        if computes_only(func, (*get_args(ShiftingOp), ReverseOp), (ConvertOp, ConstantOp, SdyConstantOp, *repeats)):
            users = [use.operation for result in call.results for use in result.uses]
            producers = [_before_elementwise(operand)[0].owner for operand in call.operands]
            is_one_op = len(func.body.block.ops) == 2  # with the return
            if is_one_op or any(isinstance(each, ShiftingOp) for each in (*users, *producers)):
                inline_call(call, func)
                found = True
    return found


def _sink_reversals(module: ModuleOp, shardings: ValueShardings) -> None:
    """Reverse results of elementwise ops rather than all operands along a sharded dim, and no value twice."""
    for op in op_order(module).ops:
        reversals = [each.owner for each in op.operands if isinstance(each.owner, ReverseOp)]
        dims = set(ints_of(reversals[0].dimensions)) if reversals else set[int]()
        if not any(shardings.shard_count(reversals[0].result, dim) > 1 for dim in dims):
            continue
        if isinstance(op, ReverseOp):
            value, dims = reversals[0].operand, dims ^ set(ints_of(op.dimensions))
        elif _is_reversed_later(op, reversals):
            plain = op.clone({each.result: each.operand for each in reversals})
            value = insert(plain, InsertPoint.before(op), op.location).results[0]
        else:
            continue
        if dims:
            value = Emitter(op, Style()).value(ReverseOp, [value], value.type, {"dimensions": ints(sorted(dims))})
            annotated(value, sharding_of(op.results[0]))
        replace_by(op, value)
        erase_dead_ops(reversals)


def _is_reversed_later(op: Operation, reversals: Sequence[ReverseOp]) -> bool:
    """Return whether reversals move after an op: others do not use them, and no more bytes are reversed."""
    others = [each for each in op.operands if not isinstance(each.owner, ReverseOp)]
    if not is_elementwise(op) or None in map(splat_of, others) or len({each.dimensions for each in reversals}) > 1:
        return False
    *before, after = (
        element_bytes(element_type_of(each)) for each in (*{each.result for each in reversals}, *op.results)
    )
    return after <= sum(before) and all(use.operation is op for each in reversals for use in each.result.uses)


def _merge_move(op: SliceOp | PadOp, shardings: ValueShardings) -> bool:
    """Merge a slice or pad with those before it that move elements along the same sharded dims, if there are any.

    The axes must divide the result and the value that remains; that between them may be uneven.
    """
    result, found = op.results[0], None
    merged = move_of(result)
    moved = set[int]() if merged is None else set(merged.dims)
    while merged is not None and (pair := _with_move_before(merged)) is not None:
        inner, merged = pair
        merged, shared = merged_moves(inner, merged), moved.intersection(inner.dims)
        if merged is None or not any(shardings.shard_count(result, dim) > 1 for dim in shared):
            break
        moved.update(inner.dims)
        if all(_is_even(merged.source, result, dim, shardings) for dim in moved):
            found = merged
    if found is None:
        return False
    replace_by(op, _moved(Emitter(op, Style()), found, result))
    return True


def move_of(value: SSAValue) -> Move | None:
    """Return the slice or pad that computes a value; None for other ops, steps, and padding between elements."""
    op = value.owner
    if not isinstance(op, SliceOp | PadOp) or static_shape(op.operand.type) is None:
        return None
    sizes = shape_of(op.operand)
    if isinstance(op, SliceOp):
        if set(ints_of(op.strides)) - {1}:
            return None
        ranges = zip(ints_of(op.start_indices), ints_of(op.limit_indices), sizes, strict=True)
        return Move(op.operand, tuple(Edges(-start, limit - size) for start, limit, size in ranges), None)
    if any(ints_of(op.interior_padding)):
        return None
    edges = zip(ints_of(op.edge_padding_low), ints_of(op.edge_padding_high), strict=True)
    return Move(op.operand, tuple(Edges(*each) for each in edges), op.padding_value)


def merged_moves(inner: Move, outer: Move) -> Move | None:
    """Return two moves, one after the other, as one; None if they add different values, or add after they remove."""
    edges: list[Edges] = []
    fillers: list[SSAValue | None] = []
    for one, other in zip(inner.edges, outer.edges, strict=True):
        for first, second in zip(one, other, strict=True):
            if first < 0 < second:
                return None  # what it adds is not what was removed
            fillers += [inner.filler] * (first > 0 and first + second > 0) + [outer.filler] * (second > 0)
        edges.append(Edges(one.low + other.low, one.high + other.high))
    sizes = shape_of(inner.source)
    if any(-size > edge for size, each in zip(sizes, edges, strict=True) for edge in each):
        return None  # a pad cannot remove more elements than there are
    if any(each is not fillers[0] for each in fillers):
        return None
    return Move(inner.source, tuple(edges), fillers[0] if fillers else None, inner.then + outer.then)


def _with_move_before(outer: Move) -> tuple[Move, Move] | None:
    """Return the slice or pad that computes the source of another one, and that one; None if there is none.

    Linear ops between them may follow both if these add zeros, of which such ops are zero.
    """
    value, then = _before_elementwise(outer.source)
    inner = move_of(value)
    if inner is None or not then:
        return None if inner is None else (inner, outer)
    is_linear = all(linearity(type(op)) is not None for op in then)
    if not is_linear or not all(_is_zero(each.filler) for each in (inner, outer)):
        return None
    return replace(inner, filler=None, then=then), replace(outer, filler=None)


def _is_zero(filler: SSAValue | None) -> bool:
    """Return whether a value that is added is zero, if one is, perhaps converted as by `jnp.pad`."""
    while filler is not None and isinstance(filler.owner, ConvertOp):
        filler = filler.owner.operand
    return filler is None or is_zero(filler)


def _before_elementwise(value: SSAValue) -> tuple[SSAValue, tuple[Operation, ...]]:
    """Return the value from which elementwise ops of one operand compute a value, and these ops."""
    then: list[Operation] = []
    while isinstance(value.owner, Operation) and is_elementwise(value.owner) and len(value.owner.operands) == 1:
        then.insert(0, value.owner)
        value = value.owner.operands[0]
    return value, tuple(then)


def _moved(emit: Emitter, move: Move, like: SSAValue) -> SSAValue:
    """Emit a move and the ops after it, with the sharding of `like`."""
    value, sharding = _only_moved(emit, move, like), sharding_of(like)
    for op in move.then:
        tensor = with_shape(op.results[0], shape_of(value))
        value = annotated(emit.value(type(op), [value], tensor, op.properties), sharding)
    return value


def _only_moved(emit: Emitter, move: Move, like: SSAValue) -> SSAValue:
    sharding, sizes = sharding_of(like), shape_of(move.source)
    if not any(map(any, move.edges)) and sharding_of(move.source) == sharding:
        return move.source
    if all(low <= 0 and high <= 0 for low, high in move.edges):
        starts = [-low for low, _ in move.edges]
        limits = [size + high for size, (_, high) in zip(sizes, move.edges, strict=True)]
        return sliced(emit, move.source, starts, limits, sharding)
    filler = _zero_before(emit, move) if move.filler is None else move.filler
    low, high = ([each[side] for each in move.edges] for side in (0, 1))
    return annotated(emit.pad(move.source, filler, low, high), sharding)


def _zero_before(emit: Emitter, move: Move) -> SSAValue:
    """Return the scalar of which the ops after a move make zero: an odd number of negations, of negative zero."""
    is_negated = sum(isinstance(op, NegateOp) for op in move.then) % 2 > 0
    is_float = isinstance(element_type_of(move.source), AnyFloat)
    return scalar_constant(emit, move.source, -0.0 if is_negated and is_float else 0)


def _merge_concatenation(op: ConcatenateOp, shardings: ValueShardings) -> bool:
    """Select the elements of each operand, moved to its place, if devices receive less; return whether they do."""
    dim, shape = op.dimension.value.data, static_shape(op.result.type)
    count = shardings.shard_count(op.result, dim)
    if shape is None or count < 2 or not 2 <= len(op.inputs) <= MOST_OPERANDS or shape[dim] % count:
        return False
    if not all(shape_of(operand)[dim] for operand in op.inputs):
        return False  # an operand without elements has no shards
    sources = [_moved_along(operand, dim) for operand in op.inputs]
    if not all(_is_even(each.source, op.result, dim, shardings) for each in sources):
        return False
    sizes = tuple(shape_of(each)[dim] for each in op.inputs)
    moves: list[Move] = []
    for before, own in zip(accumulate(sizes, initial=0), sources, strict=False):
        low = own.edges[dim].low + before
        moves.append(_along(own, dim, Edges(low, shape[dim] - shape_of(own.source)[dim] - low)))
    together = sum(_received(move, dim, count) for move in moves)
    if len({each.source for each in moves}) == 1:
        together //= len(moves)  # permutes of one value are merged
    if any(size % count for size in sizes):  # the operands would be gathered
        separate = shape[dim] - shape[dim] // count
    else:
        separate = regrouping(sizes, count).received + sum(_received(own, dim, count) for own in sources)
    if together >= separate:
        return False
    emit, end = Emitter(op, Style()), 0
    result: SSAValue | None = None
    for move, size in zip(moves, sizes, strict=True):
        moved = _moved(emit, move, op.result)
        result, end = moved if result is None else select_first(emit, result, moved, dim, end), end + size
    assert result is not None  # there are operands
    replace_by(op, result)
    return True


def _moved_along(operand: SSAValue, dim: int) -> Move:
    """Return the slice along a dim from which an operand is computed element by element.

    If there is none, return the operand itself as a slice that moves nothing.
    """
    value, then = _before_elementwise(operand)
    own = move_of(value)
    if own is None or own.filler is not None or set(own.dims) - {dim}:
        return Move(operand, (Edges(0, 0),) * len(shape_of(operand)), None)
    return replace(own, then=then)


def _received(move: Move, dim: int, count: int) -> int:
    """Return how many positions of a dim each device receives for a move whose source and result the axes divide."""
    length, (low, high) = shape_of(move.source)[dim], move.edges[dim]
    return moving(low, length // count, (length + low + high) // count, count).received if low or high else 0


def _along(move: Move, dim: int, edges: Edges) -> Move:
    return replace(move, edges=(*move.edges[:dim], edges, *move.edges[dim + 1 :]))


def _is_even(source: SSAValue, result: SSAValue, dim: int, shardings: ValueShardings) -> bool:
    """Return whether source and result are sharded along a dim by the same axes, which divide both."""
    if shardings.of(source) is None or shardings.dim_axes(source, dim) != shardings.dim_axes(result, dim):
        return False
    count = shardings.shard_count(result, dim)
    return not (shape_of(source)[dim] % count or shape_of(result)[dim] % count)

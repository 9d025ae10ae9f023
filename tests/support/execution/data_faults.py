"""Seeded faults of the data between collectives: wrong offsets and slices, halos off by one, lost masks, wrong dims."""

from __future__ import annotations

import random
from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.stablehlo.elementwise import SelectOp
from sdy.dialects.stablehlo.shape import ConstantOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp, DynamicSliceOp, PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp
from sdy.partitioner.emit.emitter import Emitter, Style, ints
from sdy.partitioner.emit.slices import slice_along
from sdy.passes.rewriting.insertion import erase
from support.execution.fault_table import FaultTable

DATA_FAULTS = FaultTable()
MOVES = (ConcatenateOp, DynamicSliceOp, PadOp, ReshapeOp, SliceOp, TransposeOp)


@DATA_FAULTS.of("a wrong offset", ConstantOp)
def _move_offsets(op: ConstantOp, choice: random.Random) -> bool:
    """The offsets of the shards, one per device, move by one device."""
    if not _is_table(op) or len(set(op.value.get_values())) == 1:
        return False
    values = op.value.get_values()
    op.value = DenseElementsAttr.from_values(op.value.type, (*values[1:], values[0]))
    return True


@DATA_FAULTS.of("an offset off by one", ConstantOp)
def _add_to_offsets(op: ConstantOp, choice: random.Random) -> bool:
    """All offsets of shards but those of the first one are an element too small."""
    if not _is_table(op):
        return False
    values = op.value.get_ints()
    op.value = DenseElementsAttr.from_values(op.value.type, [max(0, each - 1) for each in values])
    return max(values) > 0


@DATA_FAULTS.of("a wrong slice start", SliceOp)
def _move_slice(op: SliceOp, choice: random.Random) -> bool:
    """A slice starts an element later, or an element earlier."""
    return not _is_halo(op) and _shifted(op, choice)


@DATA_FAULTS.of("a halo off by one", SliceOp, PadOp, ConcatenateOp)
def _move_halo(op: SliceOp | PadOp | ConcatenateOp, choice: random.Random) -> bool:
    """Elements that neighbours exchange, or the padding in their place, are those beside them."""
    if isinstance(op, SliceOp):
        return _is_halo(op) and _shifted(op, choice)
    if isinstance(op, PadOp):
        return _pad_elsewhere(op, choice)
    return _rotate(op) if _is_halo(op) else False


@DATA_FAULTS.of("a shifted window", ConvolutionOp, ReduceWindowOp)
def _shift_windows(op: ConvolutionOp | ReduceWindowOp, choice: random.Random) -> bool:
    """All windows begin an element earlier or later: padding moves from one end of a dim to the other one."""
    if op.padding is None:
        return False
    amounts = list(op.padding.get_ints())
    sizes = ints_of(op.window_dimensions) if isinstance(op, ReduceWindowOp) else [2] * (len(amounts) // 2)
    moves = [dim for dim, size in enumerate(sizes) if size > 1 or any(amounts[2 * dim : 2 * dim + 2])]
    if not moves:
        return False
    dim, step = choice.choice(moves), choice.choice((1, -1))
    amounts[2 * dim] += step
    amounts[2 * dim + 1] -= step
    op.padding = DenseElementsAttr.from_values(op.padding.type, amounts)
    return True


@DATA_FAULTS.of("a missing mask", SelectOp)
def _drop_mask(op: SelectOp, choice: random.Random) -> bool:
    """The elements are taken that a mask selects, wherever it is false, too."""
    op.results[0].replace_all_uses_with(op.operands[choice.choice((1, 2))])
    erase(op)
    return True


@DATA_FAULTS.of("transposed dims", TransposeOp)
def _transpose_otherwise(op: TransposeOp, choice: random.Random) -> bool:
    """Two dims of the same size change places."""
    order, sizes = list(ints_of(op.permutation)), shape_of(op.operand)
    pairs = [
        (one, other)
        for other in range(len(order))
        for one in range(other)
        if sizes[order[one]] == sizes[order[other]] > 1
    ]
    if not pairs:
        return False
    one, other = choice.choice(pairs)
    order[one], order[other] = order[other], order[one]
    op.permutation = ints(order)
    return True


def _is_table(op: ConstantOp) -> bool:
    """Return whether a constant has an integer per device."""
    if op.value.is_splat or len(shape_of(op.output)) != 1:
        return False
    return op.value.type.get_element_type() == i64


def _is_halo(op: Operation) -> bool:
    """Return whether only moves of data are between an op and a permutation between devices, before or after it."""
    return _comes_from_permutation(op.operands) or any(
        _goes_to_permutation(use.operation) for result in op.results for use in result.uses
    )


def _comes_from_permutation(values: Sequence[SSAValue]) -> bool:
    owners = [each.owner for each in values]
    return any(
        isinstance(each, CollectivePermuteOp) or (isinstance(each, MOVES) and _comes_from_permutation(each.operands))
        for each in owners
    )


def _goes_to_permutation(op: Operation) -> bool:
    if isinstance(op, CollectivePermuteOp):
        return True
    return isinstance(op, MOVES) and any(_goes_to_permutation(use.operation) for use in op.results[0].uses)


def _shifted(op: SliceOp, choice: random.Random) -> bool:
    """Move a slice by one element along a dim that has room; return whether there is one."""
    starts, limits, sizes = list(ints_of(op.start_indices)), list(ints_of(op.limit_indices)), shape_of(op.operand)
    moves = [(dim, 1) for dim, size in enumerate(sizes) if limits[dim] < size]
    moves += [(dim, -1) for dim, start in enumerate(starts) if start > 0]
    if not moves:
        return False
    dim, step = choice.choice(moves)
    starts[dim] += step
    limits[dim] += step
    op.start_indices, op.limit_indices = ints(starts), ints(limits)
    return True


def _pad_elsewhere(op: PadOp, choice: random.Random) -> bool:
    """Move an element of padding from one end of a dim to the other one."""
    low, high = list(ints_of(op.edge_padding_low)), list(ints_of(op.edge_padding_high))
    moves = [(dim, -1) for dim, count in enumerate(low) if count > 0]
    moves += [(dim, 1) for dim, count in enumerate(high) if count > 0]
    if not moves:
        return False
    dim, step = choice.choice(moves)
    low[dim] += step
    high[dim] -= step
    op.edge_padding_low, op.edge_padding_high = ints(low), ints(high)
    return True


def _rotate(op: ConcatenateOp) -> bool:
    """Move the elements that are concatenated by one, the last one to the front."""
    dim, size = op.dimension.value.data, shape_of(op.result)[op.dimension.value.data]
    after = op.next_op
    if size < 2 or after is None:
        return False
    emit, result = Emitter(after, Style()), op.result
    uses = [(use.operation, use.index) for use in result.uses]
    last = slice_along(emit, result, dim, size - 1, size)
    rest = slice_along(emit, result, dim, 0, size - 1)
    rotated = emit.concatenate([last, rest], dim)
    for user, index in uses:
        user.operands[index] = rotated
    return True

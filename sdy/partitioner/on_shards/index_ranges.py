"""The ranges of integers that a value can have, from the ops that compute it: are the indices of a scatter 0?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import IntCodec, codec_of
from sdy.dialects.facts.traits import passes_through
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.ir.symbols import calls_of
from sdy.dialects.ir.walk import enclosing
from sdy.dialects.sdy import ops as sdy_ops
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.stablehlo import elementwise, shape, slicing
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.on_shards.combiners import index_bounds

MOST_RANGES = 4  # of one value; more are joined
MOST_STEPS = 200  # values that are followed


class Range(NamedTuple):
    """The integers from `least` to `largest`."""

    least: int
    largest: int


class Part(NamedTuple):
    """The elements of a tensor at one position along a dim."""

    dim: int
    position: int


Ranges = tuple[Range, ...]


def integer_ranges(value: SSAValue, part: Part | None) -> Ranges | None:
    """Return ranges that contain each integer of a part of a tensor, of all its elements for None; None if unknown."""
    return _Search().ranges(value, part)


def _joined(ranges: Iterable[Range]) -> Ranges:
    found = tuple(sorted(set(ranges)))
    return found if len(found) <= MOST_RANGES else (_hull(found),)


def _hull(ranges: Ranges) -> Range:
    """Return the range from the least to the largest integer of ranges."""
    return Range(min(each.least for each in ranges), max(each.largest for each in ranges))


@dataclass(slots=True)
class _Search:
    """A search from a value back to constants. `steps` counts the values that were followed."""

    steps: int = 0
    known: dict[tuple[SSAValue, Part | None], Ranges | None] = field(
        default_factory=dict[tuple[SSAValue, Part | None], Ranges | None]
    )

    def ranges(self, value: SSAValue, part: Part | None) -> Ranges | None:
        """Return the ranges of a part of a value, None if they are not known."""
        key = value, part
        if key not in self.known:
            self.steps += 1
            self.known[key] = None  # also where the search comes back to it
            self.known[key] = self._found(value, part) if self.steps <= MOST_STEPS else None
        return self.known[key]

    def union(self, values: Iterable[tuple[SSAValue, Part | None]]) -> Ranges | None:
        """Return the ranges of all the values, None if those of one are not known."""
        found = [self.ranges(value, part) for value, part in values]
        known = [each for each in found if each is not None]
        return _joined(one for each in known for one in each) if len(known) == len(found) and found else None

    def hull(self, value: SSAValue, part: Part | None) -> Range | None:
        """Return the range from the least to the largest integer of a value."""
        found = self.ranges(value, part)
        return _hull(found) if found else None

    def _found(self, value: SSAValue, part: Part | None) -> Ranges | None:
        owner = value.owner
        if isinstance(owner, Block):
            return self._of_argument(owner, value, part)
        if passes_through(owner) or isinstance(owner, CollectiveOp):  # which act on global tensors
            assert isinstance(value, OpResult)
            return self.ranges(owner.operands[value.index], part)
        return FOLLOWING.get(owner, self, part)

    def _of_argument(self, block: Block, value: SSAValue, part: Part | None) -> Ranges | None:
        """Return the ranges of what calls pass for an argument of a function."""
        func = block.parent_op()
        module = enclosing(func, ModuleOp) if isinstance(func, FuncOp) else None
        if not isinstance(func, FuncOp) or module is None or func.body.blocks.first is not block:
            return None
        index = block.args.index(value)
        return self.union((call.operands[index], part) for call in calls_of(module, func))


# How to follow a part of the result of an op.
FOLLOWING = OpTable["Ranges | None", [_Search, Part | None]]()


@FOLLOWING.of(shape.ConstantOp, sdy_ops.ConstantOp)
def _of_constant(op: Operation, _search: _Search, part: Part | None) -> Ranges | None:
    literal = op.properties.get("value")
    if not isinstance(literal, DenseElementsAttr) or not isinstance(literal.data.codec, IntCodec):
        return None
    if part is None or literal.is_splat:
        values = literal.data.codec.decode_all(literal.data.raw)
    else:
        sizes = shape_of(op.results[0])
        inner = prod(sizes[part.dim + 1 :])
        rows = range(part.position * inner, literal.data.count, sizes[part.dim] * inner)
        every = literal.get_values()
        values = [each for row in rows for each in every[row : row + inner]]
    return _joined(Range(each, each) for each in values if isinstance(each, int))


@FOLLOWING.of(shape.BroadcastInDimOp)
def _of_broadcast(op: shape.BroadcastInDimOp, search: _Search, part: Part | None) -> Ranges | None:
    dims = ints_of(op.broadcast_dimensions)
    if part is None or part.dim not in dims:
        return search.ranges(op.operand, None)
    dim = dims.index(part.dim)
    return search.ranges(op.operand, None if shape_of(op.operand)[dim] == 1 else Part(dim, part.position))


@FOLLOWING.of(slicing.ConcatenateOp)
def _of_concatenation(op: slicing.ConcatenateOp, search: _Search, part: Part | None) -> Ranges | None:
    dim = op.dimension.value.data
    if part is None or part.dim != dim:
        return search.union((each, part) for each in op.inputs)
    start = 0
    for each in op.inputs:
        size = shape_of(each)[dim]
        if part.position < start + size:
            return search.ranges(each, Part(dim, part.position - start))
        start += size
    return None


@FOLLOWING.of(slicing.PadOp)
def _of_pad(op: slicing.PadOp, search: _Search, part: Part | None) -> Ranges | None:
    """Return the ranges of the operand and of the padding value; of the same part along a dim without padding."""
    amounts = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    is_padded = part is not None and any(ints_of(each)[part.dim] for each in amounts)
    return search.union([(op.operand, None if is_padded else part), (op.padding_value, None)])


@FOLLOWING.of(elementwise.SelectOp)
def _of_select(op: elementwise.SelectOp, search: _Search, part: Part | None) -> Ranges | None:
    return search.union([(op.on_true, part), (op.on_false, part)])


@FOLLOWING.of(elementwise.ConvertOp)
def _of_convert(op: elementwise.ConvertOp, search: _Search, part: Part | None) -> Ranges | None:
    """Return the ranges of the operand if the new type has all its integers."""
    found, element_type = search.ranges(op.operands[0], part), element_type_of(op.results[0])
    if found is None or not isinstance(codec_of(element_type), IntCodec):
        return None
    least, largest = index_bounds(element_type)
    return found if all(least <= each.least and each.largest <= largest for each in found) else None


@FOLLOWING.of(elementwise.MinimumOp, elementwise.MaximumOp)
def _of_extremes(op: Operation, search: _Search, part: Part | None) -> Ranges | None:
    """Return the range of the minimum or maximum of two values: its ends are those of theirs."""
    found = [search.hull(each, part) for each in op.operands]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    combine = min if isinstance(op, elementwise.MinimumOp) else max
    return (Range(combine(each.least for each in known), combine(each.largest for each in known)),)


@FOLLOWING.of(elementwise.ClampOp)
def _of_clamp(op: elementwise.ClampOp, search: _Search, part: Part | None) -> Ranges | None:
    """Return the ranges of the bounds and, if they are known, of the operand between them."""
    low, value, high = (search.hull(each, part if shape_of(each) else None) for each in (op.min, op.operand, op.max))
    if low is None or high is None:
        return None
    least, largest = (low.least, high.largest) if value is None else value
    return (Range(min(max(least, low.least), high.least), min(max(largest, low.largest), high.largest)),)

"""Values that are known for each device and position: device numbers, iotas, lookups in constants, and comparisons.

A table of devices has one entry per device. The last entry is that of all later devices, as where a slice of a table
starts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import TypeVar, cast

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.splats import splat_of
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import element_type_of, shape_of
from sdy.dialects.stablehlo.collectives import PartitionIdOp, ReplicaIdOp
from sdy.dialects.stablehlo.elementwise import (
    AddOp,
    AndOp,
    ClampOp,
    CompareOp,
    ConvertOp,
    NotOp,
    OrOp,
    SubtractOp,
    XorOp,
)
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, IotaOp, ReshapeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.on_shards.combiners import index_bounds

T = TypeVar("T")
HashableT = TypeVar("HashableT", bound=Hashable)


def devices_of(*tables: Sequence[object]) -> range:
    """Return the devices that have entries of their own in one of some tables, and one for all later ones."""
    return range(max(map(len, tables)))


def entry(table: Sequence[T], device: int) -> T:
    """Return the entry of a device."""
    return table[min(device, len(table) - 1)]


def shortened(table: Sequence[HashableT]) -> tuple[HashableT, ...]:
    """Return a table without entries at its end that equal the one before them.

    >>> shortened([1, 2, 2])
    (1, 2)
    """
    count = len(table)
    while count > 1 and table[count - 1] == table[count - 2]:
        count -= 1
    return tuple(table[:count])


Toggles = frozenset[int]
MOST_ENTRIES = 1 << 16  # of a table that devices look up
MOST_OPS = 32  # one after the other, from a device number or an iota to a mask
ALWAYS: Toggles = frozenset({0})
_LOGIC: dict[type[Operation], Callable[[bool, bool], bool]] = {
    AndOp: bool.__and__,
    OrOp: bool.__or__,
    XorOp: bool.__xor__,
}
_MIRRORED = {
    ComparisonDirection.GE: ComparisonDirection.LE,
    ComparisonDirection.GT: ComparisonDirection.LT,
    ComparisonDirection.LE: ComparisonDirection.GE,
    ComparisonDirection.LT: ComparisonDirection.GT,
}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Integers: the offset of the device, plus the position along `dim` if there is one."""

    offsets: tuple[int, ...]
    dim: int | None = None


@dataclass(frozen=True, slots=True)
class Mask:
    """Booleans: the positions along `dim` at which they change on each device; before position 0, they are false.

    Without a dim, all are equal on a device: they change at position 0 or not at all.
    """

    toggles: tuple[Toggles, ...]
    dim: int | None = None

    def at(self, position: int) -> tuple[bool, ...]:
        """Return whether the mask is true at a position, on each device."""
        return shortened([_is_true(toggles, 0 if self.dim is None else position) for toggles in self.toggles])

    def holds(self, size: int, choice: bool) -> tuple[bool, ...]:
        """Return whether the mask is `choice` at any of the first `size` positions, on each device."""
        return shortened([any(_is_true(each, at) is choice for at in {0, *each} if at < size) for each in self.toggles])


Known = Numbers | Mask


class KnownValues:
    """Finds what is known of values. `counts_replicas`: devices are replicas, not partitions."""

    def __init__(self, *, counts_replicas: bool) -> None:
        self._number_op: type[Operation] = ReplicaIdOp if counts_replicas else PartitionIdOp
        self._known: dict[SSAValue, Known | None] = {}
        self._depth = 0

    def mask(self, value: SSAValue) -> Mask | None:
        """Return the mask that a value is; None if it is not known."""
        known = self._of(value)
        return known if isinstance(known, Mask) else None

    def numbers(self, value: SSAValue) -> Numbers | None:
        """Return the integers that a value is; None if they are not known."""
        known = self._of(value)
        return known if isinstance(known, Numbers) else None

    def _of(self, value: SSAValue) -> Known | None:
        if value not in self._known:
            self._depth += 1
            known = self._compute(value) if self._depth <= MOST_OPS else None
            self._depth -= 1
            is_exact = not isinstance(known, Numbers) or _fits(known, value)  # else it may wrap around
            self._known[value] = known if is_exact else None
        return self._known[value]

    def _compute(self, value: SSAValue) -> Known | None:
        op, splat = value.owner, splat_of(value)
        if splat is not None:
            return _of_constant(splat)
        match op:
            case IotaOp():
                return Numbers((0,), op.iota_dimension.value.data)
            case DynamicSliceOp() if self._is_lookup(op) and isinstance(op.operand.owner, ConstantOp):
                return _of_constant(op.operand.owner.value)
            case ReshapeOp() | BroadcastInDimOp():
                return self._of_reshaped(op)
            case ConvertOp() | ClampOp() | AddOp() | SubtractOp() | CompareOp():
                return self._of_numbers(op)
            case AndOp() | OrOp() | XorOp():
                one, other = self.mask(op.lhs), self.mask(op.rhs)
                return None if one is None or other is None else _joined(_LOGIC[type(op)], one, other)
            case NotOp() if (mask := self.mask(op.operand)) is not None:
                return _joined(bool.__xor__, mask, Mask((ALWAYS,)))
            case _:
                pass
        return None

    def _of_numbers(self, op: ConvertOp | ClampOp | AddOp | SubtractOp | CompareOp) -> Known | None:
        numbers = [each for each in map(self.numbers, op.operands) if each is not None]
        if len(numbers) < len(op.operands):
            return None
        match op:
            case ConvertOp():
                return numbers[0]
            case ClampOp():
                return _clamped(numbers)
            case CompareOp():
                return _compared(op, *numbers)
            case _:
                return _added(op, *numbers)

    def _is_lookup(self, op: DynamicSliceOp) -> bool:
        """Return whether devices look up their entries in a table by their numbers."""
        if len(op.start_indices) != 1 or shape_of(op.result) != (1,) or shape_of(op.operand)[0] > MOST_ENTRIES:
            return False
        number = op.start_indices[0]
        while isinstance(number.owner, ConvertOp) and index_bounds(element_type_of(number))[1] > MOST_ENTRIES:
            number = number.owner.operand
        return isinstance(number.owner, self._number_op)

    def _of_reshaped(self, op: ReshapeOp | BroadcastInDimOp) -> Known | None:
        known = self._of(op.operand)
        if known is None or known.dim is None:
            return known
        if isinstance(op, ReshapeOp):
            return None
        dim = ints_of(op.broadcast_dimensions)[known.dim]
        return replace(known, dim=dim) if shape_of(op.operand)[known.dim] == shape_of(op.result)[dim] else None


def _of_constant(elements: DenseElementsAttr) -> Known | None:
    """Return a value with one element, or one that is looked up."""
    element_type = elements.type.get_element_type()
    if not isinstance(element_type, IntegerType):
        return None
    codec, raw = elements.data.codec, elements.data.raw
    values = shortened(cast("tuple[int, ...]", (codec.decode(raw),) if elements.is_splat else codec.decode_all(raw)))
    return Mask(tuple(ALWAYS if each else Toggles() for each in values)) if element_type == i1 else Numbers(values)


def _fits(known: Numbers, value: SSAValue) -> bool:
    """Return whether no number is out of the range of the type."""
    if not isinstance(element_type_of(value), IntegerType):
        return False
    least, largest = index_bounds(element_type_of(value))
    last = 0 if known.dim is None else max(0, shape_of(value)[known.dim] - 1)
    return least <= min(known.offsets) and max(known.offsets) + last <= largest


def _added(op: AddOp | SubtractOp, lhs: Numbers, rhs: Numbers) -> Numbers | None:
    sign = -1 if isinstance(op, SubtractOp) else 1
    if rhs.dim is not None and (lhs.dim is not None or sign < 0):
        return None
    devices = devices_of(lhs.offsets, rhs.offsets)
    offsets = [entry(lhs.offsets, device) + sign * entry(rhs.offsets, device) for device in devices]
    return Numbers(shortened(offsets), lhs.dim if rhs.dim is None else rhs.dim)


def _clamped(operands: Sequence[Numbers]) -> Numbers | None:
    """Return numbers between a least and a largest one, which are the first and the last operand."""
    if any(each.dim is not None for each in operands):
        return None
    tables = [each.offsets for each in operands]
    rows = ([entry(table, device) for table in tables] for device in devices_of(*tables))
    return Numbers(shortened([min(max(number, least), most) for least, number, most in rows]))


def _compared(op: CompareOp, lhs: Numbers, rhs: Numbers) -> Mask | None:
    direction = op.comparison_direction.data
    if lhs.dim is None:
        lhs, rhs, direction = rhs, lhs, _MIRRORED.get(direction, direction)
    if rhs.dim is not None:
        return None
    devices = devices_of(lhs.offsets, rhs.offsets)
    limits = [entry(rhs.offsets, device) - entry(lhs.offsets, device) for device in devices]
    toggles = (_toggles(direction, limit) for limit in limits)
    return Mask(shortened([each if lhs.dim is not None else each & ALWAYS for each in toggles]), lhs.dim)


def _toggles(direction: ComparisonDirection, limit: int) -> Toggles:
    """Return where positions begin and cease to compare so with a limit."""
    is_from, is_after = Toggles({max(0, limit)}), Toggles({max(0, limit + 1)})
    match direction:
        case ComparisonDirection.GE:
            return is_from
        case ComparisonDirection.GT:
            return is_after
        case ComparisonDirection.LT:
            return ALWAYS ^ is_from
        case ComparisonDirection.LE:
            return ALWAYS ^ is_after
        case ComparisonDirection.EQ:
            return is_from ^ is_after
        case ComparisonDirection.NE:
            return ALWAYS ^ is_from ^ is_after


def _joined(logic: Callable[[bool, bool], bool], one: Mask, other: Mask) -> Mask | None:
    if one.dim is not None and other.dim not in (None, one.dim):
        return None
    tables = one.toggles, other.toggles
    found: list[Toggles] = []
    for device in devices_of(*tables):
        first, second = (entry(table, device) for table in tables)
        points = sorted(first | second)
        values = [False, *(logic(_is_true(first, point), _is_true(second, point)) for point in points)]
        found.append(Toggles(compress(points, (was != is_so for was, is_so in pairwise(values)))))
    return Mask(shortened(found), other.dim if one.dim is None else one.dim)


def _is_true(toggles: Toggles, position: int) -> bool:
    return sum(each <= position for each in toggles) % 2 == 1

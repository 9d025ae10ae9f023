"""Classes of values that hold positions along dims, and the constants among them, which change with the sizes.

A mask compares an iota with a bound, a shard adds the start of its window to local positions, and a gather clamps its
indices: the constants in such values follow the sizes of the dims. Every use of a splat constant counts on its own, so
that a constant that several parts of a program share ties none of them together.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from xdsl.ir import Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import FloatCodec, IntCodec, codec_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, LiteralOp, ReshapeOp
from sdy.evidence.sizes.size_classes import SizeClasses, Variable

LARGEST_OFFSET = 64  # from the start of a shard that a size is kept large enough for
Anchors = tuple[tuple[int, int], ...]  # original and new sizes, ascending


@dataclass(slots=True)
class IndexValues:
    """Values that are compared, added or otherwise measured alike, and the dims along which they are positions."""

    classes: SizeClasses
    _parents: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _dims: dict[SSAValue, set[Variable]] = field(default_factory=lambda: defaultdict(set))
    _constants: list[tuple[SSAValue, Operation]] = field(default_factory=list[tuple[SSAValue, Operation]])
    _direct: list[tuple[Operation, frozenset[Variable]]] = field(default_factory=lambda: [])
    _copies: dict[Operation, tuple[Operation, ...]] = field(default_factory=dict[Operation, tuple[Operation, ...]])

    def same(self, *values: SSAValue) -> None:
        """Note that values are measured alike. Only integers and floats are positions."""
        found = [each for each in values if _is_number(each)]
        literals = {each: op for each in found if (op := literal(each)) is not None}
        others = [each for each in found if each not in literals]
        for one, other in itertools.pairwise(others):
            one, other = self._root(one), self._root(other)
            if one is not other:
                self._parents[other] = one
                self._dims[one] |= self._dims.pop(other, set())
        if others:
            self._constants += [(others[0], op) for op in literals.values()]

    def position(self, value: SSAValue, *dims: Variable) -> None:
        """Note that a value holds positions along dims, such as a window and the dim in which it is."""
        found = frozenset(dim for dim in dims if self.classes.sizes[dim] > 1)
        if not found or not _is_number(value):
            return
        op = literal(value)
        if op is None:
            self._dims[self._root(value)] |= found
        else:
            self._direct.append((op, found))

    def table(self, op: Operation) -> None:
        """Add a constant of different elements."""
        if _is_number(op.results[0]):
            self._constants.append((op.results[0], op))

    def copies(self, *constants: Operation) -> None:
        """Note that constants are copies of one: a use of any makes all of them positions, so that they stay equal."""
        for each in constants:
            self._copies[each] = constants

    def tie_equal_dims(self) -> None:
        """Tie dims of equal size along which the same values are positions."""
        for dims in self._dims.values():
            by_size: dict[int, Variable] = {}
            for dim in dims:
                self.classes.tie(by_size.setdefault(self.classes.sizes[dim], dim), dim)

    def constants(self) -> Iterator[tuple[Operation, frozenset[Variable], bool]]:
        """Yield each constant and its copies with the dims along which it is a position in some use.

        The flag is true if windows start at it: it is an operand of an op on windows, or differs per device.
        """
        seen: set[tuple[Operation, frozenset[Variable], bool]] = set()
        for op, dims, is_start in self._uses():
            copies = self._copies.get(op, (op,))
            if (key := (copies[0], dims, is_start)) not in seen:
                seen.add(key)
                for each in copies:
                    yield each, dims, is_start

    def other_numbers(self) -> set[Operation]:
        """Return the constants that are measured like values that are positions along no dim, such as trip counts."""
        return {op for value, op in self._constants if not self._dims.get(self._root(value))}

    def _uses(self) -> Iterator[tuple[Operation, frozenset[Variable], bool]]:
        for value, op in self._constants:
            dims = self._dims.get(self._root(value))
            if dims:
                yield op, frozenset(dims), literal(op.results[0]) is None
        for op, dims in self._direct:
            yield op, dims, True

    def _root(self, value: SSAValue) -> SSAValue:
        parents = self._parents
        parents.setdefault(value, value)
        while parents[value] is not value:
            parents[value] = parents[parents[value]]
            value = parents[value]
        return value


def literal(value: SSAValue) -> Operation | None:
    """Return the constant op of equal elements that a value repeats or converts, if any."""
    op = value.owner
    while isinstance(op, BroadcastInDimOp | ConvertOp | ReshapeOp):
        op = op.operands[0].owner
    return op if isinstance(op, LiteralOp) and op.value.is_splat else None


def mapped(
    number: float, anchors: Anchors, devices: int, related: Anchors = (), shards: int | None = None
) -> float | None:
    """Return the position in the small program that corresponds to a position, or None if there is none.

    Sizes become sizes, up to `shards` multiples of the smallest size multiples, and what is near one stays as near.
    Where the last window of a dim starts, it still does. Numbers far outside of a dim on all devices stay. `related`
    has sizes of dims before they were padded or sliced. A position that may mean several ones has none.
    """
    sizes = {**dict(related), **dict(anchors)}
    starts: set[float] = {sizes[one] - sizes[other] for one in sizes for other in sizes if one - other == number}
    if 2 * abs(number) <= min(new for _, new in (*anchors, *related)):
        # Near the start, which all dims have in common.
        return number if number == 0 or starts <= {number} else None
    if any(sizes[one] != other for one, other in (*anchors, *related)):
        return None
    if all(one == other for one, other in sizes.items()) or abs(number) > 2 * devices * anchors[-1][0]:
        return number
    near = _near(number, anchors, sizes, devices if shards is None else shards)
    if number in sizes or not starts:
        return near
    starts |= set() if near is None else {near}
    return starts.pop() if len(starts) == 1 else None


def _near(number: float, anchors: Anchors, sizes: Mapping[int, int], shards: int) -> float | None:
    """Return the position as near to the start, to a size or to a multiple of the smallest size, or None."""
    old, new = anchors[0]
    count, rest = divmod(number, old)
    points = [(size * sign, after * sign) for size, after in {0: 0, **sizes}.items() for sign in (1, -1)]
    if abs(count) <= shards:
        points += [(each * old, each * new) for each in (count, count + 1)]
    near, after = min(points, key=lambda point: abs(number - point[0]))
    if 2 * abs(number - near) <= new:
        return after + number - near
    share = rest * new / old
    return count * new + share if 0 <= number < old and share == int(share) else None


def are_aligned(numbers: Sequence[float], sizes: Sequence[int]) -> bool:
    """Return whether windows that start at these positions are shards: multiples of the smallest size.

    Other windows, such as those of a halo, may lie at the ends of several shards, which all depend on the sizes.
    """
    return all(number % sizes[0] == 0 for number in numbers)


def of_shards(numbers: Sequence[float], anchors: Anchors, related: Anchors) -> tuple[Anchors, Anchors]:
    """Return anchors and related sizes with the size of a shard as the only anchor, for numbers that are its multiples.

    The largest common divisor of the starts of all shards of a dim is the size of a shard.
    """
    sizes = (*anchors, *related)
    if not all(isinstance(each, int) for each in numbers):
        return anchors, related
    shard = gcd(*map(int, numbers))
    found = tuple(sorted({each for each in sizes if each[0] == shard}))
    return (found, sizes) if found else (anchors, related)


def needed_size(number: float, old: int) -> int | None:
    """Return the smallest size with which an offset from a multiple of `old` stays; None if it is too large."""
    rest = number % old
    offset = int(min(rest, old - rest)) + 1
    return 2 * offset if offset <= LARGEST_OFFSET else None


def numbers_of(op: Operation) -> Sequence[float]:
    """Return the different elements of a constant, which must be numbers."""
    value = op.properties["value"]
    assert isinstance(value, DenseElementsAttr)
    elements = (value.data.codec.decode(value.data.raw),) if value.is_splat else value.get_values()
    return sorted({each for each in elements if isinstance(each, int | float) and abs(each) < float("inf")})


def _is_number(value: SSAValue) -> bool:
    tensor = as_tensor(value.type)
    codec = None if tensor is None else codec_of(tensor.element_type)
    return isinstance(codec, FloatCodec) or (isinstance(codec, IntCodec) and codec.bit_width > 1)

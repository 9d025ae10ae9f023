"""The digits of a mesh: sub-axes that are not split further, such as those of prime size, major first.

Shardings whose axis refs begin and end between digits are tuples of small integers, fast to compare and hash: each dim
is sharded along some digits, major first. An axis of 8 devices has three digits of size 2, or is one digit. Devices are
numbered by their digits: two devices that differ in one digit only are a multiple of its stride apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from sdy.model.axis import AxisList, AxisRef, can_all_coexist, contains, sub_axis_ref
from sdy.model.axis_list import extended
from sdy.model.axis_on_mesh import ordered_refs
from sdy.model.mesh import Mesh, axis_positions
from sdy.model.shape import StaticShape

LARGEST_FACTOR = 2**16


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of device positions: it has `size` values, and devices one value apart are `stride` positions apart."""

    size: int
    stride: int

    def of(self, position: int) -> int:
        """Return the value of this digit at `position`."""
        return position // self.stride % self.size


def counting_digits(numbers: Sequence[int]) -> tuple[Digit, ...] | None:
    """Return the fewest digits, major first, that count through `numbers`, from 0; None if there are none."""
    digits: list[Digit] = []
    rest = numbers
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        size = next((count for count, number in enumerate(rest) if number != count * stride), len(rest))
        if stride < 1 or size < 2 or len(rest) % size:
            return None
        digits.insert(0, Digit(size, stride))
        # If this is a digit of all numbers, they are runs of it; the remaining digits follow from the starts of the
        # runs.
        if any(number != rest[index - index % size] + index % size * stride for index, number in enumerate(rest)):
            return None
        rest = rest[::size]
    return tuple(digits)


def prime_factors(number: int) -> tuple[int, ...]:
    """Return the prime factors of a positive number in ascending order, repeated as often as they divide it.

    Prime factors above `LARGEST_FACTOR` are not separated: their product is the last factor.

    >>> prime_factors(12), prime_factors(1)
    ((2, 2, 3), ())
    """
    factors: list[int] = []
    divisor = 2
    while number > 1 and divisor <= LARGEST_FACTOR:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return (*factors, number) if number > 1 else tuple(factors)


def prime_digits(ref: AxisRef, mesh: Mesh) -> AxisList:
    """Return the sub-axes of prime size that `ref` consists of, major first, smaller primes first.

    A full axis of prime size is its own digit; a ref of size 1 has none.
    """
    digits: list[AxisRef] = []
    start = ref.pre_size
    for size in prime_factors(mesh.size_of(ref)):
        is_full_axis = size == mesh.axis_size(ref.name)
        digits.append(AxisRef(ref.name) if is_full_axis else sub_axis_ref(ref.name, start, start * size))
        start *= size
    return tuple(digits)


def mesh_digits(mesh: Mesh, refs: Collection[AxisRef] = ()) -> AxisList:
    """Return the prime digits of all axes in mesh order. No ref of `refs`, which can coexist, ends within a digit.

    >>> from sdy.model.axis import SubAxis
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 12)))
    >>> [str(digit) for digit in mesh_digits(mesh)]
    ['"a"', '"u":(1)2', '"u":(2)2', '"u":(4)3']
    >>> [str(digit) for digit in mesh_digits(mesh, [AxisRef("u", SubAxis(1, 3))])]
    ['"a"', '"u":(1)3', '"u":(3)2', '"u":(6)2']
    """
    return tuple(digit for ref in ordered_refs(refs, mesh) for digit in prime_digits(ref, mesh))


def device_stride(ref: AxisRef, mesh: Mesh) -> int:
    """Return how many positions apart two devices are that are neighbours along `ref`."""
    minor_axes = mesh.axes[axis_positions(mesh)[ref.name] + 1 :]
    minor_size = mesh.axis_size(ref.name) // (ref.pre_size * mesh.size_of(ref))
    return minor_size * prod(axis.size for axis in minor_axes)


def digit_of(ref: AxisRef, mesh: Mesh) -> Digit:
    """Return the digit of device positions that `ref` stands for."""
    return Digit(mesh.size_of(ref), device_stride(ref, mesh))


def digits_at(position: int, digits: Iterable[Digit]) -> int:
    """Return the number that the values of digits, major first, form at a position."""
    number = 0
    for digit in digits:
        number = number * digit.size + digit.of(position)
    return number


DigitTuple = tuple[int, ...]  # the digits that one dim is sharded along, major first
DigitsPerDim = tuple[DigitTuple, ...]  # by dim


@dataclass(frozen=True, slots=True)
class NumberedDigits:
    """The digits of a mesh in mesh order: digit number i is the axis ref `refs[i]` of size `sizes[i]`."""

    mesh: Mesh
    refs: AxisList
    sizes: StaticShape
    _counts: dict[DigitTuple, int] = field(default_factory=dict[DigitTuple, int], compare=False, repr=False)
    _shards: dict[DigitsPerDim, int] = field(default_factory=dict[DigitsPerDim, int], compare=False, repr=False)
    _elements: dict[tuple[StaticShape, DigitsPerDim], int] = field(
        default_factory=dict[tuple[StaticShape, DigitsPerDim], int], compare=False, repr=False
    )

    @staticmethod
    def of(mesh: Mesh, sub_axes: Collection[AxisRef] = ()) -> NumberedDigits:
        """Return the prime factors of the axes. No ref of `sub_axes`, which can coexist, ends within a digit."""
        refs = mesh_digits(mesh, sub_axes)
        return NumberedDigits(mesh, refs, tuple(map(mesh.size_of, refs)))

    @staticmethod
    def full_axes(mesh: Mesh) -> NumberedDigits:
        """Return the axes of more than one device."""
        axes = [axis for axis in mesh.axes if axis.size > 1]
        return NumberedDigits(mesh, tuple(AxisRef(axis.name) for axis in axes), tuple(axis.size for axis in axes))

    @property
    def device_count(self) -> int:
        """The number of devices of the mesh."""
        return self.mesh.device_count

    def split(self, axes: Collection[AxisRef]) -> DigitTuple | None:
        """Return the digits of axis refs; None if a ref begins or ends within a digit."""
        digits = self.inside(axes)
        return digits if self.count(digits) == prod(map(self.mesh.size_of, axes)) else None

    def inside(self, axes: Iterable[AxisRef]) -> DigitTuple:
        """Return the digits that axis refs contain."""
        return tuple(number for ref in axes for number, digit in enumerate(self.refs) if contains(ref, digit))

    def join(self, digits: Iterable[int]) -> AxisList:
        """Return the axis refs of digits; adjacent digits of one axis are merged."""
        return extended((), (self.refs[digit] for digit in digits), self.mesh)

    def outside(self, axes: Collection[AxisRef]) -> Iterator[int]:
        """Yield the digits that are in none of `axes`."""
        return (number for number, digit in enumerate(self.refs) if not any(contains(ref, digit) for ref in axes))

    def count(self, digits: DigitTuple) -> int:
        """Return the number of shards of a dim that is sharded along digits."""
        found = self._counts.get(digits)
        if found is None:
            found = self._counts[digits] = prod(self.sizes[digit] for digit in digits)
        return found

    def shards(self, dims: DigitsPerDim) -> int:
        """Return the number of shards of a tensor."""
        found = self._shards.get(dims)
        if found is None:
            found = self._shards[dims] = prod(map(self.count, dims))
        return found

    def by_axis(self, digits: Iterable[int]) -> tuple[DigitTuple, ...]:
        """Group digits by mesh axis."""
        groups: dict[str, list[int]] = {}
        for digit in digits:
            groups.setdefault(self.refs[digit].name, []).append(digit)
        return tuple(tuple(group) for group in groups.values())

    def elements(self, shape: StaticShape, dims: DigitsPerDim) -> int:
        """Return the number of elements of a shard; uneven dims are padded."""
        key = shape, dims
        found = self._elements.get(key)
        if found is None:
            pairs = zip(shape, dims, strict=True)
            found = self._elements[key] = prod(-(-size // self.count(digits)) for size, digits in pairs)
        return found

    def counts(self) -> frozenset[int]:
        """Return all shard counts that some digits have."""
        found = {1}
        for size in self.sizes:
            found |= {size * count for count in found}
        return frozenset(found)

    def divides(self, size: int, digits: DigitTuple) -> bool:
        """Return whether a dim of `size` elements has equal shards along digits."""
        return size % self.count(digits) == 0


def digits_of(refs: Collection[AxisRef], mesh: Mesh) -> NumberedDigits | None:
    """Return prime digits that all `refs` can be split into; None if two refs have no common split of their axis.

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 12)))
    >>> [str(ref) for ref in digits_of((), mesh).refs]
    ['"a"', '"u":(1)2', '"u":(2)2', '"u":(4)3']
    """
    return _digits(frozenset(ref for ref in refs if ref.sub_axis is not None), mesh)


@lru_cache(maxsize=4096)
def _digits(sub_axes: frozenset[AxisRef], mesh: Mesh) -> NumberedDigits | None:
    return NumberedDigits.of(mesh, sub_axes) if can_all_coexist(sub_axes) else None

"""The prime digits of a mesh: each axis or sub-axis splits into sub-axes of prime size, major first.

Shardings whose axis refs begin and end between digits are lists of digits, which are cheap to compare. Devices are
numbered by their digits: two devices that differ in one digit only are a multiple of its stride apart.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from sdy.model.axis import AxisList, AxisRef, sub_axis_ref
from sdy.model.axis_on_mesh import ordered_refs
from sdy.model.mesh import Mesh, axis_positions

LARGEST_FACTOR = 2**16


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of device positions: it has `size` values, and devices one value apart are `stride` positions apart."""

    size: int
    stride: int

    def of(self, position: int) -> int:
        """Return the value of this digit at `position`."""
        return position // self.stride % self.size


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

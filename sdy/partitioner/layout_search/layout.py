"""Layouts as tuples of small integers, which the search compares and hashes fast.

A layout has the digits of the mesh that each dim is sharded along, major first, and those along which devices hold
partial values. If the mesh is large, each axis is one digit.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from sdy.model.mesh_digits import DigitsPerDim, DigitTuple
from sdy.model.shape import StaticShape

MAX_DIGITS = 6  # if a mesh has more prime factors, its axes are the digits


class Layout(NamedTuple):
    """The sharding of a tensor, by dim, and the digits along which it is partial. `unreduced` is sorted."""

    dims: DigitsPerDim
    unreduced: DigitTuple = ()


class TensorSize(NamedTuple):
    """The global shape of a tensor, and the bytes of an element, which determine the price of its transfers."""

    shape: StaticShape
    width: int

    @property
    def bytes(self) -> int:
        """Bytes of the global tensor."""
        return prod(self.shape) * self.width


def used(dims: DigitsPerDim) -> set[int]:
    """Return the digits that some dim is sharded along."""
    return {digit for digits in dims for digit in digits}


def replicated(rank: int) -> Layout:
    """Return the replicated layout of a tensor."""
    return Layout(((),) * rank)

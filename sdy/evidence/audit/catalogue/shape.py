"""Programs of one op that reshapes, transposes, repeats or reverses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from math import prod

from sdy.evidence.audit.catalogue.text import generic, ints, tensor

RESHAPED = (
    *((4,), (6,), (8,), (12,), (2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (2, 6), (6, 2), (3, 4), (4, 3)),
    *((2, 2, 2), (2, 2, 3), (2, 3, 2), (3, 2, 2), (1, 4), (4, 1), (2, 1, 2), (1, 2, 3), (2, 2, 1, 3)),
)


def _transposes() -> Iterator[str]:
    for shape in ((4, 3), (2, 3, 4), (2, 2, 3)):
        for order in permutations(range(len(shape))):
            result = tensor(shape[dim] for dim in order)
            yield generic("stablehlo.transpose", [tensor(shape)], [result], ints("permutation", order))


def _reshapes() -> Iterator[str]:
    for one, other in product(RESHAPED, repeat=2):
        if prod(one) == prod(other):
            yield generic("stablehlo.reshape", [tensor(one)], [tensor(other)])


def _broadcasts() -> Iterator[str]:
    result = (2, 3, 4)
    for rank in range(1, 4):
        for dims in combinations(range(3), rank):
            for ones in product((False, True), repeat=rank):
                shape = [1 if is_one else result[dim] for dim, is_one in zip(dims, ones, strict=True)]
                dims_text = ints("broadcast_dimensions", dims)
                yield generic("stablehlo.broadcast_in_dim", [tensor(shape)], [tensor(result)], dims_text)
    for shape, sizes in (((3,), (2,)), ((2, 3), (4,)), ((2,), (3, 2))):
        yield generic("stablehlo.broadcast", [tensor(shape)], [tensor(sizes + shape)], ints("broadcast_sizes", sizes))


def _reversals() -> Iterator[str]:
    for shape in ((4,), (2, 3), (2, 4, 3)):
        for count in range(len(shape) + 1):
            for dims in combinations(range(len(shape)), count):
                yield generic("stablehlo.reverse", [tensor(shape)], [tensor(shape)], ints("dimensions", dims))


def _bitcasts() -> Iterator[str]:
    for shape in ((4,), (2, 3)):
        yield generic("stablehlo.bitcast_convert", [tensor(shape)], [tensor(shape, "i32")])
        yield generic("stablehlo.bitcast_convert", [tensor(shape)], [tensor((*shape, 4), "i8")])
        yield generic("stablehlo.bitcast_convert", [tensor((*shape, 2), "i16")], [tensor(shape, "i32")])


PROGRAMS = (_transposes, _reshapes, _broadcasts, _reversals, _bitcasts)

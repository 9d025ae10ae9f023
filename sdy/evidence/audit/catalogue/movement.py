"""Programs of one op that moves elements: reshapes, slices, pads, concatenations, gathers and scatters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import prod

from sdy.evidence.audit.catalogue.text import binary_body, generic, ints, program, tensor
from sdy.model.shape import StaticShape

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


def _slices() -> Iterator[str]:
    size = 4
    for start, limit, stride in product(range(size), range(1, size + 1), (1, 2, 3)):
        if start < limit:
            length = -(-(limit - start) // stride)
            ranges = (
                ints("start_indices", (0, start)),
                ints("limit_indices", (2, limit)),
                ints("strides", (1, stride)),
            )
            yield generic("stablehlo.slice", [tensor((2, size))], [tensor((2, length))], ", ".join(ranges))


def _pads() -> Iterator[str]:
    size = 3
    for low, high, interior in product((-1, 0, 1, 2), (-1, 0, 1, 2), (0, 1)):
        length = low + high + size + (size - 1) * interior
        if length > 0:
            names = ("edge_padding_low", "edge_padding_high", "interior_padding")
            amounts = [ints(name, (0, amount)) for name, amount in zip(names, (low, high, interior), strict=True)]
            operands = [tensor((2, size)), tensor(())]
            yield generic("stablehlo.pad", operands, [tensor((2, length))], ", ".join(amounts))


def _concatenations() -> Iterator[str]:
    for dim, others in product((0, 1), ((2,), (4,), (1, 3))):
        shapes: list[StaticShape] = [(2, 4), *((2, size) if dim else (size, 4) for size in others)]
        joined = sum(shape[dim] for shape in shapes)
        result = tensor((2, joined) if dim else (joined, 4))
        yield generic("stablehlo.concatenate", list(map(tensor, shapes)), [result], f"dimension = {dim} : i64")
    for start in (1, 2, 3):
        kinds = tensor((2, 4)), tensor((2, 4 - start)), tensor((2, start))
        yield program(
            f"%x = stablehlo.slice %a [0:2, {start}:4] : ({kinds[0]}) -> {kinds[1]}\n"
            f"  %y = stablehlo.slice %a [0:2, 0:{start}] : ({kinds[0]}) -> {kinds[2]}\n"
            f"  %r = stablehlo.concatenate %x, %y, dim = 1 : ({kinds[1]}, {kinds[2]}) -> {kinds[0]}",
            kinds[0],
        )


def _dynamic_slices() -> Iterator[str]:
    for sizes in product((2, 4), (1, 3)):
        operands = [tensor((4, 3)), *[tensor((), "i32")] * 2]
        attributes = f"slice_sizes = array<i64: {sizes[0]}, {sizes[1]}>"
        yield generic("stablehlo.dynamic_slice", operands, [tensor(sizes)], attributes)


def _dynamic_update_slices() -> Iterator[str]:
    for sizes in product((2, 4), (1, 3)):
        kind, update, index = tensor((4, 3)), tensor(sizes), tensor((), "i32")
        yield generic("stablehlo.dynamic_update_slice", [kind, update, index, index], [kind])
        yield program(
            "%i = stablehlo.constant dense<1> : tensor<i32>\n"
            f"  %r = stablehlo.dynamic_update_slice %a, %b, %i, %i : ({kind}, {update}, {index}, {index}) -> {kind}",
            kind,
            update,
        )


Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A gather, or the scatter that writes what it reads; the fields are those of the dimension numbers."""

    operand: Ints
    indices: Ints
    window: Ints  # dims of the gathered tensor that are dims of windows
    collapsed: Ints
    mapped: Ints
    vector_dim: int
    sizes: Ints
    result: Ints
    batching: Ints = ()
    indices_batching: Ints = ()


LOOKUPS = (
    Lookup((4, 3), (2, 1), (1,), (0,), (0,), 1, (1, 3), (2, 3)),
    Lookup((4, 3), (2,), (1,), (0,), (0,), 1, (1, 3), (2, 3)),
    Lookup((4, 3), (1, 2), (0,), (1,), (1,), 0, (4, 1), (4, 2)),
    Lookup((4, 3), (2, 2), (), (0, 1), (0, 1), 1, (1, 1), (2,)),
    Lookup((4, 3), (2, 1), (1, 2), (), (0,), 1, (2, 3), (2, 2, 3)),
    Lookup((4, 3), (2, 1), (1, 2), (), (0,), 1, (1, 3), (2, 1, 3)),
    Lookup((4, 3), (2, 2, 1), (2,), (0,), (0,), 2, (1, 3), (2, 2, 3)),
    Lookup((2, 4, 3), (2, 2, 1), (2,), (1,), (1,), 2, (1, 1, 3), (2, 2, 3), (0,), (0,)),
    Lookup((4, 3), (2, 2), (1, 2), (), (0, 1), 1, (2, 2), (2, 2, 2)),
)


def _gathers() -> Iterator[str]:
    for each in LOOKUPS:
        numbers = (
            f"offset_dims = {list(each.window)}, collapsed_slice_dims = {list(each.collapsed)}, "
            f"operand_batching_dims = {list(each.batching)}, "
            f"start_indices_batching_dims = {list(each.indices_batching)}, "
            f"start_index_map = {list(each.mapped)}, index_vector_dim = {each.vector_dim}"
        )
        attributes = (
            f"dimension_numbers = #stablehlo.gather<{numbers}>, "
            f"slice_sizes = array<i64: {', '.join(map(str, each.sizes))}>, indices_are_sorted = false"
        )
        operands = [tensor(each.operand), tensor(each.indices, "i32")]
        yield generic("stablehlo.gather", operands, [tensor(each.result)], attributes)


def _scatters() -> Iterator[str]:
    for each, op in product(LOOKUPS, ("add", "multiply", "maximum", "subtract")):
        numbers = (
            f"update_window_dims = {list(each.window)}, inserted_window_dims = {list(each.collapsed)}, "
            f"input_batching_dims = {list(each.batching)}, "
            f"scatter_indices_batching_dims = {list(each.indices_batching)}, "
            f"scatter_dims_to_operand_dims = {list(each.mapped)}, index_vector_dim = {each.vector_dim}"
        )
        attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
        operands = [tensor(each.operand), tensor(each.indices, "i32"), tensor(each.result)]
        yield generic("stablehlo.scatter", operands, [tensor(each.operand)], attributes, binary_body(op))


PROGRAMS = (
    *(_transposes, _reshapes, _broadcasts, _reversals, _bitcasts),
    *(_slices, _pads, _concatenations, _dynamic_slices, _dynamic_update_slices, _gathers, _scatters),
)

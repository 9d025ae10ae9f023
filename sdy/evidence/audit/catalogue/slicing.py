"""Programs of one slice, update of a slice, pad or concatenation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sdy.evidence.audit.catalogue.text import generic, ints, program, tensor
from sdy.model.shape import StaticShape


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


PROGRAMS = (_slices, _pads, _concatenations, _dynamic_slices, _dynamic_update_slices)

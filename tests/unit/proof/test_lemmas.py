"""Each lemma by brute force: an op on all shardings of small tensors; whatever is proved is run, and must be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

import pytest
from support.execution.one_op import (
    MESHES,
    Axes,
    Counts,
    Shape,
    is_proved,
    is_right,
    local_shape,
    placement,
    program,
    shardings,
    small_array,
)

from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
Moves = Callable[[Shape], Iterator[tuple[str, Shape]]]
Op = Callable[[Sequence[Shape]], tuple[str, Shape]]


def text_of(shape: Shape) -> str:
    return f"tensor<{'x'.join((*map(str, shape), 'i32'))}>"


def elementwise(name: str) -> Op:
    return lambda shapes: (f"%r = stablehlo.{name} {arguments(shapes)} : {text_of(shapes[0])}", shapes[0])


def arguments(shapes: Sequence[Shape]) -> str:
    return ", ".join(f"%arg{number}" for number in range(len(shapes)))


def dot(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    (rows, inner), (other, columns) = shapes
    if inner != other:
        raise ValueError
    types = ", ".join(map(text_of, shapes))
    shape = (rows, columns)
    return (
        f"%r = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : ({types}) -> {text_of(shape)}",
        shape,
    )


def reduction(name: str, initial: str, dim: int) -> Op:
    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        shape = tuple(size for each, size in enumerate(shapes[0]) if each != dim)
        body = (
            f"%c = stablehlo.constant dense<{initial}> : tensor<i32>\n  %r = stablehlo.reduce(%arg0 init: %c) applies "
            f"stablehlo.{name} across dimensions = [{dim}] : ({text_of(shapes[0])}, tensor<i32>) -> {text_of(shape)}"
        )
        return body, shape

    return op


def transpose(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    shape = shapes[0][::-1]
    return f"%r = stablehlo.transpose %arg0, dims = [1, 0] : ({text_of(shapes[0])}) -> {text_of(shape)}", shape


def broadcast(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    shape = (4, *shapes[0])
    dims = list(range(1, len(shape)))
    return f"%r = stablehlo.broadcast_in_dim %arg0, dims = {dims} : ({text_of(shapes[0])}) -> {text_of(shape)}", shape


def concatenate(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    if shapes[0][1] != shapes[1][1]:
        raise ValueError
    shape = (shapes[0][0] + shapes[1][0], shapes[0][1])
    types = ", ".join(map(text_of, shapes))
    return f"%r = stablehlo.concatenate %arg0, %arg1, dim = 0 : ({types}) -> {text_of(shape)}", shape


def reverse(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    return f"%r = stablehlo.reverse %arg0, dims = [0] : {text_of(shapes[0])}", shapes[0]


def generic(name: str, attributes: str, region: str, result: Callable[[Sequence[Shape]], Shape], *extra: str) -> Op:
    """Return an op in MLIR's generic form; `extra` are operands that are constants of rank 0."""

    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        shape = result(shapes)
        constants = "".join(
            f"%c{n} = stablehlo.constant dense<{each}> : tensor<i32>\n  " for n, each in enumerate(extra)
        )
        operands = ", ".join((arguments(shapes), *(f"%c{n}" for n in range(len(extra)))))
        types = ", ".join((*map(text_of, shapes), *("tensor<i32>" for _ in extra)))
        body = f"({{{region}}}) " if region else ""
        return (
            f'{constants}%r = "stablehlo.{name}"({operands}) <{{{attributes}}}> {body}: ({types}) -> {text_of(shape)}',
            shape,
        )

    return op


def sliced(start: int, limit: int, stride: int) -> Op:
    numbers = {"start_indices": (start, 0), "limit_indices": (limit, 2), "strides": (stride, 1)}
    attributes = ", ".join(f"{name} = array<i64: {one}, {other}>" for name, (one, other) in numbers.items())
    return generic("slice", attributes, "", lambda shapes: (-(-(limit - start) // stride), 2))


def padded(low: int, high: int, interior: int) -> Op:
    names = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    attributes = ", ".join(f"{name} = array<i64: {size}, 0>" for name, size in names.items())

    def shape(shapes: Sequence[Shape]) -> Shape:
        size = shapes[0][0]
        return (size + low + high + (size - 1) * interior, shapes[0][1])

    return generic("pad", attributes, "", shape, "5")


def reshaped(*splits: Callable[[Shape], Shape]) -> Op:
    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        shape = splits[0](shapes[0])
        if prod(shape) != prod(shapes[0]):
            raise ValueError
        return f"%r = stablehlo.reshape %arg0 : ({text_of(shapes[0])}) -> {text_of(shape)}", shape

    return op


def updated(shapes: Sequence[Shape]) -> Shape:
    if any(part > size for part, size in zip(shapes[1], shapes[0], strict=True)):
        raise ValueError
    return shapes[0]


def looked_up(shapes: Sequence[Shape]) -> Shape:
    if shapes[1][1] != 1:
        raise ValueError
    return (shapes[1][0], shapes[0][1])


def scattered(shapes: Sequence[Shape]) -> Shape:
    if shapes[1][1] != 1 or shapes[1][0] != shapes[2][0] or shapes[2][1] != shapes[0][1]:
        raise ValueError
    return shapes[0]


def convolved(shapes: Sequence[Shape]) -> Shape:
    (batch, size, features), (window, inner, out) = shapes
    if features != inner or window > size:
        raise ValueError
    return (batch, size - window + 1, out)


def pooled(shapes: Sequence[Shape]) -> Shape:
    if shapes[0][0] < 2:
        raise ValueError
    return (shapes[0][0] - 1, shapes[0][1])


SCALARS = "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
SUM = f"{SCALARS} %s = stablehlo.add %a, %b : tensor<i32>\n stablehlo.return %s : tensor<i32>"
LESS = (
    f"{SCALARS} %s = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    " stablehlo.return %s : tensor<i1>"
)
GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
    "index_vector_dim = 1>, slice_sizes = array<i64: 1, {columns}>"
)
SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)
CONVOLUTION = (
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, "
    "batch_group_count = 1 : i64"
)


def gather(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    return generic("gather", GATHER.replace("{columns}", str(shapes[0][1])), "", looked_up)(shapes)


def branches(index: str) -> Op:
    """Return a branch between two values; a third operand, of rank 0, is `%arg2`."""

    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        if shapes[0] != shapes[1]:
            raise ValueError
        kind = text_of(shapes[0])
        body = (
            f"%c = stablehlo.constant dense<{index or 0}> : tensor<i32>\n"
            f'  %r = "stablehlo.case"({"%c" if index else "%arg2"}) ({{\n'
            f"    %n = stablehlo.negate %arg0 : {kind}\n    stablehlo.return %n : {kind}\n  }}, {{\n"
            f"    stablehlo.return %arg1 : {kind}\n  }}) : (tensor<i32>) -> {kind}"
        )
        return body, shapes[0]

    return op


def loop(count: str) -> Op:
    """Return a loop that adds the second operand to the first one; a third operand, of rank 0, is `%arg2`."""

    def op(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        if shapes[0] != shapes[1]:
            raise ValueError
        kind = text_of(shapes[0])
        body = (
            "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
            f"  %last = stablehlo.constant dense<{count or 0}> : tensor<i32>\n"
            f"  %l:2 = stablehlo.while(%i = %zero, %v = %arg0) : tensor<i32>, {kind}\n  cond {{\n"
            f"    %t = stablehlo.compare LT, %i, {'%last' if count else '%arg2'} : (tensor<i32>, tensor<i32>) -> "
            "tensor<i1>\n    stablehlo.return %t : tensor<i1>\n  } do {\n"
            "    %one = stablehlo.constant dense<1> : tensor<i32>\n    %j = stablehlo.add %i, %one : tensor<i32>\n"
            f"    %w = stablehlo.add %v, %arg1 : {kind}\n    stablehlo.return %j, %w : tensor<i32>, {kind}\n  }}\n"
            f"  %r = stablehlo.negate %l#1 : {kind}"
        )
        return body, shapes[0]

    return op


def largest(shapes: Sequence[Shape]) -> tuple[str, Shape]:
    shape = (shapes[0][0], 2)
    if shapes[0][1] < 2:
        raise ValueError
    return (
        f"%r, %places = chlo.top_k(%arg0, k = 2) : {text_of(shapes[0])} -> ({text_of(shape)}, {text_of(shape)})",
        shape,
    )


def same_sizes(op: Op) -> Op:
    def checked(shapes: Sequence[Shape]) -> tuple[str, Shape]:
        if len(set(shapes)) > 1:
            raise ValueError
        return op(shapes)

    return checked


CASES: dict[str, tuple[Op, list[Shape]]] = {
    "add": (same_sizes(elementwise("add")), [(4, 4), (4, 4)]),
    "multiply": (same_sizes(elementwise("multiply")), [(4, 4), (4, 4)]),
    "negate": (elementwise("negate"), [(4, 8)]),
    "maximum": (same_sizes(elementwise("maximum")), [(4,), (4,)]),
    "dot_general": (dot, [(4, 4), (4, 4)]),
    "dot": (generic("dot", "", "", lambda shapes: (*shapes[0][:-1], *shapes[1][1:])), [(4, 4), (4, 4)]),
    "sum of rows": (reduction("add", "0", 0), [(4, 4)]),
    "sum with an initial value": (reduction("add", "3", 1), [(4, 4)]),
    "largest": (reduction("maximum", "-2147483648", 1), [(4, 4)]),
    "product": (reduction("multiply", "1", 0), [(4, 4)]),
    "transpose": (transpose, [(4, 4)]),
    "broadcast": (broadcast, [(4,)]),
    "concatenate": (concatenate, [(4, 2), (4, 2)]),
    "reverse": (reverse, [(4, 4)]),
    "slice": (sliced(1, 3, 1), [(4, 2)]),
    "slice with steps": (sliced(0, 4, 2), [(4, 2)]),
    "pad before": (padded(2, 0, 0), [(2, 4)]),
    "pad after": (padded(0, 2, 0), [(2, 4)]),
    "pad inside": (padded(0, 1, 1), [(2, 4)]),
    "split a dim": (reshaped(lambda shape: (2, shape[0] // 2, shape[1])), [(4, 2)]),
    "split a dim of size 1": (reshaped(lambda shape: (1, *shape)), [(4, 2)]),
    "merge dims": (reshaped(lambda shape: (shape[0] * shape[1],)), [(2, 4)]),
    "split and merge": (reshaped(lambda shape: (shape[0] // 2, shape[1] * 2)), [(4, 2)]),
    "update": (generic("dynamic_update_slice", "", "", updated, "1", "0"), [(4, 2), (2, 2)]),
    "gather": (gather, [(4, 2), (2, 1)]),
    "scatter": (generic("scatter", SCATTER, SUM, scattered), [(4, 2), (2, 1), (2, 2)]),
    "sort": (generic("sort", "dimension = 0 : i64, is_stable = true", LESS, lambda shapes: shapes[0]), [(4, 4)]),
    "largest of a row": (largest, [(4, 4)]),
    "branch": (branches(""), [(4, 4), (4, 4), ()]),
    "branch that is known": (branches("7"), [(4, 4), (4, 4)]),
    "loop": (loop(""), [(4,), (4,), ()]),
    "loop of a known length": (loop("3"), [(4, 4), (4, 4)]),
    "convolution": (generic("convolution", CONVOLUTION, "", convolved), [(2, 4, 2), (2, 2, 2)]),
    "windows": (generic("reduce_window", "window_dimensions = array<i64: 2, 1>", SUM, pooled, "0"), [(4, 4)]),
}
GROUPS = (((0, 1, 2, 3),), ((0, 2, 1, 3),), ((0, 1), (2, 3)), ((0, 2), (1, 3)), ((1, 0), (3, 2)), ((0, 3), (2, 1)))
PAIRS = (
    ((0, 1), (1, 0), (2, 3), (3, 2)),
    ((0, 2), (2, 0), (1, 3), (3, 1)),
    ((0, 1), (1, 2), (2, 3), (3, 0)),
    ((1, 2), (2, 1)),
)
TABLES = ((0, 0, 2, 2), (0, 2, 0, 2), (2, 0, 2, 0), (0, 1, 2, 3), (3, 2, 1, 0), (0, 0, 0, 2))


def collectives(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield ops that move data between devices, and the shape of their result."""
    for groups, dim in product(GROUPS, range(len(shape))):
        count, text = len(groups[0]), str([list(each) for each in groups])
        table = f"replica_groups = dense<{text}> : tensor<{len(groups)}x{count}xi64>"
        body = (
            "({^bb0(%a: tensor<i32>, %b: tensor<i32>):\n %s = stablehlo.add %a, %b : tensor<i32>\n "
            "stablehlo.return %s : tensor<i32>}) "
        )
        larger, smaller = with_size(shape, dim, shape[dim] * count), with_size(shape, dim, shape[dim] // count)
        ids = f"{CHANNEL}, {table}, use_global_device_ids"
        yield f'%r = "stablehlo.all_gather"(%arg0) <{{all_gather_dim = {dim} : i64, {ids}}}> : ', larger
        if dim == 0:
            yield f'%r = "stablehlo.all_reduce"(%arg0) <{{{ids}}}> {body}: ', shape
        if shape[dim] % count == 0:
            yield (
                f'%r = "stablehlo.reduce_scatter"(%arg0) <{{scatter_dimension = {dim} : i64, {ids}}}> {body}: ',
                smaller,
            )
            for other in range(len(shape)):
                moved = with_size(smaller, other, smaller[other] * count)
                dims = f"split_dimension = {dim} : i64, concat_dimension = {other} : i64, split_count = {count} : i64"
                yield f'%r = "stablehlo.all_to_all"(%arg0) <{{{dims}, {CHANNEL}, {table}}}> : ', moved
    for pairs in PAIRS:
        table = f"source_target_pairs = dense<{[list(each) for each in pairs]}> : tensor<{len(pairs)}x2xi64>"
        yield f'%r = "stablehlo.collective_permute"(%arg0) <{{{CHANNEL}, {table}}}> : ', shape


def slices(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield slices whose start depends on the device, and the shape of their result."""
    for values in TABLES:
        if shape[0] == 4:
            found = with_size(shape, 0, 2 if max(values) == 2 else 1)
            yield (
                f"%t = stablehlo.constant dense<{list(values)}> : tensor<4xi64>\n"
                "  %p = stablehlo.partition_id : tensor<ui32>\n"
                "  %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i64>\n"
                "  %z = stablehlo.constant dense<0> : tensor<i64>\n"
                "  %u = stablehlo.dynamic_slice %t, %q, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>\n"
                "  %s = stablehlo.reshape %u : (tensor<1xi64>) -> tensor<i64>\n"
                f"  %r = stablehlo.dynamic_slice %arg0, %s, %z, sizes = {list(found)} : ",
                found,
            )


def with_size(shape: Shape, dim: int, size: int) -> Shape:
    return (*shape[:dim], size, *shape[dim + 1 :])


def operand_choices(shape: Shape, mesh: Mesh) -> list[tuple[Axes, tuple[str, ...]]]:
    """Return the shardings of an operand, and the axes along which it is unreduced: none, or a free one."""
    found: list[tuple[Axes, tuple[str, ...]]] = []
    for axes in shardings(shape, mesh):
        free = [axis.name for axis in mesh.axes if all(axis.name not in each for each in axes)]
        found += [(axes, ()), *((axes, (name,)) for name in free)]
    return found


def try_all(op: Op, shapes: list[Shape], mesh: Mesh) -> Counts:
    """Prove an op on all shardings; each program that is proved must be right."""
    body, result = op(shapes)
    whole = program(body, list(map(text_of, shapes)), text_of(result))
    inputs = [small_array(shape, seed) for seed, shape in enumerate(shapes)]
    tried = proved = 0
    for chosen in product(*(operand_choices(shape, mesh) for shape in shapes)):
        local_shapes = [local_shape(shape, axes) for shape, (axes, _) in zip(shapes, chosen, strict=True)]
        try:
            local_body, local_result = op(local_shapes)
        except ValueError:
            continue
        local = program(local_body, list(map(text_of, local_shapes)), text_of(local_result))
        operands = tuple(placement(shape, *each[:1], mesh, each[1]) for shape, each in zip(shapes, chosen, strict=True))
        for axes, unreduced in operand_choices(result, mesh):
            if local_shape(result, axes) != local_result:
                continue
            boundary = ProgramPlacement(mesh, operands, (placement(result, axes, mesh, unreduced),))
            tried += 1
            if is_proved(local, whole, boundary):
                proved += 1
                assert is_right(local, whole, boundary, inputs), (local, boundary)
    return Counts(tried, proved)


SLOW = {"scatter", "convolution", "update", "gather"}  # with their many shardings, on a mesh of two axes
CHOICES = [(mesh, name) for mesh in MESHES[:2] for name in CASES]


@pytest.mark.parametrize(
    ("mesh", "name"),
    [
        pytest.param(*each, marks=pytest.mark.slow if each[1] in SLOW and len(each[0].axes) > 1 else ())
        for each in CHOICES
    ],
    ids=str,
)
def test_what_is_proved_of_an_op_is_right(name: str, mesh: Mesh) -> None:
    counts = try_all(*CASES[name], mesh)
    assert 0 < counts.proved < counts.tried or counts.proved == counts.tried == 1


@pytest.mark.parametrize("mesh", [MESHES[1], pytest.param(MESHES[2], marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("moves", [collectives, slices], ids=["collectives", "slices"])
def test_what_is_proved_of_a_move_of_data_is_right(
    moves: Callable[[Shape], Iterator[tuple[str, Shape]]], mesh: Mesh
) -> None:
    shape = (4, 4)
    whole = program("%r = stablehlo.negate %arg0 : tensor<4x4xi32>", [text_of(shape)], text_of(shape))
    inputs = [small_array(shape, 0)]
    tried = proved = 0
    for axes, unreduced in operand_choices(shape, mesh):
        given = local_shape(shape, axes)
        for op, found in moves(given):
            starts = ", tensor<i64>, tensor<i64>" if "dynamic_slice %arg0" in op else ""
            moved = f"{op.replace('%arg0', '%n')}({text_of(given)}{starts}) -> {text_of(found)}"
            body = f"%n = stablehlo.negate %arg0 : {text_of(given)}\n  {moved}"
            local = program(body, [text_of(given)], text_of(found))
            for target, partial in operand_choices(shape, mesh):
                if local_shape(shape, target) != found:
                    continue
                results = (placement(shape, target, mesh, partial),)
                boundary = ProgramPlacement(mesh, (placement(shape, axes, mesh, unreduced),), results)
                tried += 1
                if is_proved(local, whole, boundary):
                    proved += 1
                    assert is_right(local, whole, boundary, inputs), (local, boundary)
    assert 2 < proved < tried

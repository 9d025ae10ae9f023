"""Each lemma by brute force: an op on all shardings of small tensors; whatever is proved is run, and must be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest
from support.execution.one_op import (
    MESHES,
    Counts,
    Shape,
    is_proved,
    is_right,
    local_shape,
    operand_choices,
    placement,
    program,
    small_array,
)
from support.execution.small_ops import (
    CONVOLUTION,
    LESS,
    SCATTER,
    SCATTER_OF_WINDOWS,
    SUM,
    Op,
    branches,
    broadcast,
    concatenate,
    convolved,
    convolved_by_feature,
    dot,
    elementwise,
    gather,
    gather_one,
    generic,
    kernel_gradient_by_feature,
    largest,
    loop,
    padded,
    pooled,
    reduction,
    reshaped,
    reverse,
    same_sizes,
    scalar_region,
    scattered,
    scattered_windows,
    sliced,
    text_of,
    transpose,
    updated,
    with_size,
)

from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import Mesh

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
Moves = Callable[[Shape], Iterator[tuple[str, Shape]]]


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
    "gather of one slice": (gather_one, [(4, 2), (1,)]),
    "scatter": (generic("scatter", SCATTER, SUM, scattered), [(4, 2), (2, 1), (2, 2)]),
    "scatter of the largest": (
        generic("scatter", SCATTER, scalar_region("maximum"), scattered),
        [(4, 2), (2, 1), (2, 2)],
    ),
    "scatter along two dims": (
        generic("scatter", SCATTER_OF_WINDOWS, SUM, scattered_windows),
        [(4, 4), (2, 2), (2, 4)],
    ),
    "scatter of parts": (generic("scatter", SCATTER_OF_WINDOWS, SUM, scattered_windows), [(4, 4), (2, 2), (2, 2)]),
    "sort": (generic("sort", "dimension = 0 : i64, is_stable = true", LESS, lambda shapes: shapes[0]), [(4, 4)]),
    "largest of a row": (largest, [(4, 4)]),
    "branch": (branches(""), [(4, 4), (4, 4), ()]),
    "branch that is known": (branches("7"), [(4, 4), (4, 4)]),
    "loop": (loop(""), [(4,), (4,), ()]),
    "loop of a known length": (loop("3"), [(4, 4), (4, 4)]),
    "convolution": (generic("convolution", CONVOLUTION, "", convolved), [(2, 4, 2), (2, 2, 2)]),
    "convolution by feature": (convolved_by_feature, [(2, 4, 4), (2, 1, 4)]),
    "kernel gradient by feature": (kernel_gradient_by_feature, [(2, 4, 4), (2, 2, 4)]),
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


# With their many shardings, on a mesh of two axes.
SLOW = {
    "scatter",
    "scatter of the largest",
    "scatter along two dims",
    "scatter of parts",
    "convolution",
    "convolution by feature",
    "kernel gradient by feature",
    "update",
    "gather",
}
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

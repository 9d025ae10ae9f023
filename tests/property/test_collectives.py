"""Compare collectives with loops over devices that follow the definition of each op."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.random_ops.draft import region, tensor

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.run import run_spmd

Rows = list[list[int]]
Values = list[Array]

GRIDS = [
    Grid((2, 2, 3), 1, 12),
    Grid((12,), 1, 12),
    Grid((4, 3), 1, 12),
    Grid((2, 6), 2, 6),
    Grid((3, 4), 1, 12, tuple(reversed(range(12)))),
]


def axis_groups(random: np.random.Generator, count: int) -> Rows:
    """Draw groups that are a product of axes of some grid of all devices, in any order of axes."""
    sizes = [(2, 2, 3), (4, 3), (2, 6), (3, 2, 2), (12,)][int(random.integers(5))]
    ids = np.arange(count).reshape(sizes).transpose(random.permutation(len(sizes)))
    inner = int(random.integers(ids.ndim + 1))
    members = int(np.prod(ids.shape[ids.ndim - inner :]))
    return ids.reshape(-1, members).tolist()


def any_groups(random: np.random.Generator, count: int) -> Rows:
    """Draw random groups of devices."""
    return random.permutation(count).reshape(-1, int(random.choice([2, 3, 4, 6]))).tolist()


def groups_text(groups: Rows) -> str:
    return f"dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>"


def flattened(groups: Rows) -> str:
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    return f"replica_groups = {groups_text(groups)}, {channel}, use_global_device_ids"


def by_partition(groups: Rows) -> str:
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    return f"replica_groups = {groups_text(groups)}, {channel}"


def module_text(op: str, operand: Array, result_shape: tuple[int, ...]) -> str:
    given, result = tensor(operand.shape[1:], "i32"), tensor(result_shape, "i32")
    return (
        f"func.func @main(%a: {given}) -> {result} {{\n  %0 = {op} : ({given}) -> {result}\n  return %0 : {result}\n}}"
    )


def all_gather(groups: Rows, operand: Array) -> tuple[str, Values]:
    size = len(groups[0])
    op = f'"stablehlo.all_gather"(%a) <{{all_gather_dim = 1 : i64, {flattened(groups)}}}>'
    _, rows, columns = operand.shape
    row_of = {device: row for row in groups for device in row}
    expected = [np.concatenate([operand[other] for other in row_of[device]], axis=1) for device in range(len(operand))]
    return module_text(op, operand, (rows, columns * size)), expected


def all_reduce(groups: Rows, operand: Array) -> tuple[str, Values]:
    op = f'"stablehlo.all_reduce"(%a) <{{{flattened(groups)}}}> {region("i32", "stablehlo.add %a0, %b")}'
    op = op.replace("%a:", "%a0:")
    row_of = {device: row for row in groups for device in row}
    expected = [operand[row_of[device]].sum(axis=0, dtype=np.int32) for device in range(len(operand))]
    return module_text(op, operand, operand.shape[1:]), expected


def reduce_scatter(groups: Rows, operand: Array) -> tuple[str, Values]:
    size = len(groups[0])
    body = region("i32", "stablehlo.maximum %a0, %b").replace("%a:", "%a0:")
    op = f'"stablehlo.reduce_scatter"(%a) <{{scatter_dimension = 1 : i64, {flattened(groups)}}}> {body}'
    _, rows, columns = operand.shape
    row_of = {device: row for row in groups for device in row}
    expected = [
        np.split(operand[row_of[device]].max(axis=0), size, axis=1)[row_of[device].index(device)]
        for device in range(len(operand))
    ]
    return module_text(op, operand, (rows, columns // size)), expected


def all_to_all(groups: Rows, operand: Array) -> tuple[str, Values]:
    size = len(groups[0])
    dims = f"split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = {size} : i64"
    op = f'"stablehlo.all_to_all"(%a) <{{{dims}, {by_partition(groups)}}}>'
    _, rows, columns = operand.shape
    row_of = {device: row for row in groups for device in row}
    expected: Values = []
    for device in range(len(operand)):
        position = row_of[device].index(device)
        parts = [np.split(operand[other], size, axis=1)[position] for other in row_of[device]]
        expected.append(np.concatenate(parts, axis=0))
    return module_text(op, operand, (rows * size, columns // size)), expected


def collective_broadcast(groups: Rows, operand: Array) -> tuple[str, Values]:
    some = groups[: len(groups) // 2 + 1]
    op = f'"stablehlo.collective_broadcast"(%a) <{{{by_partition(some)}}}>'
    root_of = {device: row[0] for row in some for device in row}
    expected = [
        operand[root_of[device]] if device in root_of else np.zeros_like(operand[0]) for device in range(len(operand))
    ]
    return module_text(op, operand, operand.shape[1:]), expected


def collective_reduce(groups: Rows, operand: Array) -> tuple[str, Values]:
    body = region("i32", "stablehlo.add %a0, %b").replace("%a:", "%a0:")
    op = f'"stablehlo.collective_reduce"(%a) <{{{by_partition(groups)}}}> {body}'
    total_of = {row[0]: operand[row].sum(axis=0, dtype=np.int32) for row in groups}
    expected = [total_of.get(device, np.zeros_like(operand[0])) for device in range(len(operand))]
    return module_text(op, operand, operand.shape[1:]), expected


COLLECTIVES: dict[str, Callable[[Rows, Array], tuple[str, Values]]] = {
    "all_gather": all_gather,
    "all_reduce": all_reduce,
    "reduce_scatter": reduce_scatter,
    "all_to_all": all_to_all,
    "collective_broadcast": collective_broadcast,
    "collective_reduce": collective_reduce,
}


def operand_on(grid: Grid, random: np.random.Generator) -> tuple[DeviceArray, Array]:
    """Draw an operand that varies along some axes of the grid; return it with the value of each device in order."""
    leading = tuple(size if random.random() < 0.7 else 1 for size in grid.sizes)
    value = DeviceArray(random.integers(0, 100, (*leading, 2, 12)).astype(np.int32), grid)
    return value, np.stack([value.device_view(device) for device in range(grid.position_count)])


def check(text: str, value: DeviceArray, expected: Values) -> None:
    (result,) = run_spmd(parse_module(text), [value], value.grid)
    for device, array in enumerate(expected):
        assert (result.device_view(device) == array).all(), f"device {device} of {value.grid}\n{text}"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("make_groups", [axis_groups, any_groups])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_equal_a_loop_over_devices(
    name: str, make_groups: Callable[[np.random.Generator, int], Rows], seed: int
) -> None:
    random = np.random.default_rng(seed)
    grids = [
        grid for grid in GRIDS if grid.replica_count == 1 or name in ("all_gather", "all_reduce", "reduce_scatter")
    ]
    grid = grids[int(random.integers(len(grids)))]
    value, held = operand_on(grid, random)
    text, expected = COLLECTIVES[name](make_groups(random, 12), held)
    check(text, value, expected)


@pytest.mark.parametrize("seed", range(20))
def test_permute_follows_source_target_pairs(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = [grid for grid in GRIDS if grid.replica_count == 1][int(random.integers(4))]
    value, held = operand_on(grid, random)
    if seed % 2:  # along one axis, as a halo exchange does
        steps = np.arange(12).reshape(4, 3)
        pairs = np.stack([steps[:-1].reshape(-1), steps[1:].reshape(-1)], axis=1).tolist()
    else:
        sources = random.permutation(12)[:7]
        pairs = np.stack([sources, random.permutation(12)[:7]], axis=1).tolist()
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    pairs_text = f"dense<{pairs}> : tensor<{len(pairs)}x2xi64>"
    op = f'"stablehlo.collective_permute"(%a) <{{source_target_pairs = {pairs_text}, {channel}}}>'
    source_of = {target: source for source, target in pairs}
    expected = [
        held[source_of[device]] if device in source_of else np.zeros_like(held[0]) for device in range(len(held))
    ]
    check(module_text(op, held, held.shape[1:]), value, expected)


def test_groups_of_replicas_run_in_every_partition() -> None:
    grid = Grid((2, 6), replica_count=2, partition_count=6)
    value = DeviceArray(np.arange(24, dtype=np.int32).reshape(2, 6, 2, 1), grid)
    body = region("i32", "stablehlo.add %a0, %b").replace("%a:", "%a0:")
    op = f'"stablehlo.all_reduce"(%a) <{{replica_groups = {groups_text([[0, 1]])}}}> {body}'
    expected = [value.array[:, device % 6].sum(axis=0) for device in range(12)]
    check(module_text(op, np.zeros((12, 2, 1)), (2, 1)), value, expected)


def test_groups_of_replicas_with_a_channel_reduce_over_all_partitions() -> None:
    grid = Grid((2, 6), replica_count=2, partition_count=6)
    value = DeviceArray(np.arange(12, dtype=np.int32).reshape(2, 6, 1, 1), grid)
    body = region("i32", "stablehlo.add %a0, %b").replace("%a:", "%a0:")
    op = f'"stablehlo.all_reduce"(%a) <{{{by_partition([[0], [1]])}}}> {body}'
    expected = [value.array[device // 6].sum(axis=0) for device in range(12)]
    check(module_text(op, np.zeros((12, 1, 1)), (1, 1)), value, expected)


def test_groups_of_different_sizes_reduce() -> None:
    grid = Grid((4,), 1, 4)
    value = DeviceArray(np.array([1, 10, 100, 1000], np.int32).reshape(4, 1, 1), grid)
    body = region("i32", "stablehlo.add %a0, %b").replace("%a:", "%a0:")
    op = f'"stablehlo.all_reduce"(%a) <{{{flattened([[0, 1, 3], [2, -1, -1]])}}}> {body}'
    check(module_text(op, np.zeros((4, 1, 1)), (1, 1)), value, [np.array([[n]]) for n in (1011, 1011, 100, 1011)])


def test_cross_replica_sum() -> None:
    grid = Grid((3,), replica_count=3, partition_count=1)
    value = DeviceArray(np.array([1, 10, 100], np.int32).reshape(3, 1, 1), grid)
    op = f'"stablehlo.cross-replica-sum"(%a) <{{replica_groups = {groups_text([[0, 1, 2]])}}}>'
    check(module_text(op, np.zeros((3, 1, 1)), (1, 1)), value, [np.array([[111]])] * 3)


@pytest.mark.parametrize("in_module", [True, False])
def test_groups_named_by_the_axes_of_a_mesh(in_module: bool) -> None:
    text = 'axes = [#stablehlo.axis_ref<name = "y">]'
    axes = '[<name = "x", size = 2>, <name = "y", size = 2>]'
    inline = f"#stablehlo.mesh<axes = {axes}, device_ids = dense<[1, 0, 3, 2]> : tensor<4xi64>>"
    groups = f"#stablehlo.replica_group_mesh_axes<mesh = {'@m' if in_module else inline}, {text}>"
    op = f'"stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, replica_groups = {groups}}}>'
    mesh = 'sdy.mesh @m = <["x"=2, "y"=2], device_ids=[1, 0, 3, 2]>\n'
    grid = Grid((4,), 1, 4)
    value = DeviceArray(np.arange(4, dtype=np.int32).reshape(4, 1, 1), grid)
    expected = [np.array(column).reshape(2, 1) for column in ([1, 0], [1, 0], [3, 2], [3, 2])]
    check(mesh + module_text(op, np.zeros((4, 1, 1)), (2, 1)), value, expected)

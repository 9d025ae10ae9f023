"""Plans of sends between any two shardings: they deliver every element once, and the busiest link carries little more
than it must."""

from __future__ import annotations

import random
from collections import defaultdict
from math import prod

import numpy as np
import pytest

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.shards import shard
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.model.axis import AxisRef, SubAxis
from sdy.model.devices.reshard_plan import Read, ReshardPlan, mesh_of, reshard_plan
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.mpmd.execution.device_run import resharded

SIZES = (1, 2, 2, 3, 4, 4, 8)
LEAST_ELEMENTS = 100  # on the busiest link, below which single elements matter


def random_sharding(draw: random.Random, rank: int, first_device: int) -> TensorSharding:
    axes = [MeshAxis("xyz"[number], draw.choice(SIZES)) for number in range(draw.randint(1, 3))]
    while prod(axis.size for axis in axes) > 32:
        axes.pop()
    devices = [first_device + number for number in range(prod(axis.size for axis in axes))]
    if draw.random() < 0.3:
        draw.shuffle(devices)
    refs: list[AxisRef] = []
    for axis in axes:
        splits = axis.size in (4, 8) and draw.random() < 0.4
        sub_axes = [SubAxis(1, 2), SubAxis(2, axis.size // 2)][: draw.randint(1, 2)]
        refs += [AxisRef(axis.name, each) for each in sub_axes] if splits else [AxisRef(axis.name)]
    draw.shuffle(refs)
    dims: list[list[AxisRef]] = [[] for _ in range(rank)]
    for ref in refs:
        if rank and draw.random() < 0.7:
            draw.choice(dims).append(ref)
    return TensorSharding(Mesh(tuple(axes), tuple(devices)), tuple(DimSharding(tuple(each)) for each in dims))


def random_plan(draw: random.Random) -> ReshardPlan:
    rank = draw.randint(0, 3)
    shape = tuple(draw.randint(1, 40) for _ in range(rank))
    first = draw.choice((0, 0, 4, 64))
    return reshard_plan(random_sharding(draw, rank, 0), random_sharding(draw, rank, first), shape)


def in_order(sharding: TensorSharding) -> TensorSharding:
    """Return the sharding on devices 0, 1, 2, ..., of which simulated devices are."""
    return TensorSharding(Mesh(mesh_of(sharding).axes), sharding.dims)


def on_devices(array: np.ndarray, sharding: TensorSharding) -> DeviceArray:
    plain = in_order(sharding)
    return regridded(shard(array, plain, mesh_of(plain)), grid_of_mesh(mesh_of(plain)))


def check(plan: ReshardPlan) -> None:
    """Check that the sends deliver the shards of the target, each element once, and what they cost."""
    array = np.arange(1, prod(plan.shape) + 1, dtype=np.int64).reshape(plan.shape)
    wanted = on_devices(array, plan.target)
    moved = resharded(plan, on_devices(array, plan.source), Mesh(mesh_of(plan.target).axes))
    sizes = (*wanted.grid.sizes, *wanted.local_shape)
    assert np.array_equal(np.broadcast_to(moved.array, sizes), np.broadcast_to(wanted.array, sizes))
    held, shards = (
        dict(zip(mesh_of(each).listed_devices(), boxes(each, plan.shape), strict=True))
        for each in (plan.source, plan.target)
    )
    lacking = {device: volume(box) - volume(common(box, held.get(device))) for device, box in shards.items()}
    assert plan.received == {device: count for device, count in lacking.items() if count}
    if plan.lower_bound >= LEAST_ELEMENTS:
        assert plan.busiest <= 1.05 * plan.lower_bound
    assert plan.lower_bound >= bound(plan, lacking, held)


Box = tuple[tuple[int, int], ...]


def boxes(sharding: TensorSharding, shape: tuple[int, ...]) -> list[Box]:
    """Return the part of the tensor that each device holds, in mesh order, from a tensor of indices."""
    found: list[Box] = []
    columns = [on_devices(index + 1, sharding) for index in np.indices(shape)] if shape else []
    for position in range(mesh_of(sharding).device_count):
        box: list[tuple[int, int]] = []
        for column in columns:
            full = np.broadcast_to(column.array, (*column.grid.sizes, *column.local_shape))
            numbers = full.reshape((mesh_of(sharding).device_count, -1))[position]
            kept = numbers[numbers > 0]
            box.append((int(kept.min()) - 1, int(kept.max())) if kept.size else (0, 0))
        found.append(tuple(box))
    return found


def volume(box: Box) -> int:
    return prod(high - low for low, high in box)


def common(box: Box, other: Box | None) -> Box:
    if other is None:
        return ((0, 0),)
    pairs = zip(box, other, strict=True)
    return tuple((max(a, c), max(max(a, c), min(b, d))) for (a, b), (c, d) in pairs)


def bound(plan: ReshardPlan, lacking: dict[int, int], held: dict[int, Box]) -> int:
    """Return what the busiest link carries at least, element by element."""
    devices = {*lacking, *held}
    holders: dict[Box, list[int]] = defaultdict(list)
    for device, box in held.items():
        holders[box].append(device)
    needed: dict[Box, set[tuple[Box, Box]]] = defaultdict(set)
    for device, box in zip(mesh_of(plan.target).listed_devices(), boxes(plan.target, plan.shape), strict=True):
        for stored in holders:
            part = common(box, stored)
            if volume(part) and volume(common(part, held.get(device))) < volume(part):
                needed[stored].add((stored, part))
    sent = [-(-sum(volume(part) for _, part in parts) // len(holders[stored])) for stored, parts in needed.items()]
    return max(0, *lacking.values(), *sent, -(-sum(lacking.values()) // len(devices)))


@pytest.mark.parametrize("seed", range(4))
def test_random_pairs_of_shardings(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(60):
        check(random_plan(draw))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 54))
def test_ten_thousand_random_pairs_of_shardings(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(200):
        check(random_plan(draw))


@pytest.mark.parametrize("seed", range(3))
def test_no_device_sends_or_receives_more_than_a_round_allows(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(15):
        plan = random_plan(draw)
        most = max(1, plan.busiest // 7)
        rounds = reshard_plan(plan.source, plan.target, plan.shape, round_elements=most)
        used: dict[tuple[int, int, int], int] = defaultdict(int)
        for send in rounds.sends:
            used[send.round, 0, send.source] += send.elements
            used[send.round, 1, send.target] += send.elements
        assert all(amount <= most for amount in used.values())
        check(rounds)


FSDP = sdy.parse_sharding('<mesh<["fsdp"=8]>, [{"fsdp"}, {}]>')
TENSOR = sdy.parse_sharding('<mesh<["copy"=2, "tensor"=4]>, [{}, {"tensor"}]>')


def test_a_tensor_moves_to_devices_of_another_numbering() -> None:
    plan = reshard_plan(FSDP, TENSOR, (64, 64), target_devices=range(8, 16))
    assert {send.source for send in plan.sends if not send.round} == set(range(8))
    assert {send.target for send in plan.sends} == set(range(8, 16))
    assert plan.busiest == plan.lower_bound == 64 * 16
    assert sum(send.elements for send in plan.sends_of(0)) == plan.sent[0] == 8 * 64
    assert repr(plan) == f"ReshardPlan({len(plan.sends)} sends, 1,024 elements on the busiest link)"


def test_readers_of_a_checkpoint_read_their_own_shard_in_parts_of_the_stored_ones() -> None:
    array = np.arange(60 * 10).reshape(60, 10)
    reads = reshard_plan(FSDP, TENSOR, array.shape).reads()
    assert all(isinstance(each, Read) for each in reads)
    shards = {device: np.full(array.shape, -1) for device in range(8)}
    for read in reads:
        stored = array[tuple(slice(*each) for each in read.stored)]
        shards[read.device][tuple(slice(*each) for each in read.box)] = stored[read.slices]
    for device, found in shards.items():
        first = device % 4 * 3
        wanted = np.full(array.shape, -1)
        wanted[:, first : first + 3] = array[:, first : first + 3]
        assert np.array_equal(found, wanted)


def test_partial_values_move_without_being_reduced() -> None:
    partial = sdy.parse_sharding('<mesh<["x"=2, "y"=2]>, [{"x"}], unreduced={"y"}>')
    other = sdy.parse_sharding('<mesh<["y"=2]>, [{}], unreduced={"y"}>')
    plan = reshard_plan(partial, other, (8,), target_devices=[4, 5])
    assert plan.shape == (2, 8)
    assert plan.received == {4: 8, 5: 8}
    with pytest.raises(SdyError) as raised:
        reshard_plan(partial, sdy.parse_sharding('<mesh<["y"=2]>, [{}]>'), (8,))
    assert raised.value.diagnostics[0].code == "SDY-S080"


@pytest.mark.parametrize(
    ("source", "shape", "options", "code"),
    [
        ("<@named, [{}, {}]>", (8, 8), {}, "SDY-S080"),
        ('<mesh<["x"=2]>, [{"x"}]>', (8, 8), {}, "SDY-S080"),
        ('<mesh<["x"=2]>, [{"y"}, {}]>', (8, 8), {}, "SDY-S080"),
        ('<mesh<["x"=2]>, [{"x"}, {}]>', (8, 8), {"source_devices": [3, 3]}, "SDY-S081"),
        ('<mesh<["x"=2]>, [{"x"}, {}]>', (8, 8), {"round_elements": 0}, "SDY-S081"),
    ],
)
def test_what_cannot_be_planned(source: str, shape: tuple[int, ...], options: dict[str, object], code: str) -> None:
    with pytest.raises(SdyError) as raised:
        reshard_plan(sdy.parse_sharding(source), TENSOR, shape, **options)  # pyright: ignore[reportArgumentType]
    assert raised.value.diagnostics[0].code == code


def test_the_weights_of_a_large_model_are_planned_in_little_time() -> None:
    """126 layers of 405 billion parameters, from FSDP on 64 devices to tensor parallelism of 8."""
    fsdp, tensor = Mesh((MeshAxis("fsdp", 64),)), Mesh((MeshAxis("copy", 8), MeshAxis("tensor", 8)))

    def sharded(mesh: Mesh, axis: str, rank: int, dim: int | None) -> TensorSharding:
        return TensorSharding(mesh, tuple(DimSharding((AxisRef(axis),) if each == dim else ()) for each in range(rank)))

    hidden, inner, keys = 16384, 53248, 1024
    weights = [((hidden, hidden), 1), ((hidden, hidden), 0), ((keys, hidden), 0), ((inner, hidden), 0)]
    weights += [((hidden, inner), 1), ((hidden,), 0), ((128256, hidden), 0)]
    for shape, dim in weights * 126:
        target = sharded(tensor, "tensor", len(shape), None if len(shape) == 1 else dim)
        plan = reshard_plan(sharded(fsdp, "fsdp", len(shape), 0), target, shape)
        assert plan.busiest <= 1.05 * plan.lower_bound
        assert len(plan.sends) < 10_000

"""Times and bytes of collectives, compared with figures computed by hand to within 2 %."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Switch, Torus
from sdy.cost.machine_layout import (
    CollectiveTime,
    PermuteLoad,
    SwitchGroup,
    TorusLine,
    permute_time,
    switch_time,
    torus_time,
)
from sdy.cost.machines.file import resolve_hardware
from sdy.cost.machines.table import HARDWARE
from sdy.diagnostics.diagnostic import SdyError
from sdy.grammar.parse import parse_mesh, parse_sharding
from sdy.model.shape import local_shape

GATHER = CollectiveKind.ALL_GATHER
SCATTER = CollectiveKind.REDUCE_SCATTER
REDUCE = CollectiveKind.ALL_REDUCE
EXCHANGE = CollectiveKind.ALL_TO_ALL

BF16 = 2  # bytes
ONE_WAY = Torus(1, link_bandwidth=4.5e10, hop_seconds=0.0, wrap_multiple=1, is_bidirectional=False)
BOTH_WAYS = Torus(1, link_bandwidth=4.5e10, hop_seconds=0.0, wrap_multiple=1)


def _about(value: float) -> object:
    return pytest.approx(value, rel=0.02)


def _torus(name: str) -> Torus:
    network = HARDWARE[name].ideal().network
    assert isinstance(network, Torus)
    return network


def _switch(name: str) -> Switch:
    network = HARDWARE[name].ideal().network
    assert isinstance(network, Switch)
    return network


def _ring(size: int) -> TorusLine:
    return TorusLine(size, wraps=True)


def _line(size: int) -> TorusLine:
    return TorusLine(size, wraps=False)


def _local(sharding: str, mesh: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    local = local_shape(shape, parse_sharding(sharding), parse_mesh(mesh))
    assert local is not None
    return tuple(size or 0 for size in local)


# Bytes and shapes.


def test_fp32_1024_by_4096_over_16_devices_is_a_mebibyte_each_and_308_ns_of_hbm() -> None:
    shape = _local('<@m, [{"x"}, {"y"}]>', '<["x"=4, "y"=4]>', (1024, 4096))
    bytes_each = prod(shape) * 4  # 256 * 1024 * 4
    assert bytes_each == 1_048_576
    assert bytes_each / HARDWARE["h100"].hbm_bandwidth == _about(308e-9)  # 1,048,576 / 3.4e12


def test_int8_128_by_2048_on_two_of_three_axes_is_512_kib_in_all() -> None:
    shape = _local('<@m, [{"x", "y"}, {}]>', '<["x"=2, "y"=8, "z"=2]>', (128, 2048))
    assert prod(shape) == 16_384  # 128 * 2048 / 16
    assert prod(shape) * 32 == 512 * 1024  # z holds it twice


def test_local_shapes_of_a_matmul_on_4_by_2() -> None:
    mesh = '<["x"=4, "y"=2]>'
    assert _local('<@m, [{"x"}, {}]>', mesh, (8, 2048)) == (2, 2048)
    assert _local('<@m, [{"x"}, {"y"}]>', mesh, (8, 2048)) == (2, 1024)
    assert _local('<@m, [{}, {"y"}]>', mesh, (2048, 8192)) == (2048, 4096)


def test_a_shard_along_x_of_4_by_8_by_2_has_16_copies() -> None:
    shape = (64, 32, 16)
    local = _local('<@m, [{"x"}, {}, {}]>', '<["x"=4, "y"=8, "z"=2]>', shape)
    assert prod(local) * 4 * 8 * 2 / prod(shape) == 16


# Torus: bandwidth bound.


def test_all_gather_on_v5e_8_by_4_takes_373_us_on_a_ring_and_559_us_on_a_line() -> None:
    whole = 2048 * 8192 * BF16
    on_ring = torus_time(GATHER, whole, [_ring(4)], _torus("tpu_v5e"))
    on_line = torus_time(GATHER, whole, [_line(4)], _torus("tpu_v5e"))
    assert on_ring.seconds == _about(372.8e-6)  # 33,554,432 / 9e10
    assert on_line.seconds == _about(559.2e-6)  # 3 hops of 8,388,608 / 4.5e10
    assert not on_ring.is_latency_bound
    assert not on_line.is_latency_bound
    assert not _torus("tpu_v5e").wraps(4)
    assert not _torus("tpu_v5e").wraps(8)


def test_all_gather_on_v4p_along_one_axis_takes_23_us() -> None:
    whole = 1024 * 4096 * BF16 // 4  # y still cuts the result
    assert torus_time(GATHER, whole, [_ring(4)], _torus("tpu_v4p")).bandwidth_seconds == _about(
        23.3e-6
    )  # 2,097,152 / 9e10


def test_all_gather_on_v4p_along_two_axes_takes_47_us() -> None:
    whole = 1024 * 4096 * BF16
    both = torus_time(GATHER, whole, [_ring(4), _ring(4)], _torus("tpu_v4p"))
    assert both.bandwidth_seconds == _about(46.6e-6)  # 8,388,608 / (2 * 9e10)


def test_all_reduce_on_v4p_along_an_unused_axis_takes_12_us() -> None:
    each = 1024 * 4096 * BF16 // 16
    assert torus_time(REDUCE, each, [_ring(4)], _torus("tpu_v4p")).bandwidth_seconds == _about(
        11.65e-6
    )  # 2 * 524,288 / 9e10


@pytest.mark.parametrize("sizes", [(4,), (8,), (4, 4), (4, 8, 16)])
def test_all_gather_takes_global_bytes_over_the_bandwidth_of_its_axes(sizes: tuple[int, ...]) -> None:
    time = torus_time(GATHER, 1e9, [_ring(size) for size in sizes], BOTH_WAYS)
    assert time.bandwidth_seconds == _about(1e9 / (9e10 * len(sizes)))


@pytest.mark.parametrize("sizes", [(4,), (8,), (4, 4), (4, 8, 16)])
def test_all_to_all_takes_its_longest_axis_over_four_times_all_devices(sizes: tuple[int, ...]) -> None:
    devices = prod(sizes)
    time = torus_time(EXCHANGE, 1e9 / devices, [_ring(size) for size in sizes], BOTH_WAYS)
    assert time.bandwidth_seconds == _about(1e9 * max(sizes) / (4 * devices * 9e10))


@pytest.mark.parametrize("rows", [[_ring(4)], [_ring(5)], [_line(8)], [_ring(4), _line(2)]])
def test_reduce_scatter_takes_as_long_as_the_all_gather_back_and_all_reduce_as_both(rows: list[TorusLine]) -> None:
    torus = _torus("tpu_v4p")
    gather = torus_time(GATHER, 1e8, rows, torus)
    scatter = torus_time(SCATTER, 1e8 / prod(row.size for row in rows), rows, torus)
    reduce = torus_time(REDUCE, 1e8, rows, torus)
    assert scatter.seconds == pytest.approx(gather.seconds)
    assert reduce.seconds == pytest.approx(2 * gather.seconds)
    assert reduce.latency_seconds == 2 * gather.latency_seconds


# Torus: all-to-all against all-gather of an N by N array on D devices.


@pytest.mark.parametrize("devices", [2, 4, 5, 16])
def test_all_gather_on_a_ring_of_one_direction_sends_all_but_one_shard_over_each_link(devices: int) -> None:
    scalars = 1000**2
    time = torus_time(GATHER, scalars, [_ring(devices)], ONE_WAY)
    assert time.seconds * ONE_WAY.link_bandwidth == pytest.approx(scalars * (1 - 1 / devices))


@pytest.mark.parametrize("devices", [2, 4, 5, 16])
def test_all_to_all_takes_half_of_all_gather_on_a_ring_of_one_direction(devices: int) -> None:
    gather = torus_time(GATHER, 1e9, [_ring(devices)], ONE_WAY)
    exchange = torus_time(EXCHANGE, 1e9 / devices, [_ring(devices)], ONE_WAY)
    assert exchange.seconds / gather.seconds == pytest.approx(1 / 2)


@pytest.mark.parametrize("devices", [2, 4, 16, 64])
def test_all_to_all_takes_a_quarter_of_all_gather_on_a_ring_of_both_directions(devices: int) -> None:
    gather = torus_time(GATHER, 1e9, [_ring(devices)], BOTH_WAYS)
    exchange = torus_time(EXCHANGE, 1e9 / devices, [_ring(devices)], BOTH_WAYS)
    assert exchange.seconds / gather.seconds == pytest.approx(1 / 4)


def test_all_to_all_on_a_line_is_bound_by_its_middle_link() -> None:
    time = torus_time(EXCHANGE, 5 * 9e10, [_line(5)], BOTH_WAYS)
    assert time.seconds == pytest.approx(2 * 3 * 2)  # two devices have a message of 9e10 bytes for three others


# Torus: latency bound.


def test_all_gather_of_256_by_256_on_a_line_of_four_takes_three_hops() -> None:
    time = torus_time(GATHER, 256 * 256 * BF16, [_line(4)], _torus("tpu_v5e"))
    assert time.is_latency_bound
    assert time.latency_seconds == _about(3e-6)
    assert time.bandwidth_seconds == _about(3 * 0.73e-6)  # 32,768 bytes at 45 GB/s
    assert time.seconds == time.latency_seconds + time.bandwidth_seconds


def test_all_gather_of_128_on_a_ring_of_four_takes_two_hops() -> None:
    time = torus_time(GATHER, 128 * BF16, [_ring(4)], _torus("tpu_v4p"))
    assert time.is_latency_bound
    assert time.seconds == _about(2e-6)


def test_interleaved_groups_share_links_and_have_longer_hops() -> None:
    torus = _torus("tpu_v5p")
    alone = torus_time(GATHER, 1e8, [TorusLine(4, wraps=True)], torus)
    every_second = torus_time(GATHER, 1e8, [TorusLine(4, wraps=True, stride=2)], torus)
    assert every_second == CollectiveTime(2 * alone.bandwidth_seconds, 2 * alone.latency_seconds)


def test_a_group_of_one_device_takes_no_time() -> None:
    assert torus_time(REDUCE, 1e8, [_line(1)], BOTH_WAYS) == CollectiveTime(0.0, 0.0)


def test_a_permutation_is_bound_by_its_longest_path_or_its_busiest_link() -> None:
    time = permute_time(9e10, PermuteLoad(hops=3, messages=2), link_bandwidth=4.5e10, hop_seconds=1e-6)
    assert (time.bandwidth_seconds, time.latency_seconds) == (4.0, pytest.approx(3e-6))


# Switch.


def test_all_gather_inside_a_node_of_gpus_receives_all_but_its_own_shard() -> None:
    time = switch_time(GATHER, 8e9, SwitchGroup(1, 8), _switch("h100"))
    assert time.seconds == _about(7e9 / 4.5e11)


def test_all_to_all_inside_a_node_takes_an_eighth_of_all_gather() -> None:
    gather = switch_time(GATHER, 8e9, SwitchGroup(1, 8), _switch("h100"))
    exchange = switch_time(EXCHANGE, 1e9, SwitchGroup(1, 8), _switch("h100"))
    assert exchange.bandwidth_seconds == pytest.approx(gather.bandwidth_seconds / 8)


def test_members_of_a_node_share_the_network() -> None:
    network = _switch("a100").network_bandwidth
    whole = switch_time(REDUCE, 8e9, SwitchGroup(4, 8), _switch("a100"))
    single = switch_time(REDUCE, 8e9, SwitchGroup(4, 1), _switch("a100"))
    assert whole.bandwidth_seconds == pytest.approx(2 * 8e9 * 3 / 4 / (8 * network))
    assert single.bandwidth_seconds == pytest.approx(8 * whole.bandwidth_seconds)


def test_reduce_scatter_on_a_switch_takes_as_long_as_the_all_gather_back() -> None:
    nodes = SwitchGroup(2, 8)
    gather, scatter = (
        switch_time(kind, size, nodes, _switch("a100")) for kind, size in ((GATHER, 16e6), (SCATTER, 1e6))
    )
    assert scatter == gather


# What is measured: curves, starts, chips of several devices, pods.


def test_a_device_at_the_corner_of_lines_receives_all_but_its_own_shard() -> None:
    time = torus_time(GATHER, 4e9, [_line(2), _line(2)], BOTH_WAYS)
    assert time.bandwidth_seconds == pytest.approx(3e9 / (2 * 4.5e10))  # over one link of each line


def test_a_collective_takes_a_start_and_reaches_a_share_of_the_links() -> None:
    torus = replace(BOTH_WAYS, start_seconds=1e-5, efficiency=0.5, hop_seconds=1e-6)
    ideal = torus_time(GATHER, 1e9, [_ring(4)], BOTH_WAYS)
    time = torus_time(GATHER, 1e9, [_ring(4)], torus)
    assert time.bandwidth_seconds == pytest.approx(2 * ideal.bandwidth_seconds)
    assert time.latency_seconds == pytest.approx(1e-5 + 2e-6)


def test_devices_of_a_chip_share_its_links() -> None:
    torus = replace(BOTH_WAYS, devices_per_chip=2, chip_bandwidth=1e12)
    chips = torus_time(GATHER, 1e9, [_ring(4)], BOTH_WAYS).bandwidth_seconds
    one_of_each = torus_time(GATHER, 1e9, [_ring(4)], torus).bandwidth_seconds
    both = torus_time(GATHER, 1e9, [_ring(4)], torus, across_chip=True).bandwidth_seconds
    inside = torus_time(GATHER, 1e9, [], torus, across_chip=True).bandwidth_seconds
    assert one_of_each == pytest.approx(2 * chips)  # two groups at the same time
    assert both == pytest.approx(chips)
    assert inside == pytest.approx(0.5e9 / 1e12)


def test_pods_exchange_what_is_reduced_inside_of_them() -> None:
    torus = replace(BOTH_WAYS, network_bandwidth=1e9)
    inside = torus_time(REDUCE, 1e9, [_ring(4)], torus).bandwidth_seconds
    time = torus_time(REDUCE, 1e9, [_ring(4)], torus, pods=2).bandwidth_seconds
    assert time == pytest.approx(inside + 2 * 1e9 / 2 / 4 / 1e9)


def test_a_switch_that_reduces_is_used_inside_of_a_node() -> None:
    switch = replace(_switch("h100"), reduction_bandwidth=4e11)
    assert switch_time(REDUCE, 8e9, SwitchGroup(1, 8), switch).bandwidth_seconds == pytest.approx(8e9 / 4e11)
    assert switch_time(REDUCE, 8e9, SwitchGroup(1, 2), switch).bandwidth_seconds == pytest.approx(8e9 / 4.5e11)
    between = switch_time(REDUCE, 8e9, SwitchGroup(2, 8), switch)
    assert between == switch_time(REDUCE, 8e9, SwitchGroup(2, 8), _switch("h100"))


def test_large_messages_take_longer_to_get_going() -> None:
    switch = replace(_switch("h100"), ramp_seconds=1e-4, ramp_bytes=1e6)
    time = switch_time(REDUCE, 1e6, SwitchGroup(1, 8), switch)
    assert time.ramp_seconds == pytest.approx(5e-5)
    assert time.seconds == pytest.approx(time.bandwidth_seconds + time.latency_seconds + 5e-5)


def test_latency_grows_with_the_devices_of_a_node_and_of_other_nodes() -> None:
    switch = replace(_switch("h100"), start_seconds=1e-6, hop_seconds=4e-6, network_hop_seconds=1e-7)
    assert switch_time(GATHER, 1.0, SwitchGroup(1, 8), switch).latency_seconds == pytest.approx(33e-6)
    assert switch_time(GATHER, 1.0, SwitchGroup(4, 8), switch).latency_seconds == pytest.approx(33e-6 + 24e-7)


# Sharded matmuls on v5p: X[B, D] times Y[D_X, F].

RATE_OVER_BANDWIDTH = 4.59e14 / 1.8e11


def _gather_first(batch: int, depth: int, features: int, devices: int) -> tuple[float, float]:
    """Return the seconds of computation and communication if every device gathers Y and multiplies by all of it."""
    v5p = resolve_hardware("tpu_v5p")
    gather = torus_time(GATHER, depth * features * BF16, [_ring(devices)], _torus("tpu_v5p"))
    return 2 * batch * depth * features / v5p.rates.bits16, gather.bandwidth_seconds


def _reduce_after(batch: int, depth: int, features: int, devices: int) -> tuple[float, float]:
    """Return the seconds if every device multiplies its shards and the results are summed."""
    v5p = resolve_hardware("tpu_v5p")
    reduce = torus_time(REDUCE, batch * features * BF16, [_ring(devices)], _torus("tpu_v5p"))
    return 2 * batch * depth * features / devices / v5p.rates.bits16, reduce.bandwidth_seconds


def test_compute_over_communication_of_v5p_is_2550() -> None:
    v5p = resolve_hardware("tpu_v5p")
    assert v5p.rates.bits16 / (2 * _torus("tpu_v5p").link_bandwidth) == _about(2550)


@pytest.mark.parametrize("batch", [500, 1000, 2000])
def test_below_a_batch_of_2550_reducing_wins_where_depth_is_over_twice_the_batch(batch: int) -> None:
    for depth, wins in ((int(1.9 * batch), False), (int(2.1 * batch), True)):
        gathered, reduced = _gather_first(batch, depth, 4096, 8), _reduce_after(batch, depth, 4096, 8)
        assert max(gathered) == gathered[1]  # the gather takes longer than the multiplication
        assert (max(reduced) < max(gathered)) is wins


@pytest.mark.parametrize("batch", [2700, 4000, 20_000])
def test_above_a_batch_of_2550_reducing_wins_where_depth_is_over_5100(batch: int) -> None:
    for depth, wins in ((4900, False), (5300, True)):
        gathered, reduced = _gather_first(batch, depth, 4096, 8), _reduce_after(batch, depth, 4096, 8)
        assert max(gathered) == gathered[0]
        assert (max(reduced) < max(gathered)) is wins


def test_reducing_is_compute_bound_on_fewer_devices_than_depth_over_5100() -> None:
    depth = 16 * 5100
    for devices, is_compute_bound in ((14, True), (18, False)):
        compute, communicate = _reduce_after(1000, depth, 4096, devices)
        assert (compute > communicate) is is_compute_bound


@pytest.mark.parametrize(("contracted", "columns"), [(1024, 4096), (8192, 512)])
def test_gathering_a_against_reduce_scattering_the_result_is_m_over_k(contracted: int, columns: int) -> None:
    rows, devices = 2048, 8
    gather = torus_time(GATHER, rows * contracted * BF16, [_ring(devices)], BOTH_WAYS)
    scatter = torus_time(SCATTER, rows * columns * BF16 / devices, [_ring(devices)], BOTH_WAYS)
    assert gather.seconds / scatter.seconds == pytest.approx(contracted / columns)


# The table.


def test_the_hint_for_unknown_hardware_is_the_closest_name() -> None:
    with pytest.raises(SdyError) as error:
        resolve_hardware("tpu_v5")
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "SDY-T209"
    assert diagnostic.hint is not None
    assert "tpu_v5" in diagnostic.hint


@pytest.mark.parametrize(
    ("name", "size", "wraps"), [("tpu_v4p", 4, True), ("tpu_v4p", 2, False), ("tpu_v5e", 16, True)]
)
def test_axes_of_full_cubes_or_pods_are_rings(name: str, size: int, wraps: bool) -> None:
    assert _torus(name).wraps(size) is wraps

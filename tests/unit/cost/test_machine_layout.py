"""Groups of devices on the links of a machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Switch, Torus
from sdy.cost.machine_layout import (
    MachineLayout,
    SwitchGroup,
    TorusLine,
    devices_of_a_node,
    switch_time,
    torus_digits,
    torus_time,
)
from sdy.cost.machines.table import HARDWARE
from sdy.grammar.parse import parse_mesh
from sdy.grammar.write import write_axis_list
from sdy.model.mesh_digits import Digit

GATHER = CollectiveKind.ALL_GATHER
PERMUTE = CollectiveKind.COLLECTIVE_PERMUTE
CUBE = HARDWARE["tpu_v4p"].ideal().network
SQUARE = HARDWARE["tpu_v5e"].ideal().network


@pytest.mark.parametrize(
    ("mesh", "groups", "axes"),
    [
        ('<["x"=4, "y"=2]>', [(0, 2, 4, 6), (1, 3, 5, 7)], '{"x"}'),
        ('<["x"=4, "y"=2]>', [(0, 1), (2, 3), (4, 5), (6, 7)], '{"y"}'),
        ('<["x"=4, "y"=2]>', [tuple(range(8))], '{"x", "y"}'),
        ('<["x"=8]>', [(0, 1, 2, 3), (4, 5, 6, 7)], '{"x":(2)4}'),
        ('<["x"=8]>', [(0, 4), (1, 5), (2, 6), (3, 7)], '{"x":(1)2}'),
        ('<["x"=8]>', [(0, 1, 4, 5), (2, 3, 6, 7)], '{"x":(1)2, "x":(4)2}'),
        ('<["x"=2, "y"=2], device_ids=[3, 1, 0, 2]>', [(3, 1), (0, 2)], '{"y"}'),
        ('<["x"=2]>', [(0,), (1,)], "{}"),
    ],
)
def test_axes_of_groups_are_those_in_which_members_differ(mesh: str, groups: list[tuple[int, ...]], axes: str) -> None:
    assert write_axis_list(MachineLayout(parse_mesh(mesh), CUBE).axes_of(groups)) == axes


@pytest.mark.parametrize(
    ("mesh", "groups", "rows"),
    [
        ('<["x"=4, "y"=2]>', [(0, 2, 4, 6)], [TorusLine(2, wraps=False)] * 2),  # 2x2x2: x takes two axes
        ('<["x"=4, "y"=2]>', [tuple(range(8))], [TorusLine(2, wraps=False)] * 3),
        ('<["x"=4, "y"=2, "z"=2]>', [(0, 4, 8, 12)], [TorusLine(4, wraps=True)]),
        ('<["x"=8]>', [(0, 1, 2, 3)], [TorusLine(2, wraps=False)] * 2),  # x takes three axes of two devices
        ('<["x"=64, "y"=4, "z"=4]>', [tuple(range(0, 1024, 16))], [TorusLine(64, wraps=True)]),
        ('<["x"=64, "y"=8]>', [tuple(range(0, 512, 8))], [TorusLine(8, wraps=True)] * 2),
        ('<["x"=64, "y"=8]>', [tuple(range(0, 32, 8))], [TorusLine(4, wraps=False)]),
        ('<["a"=2, "b"=4, "c"=4, "d"=2]>', [(0, 2, 4, 6)], [TorusLine(4, wraps=True)]),
        ('<["a"=4, "b"=4, "c"=2, "d"=2]>', [(0, 2)], [TorusLine(2, wraps=True, stride=2)]),
    ],
)
def test_a_group_uses_the_torus_axes_of_its_mesh_axes(
    mesh: str, groups: list[tuple[int, ...]], rows: list[TorusLine]
) -> None:
    assert isinstance(CUBE, Torus)
    time = MachineLayout(parse_mesh(mesh), CUBE).time_of(GATHER, 1e8, groups)
    assert time == torus_time(GATHER, 1e8, rows, CUBE)


@pytest.mark.parametrize(
    ("pairs", "hops", "messages"),
    [
        ([(0, 1), (1, 2), (2, 3), (3, 0)], 3, 1),  # the last one goes back over the links that the others leave free
        ([(0, 1), (1, 0), (2, 2), (3, 3)], 1, 1),
        ([(0, 2), (1, 3)], 2, 2),  # both go over the link from 1 to 2
        ([(0, 0)], 0, 0),
    ],
)
def test_a_permutation_on_a_line_counts_hops_and_messages(
    pairs: list[tuple[int, int]], hops: int, messages: int
) -> None:
    assert isinstance(SQUARE, Torus)
    line = replace(SQUARE, axis_count=1)
    time = MachineLayout(parse_mesh('<["x"=4]>'), line).time_of(PERMUTE, 4.5e10, pairs)
    assert time.latency_seconds == pytest.approx(hops * 1e-6)
    assert time.bandwidth_seconds == pytest.approx(messages)


def test_a_permutation_on_a_ring_takes_the_shorter_direction() -> None:
    layout = MachineLayout(parse_mesh('<["x"=4, "y"=4]>'), CUBE)
    assert layout.time_of(PERMUTE, 1.0, [(0, 3)]).latency_seconds == pytest.approx(1e-6)
    assert layout.time_of(PERMUTE, 1.0, [(12, 0)]).latency_seconds == pytest.approx(1e-6)
    assert layout.time_of(PERMUTE, 1.0, [(0, 15)]).latency_seconds == pytest.approx(2e-6)


def test_neighbours_depend_on_mesh_positions_not_device_numbers() -> None:
    assert isinstance(SQUARE, Torus)
    line = replace(SQUARE, axis_count=1)
    layout = MachineLayout(parse_mesh('<["x"=4], device_ids=[0, 2, 1, 3]>'), line)
    assert layout.time_of(PERMUTE, 1.0, [(0, 2)]).latency_seconds == pytest.approx(1e-6)
    assert layout.time_of(PERMUTE, 1.0, [(0, 1)]).latency_seconds == pytest.approx(2e-6)


def test_nodes_consist_of_the_minor_devices() -> None:
    switch = HARDWARE["h100"].network
    assert isinstance(switch, Switch)
    layout = MachineLayout(parse_mesh('<["x"=4, "y"=4]>'), switch)
    along_x, along_y, all_devices = [(0, 4, 8, 12)], [(0, 1, 2, 3)], [tuple(range(16))]
    assert layout.time_of(GATHER, 1e9, along_x) == switch_time(GATHER, 1e9, SwitchGroup(2, 2), switch)
    assert layout.time_of(GATHER, 1e9, along_y) == switch_time(GATHER, 1e9, SwitchGroup(1, 4), switch)
    assert layout.time_of(GATHER, 1e9, all_devices) == switch_time(GATHER, 1e9, SwitchGroup(2, 8), switch)


def test_a_permutation_between_nodes_uses_the_network() -> None:
    switch = HARDWARE["h100"].network
    assert isinstance(switch, Switch)
    layout = MachineLayout(parse_mesh('<["x"=16]>'), replace(switch, hop_seconds=0.0))
    assert layout.time_of(PERMUTE, 4.5e11, [(0, 7)]).seconds == pytest.approx(1.0)
    assert layout.time_of(PERMUTE, 4.5e11, [(0, 7), (7, 8)]).seconds == pytest.approx(9.0)
    assert layout.time_of(PERMUTE, 4.5e11, [(3, 3)]).seconds == 0.0


@pytest.mark.parametrize(
    ("sizes", "axes"),
    [
        ([256], [16, 16]),
        ([128], [8, 16]),
        ([4], [2, 2]),
        ([2], [2]),
        ([6], [2, 3]),
        ([4, 64], [4, 64]),
        ([2, 2, 4], [4, 4]),
    ],
)
def test_an_axis_is_divided_over_the_axes_of_a_torus_that_are_left(sizes: list[int], axes: list[int]) -> None:
    assert isinstance(SQUARE, Torus)
    digits, chip, pods = torus_digits(sizes, SQUARE)
    assert [digit.size for digit in digits] == axes
    assert (chip.size, pods.size) == (1, 1)


def test_minor_devices_are_those_of_a_chip_and_major_ones_are_in_different_pods() -> None:
    assert isinstance(SQUARE, Torus)
    torus = replace(SQUARE, devices_per_chip=2, pod_size=32)
    assert torus_digits([2, 32], torus) == ([Digit(4, 8), Digit(4, 2)], Digit(2, 1), Digit(2, 32))


def test_a_permutation_on_a_chip_or_between_pods_does_not_use_its_torus() -> None:
    assert isinstance(SQUARE, Torus)
    torus = replace(SQUARE, devices_per_chip=2, chip_bandwidth=1e12, pod_size=8, network_bandwidth=1e9)
    layout = MachineLayout(parse_mesh('<["x"=16]>'), torus)
    assert layout.time_of(PERMUTE, 1e9, [(0, 1)]).bandwidth_seconds == pytest.approx(1e-3)
    assert layout.time_of(PERMUTE, 1e9, [(0, 8)]).bandwidth_seconds == pytest.approx(1.0)


@pytest.mark.parametrize(("devices", "taken"), [(256, 64), (144, 72), (1440, 72), (8, 8), (96, 48), (73, 1)])
def test_a_mesh_takes_equally_many_devices_of_each_node(devices: int, taken: int) -> None:
    switch = HARDWARE["gb200"].network
    assert isinstance(switch, Switch)
    assert devices_of_a_node(devices, switch) == taken


def test_an_axis_that_fits_in_a_node_stays_inside_of_it() -> None:
    mesh = parse_mesh('<["data"=4, "expert"=32]>')
    groups = [tuple(range(start, start + 32)) for start in range(0, 128, 32)]
    layout = MachineLayout(mesh, HARDWARE["gb200"].network)
    alone = MachineLayout(parse_mesh('<["expert"=32]>'), HARDWARE["gb200"].network)
    exchange = CollectiveKind.ALL_TO_ALL
    assert layout.time_of(exchange, 1e9, groups) == alone.time_of(exchange, 1e9, groups[:1])

"""Transfers of shards that shift along a dim."""

from __future__ import annotations

from sdy.model.axis import AxisRef, SubAxis
from sdy.model.devices.tiling import mesh_reversed_along, shift_pairs
from sdy.model.mesh import Mesh, MeshAxis

MESH = Mesh((MeshAxis("a", 2), MeshAxis("b", 4)))


def test_shift_to_the_left_leaves_out_the_first_shard() -> None:
    assert shift_pairs((AxisRef("b"),), MESH, -3) == ((3, 0), (7, 4))


def test_shift_carries_from_the_minor_axis_to_the_major_one() -> None:
    assert (3, 4) in shift_pairs((AxisRef("a"), AxisRef("b")), MESH, 1)
    assert (5, 2) in shift_pairs((AxisRef("b"), AxisRef("a")), MESH, 1)  # (a, b) = (1, 1), then (0, 2)


def test_shift_along_a_sub_axis_keeps_the_rest_of_the_axis() -> None:
    assert shift_pairs((AxisRef("b", SubAxis(1, 2)),), MESH, 1) == ((0, 2), (1, 3), (4, 6), (5, 7))


def test_shift_names_devices_by_their_numbers() -> None:
    assert shift_pairs((AxisRef("a"),), Mesh((MeshAxis("a", 3),), (2, 0, 1)), 1) == ((2, 0), (0, 1))


def test_a_shift_by_the_number_of_shards_moves_nothing() -> None:
    assert shift_pairs((AxisRef("b"),), MESH, 4) == ()


def test_reversing_twice_is_the_identity() -> None:
    mesh = Mesh(MESH.axes, (3, 1, 2, 0, 7, 6, 5, 4))
    for axes in ((AxisRef("b"),), (AxisRef("a"), AxisRef("b", SubAxis(2, 2)))):
        assert mesh_reversed_along(axes, mesh) != mesh
        assert mesh_reversed_along(axes, mesh_reversed_along(axes, mesh)) == mesh

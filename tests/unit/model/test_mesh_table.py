"""Meshes: their kinds, the resolution of names, and the common mesh of shardings."""

from __future__ import annotations

from support.model.notation import mesh

from sdy.grammar.parse import parse_sharding
from sdy.model.mesh_table import CommonMesh, common_mesh, resolve_mesh
from sdy.model.sharding import TensorSharding

GRID = mesh('<["x"=2, "y"=2]>')
TURNED = mesh('<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>')
MESHES = {"m": GRID, "same": GRID, "turned": TURNED, "line": mesh('<["x"=4]>'), "empty": mesh("<[]>")}


def on(name: str) -> TensorSharding:
    return parse_sharding(f"<@{name}, [{{}}]>")


def test_kinds_of_mesh() -> None:
    assert MESHES["empty"].is_empty
    assert not MESHES["empty"].is_maximal
    assert mesh("<[], device_ids=[0]>").is_maximal
    assert not mesh('<["x"=1]>').is_maximal
    assert GRID.device_count == 4
    assert mesh("<[], device_ids=[7]>").device_count == 1


def test_a_mesh_may_have_more_devices_than_fit_memory() -> None:
    assert mesh('<["x"=9223372036854775807]>').device_count == 2**63 - 1


def test_meshes_that_differ_in_the_order_of_devices_have_the_same_axes() -> None:
    assert GRID.same_axes(TURNED)
    assert not GRID.same_axes(MESHES["line"])
    assert mesh("<[], device_ids=[1]>").same_axes(mesh("<[], device_ids=[2]>"))
    assert not mesh("<[]>").same_axes(mesh("<[], device_ids=[2]>"))


def test_resolve_mesh() -> None:
    assert resolve_mesh("m", MESHES) is GRID
    assert resolve_mesh("none", MESHES) is None
    assert resolve_mesh(TURNED, MESHES) is TURNED


def test_without_shardings_there_is_no_common_mesh() -> None:
    assert common_mesh([], MESHES) is None
    assert common_mesh([None], MESHES) is None


def test_the_first_name_of_equal_meshes_is_kept() -> None:
    assert common_mesh([None, on("same"), on("m")], MESHES) == CommonMesh(GRID, "same")


def test_any_mesh_takes_precedence_over_an_empty_one() -> None:
    assert common_mesh([on("empty"), on("m")], MESHES) == CommonMesh(GRID, "m")
    assert common_mesh([on("m"), on("empty")], MESHES) == CommonMesh(GRID, "m")
    assert common_mesh([on("empty")], MESHES) == CommonMesh(MESHES["empty"], "empty")


def test_different_meshes_are_not_common() -> None:
    assert common_mesh([on("m"), on("line")], MESHES) is None
    assert common_mesh([on("m"), on("turned")], MESHES) is None


def test_identity_order_takes_precedence_if_device_order_is_ignored() -> None:
    assert common_mesh([on("turned"), on("m")], MESHES, ignore_device_order=True) == CommonMesh(GRID, "m")
    assert common_mesh([on("m"), on("turned")], MESHES, ignore_device_order=True) == CommonMesh(GRID, "m")
    assert common_mesh([on("turned"), on("line")], MESHES, ignore_device_order=True) is None

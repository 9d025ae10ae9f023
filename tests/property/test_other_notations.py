"""Round trips of shardings in other notations, with sub-axes and devices in any order."""

from __future__ import annotations

import re
from math import prod

from hypothesis import given
from hypothesis import strategies as st
from support.model.strategies import MESH, covering_sub_axes

from sdy.grammar.hlo_text import read_hlo_sharding, write_hlo_sharding
from sdy.grammar.partition_spec import read_partition_spec, write_partition_spec
from sdy.grammar.placements import read_placements, write_placements
from sdy.grammar.subscripts import read_subscripts, write_subscripts
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_on_mesh import in_mesh_order
from sdy.model.devices.hlo_sharding import Tiled, hlo_of_sharding, mesh_of_hlo, sharding_of_hlo
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import closed_on

ROTATED = Mesh(MESH.axes, tuple((7 * index + 5) % MESH.device_count for index in range(MESH.device_count)))


@st.composite
def closed_shardings(draw: st.DrawFn) -> TensorSharding:
    """Generate shardings of up to three dims along sub-axes in any order; some are unreduced."""
    refs = list(draw(st.permutations(draw(covering_sub_axes()))))
    dims: list[AxisList] = []
    for _ in range(draw(st.integers(0, 3))):
        count = draw(st.integers(0, min(2, len(refs))))
        dims.append(tuple(refs[:count]))
        refs = refs[count:]
    mesh = draw(st.sampled_from([MESH, ROTATED]))
    return closed_on(mesh, dims, in_mesh_order(refs[: draw(st.integers(0, 1))], mesh))


def mesh_of(sharding: TensorSharding) -> Mesh:
    assert isinstance(sharding.mesh, Mesh)
    return sharding.mesh


@given(closed_shardings())
def test_partition_specs_round_trip(sharding: TensorSharding) -> None:
    assert read_partition_spec(write_partition_spec(sharding), mesh_of(sharding)) == sharding


@given(closed_shardings())
def test_placements_round_trip(sharding: TensorSharding) -> None:
    whole = TensorSharding(
        sharding.mesh,
        tuple(DimSharding(tuple(axis for axis in dim.axes if axis.sub_axis is None)) for dim in sharding.dims),
        unreduced=tuple(axis for axis in sharding.unreduced if axis.sub_axis is None),
    )
    text = write_placements(whole, mesh_of(sharding))
    assert text is not None
    assert read_placements(text, mesh_of(sharding), sharding.rank) == whole
    if whole != sharding:
        assert write_placements(sharding, mesh_of(sharding)) is None


@given(st.permutations(range(3)), st.integers(0, 3))
def test_placements_assign_the_parts_that_pytorch_does(order: list[int], count: int) -> None:
    """The axes of a dim in any order: a strided shard is a part of each of `split_factor` parts, joined again."""
    mesh = Mesh(tuple(MeshAxis(name, size) for name, size in (("a", 2), ("b", 3), ("c", 2))))
    axes = tuple(AxisRef("abc"[each]) for each in order[:count])
    text = write_placements(closed_on(mesh, [axes]), mesh)
    assert text is not None
    elements = list(range(12))
    for device in range(12):
        digits = (device // 6, device // 2 % 3, device % 2)
        own = elements
        for number, placement in enumerate(re.findall(r"\w+\([^)]*\)", text)):
            size, factor = mesh.axes[number].size, int((re.findall(r"split_factor=(\d+)", placement) or ["1"])[0])
            if "Shard" in placement:
                whole = len(own) // factor
                parts = [own[start : start + whole] for start in range(0, len(own), whole)]
                part = whole // size
                own = [each for one in parts for each in one[digits[number] * part : (digits[number] + 1) * part]]
        sizes = [mesh.axes[each].size for each in order[:count]]
        position = 0
        for each, size in zip(order[:count], sizes, strict=True):
            position = position * size + digits[each]
        length = 12 // prod(sizes)
        assert own == elements[position * length : (position + 1) * length]


@given(closed_shardings())
def test_subscripts_round_trip(sharding: TensorSharding) -> None:
    assert read_subscripts(write_subscripts(sharding), mesh_of(sharding)) == sharding


@given(closed_shardings())
def test_hlo_shardings(sharding: TensorSharding) -> None:
    mesh = mesh_of(sharding)
    hlo = hlo_of_sharding(sharding, mesh)
    assert read_hlo_sharding(write_hlo_sharding(hlo)) == hlo
    for on in (mesh, mesh_of_hlo(hlo)):
        back = sharding_of_hlo(hlo, on, sharding.rank)
        assert back is not None
        assert hlo_of_sharding(back, on) == hlo


@given(closed_shardings())
def test_hlo_assigns_each_device_its_shard(sharding: TensorSharding) -> None:
    mesh = mesh_of(sharding)
    hlo = hlo_of_sharding(sharding, mesh)
    if not isinstance(hlo, Tiled):
        return
    for index, dim in enumerate(sharding.dims):
        within = prod(hlo.sizes[index + 1 :])
        tiles = {device: position // within % hlo.sizes[index] for position, device in enumerate(hlo.devices)}
        assert shard_coordinates(dim.axes, mesh) == tuple(tiles[device] for device in range(mesh.device_count))

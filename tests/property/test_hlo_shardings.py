"""HLO shardings compared with XLA: conversion of JAX's specs, and reading of each other's texts."""

from __future__ import annotations

from math import prod
from typing import Protocol, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from jaxlib import xla_client

from sdy.grammar.hlo_text import read_hlo_sharding, write_hlo_sharding
from sdy.model.axis import AxisRef
from sdy.model.devices.hlo_sharding import SubgroupKind, Tiled, hlo_of_sharding, mesh_of_hlo, sharding_of_hlo
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import closed_on


@st.composite
def placed_shardings(draw: st.DrawFn) -> tuple[TensorSharding, Mesh]:
    """Generate specs of full mesh axes, in any order, over up to three dims; some unreduced, some unused."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    mesh = Mesh(tuple(MeshAxis(f"a{index}", size) for index, size in enumerate(sizes)))
    names = draw(st.permutations([axis.name for axis in mesh.axes]))
    rank = draw(st.integers(1, 3))
    positions = draw(st.lists(st.integers(-2, rank - 1), min_size=len(names), max_size=len(names)))
    dims = [tuple(AxisRef(name) for name, at in zip(names, positions, strict=True) if at == dim) for dim in range(rank)]
    unreduced = [name for name, at in zip(names, positions, strict=True) if at == -2]
    in_order = tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name in unreduced)
    return closed_on(mesh, dims, in_order), mesh


class XlaSharding(Protocol):
    """The interface of XLA's sharding class that the tests use."""

    def tile_assignment_devices(self) -> list[int]: ...


def from_xla(text: str) -> XlaSharding:
    return cast(XlaSharding, xla_client.HloSharding.from_string(text))


def text_of_jax(sharding: TensorSharding, mesh: Mesh) -> str:
    sizes, names = tuple(axis.size for axis in mesh.axes), tuple(axis.name for axis in mesh.axes)
    abstract = AbstractMesh(sizes, names, axis_types=(AxisType.Explicit,) * len(names))
    unreduced = frozenset(ref.name for ref in sharding.unreduced)
    spec = PartitionSpec(*(tuple(ref.name for ref in dim.axes) for dim in sharding.dims), unreduced=unreduced)
    # JAX's conversion is a private method.
    return str(cast(object, NamedSharding(abstract, spec)._to_xla_hlo_sharding(sharding.rank)))  # pyright: ignore[reportPrivateUsage]


@given(placed_shardings())
def test_hlo_shardings_are_those_of_jax(placed: tuple[TensorSharding, Mesh]) -> None:
    sharding, mesh = placed
    assert write_hlo_sharding(hlo_of_sharding(sharding, mesh)) == text_of_jax(sharding, mesh)


@given(placed_shardings())
def test_hlo_shardings_round_trip(placed: tuple[TensorSharding, Mesh]) -> None:
    sharding, mesh = placed
    hlo = hlo_of_sharding(sharding, mesh)
    assert read_hlo_sharding(write_hlo_sharding(hlo)) == hlo
    back = sharding_of_hlo(hlo, mesh, sharding.rank)
    assert back is not None
    assert hlo_of_sharding(back, mesh) == hlo
    made = mesh_of_hlo(hlo)
    if made.axes:
        on_made = sharding_of_hlo(hlo, made, sharding.rank)
        assert on_made is not None
        assert hlo_of_sharding(on_made, made) == hlo


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Generate assignments of up to 36 devices, with subgroups of all kinds in any order."""
    grid = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda sizes: prod(sizes) > 1))
    order = draw(st.permutations(range(len(grid))))
    count = prod(grid)
    sizes: list[int] = []
    while prod(sizes) < count:
        sizes.append(draw(st.sampled_from([size for size in range(2, count + 1) if count // prod(sizes) % size == 0])))
    sizes = [1, *draw(st.permutations(sizes))]
    transposed = f"T({','.join(map(str, order))})" if len(grid) > 1 else ""
    by_grid = f"<=[{','.join(map(str, grid))}]{transposed}"
    split_collectives = ",".join(map(str, draw(st.permutations(range(count)))))
    kinds = draw(st.lists(st.sampled_from([kind.value for kind in SubgroupKind]), max_size=4))
    groups = f" last_tile_dims={{{', '.join(kinds)}}}" if kinds and len(kinds) < len(sizes) else ""
    return f"{{devices=[{','.join(map(str, sizes))}]{draw(st.sampled_from([by_grid, split_collectives]))}{groups}}}"


@given(texts())
@settings(max_examples=300)
def test_texts_are_read_as_by_xla(text: str) -> None:
    hlo = read_hlo_sharding(text)
    theirs = from_xla(text)
    if isinstance(hlo, Tiled):
        assert hlo.devices == tuple(theirs.tile_assignment_devices())
    assert write_hlo_sharding(hlo).partition(" last_tile")[2] == str(theirs).partition(" last_tile")[2]
    assert from_xla(write_hlo_sharding(hlo)) == theirs

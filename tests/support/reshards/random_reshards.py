"""Random reshards: meshes, orders of devices, shardings with sub-axes, shapes that they divide, and the program."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from sdy.grammar.write import write_mesh, write_sharding
from sdy.model.axis import AxisList, AxisRef, sub_axis_ref
from sdy.model.axis_list import extended, sharded_size, sort_and_merge
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.sharding import DimSharding, TensorSharding

BINARY = ((2, 2), (4, 2), (2, 2, 2), (4, 4), (8, 2, 2), (4, 2, 4), (2, 2, 2, 2))
MIXED = (*BINARY, (2, 3), (6, 4), (3, 2, 2), (12,), (3, 3, 2))


@dataclass(frozen=True)
class Reshard:
    """From one sharding to another, of a tensor of `shape`. The meshes differ in the order of devices, if at all."""

    source: TensorSharding
    target: TensorSharding
    shape: tuple[int, ...]
    mesh: Mesh
    target_mesh: Mesh


def random_reshards(
    rng: random.Random, count: int, sizes: tuple[int, ...], *, unreduced: bool = False, turned: bool = False
) -> list[Reshard]:
    """Reshards on one mesh whose axes have the sizes given; some to another order of devices."""
    mesh = Mesh(tuple(MeshAxis("abcd"[place], size) for place, size in enumerate(sizes)))
    other = _turned(rng, mesh) if turned else mesh
    return [_random_reshard(rng, mesh, other, unreduced=unreduced) for _ in range(count)]


def _random_reshard(rng: random.Random, mesh: Mesh, other: Mesh, *, unreduced: bool) -> Reshard:
    rank = rng.randint(1, 3)
    pieces = [piece for axis in mesh.axes for piece in _pieces(rng, axis)]
    partial = (pieces.pop(rng.randrange(len(pieces))),) if unreduced and rng.random() < 0.4 else ()
    source, target = (_random_sharding(rng, mesh, rank, pieces, partial) for _ in range(2))
    counts = [
        lcm(*(sharded_size(dim.axes, mesh) for dim in dims)) for dims in zip(source.dims, target.dims, strict=True)
    ]
    target_mesh = other if rng.random() < 0.5 else mesh
    return Reshard(
        source,
        replace(target, mesh="t" if target_mesh != mesh else "m"),
        tuple(count * rng.randint(1, 2) for count in counts),
        mesh,
        target_mesh,
    )


def _turned(rng: random.Random, mesh: Mesh) -> Mesh:
    """Another order of devices: axes swapped, or no order at all."""
    ids = list(range(mesh.device_count))
    if rng.random() < 0.5:
        rng.shuffle(ids)
        return Mesh(mesh.axes, tuple(ids))
    grid = np.array(ids).reshape([axis.size for axis in mesh.axes])
    order = rng.sample(range(grid.ndim), grid.ndim)
    return Mesh(mesh.axes, tuple(int(device) for device in grid.transpose(order).ravel()))


def _pieces(rng: random.Random, axis: MeshAxis) -> Iterator[AxisRef]:
    cuts = [cut for cut in range(2, axis.size) if axis.size % cut == 0]
    if not cuts or rng.random() < 0.5:
        yield AxisRef(axis.name)
        return
    cut = rng.choice(cuts)
    yield sub_axis_ref(axis.name, 1, cut)
    yield sub_axis_ref(axis.name, cut, axis.size)


def _random_sharding(
    rng: random.Random, mesh: Mesh, rank: int, pieces: list[AxisRef], partial: AxisList
) -> TensorSharding:
    dims: list[list[AxisRef]] = [[] for _ in range(rank)]
    for piece in rng.sample(pieces, len(pieces)):
        if rng.random() < 0.75:
            rng.choice(dims).append(piece)
    return TensorSharding(
        "m", tuple(DimSharding(extended((), axes, mesh)) for axes in dims), unreduced=sort_and_merge(partial, mesh)
    )


def reshard_program(reshards: list[Reshard], elements: list[str]) -> str:
    """A program that reshards its arguments, one each."""
    meshes = {reshard.target.mesh: reshard.target_mesh for reshard in reshards} | {"m": reshards[0].mesh}
    arguments: list[str] = []
    results: list[str] = []
    lines: list[str] = []
    for place, (reshard, element) in enumerate(zip(reshards, elements, strict=True)):
        tensor = f"tensor<{'x'.join(map(str, reshard.shape))}x{element}>"
        source, target = write_sharding(reshard.source), write_sharding(reshard.target)
        arguments.append(f"%a{place}: {tensor} {{sdy.sharding = #sdy.sharding{source}}}")
        results.append(f"{tensor} {{sdy.sharding = #sdy.sharding{target}}}")
        lines.append(f"  %r{place} = sdy.reshard %a{place} {target} : {tensor}")
    names = ", ".join(f"%r{place}" for place in range(len(reshards)))
    types = ", ".join(result.split(" ")[0] for result in results)
    return "\n".join(
        [
            *(f"sdy.mesh @{name} = {write_mesh(mesh)}" for name, mesh in meshes.items()),
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{",
            *lines,
            f"  return {names} : {types}",
            "}",
        ]
    )


def whole_axis_shardings(mesh: Mesh, rank: int) -> list[TensorSharding]:
    """Every assignment of ordered, disjoint lists of whole axes to the dims of a tensor."""
    axes = [AxisRef(axis.name) for axis in mesh.axes]
    found: list[TensorSharding] = []
    for count in range(len(axes) + 1):
        for order in itertools.permutations(axes, count):
            for inner in itertools.combinations_with_replacement(range(count + 1), rank - 1):
                bounds = itertools.pairwise([0, *inner, count])
                found.append(TensorSharding("m", tuple(DimSharding(order[start:end]) for start, end in bounds)))
    return found
